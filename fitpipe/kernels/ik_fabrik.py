"""Forward and backward reaching on a tree of joints.

Backward, from the tips: each joint's centre is drawn to the end of a bone of unchanged length;
where branches meet (a sub-base) it takes the mean of what they ask. Forward, from the base: each
joint takes the value, within its limits and about its own axis, that brings the points it carries
nearest to where the backward pass wants them. So joint values, not only points, come out, and the
bones keep their lengths whatever the joints can do.
"""

# mypy: allow-untyped-defs, allow-untyped-calls
# (Numba infers the types of compiled functions; the Python faces are annotated.)

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from fitpipe.kernels._jit import kernel
from fitpipe.kernels.ik_ccd import best_turn, pull, turn_point
from fitpipe.kernels.ik_descent import PATIENCE
from fitpipe.kernels.ik_links import forward, residual

SLOW = 1e-3  # relative decrease of F in a round that counts as none
INNER = 3  # rounds over the joints that share a centre


class Points(NamedTuple):
    """Joint centres and, after them, tips: points joined by bones."""

    up: npt.NDArray[np.int64]  # (point,) the joint a point sits on, -1 for the base
    last: npt.NDArray[np.int64]  # (joint,) last of the joints that share its centre
    heed: npt.NDArray[np.float64]  # (joint, point) how much a joint heeds where a point is wanted
    below: npt.NDArray[np.bool_]  # (joint, point) everything it moves


@kernel()
def reach_back(links, points, goal, at, want, share):
    """Where the backward pass wants every point, into `want`; `share` 0 marks unmoved ones."""
    n = links.parent.size
    for k in range(share.size):
        share[k] = 0.0 if k < n else goal.weight[k - n]
        for r in range(3):
            want[k, r] = 0.0 if k < n else goal.position[k - n, r]
    for k in range(share.size - 1, -1, -1):
        if k < n and share[k] > 0.0:
            for r in range(3):
                want[k, r] /= share[k]
        up = points.up[k]
        if share[k] == 0.0 or up < 0:
            continue
        if k < n and links.slides[k]:
            # what carries a slide follows it without turning
            for r in range(3):
                want[up, r] += share[k] * (want[k, r] + at[up, r] - at[k, r])
            share[up] += share[k]
            continue
        bone = 0.0
        apart = 0.0
        for r in range(3):
            bone += (at[k, r] - at[up, r]) ** 2
            apart += (want[k, r] - at[up, r]) ** 2
        shift = 0.0 if apart == 0.0 else math.sqrt(bone / apart)
        for r in range(3):
            away = (at[up, r] - want[k, r]) * shift if apart > 0.0 else at[up, r] - at[k, r]
            want[up, r] += share[k] * (want[k, r] + away)
        share[up] += share[k]


@kernel()
def fit_joint(links, points, q, i, at, axis, want, share):
    """Set joint `i` to what suits the points below it best; move everything it carries."""
    if share[i] == 0.0:
        return
    if links.slides[i]:
        value = q[i]
        for r in range(3):
            value += axis[i, r] * (want[i, r] - at[i, r])
        value = min(max(value, links.lower[i]), links.upper[i])
    else:
        across = 0.0
        along = 0.0
        for c in range(points.up.size):
            weight = points.heed[i, c] * share[c]
            if weight > 0.0:
                more_across, more_along = pull(at[c], want[c], at[i], axis[i], weight)
                across += more_across
                along += more_along
        value = best_turn(across, along, q[i], links.lower[i], links.upper[i])
    moved = value - q[i]
    if moved == 0.0:
        return
    q[i] = value
    s, c_ = math.sin(moved), math.cos(moved)
    origin = np.zeros(3)
    for c in range(points.up.size):
        if not points.below[i, c]:
            continue
        if links.slides[i]:
            for r in range(3):
                at[c, r] += moved * axis[i, r]
        else:
            turn_point(at[c], at[i], axis[i], s, c_)
            if c < q.size:
                turn_point(axis[c], origin, axis[i], s, c_)
    if links.slides[i]:
        for r in range(3):
            at[i, r] += moved * axis[i, r]


@kernel()
def reach(links, points, goal, rules, q, work):
    """Improve `q` in place by rounds of both passes; rounds taken.

    Joints that cannot follow their points may make a round worse; the best round is kept. Ends
    at a target or when rounds no longer help.
    """
    n = q.size
    at = np.empty((points.up.size, 3))
    want = np.empty((points.up.size, 3))
    share = np.empty(points.up.size)
    best = q.copy()
    forward(links, q, work.pose)
    best_F, worst, _ = residual(links, work.pose, goal, work.left)
    idle = 0
    iteration = 0
    while iteration < rules.max_iterations and worst > rules.tolerance and idle < PATIENCE:
        iteration += 1
        for r in range(3):
            for k in range(n):
                at[k, r] = work.pose.centre[k, r]
            for e in range(goal.weight.size):
                at[n + e, r] = work.pose.tip[e, r]
        reach_back(links, points, goal, at, want, share)
        i = 0
        while i < n:
            for _ in range(1 if points.last[i] == i else INNER):
                for k in range(i, points.last[i] + 1):
                    fit_joint(links, points, q, k, at, work.pose.axis, want, share)
            i = points.last[i] + 1
        forward(links, q, work.pose)
        F, worst_now, _ = residual(links, work.pose, goal, work.left)
        idle = idle + 1 if best_F * (1.0 - SLOW) <= F else 0
        if best_F > F:
            best_F, worst = F, worst_now
            for i in range(n):
                best[i] = q[i]
    for i in range(n):
        q[i] = best[i]
    return iteration
