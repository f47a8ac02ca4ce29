"""Per-frame fit of rigid bones on a tree: Newton's method with exact curvature, O(joints) a step.

Minimises J0(x) = sum_i 1/2 h_i |x_i - m_i|^2 subject to |x_child - x_parent| = L for every bone.
Lengths hold by construction (x_child = x_parent + L n, |n| = 1), so each step is one leaf-to-root
elimination and one root-to-leaf substitution; see `tree_lanes` for the algebra.
"""

# mypy: allow-untyped-defs, allow-untyped-calls
# (Numba infers the types of compiled functions; the Python faces are annotated.)

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from fitpipe.kernels import tree_frames as frames
from fitpipe.kernels import tree_judge as judge
from fitpipe.kernels import tree_lanes as lanes
from fitpipe.kernels._jit import borrow, kernel
from fitpipe.kernels.tree_frames import Out, Tree, Work
from fitpipe.kernels.tree_lanes import BLOCK, LANES
from fitpipe.kernels.tree_restart import N_STARTS, keep_best, propose, spread_directions
from fitpipe.kernels.tree_start import fill_directions

Float = npt.NDArray[np.float64]
Int = npt.NDArray[np.int64]

RESTARTS = 3
RESTART_JOINTS = 5000  # frames x joints restarted together, to bound the memory
RESTART_TOLERANCE_M = 1e-8
CHUNK = 512  # frames handed to a thread at a time
DEFAULT_REST = (0.0, 0.0, 1.0)


class TreeFit(NamedTuple):
    """What `fit_tree` returns; NaN where a joint or bone is absent from a frame."""

    position: Float  # (frame, joint, 3) metres
    active: npt.NDArray[np.bool_]  # (frame, joint) observed, or carried by bones
    objective: Float  # (frame,) sum of 1/2 h |x - m|^2
    objective_start: Float  # (frame,) the same where the fit began
    iterations: Int  # (frame,) Newton steps tried
    outcome: Int  # (frame,) a code of `tree_frames`
    multiplier: Float  # (frame, joint) of |x_joint - x_parent| - L; NaN for a root
    worst_bone_error: Float  # (frame,) metres


@kernel()
def borrow_out(out):
    return Out(
        borrow(out.position),
        borrow(out.active),
        borrow(out.objective),
        borrow(out.objective_start),
        borrow(out.iterations),
        borrow(out.outcome),
        borrow(out.multiplier),
        borrow(out.worst_bone_error),
    )


@kernel()
def borrow_tree(tree):
    return Tree(
        borrow(tree.parent),
        borrow(tree.root),
        borrow(tree.message),
        borrow(tree.adds_to),
        borrow(tree.length),
        borrow(tree.inverse),
    )


@kernel()
def sweep_down(blocks, sums, tree):
    """Take the step (times tau) in every lane and sum the objective."""
    blocks = borrow(blocks)
    for at in range(LANES):
        sums[lanes.J * LANES + at] = 0.0
    for i in range(tree.parent.shape[0]):
        own = blocks[i * BLOCK : (i + 1) * BLOCK]
        p = tree.parent[i]
        if p < 0:
            lanes.down_root(own, sums)
            continue
        up = blocks[p * BLOCK : (p + 1) * BLOCK]
        if tree.message[i] < tree.parent.shape[0]:
            lanes.down_inner(own, up, sums)
        else:
            lanes.down_leaf(own, up, sums)


@kernel()
def sweep_up(blocks, sums, tree):
    """Eliminate from the leaves to the roots; the next step's pieces stay in the blocks."""
    blocks = borrow(blocks)
    lanes.clear_sums(sums)
    n_joints = tree.parent.shape[0]
    for i in range(n_joints - 1, -1, -1):
        own = blocks[i * BLOCK : (i + 1) * BLOCK]
        m = tree.message[i]
        child = blocks[m * BLOCK : (m + 1) * BLOCK]
        if tree.parent[i] < 0:
            lanes.up_root(own, child, sums)
        elif m < n_joints:
            lanes.up_inner(own, child, sums)
        else:
            lanes.up_leaf(own, sums)
        s = tree.adds_to[i]
        if s >= 0:
            lanes.add_message(blocks[s * BLOCK : (s + 1) * BLOCK], own)


@kernel()
def run(tree, target, stiffness, row, start, tolerance_m, max_iterations, out):
    """Fit frame row[k] from start[k] for every task k and write into row k of `out`.

    A lane that finishes takes the next task at once. Lanes never read each other, so a frame's
    result does not depend on its lane, its neighbours or the split into calls.
    """
    tree, out = borrow_tree(tree), borrow_out(out)
    target, stiffness, start = borrow(target), borrow(stiffness), borrow(start)
    n_joints = tree.parent.shape[0]
    blocks = np.zeros((n_joints + 1) * BLOCK)
    lane = np.zeros(lanes.LANE_BLOCK)
    lane[lanes.CODE * LANES : (lanes.CODE + 1) * LANES] = lanes.IDLE
    work = Work(blocks, lane, np.zeros((LANES, n_joints), np.bool_), np.zeros((n_joints, 3)))
    task = np.zeros(LANES, np.int64)
    n_busy = 0
    n_tasks = len(row)
    next_task = 0
    while True:
        for at in range(LANES):
            while next_task < n_tasks and lane[lanes.CODE * LANES + at] == lanes.IDLE:
                t = row[next_task]
                begin = start[next_task]
                if frames.load(work, at, tree, target[t], stiffness[t], begin, tolerance_m):
                    task[at] = next_task
                    n_busy += 1
                else:
                    frames.write_no_data(next_task, out)
                next_task += 1
        if n_busy == 0:
            return
        n_done = 0.0
        while n_done == 0.0:
            sweep_down(blocks, lane, tree)
            if judge.judge_steps(lane, n_joints) > 0.0:
                for at in range(LANES):
                    if lane[lanes.REJECTED * LANES + at] > 0.0:
                        frames.undo_step(blocks, at, tree.parent)
            sweep_up(blocks, lane, tree)
            n_done = judge.judge_arrival(lane, max_iterations)
        for at in range(LANES):
            if lane[lanes.CODE * LANES + at] > lanes.IDLE:
                frames.write(work, at, tree, task[at], out)
                lane[lanes.CODE * LANES + at] = lanes.IDLE
                n_busy -= 1


def make_tree(parent: Int, length: Float) -> Tree:
    """Topology arrays of the kernel from the parent of every joint."""
    n_joints = len(parent)
    root = np.arange(n_joints)
    message = np.full(n_joints, n_joints)
    adds_to = np.full(n_joints, -1)
    for i, p in enumerate(parent):
        if p >= 0:
            root[i] = root[p]
            message[p] = i  # ends as the last child, which is eliminated first
    for i, p in enumerate(parent):
        if p >= 0 and message[p] != i:
            adds_to[i] = message[p]
    length = np.where(parent >= 0, length, 0.0)
    inverse = np.divide(1.0, length, out=np.zeros(n_joints), where=length > 0)
    return Tree(parent, root, message, adds_to, length, inverse)


def new_out(n_tasks: int, n_joints: int) -> Out:
    return Out(
        np.empty((n_tasks, n_joints, 3)),
        np.empty((n_tasks, n_joints), np.bool_),
        np.empty(n_tasks),
        np.empty(n_tasks),
        np.empty(n_tasks, np.int64),
        np.empty(n_tasks, np.int64),
        np.empty((n_tasks, n_joints)),
        np.empty(n_tasks),
    )


class _Job(NamedTuple):
    """What a fit is asked for; arrays over all frames."""

    tree: Tree
    target: Float
    stiffness: Float
    start: Float | None
    rest: Float
    last: Float
    tolerance_m: float
    max_iterations: int
    restarts: int


def _fit_chunk(job: _Job, low: int, out: Out) -> None:
    """Fit the CHUNK frames from `low` on, other starts included; writes into `out`."""
    high = min(low + CHUNK, len(job.stiffness))
    if job.start is None:
        start = np.empty((high - low, *job.rest.shape))
        fill_directions(
            low,
            high,
            job.target,
            job.stiffness,
            job.tree.length,
            job.tree.parent,
            job.rest,
            job.last,
            start,
        )
    else:
        start = job.start[low:high]
    own = job._replace(target=job.target[low:high], stiffness=job.stiffness[low:high])
    own_out = Out(*(array[low:high] for array in out))
    _run(own, np.arange(high - low), start, job.tolerance_m, own_out)
    todo = np.flatnonzero(own_out.outcome > frames.CERTIFIED)
    n_together = max(1, RESTART_JOINTS // max(1, len(job.rest)))
    for attempt in range(job.restarts):
        groups = [todo[k : k + n_together] for k in range(0, len(todo), n_together)]
        again = [_restart(own, rows, attempt, own_out) for rows in groups]
        todo = np.concatenate(again) if again else todo


def _run(job: _Job, row: Int, start: Float, tolerance_m: float, out: Out) -> None:
    limit = job.max_iterations
    run(job.tree, job.target, job.stiffness, row, start, tolerance_m, limit, out)


def _restart(job: _Job, rows: Int, attempt: int, out: Out) -> Int:
    """Try other starts for some frames, keep what is better; which of them may gain from more."""
    n_joints = len(job.rest)
    start = np.empty((len(rows) * N_STARTS, n_joints, 3))
    spread = spread_directions(n_joints, attempt)
    propose(rows, job.stiffness, job.tree, job.rest, spread, out, start)
    tried = new_out(len(start), n_joints)
    # Tighter, because a certificate at the edge of definiteness needs exact multipliers.
    tight_m = min(job.tolerance_m, RESTART_TOLERANCE_M)
    _run(job, np.repeat(rows, N_STARTS), start, tight_m, tried)
    fell = np.empty(len(rows), np.bool_)
    keep_best(rows, tried, out, fell)
    remaining: Int = rows[fell & (out.outcome[rows] > frames.CERTIFIED)]
    return remaining


def fit_tree(
    target: Float,
    stiffness: Float,
    length: Float,
    parent: Int,
    *,
    start: Float | None = None,
    rest: Float | None = None,
    last: Float | None = None,
    tolerance_m: float = 1e-7,
    max_iterations: int = 100,
    restarts: int = RESTARTS,
    n_threads: int = 1,
) -> TreeFit:
    """Fit every frame on its own; the result does not depend on blocks, order or threads.

    Parameters
    ----------
    target : ndarray, shape (frame, joint, 3), metres
        Weighted mean of the observations; finite wherever `stiffness` is above 0.
    stiffness : ndarray, shape (frame, joint)
        h = 2 x the sum of weights; 0 = not observed.
    length : ndarray, shape (joint,), metres
        Of the bone from the parent to this joint; a root's entry is ignored. 0 makes one point of
        both joints.
    parent : ndarray of int, shape (joint,)
        -1 for a root (several make a forest); parents come before their children.
    start : ndarray, shape (frame, joint, 3), optional
        Unit directions to start from; by default those of `tree_start.fill_directions`.
    rest : ndarray, shape (joint, 3), optional
        Unit directions used where no frame defines one, and tried in hard frames.
    last : ndarray, shape (joint, 3), optional
        `tree_start.last_directions` of the block of frames before this one.
    tolerance_m : float
        A frame has arrived when its Newton step is below a tenth of this (or below rounding).
    max_iterations : int
        Newton steps a start may take, rejected ones included.
    restarts : int
        Rounds of other starts for frames without certificate; the later rounds only for frames that
        the one before improved.
    n_threads : int
        Cores to use; 0 = all.

    Returns
    -------
    TreeFit

    References
    ----------
    Featherstone (2008), Rigid Body Dynamics Algorithms, ch. 6, for elimination from leaf to root.
    """

    def as_array(values: Float) -> Float:
        # Read-only arrays are another type to Numba, and would be compiled for anew.
        return np.require(values, np.float64, ["C", "A", "W"])

    n_frames, n_joints = stiffness.shape
    job = _Job(
        tree=make_tree(np.require(parent, np.int64, ["C", "A", "W"]), as_array(length)),
        target=as_array(target),
        stiffness=as_array(stiffness),
        start=None if start is None else as_array(start),
        rest=as_array(np.tile(DEFAULT_REST, (n_joints, 1)) if rest is None else rest),
        last=as_array(np.full((n_joints, 3), np.nan) if last is None else last),
        tolerance_m=tolerance_m,
        max_iterations=max_iterations,
        restarts=restarts,
    )
    out = new_out(n_frames, n_joints)
    n_chunks = -(-n_frames // CHUNK)
    chunks = iter(range(0, n_frames, CHUNK))

    def fit_chunks() -> None:
        for low in chunks:  # shared: under the GIL every chunk goes to one thread only
            _fit_chunk(job, low, out)

    helpers = min(n_threads or os.cpu_count() or 1, n_chunks) - 1
    if helpers < 1:
        fit_chunks()
    else:
        with ThreadPoolExecutor(helpers) as pool:
            running = [pool.submit(fit_chunks) for _ in range(helpers)]
            fit_chunks()
            for helper in running:
                helper.result()
    return TreeFit(*out)
