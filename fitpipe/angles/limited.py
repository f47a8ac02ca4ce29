"""Fits frames anew, within joint limits, whose angles exceed them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fitpipe.angles.definition import Definition
from fitpipe.angles.laying import define
from fitpipe.angles.limit_starts import Starts
from fitpipe.angles.skeleton_angles import measure
from fitpipe.arrays import BoolArray, FloatArray
from fitpipe.config.angle_preset import AnglePreset, BoneRow
from fitpipe.errors import SolveError
from fitpipe.kernels import limited_pose as pose
from fitpipe.kernels.limited_fit import CONVERGED, descend
from fitpipe.records import LimitStatus, Skeleton, SkeletonAngles

_FREE_ROUNDS, _ROUNDS = 8, 40
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
    again until none exceeds a limit. Limbs that go to and fro between straight and bent, or
    between the two sides, are in the end kept straight, at a small cost in distance.

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
    for number in range(_ROUNDS):
        beyond = np.flatnonzero((angles.limit_status == LimitStatus.BEYOND).any(axis=1))
        if beyond.size == 0:
            break
        # a limb beyond its limits shows no plane to go by: the frames around tell its twist
        doubted = _doubted(definition, angles)
        around = measure(position, definition, angles.bone_length_m, is_doubted=doubted)
        starts = Starts(
            definition, body, angles, around, position, beyond, is_held=number >= _FREE_ROUNDS
        )
        for i, frame_i in enumerate(beyond.tolist()):
            frame, state = starts.of(i, target_m[frame_i], stiffness[frame_i])
            how, _ = descend(body, frame, state, _STOP_M, _MAX_ITERATIONS)
            position[frame_i, frame.is_placed] = state.joint[frame.is_placed]
            converged[frame_i] = how == CONVERGED
        refitted[beyond] = True
        angles = measure(position, definition, angles.bone_length_m)
    return Limited(position, angles, refitted, converged)


def _doubted(definition: Definition, angles: SkeletonAngles) -> BoolArray:
    """Hinges (time, bone) of limbs that exceed a limit, of the hinge or of what hangs on it."""
    doubted = np.zeros((angles.n_frames, definition.skeleton.n_bones), np.bool_)
    beyond = angles.limit_status == LimitStatus.BEYOND
    for bone, bends in enumerate(definition.hinged):
        if bends >= 0:
            own, next_one = definition.n_bodies + bone, definition.n_bodies + bends
            doubted[:, bone] = beyond[:, own] | beyond[:, next_one]
    return doubted


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
        if definition.body_between(*pair) is None
    ]
    if loose:
        raise SolveError(
            f"joint limits cannot be kept together with the rigid pairs {', '.join(loose)}: they "
            f"join bones that are not in one body of the angles preset {definition.preset.name!r}",
            hint="set angles.limits = false, or take a skeleton without these pairs",
        )


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
        line_owner=definition.line_owner,
        line_rest=np.nan_to_num(definition.line_rest_m(angles.bone_length_m)),
        line_bone=np.concatenate(
            [
                np.zeros((len(definition.line_owner), n_bodies)),
                definition.line_bone * np.nan_to_num(angles.bone_length_m),
            ],
            axis=1,
        ),
    )
