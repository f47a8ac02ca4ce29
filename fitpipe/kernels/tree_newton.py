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
from fitpipe.kernels.tree_restart import N_STARTS, keep_best, propose
from fitpipe.kernels.tree_start import fill_directions

Float = npt.NDArray[np.float64]
Int = npt.NDArray[np.int64]

RESTARTS = 3
RESTART_JOINTS = 5000  # frames x joints restarted together, to bound the memory
RESTART_TOLERANCE_M = 1e-8
CHUNK = 1024  # tasks handed to a thread at a time
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
def run(low, high, base, tree, target, stiffness, row, start, tolerance_m, max_iterations, out):
    """Fit tasks low ... high - 1 and write into `out`.

    Task k is frame row[k], started from start[k - base]. A lane that finishes takes the next task
    at once. Lanes never read each other, so a frame's result does not depend on its lane, its
    neighbours or the split into calls.
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
    next_task = low
    while True:
        for at in range(LANES):
            while next_task < high and lane[lanes.CODE * LANES + at] == lanes.IDLE:
                t = row[next_task]
                begin = start[next_task - base]
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
    """What every chunk of a fit shares."""

    tree: Tree
    target: Float
    stiffness: Float
    rest: Float
    last: Float
    max_iterations: int
    n_threads: int


def _run_all(job: _Job, row: Int, start: Float | None, tolerance_m: float, out: Out) -> None:
    """Fit frame row[k] from start[k] for every k; writes into `out`."""
    tree = job.tree

    def run_chunk(low: int) -> None:
        high = min(low + CHUNK, len(row))
        base, begin = (
            (0, start) if start is not None else (low, np.empty((high - low, *job.rest.shape)))
        )
        if start is None:
            fill_directions(
                low,
                high,
                job.target,
                job.stiffness,
                tree.length,
                tree.parent,
                job.rest,
                job.last,
                begin,
            )
        run(
            low,
            high,
            base,
            tree,
            job.target,
            job.stiffness,
            row,
            begin,
            tolerance_m,
            job.max_iterations,
            out,
        )

    chunks = range(0, len(row), CHUNK)
    if job.n_threads == 1 or len(chunks) < 2:
        for low in chunks:
            run_chunk(low)
    else:
        with ThreadPoolExecutor(job.n_threads) as pool:
            list(pool.map(run_chunk, chunks))


def _restart(job: _Job, rows: Int, attempt: int, tolerance_m: float, out: Out) -> Int:
    """Try other starts for some frames, keep what is better; which of them may gain from more."""
    with np.errstate(invalid="ignore", over="ignore"):  # a broken frame stays its own affair
        start = propose(rows, attempt, job.stiffness, job.tree, job.rest, out)
    tried = new_out(len(rows) * N_STARTS, len(job.rest))
    flat = start.reshape(-1, *job.rest.shape)
    _run_all(job, np.repeat(rows, N_STARTS), flat, tolerance_m, tried)
    improved = keep_best(rows, tried, out)
    remaining: Int = rows[improved & (out.outcome[rows] > frames.CERTIFIED)]
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
        rest=as_array(np.tile(DEFAULT_REST, (n_joints, 1)) if rest is None else rest),
        last=as_array(np.full((n_joints, 3), np.nan) if last is None else last),
        max_iterations=max_iterations,
        n_threads=n_threads or os.cpu_count() or 1,
    )
    out = new_out(n_frames, n_joints)
    _run_all(job, np.arange(n_frames), None if start is None else as_array(start), tolerance_m, out)
    # Tighter, because a certificate at the edge of definiteness needs exact multipliers.
    tight_m = min(tolerance_m, RESTART_TOLERANCE_M)
    n_together = max(1, RESTART_JOINTS // max(1, n_joints))
    todo = np.flatnonzero(out.outcome > frames.CERTIFIED)
    for attempt in range(restarts):
        blocks = [todo[k : k + n_together] for k in range(0, len(todo), n_together)]
        again = [_restart(job, rows, attempt, tight_m, out) for rows in blocks]
        todo = np.concatenate(again) if again else todo
    return TreeFit(*out)
