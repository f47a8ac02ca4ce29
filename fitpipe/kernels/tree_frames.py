"""One frame in and out of a lane: pruning, loading, undoing a step, the certificate, writing."""

# mypy: allow-untyped-defs, allow-untyped-calls
# (Numba infers the types of compiled functions; the Python faces are annotated.)

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from fitpipe.kernels import tree_lanes as lanes
from fitpipe.kernels._jit import borrow, kernel
from fitpipe.kernels.tree_lanes import BLOCK, LANES

# Outcome codes of a frame.
NO_DATA = 0  # no joint observed
CERTIFIED = 1  # stationary, and the certificate proves the global optimum
STATIONARY = 2  # stationary; other starts found nothing better
STALLED = 3  # the line search could not descend though the gradient is not zero
ITERATION_LIMIT = 4

# K(lambda) + share * max(h) * I must be positive definite. For any feasible y the Lagrangian gives
#   J0(y) >= J0(x) - |gradient| |y - x| - 1/2 share max(h) |y - x|^2,
# so "certified" bounds what any other pose could still win, also where K is only semidefinite (the
# swivel of a carried elbow has multipliers of exactly zero; a pair of joints with one target can
# turn freely). The shift also keeps 0/0 out of the elimination without a special case.
CERTIFICATE_SHARE = 1e-9
EPSILON = float(np.finfo(np.float64).eps)
ROUNDING = 16 * EPSILON


class Tree(NamedTuple):
    """Topology and lengths, prepared once a fit; shape (joint,)."""

    parent: Any  # int64, -1 for a root; parents before children
    root: Any  # int64, the root above a joint, itself for a root
    message: Any  # int64, whose block holds the children's summed message; n_joints = none
    adds_to: Any  # int64, sibling block that collects this joint's message; -1 = this one collects
    length: Any  # float64, metres, 0 for a root
    inverse: Any  # float64, 1 / length, 0 where the length is 0


class Out(NamedTuple):
    """Arrays the frame loop writes into, one row a task."""

    position: Any  # (task, joint, 3) float64
    active: Any  # (task, joint) bool
    objective: Any  # (task,) float64
    objective_start: Any  # (task,) float64
    iterations: Any  # (task,) int64
    outcome: Any  # (task,) int64
    multiplier: Any  # (task, joint) float64
    worst_bone_error: Any  # (task,) float64


class Work(NamedTuple):
    """Workspace of sixteen lanes."""

    blocks: Any  # (joints + 1) blocks of tree_lanes; the last stays zero: no message
    lane: Any  # lane block of tree_lanes
    active: Any  # (lane, joint) bool
    scratch: Any  # (joint, 3) float64


@kernel()
def mark_active(stiffness, parent, active):
    """Write into `active` (joint,) which joints are observed or lie between observed ones.

    Returns how many are observed.
    """
    n_joints = parent.shape[0]
    n_observed = 0
    for i in range(n_joints):
        active[i] = stiffness[i] > 0.0
        n_observed += active[i]
    if n_observed == n_joints or n_observed == 0:
        return n_observed
    for i in range(n_joints - 1, -1, -1):
        if active[i] and parent[i] >= 0:
            active[parent[i]] = True
    # From the top: an unobserved joint with one branch only hangs from that branch.
    for i in range(n_joints):
        top = parent[i] < 0 or not active[parent[i]]
        if active[i] and top and not stiffness[i] > 0.0:
            branches = 0
            for c in range(i + 1, n_joints):
                if parent[c] == i and active[c]:
                    branches += 1
            active[i] = branches > 1
    return n_observed


@kernel()
def load(work, at, tree, target, stiffness, start, tolerance_m):
    """Put one frame into lane `at`: targets about their first joint, roots at their best place.

    False if nothing was observed.
    """
    blocks, lane, offset = borrow(work.blocks), borrow(work.lane), borrow(work.scratch)
    n_joints = tree.parent.shape[0]
    active = borrow(work.active)[at]
    n_observed = mark_active(stiffness, tree.parent, active)
    if n_observed == 0:
        return False
    first = 0
    while not stiffness[first] > 0.0:
        first += 1
    c0, c1, c2 = target[first, 0], target[first, 1], target[first, 2]
    lane[lanes.CENTRE * LANES + at] = c0
    lane[(lanes.CENTRE + 1) * LANES + at] = c1
    lane[(lanes.CENTRE + 2) * LANES + at] = c2
    scale = 0.0
    stiffest = 0.0
    softest = np.inf
    for i in range(n_joints):
        p = tree.parent[i]
        own = blocks[i * BLOCK + at :]  # slots of this lane are LANES apart
        h = m0 = m1 = m2 = 0.0
        if stiffness[i] > 0.0:
            h = stiffness[i]
            softest = min(softest, h)
            stiffest = max(stiffest, h)
            m0 = target[i, 0] - c0
            m1 = target[i, 1] - c1
            m2 = target[i, 2] - c2
            scale = max(scale, max(abs(m0), max(abs(m1), abs(m2))))
        own[lanes.M * LANES] = m0
        own[(lanes.M + 1) * LANES] = m1
        own[(lanes.M + 2) * LANES] = m2
        own[lanes.H * LANES] = h
        if p < 0:
            offset[i, 0] = offset[i, 1] = offset[i, 2] = 0.0
            own[lanes.D * LANES] = 0.0
            own[(lanes.D + 1) * LANES] = 0.0
            own[(lanes.D + 2) * LANES] = 0.0
            own[lanes.X * LANES] = h * m0
            own[(lanes.X + 1) * LANES] = h * m1
            own[(lanes.X + 2) * LANES] = h * m2
            # OLD[0] of a root collects the weight of its tree until the roots are placed.
            own[lanes.OLD * LANES] = h
            continue
        rigid = not (active[i] and active[p])
        length = 0.0 if rigid else tree.length[i]
        own[lanes.L * LANES] = length
        own[lanes.R * LANES] = 0.0 if rigid else tree.inverse[i]
        own[lanes.N * LANES] = start[i, 0]
        own[(lanes.N + 1) * LANES] = start[i, 1]
        own[(lanes.N + 2) * LANES] = start[i, 2]
        o0 = offset[p, 0] + length * start[i, 0]
        o1 = offset[p, 1] + length * start[i, 1]
        o2 = offset[p, 2] + length * start[i, 2]
        offset[i, 0] = o0
        offset[i, 1] = o1
        offset[i, 2] = o2
        scale = max(scale, length)
        root = blocks[tree.root[i] * BLOCK + at :]
        root[lanes.X * LANES] += h * (m0 - o0)
        root[(lanes.X + 1) * LANES] += h * (m1 - o1)
        root[(lanes.X + 2) * LANES] += h * (m2 - o2)
        root[lanes.OLD * LANES] += h
    for i in range(n_joints):
        if tree.parent[i] < 0:
            own = blocks[i * BLOCK + at :]
            weight = own[lanes.OLD * LANES]
            for c in range(3):
                own[(lanes.X + c) * LANES] /= weight if weight > 0.0 else 1.0
    close = max(0.1 * tolerance_m, ROUNDING * scale)
    lane[lanes.CLOSE2 * LANES + at] = close * close
    # J0 changes by sqrt(2 h J0) times what a joint moves, and joints lie within rounding.
    lane[lanes.ROUGH * LANES + at] = 2.0 * stiffest * (EPSILON * scale) ** 2
    lane[lanes.NOTHING * LANES + at] = 0.5 * softest * close * close
    lane[lanes.TAU * LANES + at] = 0.0  # the first round only places the joints
    lane[lanes.OBJECTIVE * LANES + at] = np.inf
    lane[lanes.ROUND * LANES + at] = 0.0
    lane[lanes.CODE * LANES + at] = lanes.GOING
    return True


@kernel()
def undo_step(blocks, at, parent):
    """Put lane `at` back to where it was before its last step."""
    blocks = borrow(blocks)
    for i in range(parent.shape[0]):
        own = blocks[i * BLOCK + at :]
        p = parent[i]
        if p < 0:
            for c in range(3):
                own[(lanes.X + c) * LANES] = own[(lanes.OLD + c) * LANES]
            continue
        up = blocks[p * BLOCK + at :]
        length = own[lanes.L * LANES]
        for c in range(3):
            old = own[(lanes.OLD + c) * LANES]
            own[(lanes.N + c) * LANES] = old
            own[(lanes.X + c) * LANES] = up[(lanes.X + c) * LANES] + length * old


@kernel()
def is_certified(blocks, at, parent, pivot):
    """Whether K(lambda) is positive semidefinite: scalar elimination from leaf to root.

    `pivot` (joint, 3) is scratch. A rigid bone makes one unknown of its two joints.
    """
    blocks = borrow(blocks)
    n_joints = parent.shape[0]
    largest = 0.0
    for i in range(n_joints):
        h = blocks[i * BLOCK + at :][lanes.H * LANES]
        pivot[i, 0] = h
        largest = max(largest, h)
    shift = CERTIFICATE_SHARE * largest
    for i in range(n_joints - 1, -1, -1):
        block = blocks[i * BLOCK + at :]
        p = parent[i]
        if p < 0:
            if not pivot[i, 0] + shift > 0.0:
                return False
        elif block[lanes.R * LANES] > 0.0:
            kappa = block[lanes.KAPPA * LANES]
            own = pivot[i, 0] + shift
            total = own + kappa
            if not total > 0.0:
                return False
            pivot[p, 0] += kappa * own / total
        else:
            pivot[p, 0] += pivot[i, 0]
    return True


@kernel()
def write(work, at, tree, task, out):
    """Write lane `at` into row `task` of every array of `out`."""
    blocks, lane = borrow(work.blocks), borrow(work.lane)
    active = borrow(work.active)[at]
    position = borrow(out.position)[task]
    multiplier = borrow(out.multiplier)[task]
    is_active = borrow(out.active)[task]
    c0 = lane[lanes.CENTRE * LANES + at]
    c1 = lane[(lanes.CENTRE + 1) * LANES + at]
    c2 = lane[(lanes.CENTRE + 2) * LANES + at]
    code = lane[lanes.CODE * LANES + at]
    if code == lanes.ARRIVED:
        certified = is_certified(blocks, at, tree.parent, work.scratch)
        outcome = CERTIFIED if certified else STATIONARY
    else:
        outcome = STALLED if code == lanes.STUCK else ITERATION_LIMIT
    worst = 0.0
    for i in range(tree.parent.shape[0]):
        own = blocks[i * BLOCK + at :]
        p = tree.parent[i]
        is_active[i] = active[i]
        multiplier[i] = np.nan
        if not active[i]:
            position[i, 0] = position[i, 1] = position[i, 2] = np.nan
            continue
        x0 = own[lanes.X * LANES] + c0
        x1 = own[(lanes.X + 1) * LANES] + c1
        x2 = own[(lanes.X + 2) * LANES] + c2
        position[i, 0] = x0
        position[i, 1] = x1
        position[i, 2] = x2
        if p >= 0 and active[p]:
            u0 = x0 - position[p, 0]
            u1 = x1 - position[p, 1]
            u2 = x2 - position[p, 2]
            length = tree.length[i]
            worst = max(worst, abs(math.sqrt(u0 * u0 + u1 * u1 + u2 * u2) - length))
            multiplier[i] = own[lanes.KAPPA * LANES] * length
            if not length > 0.0:
                # A bone without length has no direction: the size of the force it carries.
                g0 = own[lanes.G * LANES]
                g1 = own[(lanes.G + 1) * LANES]
                g2 = own[(lanes.G + 2) * LANES]
                for j in range(tree.parent.shape[0]):
                    if tree.adds_to[j] == i:  # this block has collected its siblings' forces
                        other = blocks[j * BLOCK + at :]
                        g0 -= other[lanes.G * LANES]
                        g1 -= other[(lanes.G + 1) * LANES]
                        g2 -= other[(lanes.G + 2) * LANES]
                multiplier[i] = math.sqrt(g0 * g0 + g1 * g1 + g2 * g2)
    out.objective[task] = lane[lanes.OBJECTIVE * LANES + at]
    out.objective_start[task] = lane[lanes.OBJECTIVE_START * LANES + at]
    out.iterations[task] = int(lane[lanes.ROUND * LANES + at])
    out.outcome[task] = outcome
    out.worst_bone_error[task] = worst


@kernel()
def write_no_data(task, out):
    out.position[task] = np.nan
    out.active[task] = False
    out.multiplier[task] = np.nan
    out.objective[task] = np.nan
    out.objective_start[task] = np.nan
    out.iterations[task] = 0
    out.outcome[task] = NO_DATA
    out.worst_bone_error[task] = np.nan
