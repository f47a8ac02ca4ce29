"""Starts for joints that no source saw in a frame, by inverse kinematics between those seen.

A joint without observation weighs nothing, so the fit leaves an elbow on the side of the circle
where it starts. The side is taken from the frames before and after in which the whole limb was
seen: their joints, turned with the seen ends and mixed by the distance in frames, show where to
look; two bones are then placed in closed form on the circle, more by forward and backward reaching
(FABRIK; Aristidou and Lasenby 2011, doi:10.1016/j.gmod.2011.05.003) between the seen ends.
"""

# mypy: allow-untyped-defs, allow-untyped-calls
# (Numba infers the types of compiled functions; the Python faces are annotated.)

from __future__ import annotations

import math
import os
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import numpy.typing as npt

from fitpipe.kernels._jit import kernel
from fitpipe.kernels.tree_frames import mark_active
from fitpipe.kernels.tree_start import fill_directions
from fitpipe.kernels.vectors import (
    TINY,
    axes,
    between,
    dot,
    plus,
    square_to,
    swing,
    turned,
    unit,
)

Float = npt.NDArray[np.float64]
Int = npt.NDArray[np.int64]

REACH = 256  # frames before and after, within which a limb is looked for that was seen whole
CHUNK = 1024  # frames handed to a thread at a time
ROUNDS = 24  # of reaching; a start need not be exact
CLOSE = 1e-3  # share of a bone's length within which reaching is close enough


@kernel(contract=False)
def is_whole(stiffness, frame, members, ends):
    """Whether all joints of a limb were seen in a frame."""
    for k in range(members.size):
        if not stiffness[frame, members[k]] > 0.0:
            return False
    for k in range(ends.size):  # noqa: SIM110 - Numba knows no generator
        if not stiffness[frame, ends[k]] > 0.0:
            return False
    return True


@kernel(contract=False)
def look(stiffness, frame, step, members, ends):
    """The nearest frame in one direction that saw a limb whole; -1 if none within REACH did."""
    for distance in range(1, REACH + 1):
        t = frame + step * distance
        if t < 0 or t >= stiffness.shape[0]:
            return -1
        if is_whole(stiffness, t, members, ends):
            return t
    return -1


@kernel(contract=False)
def carry(target, t0, t, members, ends, weight, point):
    """Add to `point` (joint, 3) `weight` x the limb of frame t0, turned with its ends to frame t.

    Two ends turn by the smallest turn, three and more as the first three do. False, and nothing
    added, where the ends do not tell.
    """
    before, after = target[t0], target[t]
    a, b = ends[0], ends[1]
    along0, along = between(before, a, b), between(after, a, b)
    u, v = unit(along0), unit(along)
    if dot(u, u) == 0.0 or dot(v, v) == 0.0:
        return False
    then, now = swing(u, v)
    if ends.size > 2:
        then3 = axes(along0, between(before, a, ends[2]))
        now3 = axes(along, between(after, a, ends[2]))
        if dot(then3[0], then3[0]) > 0.0 and dot(now3[0], now3[0]) > 0.0:
            then, now = then3, now3
    for k in range(members.size):
        j = members[k]
        moved = turned(then, now, between(before, a, j))
        for x in range(3):
            point[j, x] += weight * (after[a, x] + moved[x])
    return True


@kernel(contract=False)
def on_circle(a, b, first, second, i, point, held):
    """Move point i to where two bones from points a and b meet, on its own side of their line.

    On the side of `held`, a direction from a, where it lies on the line. Too far apart: on the
    line; too near: folded.
    """
    gap = between(point, a, b)
    d = math.sqrt(dot(gap, gap))
    along = unit(gap) if d > TINY else unit(held)
    away = between(point, a, i)
    away = plus(away, -dot(away, along), along)
    if not dot(away, away) > TINY:
        away = plus(held, -dot(held, along), along)
    side = unit(away) if dot(away, away) > TINY else square_to(along)
    d = min(max(d, abs(first - second)), first + second)
    x = (first * first - second * second + d * d) / (2.0 * d) if d > TINY else 0.0
    h = math.sqrt(max(first * first - x * x, 0.0))
    for c in range(3):
        point[i, c] = point[a, c] + x * along[c] + h * side[c]


@kernel(contract=False)
def at_length(point, anchor, i, length):
    """The place at `length` from a point, towards point i."""
    away = unit(between(point, anchor, i))
    return plus((point[anchor, 0], point[anchor, 1], point[anchor, 2]), length, away)


@kernel(contract=False)
def reach(members, parent, active, length, point):
    """Move the `members` (parents first) until their bones have about their lengths."""
    n_joints = parent.shape[0]
    for _ in range(ROUNDS):
        worst = 0.0
        # from the far ends: where several bones leave a joint, the mean of what they ask
        for k in range(members.size - 1, -1, -1):
            i = members[k]
            n_below = 0
            total = (0.0, 0.0, 0.0)
            for c in range(i + 1, n_joints):
                if parent[c] == i and active[c]:
                    gap = between(point, i, c)
                    off = abs(math.sqrt(dot(gap, gap)) - length[c])
                    worst = max(worst, off / length[c] if length[c] > 0.0 else off)
                    total = plus(total, 1.0, at_length(point, c, i, length[c]))
                    n_below += 1
            for x in range(3):
                point[i, x] = total[x] / n_below
        for k in range(members.size):
            i = members[k]
            p = parent[i]
            if p >= 0 and active[p]:
                place = at_length(point, p, i, length[i])
                for x in range(3):
                    point[i, x] = place[x]
        if worst < CLOSE:
            return


@kernel(contract=False)
def limb_of(top, parent, active, unseen, members, ends):
    """Collect the unseen joints that hang together from `top`, and the seen ones at their ends.

    Writes into `members` and `ends`, both with parents first; returns how many of each.
    """
    n_joints = parent.shape[0]
    n_members, n_ends = 1, 0
    members[0] = top
    if parent[top] >= 0 and active[parent[top]]:
        ends[0] = parent[top]
        n_ends = 1
    for c in range(top + 1, n_joints):
        if not active[c]:
            continue
        for k in range(n_members):
            if parent[c] == members[k]:
                if unseen[c]:
                    members[n_members] = c
                    n_members += 1
                else:
                    ends[n_ends] = c
                    n_ends += 1
                break
    return n_members, n_ends


@kernel(contract=False)
def guess(t, before, after, target, members, ends, parent, length, held, point):
    """Write into `point` where the unseen `members` of frame t may be."""
    for k in range(members.size):
        for x in range(3):
            point[members[k], x] = 0.0
    total = 0.0
    if ends.size > 1:
        # the nearer frame counts for more
        span = float(after - before)
        share = (after - t) / span if after >= 0 else 1.0
        if before >= 0 and carry(target, before, t, members, ends, share, point):
            total += share
        share = (t - before) / span if before >= 0 else 1.0
        if after >= 0 and carry(target, after, t, members, ends, share, point):
            total += share
    for k in range(members.size):
        j = members[k]
        p = parent[j]
        for x in range(3):
            if total > 0.0:
                point[j, x] /= total
            elif k > 0 or (ends.size > 0 and ends[0] == p):
                # never seen whole nearby: along the bones as they were last seen
                point[j, x] = point[p, x] + length[j] * held[j, x]
            else:
                # the top of the tree: back along a bone
                point[j, x] = point[ends[0], x] - length[ends[0]] * held[ends[0], x]


@kernel(contract=False)
def point_along(point, i, j, direction):
    """Write the unit vector from point i to j into row j of `direction`, if they are apart."""
    u = unit(between(point, i, j))
    if dot(u, u) > 0.0:
        for x in range(3):
            direction[j, x] = u[x]


@kernel(contract=False)
def is_same(kept, found):
    for k in range(kept.size):  # noqa: SIM110 - Numba knows no generator
        if kept[k] != found[k]:
            return False
    return True


@kernel(contract=False)
def repair(low, high, target, stiffness, length, parent, start):
    """Improve the directions of `start` (high - low, joint, 3), in place, at unseen joints.

    Frames low ... high - 1 of `target` and `stiffness`; those around are looked into. Returns the
    number of limbs that were placed.
    """
    n_joints = parent.shape[0]
    active = np.zeros(n_joints, np.bool_)
    unseen = np.zeros(n_joints, np.bool_)
    found = np.empty(2 * n_joints, np.int64)
    point = np.zeros((n_joints, 3))
    # of the limb that starts at each joint: the frame it was last asked for, what it was made of,
    # and the frames around that saw it whole
    asked = np.full(n_joints, -2)
    kept = np.full((n_joints, 2 * n_joints), -1)
    before, after = np.full(n_joints, -1), np.full(n_joints, -1)
    n_placed = 0
    for t in range(low, high):
        n_observed = mark_active(stiffness[t], parent, active)
        n_active = 0
        for i in range(n_joints):
            n_active += active[i]
        if n_active == n_observed:
            continue
        for i in range(n_joints):
            unseen[i] = active[i] and not stiffness[t, i] > 0.0
            if stiffness[t, i] > 0.0:
                for x in range(3):
                    point[i, x] = target[t, i, x]
        held = start[t - low]
        for top in range(n_joints):
            p = parent[top]
            has_parent = p >= 0 and active[p]
            if not unseen[top] or (has_parent and unseen[p]):
                continue
            found[:] = -1
            n_members, n_ends = limb_of(top, parent, active, unseen, found, found[n_joints:])
            members, ends = found[:n_members], found[n_joints : n_joints + n_ends]
            if asked[top] == t - 1 and is_same(kept[top], found):
                if before[top] < t - REACH:
                    before[top] = -1
                far = t + REACH
                if (
                    after[top] < 0
                    and far < len(stiffness)
                    and is_whole(stiffness, far, members, ends)
                ):
                    after[top] = far
            else:
                kept[top] = found
                before[top] = look(stiffness, t, -1, members, ends)
                after[top] = look(stiffness, t, 1, members, ends)
            asked[top] = t
            guess(t, before[top], after[top], target, members, ends, parent, length, held, point)
            if n_members == 1 and n_ends == 2:
                a, b = ends[0], ends[1]
                sign = 1.0 if has_parent else -1.0
                bone = top if has_parent else a  # the one between a and top
                way = (sign * held[bone, 0], sign * held[bone, 1], sign * held[bone, 2])
                on_circle(a, b, length[bone], length[b], top, point, way)
            else:
                reach(members, parent, active, length, point)
            n_placed += 1
            for k in range(n_members):
                if has_parent or k > 0:
                    point_along(point, parent[members[k]], members[k], held)
            for k in range(n_ends):
                if ends[k] != p:
                    point_along(point, parent[ends[k]], ends[k], held)
    return n_placed


def repaired_start(
    target: Float,
    stiffness: Float,
    length: Float,
    parent: Int,
    *,
    rest: Float,
    last: Float | None = None,
    low: int = 0,
    high: int | None = None,
    n_threads: int = 1,
) -> Float | None:
    """Directions for `fitpipe.kernels.tree_newton.fit_tree` to start from, at gaps by repair.

    Parameters
    ----------
    target, stiffness, length, parent, rest, last
        As in `fit_tree`; `last` is that of the frames before `low`.
    low, high : int
        The frames to start; those around them, up to REACH, are only looked into.
    n_threads : int
        Cores to use; 0 = all.

    Returns
    -------
    ndarray, shape (high - low, joint, 3), or None
        None where every active joint of those frames was seen: then what `fit_tree` does by itself
        is the same. A row does not depend on `low` and `high` as long as REACH frames are around.
    """
    n_frames, n_joints = stiffness.shape
    high = n_frames if high is None else high
    if (stiffness[low:high] > 0).all():
        return None

    def as_array(values: Float) -> Float:
        # read-only arrays are another type to Numba, and would be compiled for anew
        return np.require(values, np.float64, ["C", "A", "W"])

    target, stiffness, length = as_array(target), as_array(stiffness), as_array(length)
    parent = np.require(parent, np.int64, ["C", "A", "W"])
    known = np.full((n_joints, 3), np.nan) if last is None else last
    start = np.empty((high - low, n_joints, 3))
    own = slice(low, high)
    around = (target[own], stiffness[own], length, parent, as_array(rest), as_array(known))
    fill_directions(0, high - low, *around, start)

    def repair_chunk(first: int) -> int:
        end = min(first + CHUNK, high)
        rows = start[first - low : end - low]
        return int(repair(first, end, target, stiffness, length, parent, rows))

    chunks = range(low, high, CHUNK)
    threads = min(n_threads or os.cpu_count() or 1, len(chunks))
    if threads == 1:
        n_placed = sum(map(repair_chunk, chunks))
    else:
        with ThreadPoolExecutor(threads) as pool:
            n_placed = sum(pool.map(repair_chunk, chunks))
    return start if n_placed else None
