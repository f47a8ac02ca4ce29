"""What a preset of joint angles may hold: zero pose, axes, signs and limits of every segment."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from fitpipe.config.load import make_config
from fitpipe.config.models import Section
from fitpipe.config.presets import load_preset

SignedAxis = Literal["+x", "-x", "+y", "-y", "+z", "-z"]
Vector = tuple[float, float, float]
Degrees = Annotated[float, Field(ge=-360, le=360)]


def _three_axes(axes: tuple[SignedAxis, ...]) -> tuple[SignedAxis, ...]:
    if len({axis[1] for axis in axes}) != 3:
        raise ValueError(f"expected x, y and z once each, got {', '.join(axes)}")
    return axes


def _low_to_high(limits: dict[str, tuple[float, float]]) -> dict[str, tuple[float, float]]:
    odd = [f"{name} [{low:g}, {high:g}]" for name, (low, high) in limits.items() if low > high]
    if odd:
        raise ValueError(f"expected the lower limit first, got {', '.join(odd)}")
    return limits


def _different(names: tuple[str, ...]) -> tuple[str, ...]:
    if len(set(names)) != len(names):
        raise ValueError(f"expected three different names, got {', '.join(names)}")
    return names


Joints = str | tuple[str, ...]
Sequence3 = Annotated[tuple[SignedAxis, SignedAxis, SignedAxis], AfterValidator(_three_axes)]
Names3 = Annotated[tuple[str, str, str], AfterValidator(_different)]
Limits = Annotated[dict[str, tuple[Degrees, Degrees]], AfterValidator(_low_to_high)]


class SegmentRow(Section):
    """What bodies and bones have in common."""

    label: str = Field("", description="Name for people: 'left knee'. Default: the segment's.")
    parent: str | None = Field(
        None,
        description="Segment that the angles are relative to. Default: the parent bone, else the "
        "body it belongs to; for a body: the world.",
    )
    sequence: Sequence3 = Field(
        ("+x", "+y", "+z"),
        description="Axes of the three turns in their order, each about the axis as the turns "
        "before left it; a minus makes turns about the opposite axis positive.",
    )
    angles: Names3 = Field(("x", "y", "z"), description="Names of the three turns.")
    limits_deg: Limits = Field({}, description="Lowest and highest value of an angle, by name.")


class BodyRow(SegmentRow):
    """A frame that several bones fix together."""

    name: str
    lines: tuple[tuple[Joints, Joints], ...] = Field(
        min_length=1,
        description="Lines that turn with the body, each from a joint to another; a list of joints "
        "stands for their middle. The frame is the one that lays the lines of the zero pose onto "
        "them best (Kabsch). The bones between the joints belong to the body.",
    )


class BoneRow(SegmentRow):
    """A bone, named by its child joint."""

    joint: str
    rest: Vector | None = Field(
        None, description="Direction in the zero pose. Default: that of the skeleton."
    )
    along: SignedAxis | None = Field(
        None,
        description="Axis of the segment that is laid along its direction in the zero pose by the "
        "smallest turn. Default: the segment's axes are the world's.",
    )
    twist: Literal["parent", "hinge", "children"] = Field(
        "parent",
        description="What tells how the bone is turned about itself: nothing ('parent': it follows "
        "its parent), the plane it spans with the bone after it ('hinge'), or several bones at "
        "its end ('children').",
    )
    axis: SignedAxis | None = Field(
        None, description="Of a hinge: the axis about which the next bone bends positively."
    )
    side: Literal["bend", "parent"] = Field(
        "bend",
        description="Which of the two sides of a hinge's plane is meant: 'bend': that on which the "
        "limb bends positively; 'parent': that on which the axis is nearest to the parent's.",
    )


class AnglePreset(Section):
    """A file of joint angles; every frame is parallel to the world in the zero pose."""

    name: str
    title: str = ""
    zero_pose: str = Field("", description="The pose in which all angles are zero, in words.")
    straight_deg: Annotated[float, Field(gt=0, lt=45)] = Field(
        12.0, description="Hinges bent less than this, or this near to folded, show no plane."
    )
    gimbal_deg: Annotated[float, Field(gt=0, lt=45)] = Field(
        10.0, description="Within this of a quarter turn of the middle angle the flag is set."
    )
    limits_source: tuple[str, ...] = Field((), description="Where the limits are taken from.")
    body: tuple[BodyRow, ...] = ()
    bone: tuple[BoneRow, ...] = ()


def load_angle_preset(name: str | Path) -> AnglePreset:
    """A preset of joint angles by its name or the path of a TOML file.

    Raises
    ------
    ConfigError
        There is no such preset, or the file has other keys or values than such a preset.
    """
    path = Path(name) if str(name).endswith(".toml") else None
    return make_config(AnglePreset, load_preset("angles", name), path=path)
