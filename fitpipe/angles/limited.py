"""Fits frames anew, within joint limits, whose angles exceed them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.spatial.transform import Rotation

from fitpipe.angles.definition import Definition, define
from fitpipe.angles.limits import unwound
from fitpipe.angles.skeleton_angles import measure
from fitpipe.arrays import BoolArray, ByteArray, FloatArray, IntArray
from fitpipe.config.angle_preset import AnglePreset, BoneRow
from fitpipe.errors import SolveError
from fitpipe.kernels import limited_pose as pose
from fitpipe.kernels.limited_fit import CONVERGED, descend
from fitpipe.records import LimitStatus, Skeleton, SkeletonAngles, TwistStatus

_ROUNDS = 8
_STOP_M = 1e-9
_MAX_ITERATIONS = 300


class Limited(NamedTuple):
    """Frames within the limits, and what became of them."""

    position_m: FloatArray  # (time, joint, 3)
    angles: SkeletonAngles
    is_refitted: BoolArray  # (time,)
    is_converged: BoolArray  # (time,) of the frames fitted anew: the last fit came to rest


def keep_limits(
    angles: SkeletonAngles,
    definition: Definition,
    position_m: FloatArray,
    target_m: FloatArray,
    stiffness: FloatArray,
) -> Limited:
    """Fit the frames anew whose angles exceed a limit; the others stay as they are.

    Minimises the sum of ½ stiffness |x - target|² over the joint angles within their limits, with
    exact bones, from the angles that are set back onto the limits. What a limb's straightness
    leaves open is taken from the frames around, which may have changed; so frames are looked at
    again until none exceeds a limit.

    Parameters
    ----------
    angles : SkeletonAngles
        Of the positions.
    definition : Definition
        That of the angles.
    position_m : ndarray, shape (time, joint, 3), metres
        Fitted, with exact bones.
    target_m : ndarray, shape (time, joint, 3), metres
    stiffness : ndarray, shape (time, joint)
        0 where a joint has no target.

    Raises
    ------
    SolveError
        A rigid pair joins bones that can turn against each other (see `check_limits`).
    """
    check_limits(definition)
    body = _body(definition, angles)
    position = np.array(position_m)
    refitted = np.zeros(len(position), np.bool_)
    converged = np.zeros(len(position), np.bool_)
    for _ in range(_ROUNDS):
        beyond = np.flatnonzero((angles.limit_status == LimitStatus.BEYOND).any(axis=1))
        if beyond.size == 0:
            break
        kinds = _kinds(definition, angles.twist_status[beyond])
        ups = _parent_frames(angles, beyond)
        for i, frame_i in enumerate(beyond.tolist()):
            frame = pose.Frame(
                kind=kinds[i],
                up=ups[i],
                is_placed=~np.isnan(position[frame_i, :, 0]),
                is_anchored=~np.isnan(angles.anchor_position_m[frame_i, :, 0]),
                target=np.where(stiffness[frame_i, :, None] > 0, target_m[frame_i], 0.0),
                stiffness=np.where(np.isnan(position[frame_i, :, 0]), 0.0, stiffness[frame_i]),
            )
            state = _state(body, angles, ups[i], frame_i)
            how, _ = descend(body, frame, state, _STOP_M, _MAX_ITERATIONS)
            placed = frame.is_placed
            position[frame_i, placed] = state.joint[placed]
            converged[frame_i] = how == CONVERGED
        refitted[beyond] = True
        angles = measure(position, definition, angles.bone_length_m)
    return Limited(position, angles, refitted, converged)


def load_limit_kernels() -> None:
    """Have the kernels of `keep_limits` compiled, or loaded from Numba's cache, on a tiny take."""
    skeleton = Skeleton("chain", ("a", "b"), (-1, 0))
    bone = BoneRow(
        joint="b", along="+z", angles=("bend", "side", "twist"), limits_deg={"bend": (-1, 1)}
    )
    definition = define(skeleton, AnglePreset(name="chain", bone=(bone,)))
    position = np.array([[[0.0, 0.0, 0.0], [0.0, 0.0, 1.0]]])
    angles = measure(position, definition, np.ones(1))
    keep_limits(angles, definition, position, position, np.ones((1, 2)))


def check_limits(definition: Definition) -> None:
    """Make sure that frames can be held to the limits.

    Raises
    ------
    SolveError
        A rigid pair joins bones that can turn against each other; the distance would not last.
    """
    skeleton = definition.skeleton
    loose = [
        skeleton.bone_names[skeleton.n_bones + i]
        for i, pair in enumerate(skeleton.rigid_pairs)
        if _owner(definition, pair) is None
    ]
    if loose:
        raise SolveError(
            f"joint limits cannot be kept together with the rigid pairs {', '.join(loose)}: they "
            f"join bones that are not in one body of the angles preset {definition.preset.name!r}",
            hint="set angles.limits = false, or take a skeleton without these pairs",
        )


def _owner(definition: Definition, pair: tuple[int, int]) -> int | None:
    """The body whose bones alone join the two joints; None if there is none."""
    between = _bones_between(definition, *pair)
    for body, members in enumerate(definition.members):
        if between <= set(members):
            return body
    return None


def _bones_between(definition: Definition, a: int, b: int) -> set[int]:
    skeleton = definition.skeleton
    bone_of = {child: k for k, (_, child) in enumerate(skeleton.bones)}

    def to_root(joint: int) -> set[int]:
        found = set()
        while joint in bone_of:
            found.add(bone_of[joint])
            joint = skeleton.parents[joint]
        return found

    return to_root(a) ^ to_root(b)


def _body(definition: Definition, angles: SkeletonAngles) -> pose.Body:
    """The arrays that the kernels read."""
    skeleton, n_bodies = definition.skeleton, definition.n_bodies
    n_segments = len(definition.segments)
    bones = np.array(skeleton.bones, dtype=np.int64).reshape(-1, 2)
    bone_of = {child: k for k, (_, child) in enumerate(skeleton.bones)}
    none = np.full(n_bodies, -1)
    owner = np.full(n_segments, -1)
    for body, members in enumerate(definition.members):
        owner[[n_bodies + k for k in members]] = body
    return pose.Body(
        parent=np.array(definition.parents),
        order=np.array(definition.order),
        rank=np.argsort(definition.order),
        body=owner,
        bone=np.concatenate([none, np.arange(skeleton.n_bones)]),
        axes=np.array(definition.axes),
        rest=np.concatenate([np.zeros((n_bodies, 3)), definition.rest]),
        length=np.concatenate([np.zeros(n_bodies), np.nan_to_num(angles.bone_length_m)]),
        bone_order=np.array(
            [n_bodies + bone_of[j] for j in skeleton.topological_order.tolist() if j in bone_of],
            dtype=np.int64,
        ),
        from_joint=np.concatenate([none, bones[:, 0]]),
        to_joint=np.concatenate([none, bones[:, 1]]),
        anchor=np.array(angles.anchor, dtype=np.int64),
        low=np.array(definition.limit_rad[..., 0]),
        high=np.array(definition.limit_rad[..., 1]),
    )


def _kinds(definition: Definition, twist_status: ByteArray) -> IntArray:
    """What the variables of every segment are, (frame, segment)."""
    n_bodies = definition.n_bodies
    limited = np.asarray(definition.is_limited.any(axis=1))
    is_stiff = {_owner(definition, pair) for pair in definition.skeleton.rigid_pairs}
    kinds = np.empty(twist_status.shape, dtype=np.int64)
    for s in range(len(definition.segments)):
        bone = s - n_bodies
        measured, other = pose.SWING, pose.SWING  # by whether the twist was measured
        shown_by = s
        if bone < 0:
            measured = other = pose.EULER if limited[s] else pose.BALL
        elif definition.body_of(bone) >= 0:
            shown_by = definition.body_of(bone)
            measured = pose.FIXED if shown_by in is_stiff else pose.MEMBER
            other = pose.FIXED if shown_by in is_stiff else pose.SWING
        elif definition.hinged[bone] >= 0:
            measured = pose.EULER if limited[s] else pose.BALL
            other = pose.EULER_TWO if limited[s] else pose.SLIDE
        elif definition.hinge_of(bone) >= 0:
            measured = pose.HINGE
            other = pose.SWING_EULER if limited[s] else pose.SWING
        elif definition.bone_row(bone).twist == "children":
            measured = other = pose.BALL
        elif limited[s]:
            measured = other = pose.SWING_EULER
        is_shown = twist_status[:, shown_by] == TwistStatus.MEASURED
        kinds[:, s] = np.where(is_shown, measured, other)
    kinds[twist_status == TwistStatus.ABSENT] = pose.ABSENT
    return kinds


def _parent_frames(angles: SkeletonAngles, frames: IntArray) -> FloatArray:
    """World frames of the segments' parents, (frame, segment, 3, 3).

    Where a parent is absent, its frame in the nearest frame before (or the first) that has it.
    """
    ups = np.tile(np.eye(3), (len(frames), len(angles.segments), 1, 1))
    for s, up in enumerate(angles.segment_parent):
        if up < 0:
            continue
        known = np.flatnonzero(~np.isnan(angles.world_wxyz[:, up, 0]))
        if known.size:
            at = known[np.maximum(np.searchsorted(known, frames, side="right") - 1, 0)]
            ups[:, s] = _matrices(angles.world_wxyz[at, up])
    return ups


def _matrices(wxyz: FloatArray) -> FloatArray:
    return np.asarray(Rotation.from_quat(wxyz, scalar_first=True).as_matrix())


def _state(body: pose.Body, angles: SkeletonAngles, up: FloatArray, frame_i: int) -> pose.State:
    """The pose of a frame; angles that exceed their limits are set back by the first step."""
    state: pose.State = pose.new_state(len(body.parent), len(body.anchor), angles.skeleton.n_joints)
    wxyz = angles.world_wxyz[frame_i]
    there = ~np.isnan(wxyz[:, 0])
    state.local[there] = np.swapaxes(up[there], -1, -2) @ _matrices(wxyz[there])
    limits = np.stack([body.low, body.high], axis=-1)
    state.angle[:] = unwound(np.nan_to_num(angles.euler_rad[frame_i]), limits)
    state.anchor[:] = np.nan_to_num(angles.anchor_position_m[frame_i])
    return state
