"""The config of one take or of one run of a grid: the run's config with tables put on top."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import PurePath
from typing import Any, Final

from fitpipe.config.layers import flat, merged, nested
from fitpipe.config.load import make_config
from fitpipe.config.models import FitConfig
from fitpipe.config.run import OverrideConfig, ReadingConfig, RunConfig
from fitpipe.errors import ConfigError, suggest

# what [takes] says of a take, beside its files
OF_TAKE: Final = (*ReadingConfig.model_fields, "subject", "markerset", "static")


@dataclass(frozen=True)
class Variant:
    """One combination of a grid; the run itself, without name and settings, where there is none.

    Parameters
    ----------
    name : str
        Such as ``"temporal=none,noise=true"``: also the name of its folder.
    settings : mapping of str to value
        By dotted key.
    config : RunConfig
        With these settings in it.
    """

    name: str
    settings: Mapping[str, Any]
    config: RunConfig


def varied(config: RunConfig, tables: Iterable[Mapping[str, Any]], *, place: str) -> RunConfig:
    """The config with settings of one take put on top, the last table last.

    Parameters
    ----------
    config : RunConfig
    tables : iterable of mapping
        Keys may be dotted, or tables within tables.
    place : str
        Where the tables stand, for errors.

    Raises
    ------
    ConfigError
        A table has keys that no take can have for itself, or wrong values.
    """
    result = config.model_dump(exclude_unset=True)
    for table in tables:
        inner = nested(table)
        _check_keys(inner, place)
        result = merged(result, inner)
    try:
        return make_config(RunConfig, result)
    except ConfigError as error:
        text = error.problem if not error.place else f"{error.place}: {error.problem}"
        raise ConfigError(text, place=place, faults=error.faults) from None


def override_tables(config: RunConfig, take: str) -> list[dict[str, Any]]:
    """What the config's [[override]] say of a take, in their order."""
    return [_table(row) for row in config.override if fnmatchcase(take, row.take)]


def check_overrides(config: RunConfig) -> None:
    """Make sure that every [[override]] can be used, whether or not a take matches it.

    Raises
    ------
    ConfigError
        One has unknown keys or wrong values.
    """
    for row in config.override:
        varied(config, [_table(row)], place=f"[[override]] take = {row.take!r}")


def expand_grid(config: RunConfig) -> list[Variant]:
    """Every combination of the values in [grid]; the config alone where there is no grid.

    Raises
    ------
    ConfigError
        A key has no list of values, or a value cannot be used.
    """
    axes = dict(_axes(config.grid))
    plain = config.model_copy(update={"grid": {}})
    if not axes:
        return [Variant("", {}, plain)]
    titles = _short(list(axes))
    variants = []
    for values in itertools.product(*axes.values()):
        settings = dict(zip(axes, values, strict=True))
        name = ",".join(f"{titles[key]}={_slug(value)}" for key, value in settings.items())
        variants.append(Variant(name, settings, varied(plain, [settings], place="[grid]")))
    names = [variant.name for variant in variants]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ConfigError(
            f"two combinations have the name {twice[0]!r}",
            place="[grid]",
            hint="give every value once, and values that differ in letters and digits",
        )
    return variants


def _table(row: OverrideConfig) -> dict[str, Any]:
    return row.model_dump(exclude={"take"}, exclude_unset=True)


def _check_keys(table: Mapping[str, Any], place: str) -> None:
    for section, inner in table.items():
        if section not in (*FitConfig.model_fields, "takes"):
            known = [*FitConfig.model_fields, "takes"]
            raise ConfigError(
                f"[{section}] cannot differ from take to take; {suggest(section, known)}",
                place=place,
            )
        if not isinstance(inner, Mapping):
            raise ConfigError(f"[{section}]: expected a table, got {inner!r}", place=place)
        for key in inner if section == "takes" else ():
            if key not in OF_TAKE:
                raise ConfigError(
                    f"[takes] {key}: cannot differ from take to take; {suggest(key, OF_TAKE)}",
                    place=place,
                )


def _axes(table: Mapping[str, Any]) -> Iterator[tuple[str, list[Any]]]:
    for key, value in flat(table):
        if not isinstance(value, list) or not value:
            raise ConfigError(
                f"{key}: expected a list of one or more values, got {value!r}", place="[grid]"
            )
        yield key, value


def _short(keys: list[str]) -> dict[str, str]:
    """The last part of each key, where no other key ends alike."""
    last = [key.rpartition(".")[2] for key in keys]
    return {key: end if last.count(end) == 1 else key for key, end in zip(keys, last, strict=True)}


def _slug(value: Any) -> str:
    """A value as part of a folder's name."""
    if isinstance(value, bool):
        return str(value).lower()
    text = str(value)
    text = PurePath(text).stem if text.endswith(".toml") else text
    return re.sub(r"[^\w.+-]+", "_", text)[:60]
