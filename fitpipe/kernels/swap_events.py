"""Where the joints of one source jump onto each other's tracks."""

# mypy: allow-untyped-defs, allow-untyped-calls
# (Numba infers the types of compiled functions; the Python faces are annotated.)

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from fitpipe.kernels._jit import kernel


class Tracks(NamedTuple):
    """The last two sightings of every joint; carried from one block of frames to the next."""

    count: Any  # (joint,) int64, sightings so far, 2 at most
    position: Any  # (2, joint, 3) metres: the last, the one before
    time_s: Any  # (2, joint)


class Limbs(NamedTuple):
    """Left and right joints that follow each other along a limb, one limb after the other."""

    begin: Any  # (limb + 1,) int64, first pair of each limb
    left: Any  # (pair,) int64
    right: Any  # (pair,) int64


class Rules(NamedTuple):
    """What counts as a change of places."""

    reach_s: float  # a sample this much later than the last is still compared with it
    least_jump_m: float
    left_over: float  # how much nearer to the other's track than to its own
    share: float  # of a limb's joints that must change


class Found(NamedTuple):
    """Arrays the scan writes, one row a frame."""

    own: Any  # (time, joint) distance to where the joint was expected; NaN where it was not
    linked: Any  # (time, joint) bool, expected at all
    event: Any  # (time, limb) bool, the limb's sides change places with this frame
    mostly: Any  # (time, limb) bool, most joints of the limb are linked


class Expected(NamedTuple):
    """Arrays the scan writes for chosen frames, one row each."""

    places: Any  # (2, frame, joint, 3): the last place, where it was moving to; NaN if not linked
    earlier: Any  # (frame, joint, 3): the place before the last, or the last if there is none


def no_tracks(n_joints: int) -> Tracks:
    """The state before the first frame."""
    return Tracks(
        np.zeros(n_joints, np.int64), np.full((2, n_joints, 3), np.nan), np.zeros((2, n_joints))
    )


@kernel(contract=False)
def nearest(x, y, z, place, k):
    """Squared distance of a point to row k of `place`."""
    d0, d1, d2 = x - place[k, 0], y - place[k, 1], z - place[k, 2]
    return d0 * d0 + d1 * d1 + d2 * d2


@kernel(contract=False)
def scan_swaps(position, time_s, limbs, rules, tracks, row, found, expected):
    """Go through the frames of a block in order; writes into the last three arguments.

    position (time, joint, 3), NaN where missing. Frame t is written into row[t] of `expected`,
    where that is not negative. `tracks` is moved on to the end of the block.
    """
    n_time, n_joints = position.shape[0], position.shape[1]
    now, ahead = np.zeros((n_joints, 3)), np.zeros((n_joints, 3))  # last place, and moved on
    before = np.zeros((n_joints, 3))
    for t in range(n_time):
        for j in range(n_joints):
            seen = position[t, j, 0] == position[t, j, 0]
            since = time_s[t] - tracks.time_s[0, j]
            linked = seen and tracks.count[j] > 0 and since <= rules.reach_s
            moving = tracks.count[j] > 1
            span = tracks.time_s[0, j] - tracks.time_s[1, j]
            moving = moving and span <= rules.reach_s
            rate = since / span if moving else 0.0
            for c in range(3):
                p1, p2 = tracks.position[0, j, c], tracks.position[1, j, c]
                before[j, c] = p2 if moving else p1
                now[j, c] = p1 if linked else np.nan
                ahead[j, c] = p1 + rate * (p1 - p2 if moving else 0.0) if linked else np.nan
            x, y, z = position[t, j, 0], position[t, j, 1], position[t, j, 2]
            found.linked[t, j] = linked
            found.own[t, j] = np.nan
            if linked:
                square = min(nearest(x, y, z, now, j), nearest(x, y, z, ahead, j))
                found.own[t, j] = math.sqrt(square)
        for limb in range(len(limbs.begin) - 1):
            n_seen = n_switched = n_linked = 0
            first, end = limbs.begin[limb], limbs.begin[limb + 1]
            for k in range(2 * first, 2 * end):
                i = limbs.left[k // 2] if k % 2 == 0 else limbs.right[k // 2]
                across = limbs.right[k // 2] if k % 2 == 0 else limbs.left[k // 2]
                n_linked += found.linked[t, i]
                x, y, z = position[t, i, 0], position[t, i, 1], position[t, i, 2]
                # a limb exchanged for one frame moves on from where the other side was before
                e0 = x - (2 * now[across, 0] - before[i, 0])
                e1 = y - (2 * now[across, 1] - before[i, 1])
                e2 = z - (2 * now[across, 2] - before[i, 2])
                square = e0 * e0 + e1 * e1 + e2 * e2
                if square != square:
                    continue
                square = min(square, nearest(x, y, z, now, across))
                other = math.sqrt(min(square, nearest(x, y, z, ahead, across)))
                n_seen += 1
                own = found.own[t, i]
                n_switched += own > rules.least_jump_m and other < rules.left_over * own
            size = 2 * (end - first)
            found.event[t, limb] = n_switched > rules.share * n_seen and n_switched >= min(3, size)
            found.mostly[t, limb] = 2 * n_linked > size
        if row[t] >= 0:
            expected.places[0, row[t]] = now
            expected.places[1, row[t]] = ahead
            expected.earlier[row[t]] = before
        for j in range(n_joints):
            if position[t, j, 0] == position[t, j, 0]:
                tracks.count[j] = min(tracks.count[j] + 1, 2)
                tracks.position[1, j] = tracks.position[0, j]
                tracks.time_s[1, j] = tracks.time_s[0, j]
                tracks.position[0, j] = position[t, j]
                tracks.time_s[0, j] = time_s[t]
