"""Joint positions from joint angles: the way back from `skeleton_angles`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import numpy.typing as npt

from fitpipe.angles.euler import rotation_from_euler
from fitpipe.angles.laying import AUTO, define
from fitpipe.arrays import FloatArray
from fitpipe.config.angle_preset import AnglePreset
from fitpipe.errors import SolveError, suggest
from fitpipe.records import Skeleton


def pose_skeleton(
    skeleton: Skeleton,
    euler_rad: Mapping[str, npt.ArrayLike],
    *,
    bone_length_m: npt.ArrayLike | None = None,
    root_position_m: npt.ArrayLike = (0.0, 0.0, 0.0),
    preset: str | Path | AnglePreset = AUTO,
) -> FloatArray:
    """Joint positions of a skeleton whose segments are turned by given angles.

    Parameters
    ----------
    skeleton : Skeleton
        With one root.
    euler_rad : mapping of segment to array of shape (3,) or (time, 3), radians
        In the preset's sequence; segments left out are not turned against their parents.
    bone_length_m : array-like, shape (bone,) or (link,), metres, optional
        Default: the skeleton's.
    root_position_m : array-like, shape (3,) or (time, 3), metres
    preset : str, path or AnglePreset
        What the angles mean, as in `skeleton_angles`.

    Returns
    -------
    position_m : ndarray, shape (time, joint, 3), metres
        One frame if nothing given has a time axis.

    Raises
    ------
    SolveError
        A name that is no segment, arrays that do not fit each other, no lengths, several roots.
    ConfigError
        The preset does not exist or does not fit the skeleton.
    """
    definition = define(skeleton, preset)
    given = {name: np.atleast_2d(np.asarray(v, dtype=float)) for name, v in euler_rad.items()}
    root = np.atleast_2d(np.asarray(root_position_m, dtype=float))
    length = skeleton.bone_length_m if bone_length_m is None else np.asarray(bone_length_m)
    n_time = max(len(array) for array in (root, *given.values()))
    faults = [
        f"no segment {name!r}; {suggest(name, definition.segments)}"
        for name in given
        if name not in definition.segments
    ]
    faults += [
        f"{name} has shape {array.shape}, expected (3,) or ({n_time}, 3)"
        for name, array in (*given.items(), ("root_position_m", root))
        if array.shape not in ((1, 3), (n_time, 3))
    ]
    if skeleton.parents.count(-1) != 1:
        faults.append(f"the skeleton has {skeleton.parents.count(-1)} roots, expected one")
    if length is None or length.shape not in ((skeleton.n_bones,), (skeleton.n_links,)):
        faults.append(f"expected {skeleton.n_bones} bone lengths")
    if length is None or faults:
        raise SolveError(f"cannot pose the skeleton {skeleton.name!r}", faults=faults)

    R = np.empty((n_time, len(definition.segments), 3, 3))
    for segment in definition.order.tolist():
        name, up = definition.segments[segment], definition.parents[segment]
        basis = definition.basis[segment]
        turn = rotation_from_euler(
            given.get(name, np.zeros((1, 3))), definition.rows[segment].sequence
        )
        local = basis @ turn @ basis.T
        R[:, segment] = local if up < 0 else R[:, up] @ local
    position = np.empty((n_time, skeleton.n_joints, 3))
    bone_of = {child: k for k, (_, child) in enumerate(skeleton.bones)}
    for joint in skeleton.topological_order.tolist():
        up = skeleton.parents[joint]
        if up < 0:
            position[:, joint] = root
            continue
        k = bone_of[joint]
        step = R[:, definition.n_bodies + k] @ (length[k] * definition.rest[k])
        position[:, joint] = position[:, up] + step
    return position
