"""One frame in and out of a lane: pruning, loading, undoing a step, the certificate, writing."""

# mypy: allow-untyped-defs, allow-untyped-calls
# (Numba infers the types of compiled functions; the Python faces are annotated.)

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from fitpipe.kernels import tree_lanes as lanes
from fitpipe.kernels._jit import kernel
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
ROUNDING = 16 * np.finfo(np.float64).eps


class Tree(NamedTuple):
    """Topology, prepared once a fit; every field int64, shape (joint,)."""

    parent: Any  # -1 for a root; parents before children
    root: Any  # the root above a joint, itself for a root
    message: Any  # whose block holds the children's summed message; n_joints = none
    adds_to: Any  # sibling block that collects this joint's message; -1 = this one collects


class Out(NamedTuple):
    """Arrays the frame loop writes into, one row a task."""

    position: Any  # (task, joint, 3) float64
    active: Any  # (task, joint) bool
    objective: Any  # (task,) float64
    iterations: Any  # (task,) int64
    outcome: Any  # (task,) int64
    multiplier: Any  # (task, joint) float64
    worst_bone_error: Any  # (task,) float64


class Lane(NamedTuple):
    """State of the lanes between rounds."""

    blocks: Any  # (joints + 1) blocks of tree_lanes
    sums: Any  # lane block of tree_lanes
    active: Any  # (lane, joint) bool
    scratch: Any  # (joint, 3) float64
    task: Any  # (lane,) int64, -1 idle
    round: Any  # (lane,) int64, Newton steps tried; -1 = not yet placed
    objective: Any  # (lane,) float64 at the accepted positions
    close2: Any  # (lane,) float64, squared step that counts as arrived
    centre: Any  # (lane, 3) float64, subtracted from the targets


@kernel()
def mark_active(stiffness, parent, active):
    """Write into `active` (joint,) which joints are observed or lie between observed ones."""
    n_joints = parent.shape[0]
    complete = True
    for i in range(n_joints):
        active[i] = stiffness[i] > 0.0
        complete &= active[i]
    if complete:
        return
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


@kernel()
def load(state, at, tree, length, target, stiffness, start, tolerance_m):
    """Put one frame into lane `at`: targets about their first joint, roots at their best place."""
    blocks = state.blocks
    offset = state.scratch
    n_joints = length.shape[0]
    active = state.active[at]
    mark_active(stiffness, tree.parent, active)
    c0 = c1 = c2 = 0.0
    for i in range(n_joints):
        if stiffness[i] > 0.0:
            c0, c1, c2 = target[i, 0], target[i, 1], target[i, 2]
            break
    state.centre[at, 0] = c0
    state.centre[at, 1] = c1
    state.centre[at, 2] = c2
    scale = 0.0
    for i in range(n_joints):
        p = tree.parent[i]
        base = i * BLOCK + at
        h = stiffness[i]
        m0 = m1 = m2 = 0.0
        if h > 0.0:
            m0 = target[i, 0] - c0
            m1 = target[i, 1] - c1
            m2 = target[i, 2] - c2
            scale = max(scale, max(abs(m0), max(abs(m1), abs(m2))))
        else:
            h = 0.0
        blocks[base + lanes.M * LANES] = m0
        blocks[base + (lanes.M + 1) * LANES] = m1
        blocks[base + (lanes.M + 2) * LANES] = m2
        blocks[base + lanes.H * LANES] = h
        if p < 0:
            offset[i, 0] = offset[i, 1] = offset[i, 2] = 0.0
            blocks[base + lanes.D * LANES] = 0.0
            blocks[base + (lanes.D + 1) * LANES] = 0.0
            blocks[base + (lanes.D + 2) * LANES] = 0.0
            for c in range(3):
                blocks[base + (lanes.X + c) * LANES] = 0.0
            # OLD[0] of a root collects the weight of its tree until the roots are placed.
            blocks[base + lanes.OLD * LANES] = 0.0
        else:
            long = length[i] if active[i] and active[p] else 0.0
            blocks[base + lanes.L * LANES] = long
            blocks[base + lanes.R * LANES] = 1.0 / long if long > 0.0 else 0.0
            blocks[base + lanes.N * LANES] = start[i, 0]
            blocks[base + (lanes.N + 1) * LANES] = start[i, 1]
            blocks[base + (lanes.N + 2) * LANES] = start[i, 2]
            offset[i, 0] = offset[p, 0] + long * start[i, 0]
            offset[i, 1] = offset[p, 1] + long * start[i, 1]
            offset[i, 2] = offset[p, 2] + long * start[i, 2]
            scale = max(scale, long)
        root = tree.root[i] * BLOCK + at
        blocks[root + lanes.X * LANES] += h * (m0 - offset[i, 0])
        blocks[root + (lanes.X + 1) * LANES] += h * (m1 - offset[i, 1])
        blocks[root + (lanes.X + 2) * LANES] += h * (m2 - offset[i, 2])
        blocks[root + lanes.OLD * LANES] += h
    for i in range(n_joints):
        if tree.parent[i] < 0:
            base = i * BLOCK + at
            weight = blocks[base + lanes.OLD * LANES]
            for c in range(3):
                blocks[base + (lanes.X + c) * LANES] /= weight if weight > 0.0 else 1.0
    close = max(0.1 * tolerance_m, ROUNDING * scale)
    state.close2[at] = close * close
    state.sums[lanes.TAU * LANES + at] = 0.0  # the first round only places the joints
    state.round[at] = -1


@kernel()
def undo_step(blocks, at, parent):
    """Put lane `at` back to where it was before its last step."""
    for i in range(parent.shape[0]):
        base = i * BLOCK + at
        p = parent[i]
        for c in range(3):
            old = blocks[base + (lanes.OLD + c) * LANES]
            if p < 0:
                blocks[base + (lanes.X + c) * LANES] = old
            else:
                blocks[base + (lanes.N + c) * LANES] = old
                blocks[base + (lanes.X + c) * LANES] = (
                    blocks[p * BLOCK + at + (lanes.X + c) * LANES]
                    + blocks[base + lanes.L * LANES] * old
                )


@kernel()
def is_certified(blocks, at, parent, pivot):
    """Whether K(lambda) is positive semidefinite: scalar elimination from leaf to root.

    `pivot` (joint,) is scratch. A rigid bone makes one unknown of its two joints.
    """
    n_joints = parent.shape[0]
    largest = 0.0
    for i in range(n_joints):
        pivot[i] = blocks[i * BLOCK + at + lanes.H * LANES]
        largest = max(largest, pivot[i])
    shift = CERTIFICATE_SHARE * largest
    for i in range(n_joints - 1, -1, -1):
        base = i * BLOCK + at
        p = parent[i]
        if p < 0:
            if not pivot[i] + shift > 0.0:
                return False
        elif blocks[base + lanes.R * LANES] > 0.0:
            kappa = blocks[base + lanes.KAPPA * LANES]
            own = pivot[i] + shift
            total = own + kappa
            if not total > 0.0:
                return False
            pivot[p] += kappa * own / total
        else:
            pivot[p] += pivot[i]
    return True


@kernel()
def write(state, at, tree, length, outcome, out):
    """Write lane `at` into row `task` of every array of `out`."""
    blocks = state.blocks
    task = state.task[at]
    active = state.active[at]
    position = out.position[task]
    multiplier = out.multiplier[task]
    n_joints = length.shape[0]
    if outcome == CERTIFIED and not is_certified(blocks, at, tree.parent, state.scratch[:, 0]):
        outcome = STATIONARY
    worst = 0.0
    for i in range(n_joints):
        base = i * BLOCK + at
        p = tree.parent[i]
        out.active[task, i] = active[i]
        multiplier[i] = np.nan
        if not active[i]:
            position[i, 0] = position[i, 1] = position[i, 2] = np.nan
            continue
        for c in range(3):
            position[i, c] = blocks[base + (lanes.X + c) * LANES] + state.centre[at, c]
        if p >= 0 and active[p]:
            u0 = position[i, 0] - position[p, 0]
            u1 = position[i, 1] - position[p, 1]
            u2 = position[i, 2] - position[p, 2]
            worst = max(worst, abs(math.sqrt(u0 * u0 + u1 * u1 + u2 * u2) - length[i]))
            if length[i] > 0.0:
                multiplier[i] = blocks[base + lanes.KAPPA * LANES] * length[i]
            else:
                # A bone without length has no direction: the size of the force it carries.
                g0 = blocks[base + lanes.G * LANES]
                g1 = blocks[base + (lanes.G + 1) * LANES]
                g2 = blocks[base + (lanes.G + 2) * LANES]
                multiplier[i] = math.sqrt(g0 * g0 + g1 * g1 + g2 * g2)
    out.objective[task] = state.objective[at]
    out.iterations[task] = max(state.round[at], 0)
    out.outcome[task] = outcome
    out.worst_bone_error[task] = worst


@kernel()
def write_no_data(task, out):
    out.position[task] = np.nan
    out.active[task] = False
    out.multiplier[task] = np.nan
    out.objective[task] = np.nan
    out.iterations[task] = 0
    out.outcome[task] = NO_DATA
    out.worst_bone_error[task] = np.nan
