"""Finds preset files (skeletons, marker sets, angles) shipped with the package or given by path."""

from __future__ import annotations

import tomllib
from importlib import resources
from pathlib import Path
from typing import Any, Literal

from fitpipe.config.toml import read_toml
from fitpipe.errors import ConfigError, suggest

PresetKind = Literal["angles", "skeletons", "markersets", "names"]


def list_presets(kind: PresetKind) -> list[str]:
    """Names of the presets of a kind that come with fitpipe, sorted."""
    folder = resources.files("fitpipe") / "presets" / kind
    return sorted(
        f.name.removesuffix(".toml") for f in folder.iterdir() if f.name.endswith(".toml")
    )


def load_preset(kind: PresetKind, name: str | Path) -> dict[str, Any]:
    """Tables of a preset, by its name or by the path of a TOML file.

    Raises
    ------
    ConfigError
        There is no such preset or file, or it is not TOML.
    """
    if str(name).endswith(".toml"):
        return read_toml(Path(name))
    known = list_presets(kind)
    if str(name) not in known:
        raise ConfigError(
            f"no {kind.removesuffix('s')} preset {str(name)!r}; give one of {', '.join(known)}, "
            "or the path of a .toml file",
            hint=suggest(str(name), known),
        )
    source = resources.files("fitpipe") / "presets" / kind / f"{name}.toml"
    return tomllib.loads(source.read_text(encoding="utf-8"))
