"""The group ``angles`` of the file format: its rows, and the record read back from them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

import numpy as np

from fitpipe.output.entry import Entry
from fitpipe.records import Fit, LimitStatus, Skeleton, SkeletonAngles, TwistStatus

_T, _S, _TURN = "time", "segment", "turn"


def _if_any(value: Callable[[SkeletonAngles], Any]) -> Callable[[Fit], Any]:
    """A value of the angles; None where the fit has none."""
    return lambda fit: None if fit.angles is None else value(fit.angles)


def _by_segment(angles: SkeletonAngles, of_bones: Any) -> Any:
    """Values of the bones along ``segment``, NaN for the bodies."""
    shape = (angles.n_bodies, *np.shape(of_bones)[1:])
    return np.concatenate([np.full(shape, np.nan), of_bones])


ANGLE_ENTRIES: Final[tuple[Entry, ...]] = (
    Entry(
        "angles/segment", (_S,), "text", "1", "name of the segment",
        _if_any(lambda a: a.segments),
        "Body frames first, then every bone in the order of the dimension bone, named by its "
        "child joint.",
    ),
    Entry(
        "angles/turn", (_TURN,), "text", "1", "which of the three turns",
        _if_any(lambda _: ["first", "second", "third"]),
    ),
    Entry(
        "angles/component", ("component",), "text", "1", "component of the quaternion",
        _if_any(lambda _: list("wxyz")), "w is the real part.",
    ),
    Entry(
        "angles/axis", ("axis",), "text", "1", "axis of the segment",
        _if_any(lambda _: list("xyz")),
    ),
    Entry(
        "angles/anchor", ("anchor",), "text", "1", "joint placed by its own position",
        _if_any(lambda a: [a.skeleton.joints[joint] for joint in a.anchor]),
        "The roots first, then joints that in some frame are there without their parent.",
    ),
    Entry(
        "angles/euler", (_T, _S, _TURN), "float64", "rad",
        "turns of the segment against its parent segment", _if_any(lambda a: a.euler_rad),
        "About the signed axes of sequence, each as the turns before left it; in the zero pose all "
        "are zero. They run on over time and may exceed pi. NaN where the segment is absent.",
    ),
    Entry(
        "angles/local_wxyz", (_T, _S, "component"), "float64", "1",
        "rotation from the segment's frame into its parent segment's, as a unit quaternion",
        _if_any(lambda a: a.local_wxyz), "The same turn as euler. Signs run on over time.",
    ),
    Entry(
        "angles/world_wxyz", (_T, _S, "component"), "float64", "1",
        "rotation from the segment's frame into the reference frame, as a unit quaternion",
        _if_any(lambda a: a.world_wxyz),
        "A joint lies at its parent joint + length * (world_wxyz applied to rest_direction) of the "
        "segment with its name.",
    ),
    Entry(
        "angles/twist_status", (_T, _S), "uint8", "1",
        "what tells how the segment is turned about its own axis",
        _if_any(lambda a: a.twist_status),
        "absent: the segment has no orientation. measured: points beside the axis tell it. "
        "carried: taken from the frames around, the limb is straight or a point is missing. "
        "transported: nothing tells it, the segment follows its parent by the smallest turn.",
        TwistStatus,
    ),
    Entry(
        "angles/is_gimbal", (_T, _S), "uint8", "1",
        "1 where the second turn is near a quarter turn", _if_any(lambda a: a.is_gimbal),
        "There the first and the third cannot be told apart well; quaternions are not affected.",
    ),
    Entry(
        "angles/limit_status", (_T, _S), "uint8", "1", "the turns against their limits",
        _if_any(lambda a: a.limit_status),
        "none: no limits, or no turns. within: all turns are within their limits. at: one is on "
        "its limit. beyond: one exceeds it.",
        LimitStatus,
    ),
    Entry(
        "angles/anchor_position", (_T, "anchor", "space"), "float64", "m",
        "position of the joint where no bone places it", _if_any(lambda a: a.anchor_position_m),
        "In the reference source's frame. NaN in frames in which its bone does.",
    ),
    Entry(
        "angles/preset", (), "text", "1", "name of the preset that defines the turns",
        _if_any(lambda a: a.preset),
    ),
    Entry(
        "angles/label", (_S,), "text", "1", "what the segment's turns are called together",
        _if_any(lambda a: a.segment_label),
    ),
    Entry(
        "angles/parent", (_S,), "int64", "1", "segment that the turns are relative to",
        _if_any(lambda a: a.segment_parent),
        "Counted from 0 along segment; -1 is the reference frame.",
    ),
    Entry(
        "angles/turn_name", (_S, _TURN), "text", "1", "name of the turn in the positive direction",
        _if_any(lambda a: a.angle_names),
    ),
    Entry(
        "angles/sequence", (_S, _TURN), "text", "1", "axis of the turn",
        _if_any(lambda a: a.sequence),
        "-y: positive turns are those that are negative about y by the right-hand rule.",
    ),
    Entry(
        "angles/limit_low", (_S, _TURN), "float64", "rad", "lowest value of the turn",
        _if_any(lambda a: a.limit_rad[..., 0]), "-inf where it has no limit.",
    ),
    Entry(
        "angles/limit_high", (_S, _TURN), "float64", "rad", "highest value of the turn",
        _if_any(lambda a: a.limit_rad[..., 1]), "inf where it has no limit.",
    ),
    Entry(
        "angles/basis", (_S, "space", "axis"), "float64", "1",
        "axes that sequence speaks of, in the zero pose", _if_any(lambda a: a.basis),
        "One column per axis; the unit matrix but for segments whose axis lies along the bone.",
    ),
    Entry(
        "angles/rest_direction", (_S, "space"), "float64", "1",
        "unit vector from the parent to the joint in the zero pose",
        _if_any(lambda a: _by_segment(a, a.rest_direction)), "NaN for body frames.",
    ),
    Entry(
        "angles/length", (_S,), "float64", "m", "length of the bone",
        _if_any(lambda a: _by_segment(a, a.bone_length_m)), "NaN for body frames.",
    ),
)  # fmt: skip


def read_angles(values: Mapping[str, Any], skeleton: Skeleton) -> SkeletonAngles | None:
    """The record from a file's variables; None where the file has no angles."""
    if "angles/segment" not in values:
        return None
    of = {name.removeprefix("angles/"): value for name, value in values.items()}
    n_bodies = len(of["segment"]) - skeleton.n_bones
    return SkeletonAngles(
        skeleton=skeleton,
        preset=of["preset"],
        segments=tuple(of["segment"]),
        segment_label=tuple(of["label"]),
        segment_parent=tuple(int(up) for up in of["parent"]),
        sequence=tuple(map(tuple, of["sequence"])),
        angle_names=tuple(map(tuple, of["turn_name"])),
        basis=of["basis"],
        rest_direction=of["rest_direction"][n_bodies:],
        bone_length_m=of["length"][n_bodies:],
        anchor=tuple(skeleton.joint_index(joint) for joint in of["anchor"]),
        anchor_position_m=of["anchor_position"],
        world_wxyz=of["world_wxyz"],
        euler_rad=of["euler"],
        is_gimbal=of["is_gimbal"],
        twist_status=of["twist_status"],
        limit_rad=np.stack([of["limit_low"], of["limit_high"]], axis=-1),
        limit_status=of["limit_status"],
    )
