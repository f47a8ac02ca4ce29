"""Joints that a bone of length 0 makes one point: joined before a fit, told apart after it.

|x_a − x_b| has no derivative where the joints coincide, so such a pair is not left to the search.
"""

# mypy: allow-untyped-defs, allow-untyped-calls
# (Numba infers the types of compiled functions; the Python faces are annotated.)

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from fitpipe.kernels._jit import kernel
from fitpipe.kernels.tree_frames import NO_DATA

Float = npt.NDArray[np.float64]
Int = npt.NDArray[np.int64]


class Chain(NamedTuple):
    """Pairs of length 0 in the order in which their forces follow from one another."""

    pair: Any  # (link,) index of the pair
    leaf: Any  # (link,) joint whose force it carries
    to: Any  # (link,) joint it carries it to
    idle: Any  # pairs of length 0 that close a ring: nothing tells what they carry


class Points(NamedTuple):
    """Which point each joint is."""

    n_points: int
    of_joint: Int  # (joint,)
    chain: Chain


def join_points(n_joints: int, pairs: Int, length: Float) -> Points:
    """Points of the joints, numbered by their first joint; chain indices count `pairs`."""
    joined: list[list[tuple[int, int]]] = [[] for _ in range(n_joints)]
    zero = np.flatnonzero(length == 0).tolist()
    for k in zero:
        a, b = pairs[k].tolist()
        joined[a].append((b, k))
        joined[b].append((a, k))
    of_joint = np.full(n_joints, -1)
    links: list[tuple[int, int, int]] = []
    n_points = 0
    for first in range(n_joints):
        if of_joint[first] >= 0:
            continue
        of_joint[first] = n_points
        ring = [first]
        for joint in ring:
            for other, k in joined[joint]:
                if of_joint[other] < 0:
                    of_joint[other] = n_points
                    links.append((k, other, joint))
                    ring.append(other)
        n_points += 1
    pair, leaf, to = np.array(links[::-1], dtype=np.int64).reshape(-1, 3).T
    idle = np.setdiff1d(np.array(zero, dtype=np.int64), pair)
    return Points(n_points, of_joint, Chain(pair, leaf, to, idle))


def gather(
    target: Float, stiffness: Float, active: npt.NDArray[np.bool_], start: Float, points: Points
) -> tuple[Float, Float, Float, npt.NDArray[np.bool_]]:
    """Target, stiffness, start and presence of every point: sums and means over its joints."""
    n_frames = len(target)
    middle = np.zeros((n_frames, points.n_points, 3))
    hardness = np.zeros((n_frames, points.n_points))
    begin = np.full((n_frames, points.n_points, 3), np.nan)
    present = np.zeros((n_frames, points.n_points), np.bool_)
    _gather(target, stiffness, active, start, points.of_joint, middle, hardness, begin, present)
    return middle, hardness, begin, present


@kernel()
def _gather(target, stiffness, active, start, of_joint, middle, hardness, begin, present):
    for t in range(target.shape[0]):
        for j in range(of_joint.shape[0]):
            p = of_joint[j]
            present[t, p] |= active[t, j]
            if begin[t, p, 0] != begin[t, p, 0]:
                begin[t, p] = start[t, j]
            h = stiffness[t, j]
            if h > 0.0:
                # running mean: exact for a point of one joint
                hardness[t, p] += h
                share = h / hardness[t, p]
                for i in range(3):
                    middle[t, p, i] += share * (target[t, j, i] - middle[t, p, i])


@kernel()
def finish(target, stiffness, pairs, length, whole, of_joint, chain, out, fit):
    """Write positions, objectives, worst errors and what pairs of length 0 carry into `fit`."""
    n_joints = of_joint.shape[0]
    pull = np.zeros((n_joints, 3))
    for t in range(target.shape[0]):
        if fit.outcome[t] == NO_DATA:
            continue
        now = before = worst = 0.0
        for j in range(n_joints):
            for i in range(3):
                pull[j, i] = 0.0
            if not fit.active[t, j]:
                continue
            p = of_joint[j]
            for i in range(3):
                fit.position[t, j, i] = out.position[t, p, i]
            h = stiffness[t, j]
            if h > 0.0:
                for i in range(3):
                    e = out.position[t, p, i] - target[t, j, i]
                    pull[j, i] = h * e
                    now += 0.5 * h * e * e
                    e = out.begin[t, p, i] - target[t, j, i]
                    before += 0.5 * h * e * e
        for k in range(pairs.shape[0]):
            if not whole[t, k]:
                continue
            a, b = pairs[k, 0], pairs[k, 1]
            d0 = fit.position[t, b, 0] - fit.position[t, a, 0]
            d1 = fit.position[t, b, 1] - fit.position[t, a, 1]
            d2 = fit.position[t, b, 2] - fit.position[t, a, 2]
            distance = math.sqrt(d0 * d0 + d1 * d1 + d2 * d2)
            worst = max(worst, abs(distance - length[k]))
            if length[k] > 0.0 and distance > 0.0:
                force = fit.multiplier[t, k] / distance
                pull[a, 0] -= force * d0
                pull[a, 1] -= force * d1
                pull[a, 2] -= force * d2
                pull[b, 0] += force * d0
                pull[b, 1] += force * d1
                pull[b, 2] += force * d2
        for s in range(chain.pair.shape[0]):
            leaf, to = chain.leaf[s], chain.to[s]
            if whole[t, chain.pair[s]]:
                force = 0.0
                for i in range(3):
                    force += pull[leaf, i] * pull[leaf, i]
                    pull[to, i] += pull[leaf, i]
                fit.multiplier[t, chain.pair[s]] = math.sqrt(force)
        for k in chain.idle:
            if whole[t, k]:
                fit.multiplier[t, k] = 0.0
        fit.objective[t] = now
        fit.objective_start[t] = before
        fit.worst_bone_error[t] = worst
