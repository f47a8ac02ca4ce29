"""What a skeleton preset file may hold."""

from __future__ import annotations

from pathlib import Path

from pydantic import Field

from fitpipe.config.load import make_config
from fitpipe.config.models import Section
from fitpipe.config.presets import load_preset


class JointRow(Section):
    """One joint of a skeleton file."""

    name: str
    parent: str | None = None
    rest: tuple[float, float, float] = Field(
        (0.0, -1.0, 0.0), description="Direction from the parent in a standing person, +Y up."
    )


class SkeletonPreset(Section):
    """A skeleton file: joints in the order of every array, by name."""

    name: str
    title: str = ""
    joint: list[JointRow] = Field(min_length=1)
    mirror: list[tuple[str, str]] = Field([], description="Joints left and right of each other.")
    rigid_pairs: list[tuple[str, str]] = Field([], description="Joints at a constant distance.")


def load_skeleton_preset(name: str | Path) -> SkeletonPreset:
    """A skeleton preset by its name or the path of a TOML file.

    Raises
    ------
    ConfigError
        There is no such preset, or the file has other keys or values than a skeleton's.
    """
    path = Path(name) if str(name).endswith(".toml") else None
    return make_config(SkeletonPreset, load_preset("skeletons", name), path=path)
