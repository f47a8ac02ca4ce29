"""Makes config models from TOML files and dicts, with errors that name the key."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

import tomli_w
from pydantic import BaseModel, ValidationError

from fitpipe.config.models import ReportConfig, RunConfig, Section
from fitpipe.config.toml import read_toml
from fitpipe.errors import ConfigError, suggest

Model = TypeVar("Model", bound=Section)


def load_run_config(path: Path, settings: Mapping[str, Any] | None = None) -> RunConfig:
    """The run described by a TOML file; ``settings`` ("solve.max_iterations" = 50) go on top.

    Paths in it stay as written: the caller knows the file's folder.

    Raises
    ------
    ConfigError
        The file cannot be read, or keys or values are not what they should be (all listed).
    """
    table = with_settings(read_toml(path), settings or {})
    return make_config(RunConfig, table, path=path)


def load_report_config(
    path: Path | None = None, settings: Mapping[str, Any] | None = None
) -> ReportConfig:
    """The section [report] of a TOML file, or the defaults; ``settings`` go on top.

    Raises
    ------
    ConfigError
        The file cannot be read, or keys or values are not what they should be (all listed).
    """
    table = {} if path is None else {"report": read_toml(path).get("report", {})}
    return make_config(_OnlyReport, with_settings(table, settings or {}), path=path).report


class _OnlyReport(Section):
    report: ReportConfig = ReportConfig()


def with_settings(table: Mapping[str, Any], settings: Mapping[str, Any]) -> dict[str, Any]:
    """The table with values put at dotted keys: ``{"solve.max_iterations": 50}``.

    Raises
    ------
    ConfigError
        A key leads through something that is no table.
    """
    merged = copy.deepcopy(dict(table))
    for key, value in settings.items():
        *sections, name = key.split(".")
        inner = merged
        for section in sections:
            inner = inner.setdefault(section, {})
            if not isinstance(inner, dict):
                raise ConfigError(f"setting {key!r}: {section!r} is no table")
        inner[name] = value
    return merged


def make_config(
    model: type[Model], table: Mapping[str, Any] | Model | None, *, path: Path | None = None
) -> Model:
    """A config model from a dict (or the model itself, or None for all defaults).

    Raises
    ------
    ConfigError
        Lists every unknown key and wrong value.
    """
    if isinstance(table, model):
        return table
    try:
        return model.model_validate(dict(table or {}))
    except ValidationError as error:
        faults = [_fault(model, dict(item)) for item in error.errors()]
        if len(faults) == 1:
            place, problem = faults[0]
            raise ConfigError(problem, path=path, place=place) from None
        lines = [f"{place}: {problem}" for place, problem in faults]
        raise ConfigError(f"{len(faults)} faults", path=path, faults=lines) from None


def config_text(config: Section) -> str:
    """The config with every default written out, as TOML that loads to an equal config."""
    return tomli_w.dumps(config.model_dump(mode="json", exclude_none=True))


def _fault(model: type[BaseModel], item: dict[str, Any]) -> tuple[str, str]:
    """Place and text of one pydantic error."""
    *sections, key = (str(part) for part in item["loc"])
    place = f"[{'.'.join(sections)}] {key}" if sections else f"[{key}]"
    if item["type"] == "extra_forbidden":
        known = list(_fields_at(model, sections))
        return place, f"unknown key; {suggest(key, known)}"
    if item["type"] == "missing":
        return place, "is missing; it has no default"
    if item["type"] == "value_error":
        return place, item["msg"].removeprefix("Value error, ")
    message = item["msg"][0].lower() + item["msg"][1:]
    return place, f"{message}, got {item['input']!r}"


def _fields_at(model: type[BaseModel], sections: list[str]) -> list[str]:
    """Keys that a (nested) table of the model may hold."""
    for section in sections:
        field = model.model_fields.get(section)
        inner = field.annotation if field else None
        if not (isinstance(inner, type) and issubclass(inner, BaseModel)):
            return []
        model = inner
    return list(model.model_fields)
