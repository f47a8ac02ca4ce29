"""A config file and those it extends: one table, with every path made absolute where it stands."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from fitpipe.config.toml import read_toml
from fitpipe.errors import ConfigError

_SOURCES: Final = ("pattern", "manifest", "file")  # of [takes]: one excludes the others
_PATHS: Final = (
    "takes.folder",
    "takes.manifest",
    "takes.file.path",
    "takes.static",
    "output.folder",
)
_TOML_PATHS: Final = (  # a preset's name, or the path of a TOML file
    "skeleton.preset",
    "takes.markerset",
    "calibrate.registration",
    "calibrate.bone_lengths",
    "angles.preset",
)
_AROUND: Final = ("override.", "grid.", "takes.file.options.")  # tables that hold settings


@dataclass(frozen=True)
class Layer:
    """One file of a chain of configs, its paths absolute."""

    path: Path
    table: dict[str, Any]


def read_layers(path: Path) -> list[Layer]:
    """The config and all that it extends, the outermost base first.

    Raises
    ------
    ConfigError
        A file cannot be read, or the chain leads back to itself.
    """
    layers: list[Layer] = []
    seen: list[Path] = []
    while True:
        folder = path.parent.absolute()
        real = Path(os.path.realpath(path))
        if real in seen:
            chain = " -> ".join(p.name for p in (*seen, real))
            raise ConfigError(f"extends itself: {chain}", path=path, place="[extends]")
        seen.append(real)
        table = read_toml(path)
        base = table.pop("extends", None)
        takes = table.get("takes")
        if isinstance(takes, dict) and "pattern" in takes:
            takes.setdefault("folder", ".")
        layers.insert(0, Layer(path, anchored(table, folder)))
        if base is None:
            return layers
        if not isinstance(base, str):
            raise ConfigError(
                f"expected the path of a TOML file, got {base!r}", path=path, place="[extends]"
            )
        path = path.parent / base


def merged(base: Mapping[str, Any], top: Mapping[str, Any]) -> dict[str, Any]:
    """Both tables in one: inner tables are merged too, any other value of ``top`` wins."""
    result = dict(base)
    for key, value in top.items():
        inner = result.get(key)
        if not (isinstance(inner, Mapping) and isinstance(value, Mapping)):
            result[key] = value
            continue
        if key == "takes" and any(name in value for name in _SOURCES):
            inner = {k: v for k, v in inner.items() if k not in (*_SOURCES, "folder")}
        result[key] = merged(inner, value)
    return result


def nested(settings: Mapping[str, Any], within: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Settings with dotted keys as tables within tables: ``{"solve": {"max_iterations": 50}}``.

    Raises
    ------
    ConfigError
        A key leads through something that is no table, here or in the table ``within``.
    """
    result: dict[str, Any] = {}
    for key, value in settings.items():
        *sections, name = key.split(".")
        inner, beside = result, within or {}
        for section in sections:
            inner, beside = inner.setdefault(section, {}), beside.get(section, {})
            if not isinstance(inner, dict) or not isinstance(beside, Mapping):
                raise ConfigError(f"setting {key!r}: {section!r} is no table")
        if isinstance(value, Mapping):
            there = inner.get(name)
            value = merged(there if isinstance(there, dict) else {}, value)
        inner[name] = value
    return result


def flat(table: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, Any]]:
    """Every value of tables within tables, with its dotted key."""
    for key, value in table.items():
        dotted = f"{above}.{key}" if above else key
        if isinstance(value, Mapping):
            yield from flat(value, dotted)
        else:
            yield dotted, value


def anchored(value: Any, folder: Path, key: str = "") -> Any:
    """A table with its relative paths put behind ``folder``; ``key`` is where it stands."""
    if isinstance(value, dict):
        return {k: anchored(v, folder, f"{key}.{k}" if key else k) for k, v in value.items()}
    if isinstance(value, list):
        return [anchored(item, folder, key) for item in value]
    return tidy_path(folder / value) if isinstance(value, str) and _is_path(key, value) else value


def _is_path(key: str, value: str) -> bool:
    for prefix in _AROUND:
        key = key.removeprefix(prefix)
    return key in _PATHS or (key in _TOML_PATHS and value.endswith(".toml"))


def tidy_path(path: Path) -> str:
    """The path without ``..`` and ``.``, where that leads to the same file."""
    tidy = os.path.normpath(path)
    return tidy if os.path.realpath(tidy) == os.path.realpath(path) else str(path)


def layer_of(layers: Sequence[Layer], place: Sequence[str | int]) -> Layer | None:
    """The last file that says something at a place; None if none does."""
    for layer in reversed(layers):
        inner: Any = layer.table
        try:
            for part in place:
                inner = inner[part]
        except (KeyError, IndexError, TypeError):
            continue
        return layer
    return None
