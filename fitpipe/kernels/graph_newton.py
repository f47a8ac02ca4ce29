"""Per-frame fit of rigid pairs on any graph: bones, hip width, closed triangles, several bodies.

Minimises J0(x) = Σ ½ h_i |x_i − m_i|² subject to |x_a − x_b| = L for every pair, by Newton's
method with exact curvature on the augmented Lagrangian (`graph_merit`, `graph_lagrangian`), whose
bordered system a sparse LDLᵀ solves (`graph_ldl`) with the skeleton's fill pattern (`graph_plan`).
"""

# mypy: allow-untyped-defs, allow-untyped-calls
# (Numba infers the types of compiled functions; the Python faces are annotated.)

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from fitpipe.kernels import graph_frames as frames
from fitpipe.kernels._jit import kernel
from fitpipe.kernels.graph_merit import new_work
from fitpipe.kernels.graph_plan import find_neighbours, make_plan
from fitpipe.kernels.graph_points import finish, gather, join_points
from fitpipe.kernels.tree_frames import CERTIFIED, NO_DATA

Float = npt.NDArray[np.float64]
Int = npt.NDArray[np.int64]
Bool = npt.NDArray[np.bool_]

RESTARTS = frames.N_STARTS
CHUNK = 256  # frames handed to a thread at a time


class GraphFit(NamedTuple):
    """What `fit_graph` returns; NaN where a joint or pair is absent from a frame."""

    position: Float  # (frame, joint, 3) metres
    active: Bool  # (frame, joint) observed, or carried by pairs
    objective: Float  # (frame,) sum of 1/2 h |x - m|^2
    objective_start: Float  # (frame,) the same where the fit began
    iterations: Int  # (frame,) Newton steps, those of other starts included
    outcome: Int  # (frame,) a code of `tree_frames`, or `graph_frames.COMPROMISE`
    multiplier: Float  # (frame, pair) of |x_b - x_a| - L
    worst_bone_error: Float  # (frame,) metres


class Out(NamedTuple):
    """What `run` writes, one row a frame."""

    position: Float  # (frame, point, 3)
    begin: Float  # (frame, point, 3) where the search began
    iterations: Int  # (frame,)
    outcome: Int  # (frame,)
    multiplier: Float  # (frame, pair)


@kernel()
def mark_all_active(stiffness, first, neighbour, active):
    for t in range(stiffness.shape[0]):
        frames.mark_active(stiffness[t], first, neighbour, active[t])


@kernel()
def run(
    low, high, plan, target, stiffness, active, length, bound, start, start_multiplier,
    tolerance_m, max_iterations, n_starts, out,
):  # fmt: skip
    """Fit frames low ... high - 1 and write into `out`; no frame reads what another one left."""
    n_joints, n_pairs = stiffness.shape[1], length.shape[0]
    w = new_work(n_joints, n_pairs, plan.row.shape[0])
    best = frames.Best(
        np.empty((n_joints, 3)), np.empty(n_pairs), np.zeros(3), np.zeros(3, np.int64)
    )
    suspect = np.empty(frames.N_FLIPS, np.int64)
    centre, spare = np.zeros(3), np.empty((n_joints, 3))
    for t in range(low, high):
        for i in range(3):
            best.code[i] = 0
        if not frames.any_of(active[t]):
            out.outcome[t] = NO_DATA
            out.iterations[t] = 0
            continue
        frame = frames.load(
            target[t], stiffness[t], active[t], length, bound[t], start[t], plan, w, centre
        )
        for j in range(n_joints):
            for i in range(3):
                out.begin[t, j, i] = w.x[j, i] + centre[i]
        for k in range(n_pairs):
            known = bound[t, k] and start_multiplier[t, k] == start_multiplier[t, k]
            w.multiplier[k] = start_multiplier[t, k] if known else 0.0
        for attempt in range(-1, n_starts):
            if attempt == 0:
                frames.rank_suspects(plan, frame, best, suspect)
            if attempt < 0 or frames.propose(plan, frame, w, best, attempt, suspect):
                frames.search(plan, frame, w, spare, best, tolerance_m, max_iterations)
            if best.code[0] == CERTIFIED or best.code[2] > 1:
                break
        for j in range(n_joints):
            for i in range(3):
                out.position[t, j, i] = best.x[j, i] + centre[i]
        out.iterations[t] = best.code[1]
        out.outcome[t] = best.code[0]
        for k in range(n_pairs):
            if bound[t, k]:
                out.multiplier[t, k] = best.multiplier[k]


def fit_graph(
    target: Float,
    stiffness: Float,
    pairs: Int,
    length: Float,
    *,
    start_position: Float | None = None,
    start_multiplier: Float | None = None,
    tolerance_m: float = 1e-7,
    max_iterations: int = 100,
    restarts: int = RESTARTS,
    n_threads: int = 1,
) -> GraphFit:
    """Fit every frame on its own; the result does not depend on blocks, order or threads.

    A joint that nobody observed is present if it has two or more present neighbours. Pairs with an
    absent end, or of unknown length, do not bind. Where the lengths of a frame contradict each
    other its outcome is `graph_frames.COMPROMISE`: the sum of squared length errors is least, and
    among such poses J0; its multipliers are the forces of the last penalty.

    Parameters
    ----------
    target : ndarray, shape (frame, joint, 3), metres
        Weighted mean of the observations; finite wherever `stiffness` is above 0.
    stiffness : ndarray, shape (frame, joint)
        h = 2 x the sum of weights; 0 = not observed.
    pairs : ndarray of int, shape (pair, 2)
        Two different joints each; any graph, connected or not, also with pairs listed twice.
    length : ndarray, shape (pair,), metres
        NaN for a pair that does not bind. 0 makes one point of both joints.
    start_position : ndarray, shape (frame, joint, 3), metres, optional
        Such as the fit of a spanning tree; NaN, like None, starts from the target.
    start_multiplier : ndarray, shape (frame, pair), optional
        Multipliers at the start; NaN counts as 0.
    tolerance_m : float
        A frame has arrived when its Newton step is below a tenth of this (or below rounding).
    max_iterations : int
        Newton steps of each search; threefold for that of a compromise.
    restarts : int
        Other starts for a frame without certificate, at most `graph_frames.N_STARTS`.
    n_threads : int
        Cores to use; 0 = all.

    Returns
    -------
    GraphFit

    References
    ----------
    See `graph_lagrangian` for the method and `graph_ldl` for the bordered system.
    """
    target, stiffness, length = (
        np.ascontiguousarray(a, dtype=np.float64) for a in (target, stiffness, length)
    )
    pairs = np.ascontiguousarray(pairs, dtype=np.int64).reshape(-1, 2)
    n_frames, n_joints = stiffness.shape
    known = np.flatnonzero(np.isfinite(length))
    near = find_neighbours(n_joints, pairs[known])
    active = np.empty((n_frames, n_joints), np.bool_)
    mark_all_active(stiffness, near.first, near.joint, active)
    whole = active[:, pairs[:, 0]] & active[:, pairs[:, 1]] & np.isfinite(length)

    points = join_points(n_joints, pairs[known], length[known])
    stretched = known[length[known] > 0]
    pair = points.of_joint[pairs[stretched]]
    plan = make_plan(points.n_points, pair)
    if start_position is None:
        start_position = np.full_like(target, np.nan)
    middle, hardness, begin, present = gather(
        target, stiffness, active, np.asarray(start_position, dtype=np.float64), points
    )
    if start_multiplier is None:
        start_multiplier = np.zeros((n_frames, len(pairs)))
    force = np.ascontiguousarray(start_multiplier[:, stretched], dtype=np.float64)
    bound = np.ascontiguousarray(whole[:, stretched])
    out = Out(
        np.full(middle.shape, np.nan),
        np.full(middle.shape, np.nan),
        np.zeros(n_frames, np.int64),
        np.zeros(n_frames, np.int64),
        np.full((n_frames, len(stretched)), np.nan),
    )

    def run_chunk(low: int) -> None:
        run(
            low, min(low + CHUNK, n_frames), plan, middle, hardness, present, length[stretched],
            bound, begin, force, tolerance_m, max_iterations, restarts, out,
        )  # fmt: skip

    chunks = range(0, n_frames, CHUNK)
    n_threads = n_threads or os.cpu_count() or 1
    if n_threads == 1 or len(chunks) < 2:
        for low in chunks:
            run_chunk(low)
    else:
        with ThreadPoolExecutor(n_threads) as pool:
            list(pool.map(run_chunk, chunks))

    fit = GraphFit(
        position=np.full_like(target, np.nan),
        active=active,
        objective=np.full(n_frames, np.nan),
        objective_start=np.full(n_frames, np.nan),
        iterations=out.iterations,
        outcome=out.outcome,
        multiplier=np.full((n_frames, len(pairs)), np.nan),
        worst_bone_error=np.full(n_frames, np.nan),
    )
    fit.multiplier[:, stretched] = out.multiplier
    chain = points.chain._replace(pair=known[points.chain.pair], idle=known[points.chain.idle])
    finish(target, stiffness, pairs, length, whole, points.of_joint, chain, out, fit)
    return fit
