"""Makes config models from TOML files and dicts, with errors that name the file and the key."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar, get_args

import tomli_w
from pydantic import BaseModel, ValidationError

from fitpipe.config.layers import Layer, anchored, layer_of, merged, nested, read_layers
from fitpipe.config.models import ReportConfig, Section
from fitpipe.config.run import RunConfig
from fitpipe.errors import ConfigError, suggest

Model = TypeVar("Model", bound=Section)


def load_run_config(path: Path, settings: Mapping[str, Any] | None = None) -> RunConfig:
    """The run described by a TOML file; ``settings`` ("solve.max_iterations" = 50) go on top.

    What the file extends is read too. Relative paths are made absolute: from the folder of the
    file they stand in; those in ``settings`` from that of ``path``.

    Raises
    ------
    ConfigError
        A file cannot be read, or keys or values are not what they should be (all listed).
    """
    layers = read_layers(path)
    table = _joined(layers)
    given = nested(settings or {}, table)
    takes = given.get("takes", {})
    if isinstance(takes, dict) and "pattern" in takes:
        takes.setdefault("folder", table.get("takes", {}).get("folder", "."))
    table = merged(table, anchored(given, path.parent.absolute()))

    def file_of(place: Sequence[str | int]) -> Path:
        layer = layer_of(layers, place)
        return path if layer is None else layer.path

    return make_config(RunConfig, table, path=path, file_of=file_of)


def load_report_config(
    path: Path | None = None, settings: Mapping[str, Any] | None = None
) -> ReportConfig:
    """The section [report] of a TOML file, or the defaults; ``settings`` go on top.

    Raises
    ------
    ConfigError
        The file cannot be read, or keys or values are not what they should be (all listed).
    """
    said = {} if path is None else _joined(read_layers(path))
    table = {"report": said.get("report", {})}
    return make_config(_OnlyReport, with_settings(table, settings or {}), path=path).report


def _joined(layers: Sequence[Layer]) -> dict[str, Any]:
    table: dict[str, Any] = {}
    for layer in layers:
        table = merged(table, layer.table)
    return table


class _OnlyReport(Section):
    report: ReportConfig = ReportConfig()


def with_settings(table: Mapping[str, Any], settings: Mapping[str, Any]) -> dict[str, Any]:
    """The table with values put at dotted keys: ``{"solve.max_iterations": 50}``.

    Raises
    ------
    ConfigError
        A key leads through something that is no table.
    """
    return merged(table, nested(settings, table))


def make_config(
    model: type[Model],
    table: Mapping[str, Any] | Model | None,
    *,
    path: Path | None = None,
    file_of: Callable[[Sequence[str | int]], Path] | None = None,
) -> Model:
    """A config model from a dict (or the model itself, or None for all defaults).

    ``path`` is named in errors; ``file_of`` finds a better one for a place, where a config is
    made of several files.

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
        items: list[dict[str, Any]] = [{**item} for item in error.errors()]
    found = [(file_of(item["loc"]) if file_of else path, *_fault(model, item)) for item in items]
    if len(found) == 1:
        ((file, place, problem),) = found
        raise ConfigError(problem, path=file, place=place)
    lines = [
        f"{place}: {problem}" if file == path else f"{file}, {place}: {problem}"
        for file, place, problem in found
    ]
    raise ConfigError(f"{len(lines)} faults", path=path, faults=lines)


def config_text(config: Section) -> str:
    """The config with every default written out, as TOML that loads to an equal config."""
    return tomli_w.dumps(config.model_dump(mode="json", exclude_none=True))


def config_sha256(text: str) -> str:
    """SHA-256 of a config's text, hexadecimal."""
    return hashlib.sha256(text.encode()).hexdigest()


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
    """Keys that a (nested) table of the model may hold; a number picks a table of a list."""
    for section in sections:
        if section.isdecimal():
            continue
        field = model.model_fields.get(section)
        inner = field.annotation if field else None
        of_list = [kind for kind in get_args(inner) if isinstance(kind, type)]
        inner = of_list[0] if of_list else inner
        if not (isinstance(inner, type) and issubclass(inner, BaseModel)):
            return []
        model = inner
    return list(model.model_fields)
