"""Angles of consecutive blocks of frames that run on from each to the next."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from fitpipe.arrays import FloatArray, IntArray
from fitpipe.kernels.euler_branches import run_on
from fitpipe.records import SkeletonAngles


class RunningOn:
    """Gives the angles of each block the signs and full turns of the block before.

    All joints become anchors: which ones a later frame needs is not known yet.

    Parameters
    ----------
    most_rad : sequence of float, one per segment, radians
        Where angles that have run on go back by a full turn.
    """

    def __init__(self, most_rad: Sequence[float]) -> None:
        self._most_rad = most_rad
        self._is_first = True
        # in the last frame that has them, NaN before the first
        self._world: FloatArray
        self._euler: FloatArray
        self._local: FloatArray

    def on(self, angles: SkeletonAngles) -> SkeletonAngles:
        """The angles of the next block."""
        n_segments = len(angles.segments)
        if self._is_first:
            self._world, self._local = np.full((2, n_segments, 4), np.nan)
            self._euler = np.full((n_segments, 3), np.nan)
            self._is_first = False
        first, segment = _first_known(angles.world_wxyz), np.arange(n_segments)
        same = np.einsum("si,si->s", angles.world_wxyz[first, segment], self._world)
        euler = np.array(angles.euler_rad)
        for s, most in enumerate(self._most_rad):
            own = np.ascontiguousarray(euler[:, s])
            run_on(self._euler[s], most, own)
            euler[:, s] = own
        found = replace(
            _all_anchored(angles),
            world_wxyz=np.where(same < 0, -1.0, 1.0)[:, None] * angles.world_wxyz,
            euler_rad=euler,
            local_before_wxyz=self._local,
        )
        self._world = _latest(found.world_wxyz, self._world)
        self._euler = _latest(found.euler_rad, self._euler)
        self._local = _latest(found.local_wxyz, self._local)
        return found


def _first_known(values: FloatArray) -> IntArray:
    """First frame (segment,) in which values (time, segment, ...) are known; 0 without any."""
    return np.asarray(np.argmax(~np.isnan(values[..., 0]), axis=0))


def _latest(values: FloatArray, before: FloatArray) -> FloatArray:
    """The last known values (segment, ...) of a block, or those before it."""
    back = values[::-1]
    latest = back[_first_known(back), np.arange(len(before))]
    return np.where(np.isnan(latest), before, latest)


def _all_anchored(angles: SkeletonAngles) -> SkeletonAngles:
    skeleton = angles.skeleton
    roots = [j for j, parent in enumerate(skeleton.parents) if parent < 0]
    anchor = (*roots, *(j for j in range(skeleton.n_joints) if j not in roots))
    position = np.full((angles.n_frames, skeleton.n_joints, 3), np.nan)
    position[:, [anchor.index(j) for j in angles.anchor]] = angles.anchor_position_m
    return replace(angles, anchor=anchor, anchor_position_m=position)
