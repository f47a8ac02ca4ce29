"""Other starts for the frames whose first stationary point has no certificate.

Rare frames, so plain NumPy: nothing here is compiled.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from fitpipe.kernels.tree_frames import CERTIFIED, STATIONARY, Out, Tree

Float = npt.NDArray[np.float64]
Int = npt.NDArray[np.int64]

N_SUSPECTS = 8  # bones flipped one at a time
N_COMBINED = 3  # of these, the worst are also flipped together
N_RANDOM = 8  # and fixed pseudo-random directions, should none of the above help
N_STARTS = 1 + N_SUSPECTS + 2**N_COMBINED + 1 + N_RANDOM

GAIN = 1e-12  # relative; less is rounding


def rank_suspects(stiffness: Float, tree: Tree, multiplier: Float) -> Int:
    """Bones that make K(lambda) least definite, worst first; shape (row, N_SUSPECTS), -1 = none.

    A bone pointing the wrong way has a pivot s + lambda/L far below s, mostly below zero.
    """
    pivot = stiffness.copy()
    ratio = np.full(pivot.shape, np.inf)
    kappa = np.nan_to_num(multiplier) * tree.inverse
    for i in range(len(tree.parent) - 1, -1, -1):
        p, k, s = tree.parent[i], kappa[:, i], pivot[:, i]
        if p < 0:
            continue
        total = s + k
        np.divide(total, s + 1e-9 * np.abs(k), out=ratio[:, i], where=k < 0)
        message = np.divide(k * s, total, out=np.zeros_like(s), where=total > 0)
        pivot[:, p] = np.maximum(pivot[:, p] + message, 0.0)
    order = np.argsort(ratio, axis=1, kind="stable")[:, :N_SUSPECTS]
    found = np.where(np.isfinite(np.take_along_axis(ratio, order, 1)), order, -1)
    return np.pad(found, ((0, 0), (0, N_SUSPECTS - found.shape[1])), constant_values=-1)


def spread_directions(shape: tuple[int, ...], first: int) -> Float:
    """Unit vectors number `first`, `first` + 1, ... of a fixed sequence that fills the sphere."""
    number = first + np.arange(np.prod(shape)).reshape(shape)
    z = 1.0 - 2.0 * ((0.5 + number * 0.7548776662466927) % 1.0)  # R2 sequence (Roberts 2018)
    turn = 2.0 * np.pi * ((0.5 + number * 0.5698402909980532) % 1.0)
    rim = np.sqrt(np.maximum(0.0, 1.0 - z * z))
    return np.stack([rim * np.cos(turn), rim * np.sin(turn), z], axis=-1)


def propose(rows: Int, attempt: int, stiffness: Float, tree: Tree, rest: Float, out: Out) -> Float:
    """N_STARTS starts for every frame of `rows`, shape (row, N_STARTS, joint, 3).

    The present pose again (to be polished); single flips of the suspects; joint flips of the worst
    of them; the rest pose; directions spread over the sphere, others in each attempt.
    """
    n_joints = len(tree.parent)
    bone = out.position[rows] - out.position[rows][:, tree.parent]
    size = np.linalg.norm(bone, axis=-1, keepdims=True)
    is_bone = (tree.length[:, None] > 0) & (size > 0)  # False where NaN
    present = np.where(is_bone, bone / np.where(is_bone, size, 1.0), rest)
    start = np.repeat(present[:, None], N_STARTS, axis=1)
    suspect = rank_suspects(stiffness[rows], tree, out.multiplier[rows])
    sets = [[s] for s in range(N_SUSPECTS)]
    sets += [[b for b in range(N_COMBINED) if s >> b & 1] for s in range(2**N_COMBINED)]
    for column, members in enumerate(sets, start=1):
        for member in members:
            flipped = np.flatnonzero(suspect[:, member] >= 0)
            start[flipped, column, suspect[flipped, member]] *= -1.0
    start[:, -1 - N_RANDOM] = rest
    start[:, -N_RANDOM:] = spread_directions(
        (N_RANDOM, n_joints), 1 + attempt * N_RANDOM * n_joints
    )
    return start


def keep_best(rows: Int, tried: Out, out: Out) -> npt.NDArray[np.bool_]:
    """Copy a frame's best attempt over its row of `out`; says in which rows J0 fell.

    Certified attempts first, then stationary ones, then the others; the lowest objective of a kind.
    """
    kind = np.maximum(tried.outcome, CERTIFIED).reshape(len(rows), N_STARTS)
    kind = np.minimum(kind, STATIONARY + 1)
    objective = tried.objective.reshape(kind.shape)
    column = np.lexsort((objective, kind))[:, 0]
    best = np.arange(len(rows)) * N_STARTS + column
    before, after = out.objective[rows], tried.objective[best]
    converges = np.minimum(out.outcome[rows], STATIONARY + 1) > kind[np.arange(len(rows)), column]
    better = (tried.outcome[best] == CERTIFIED) | (after < before * (1 - GAIN))
    better |= converges & (after <= before * (1 + GAIN))
    to, source = rows[better], best[better]
    for name in ("position", "objective", "outcome", "multiplier", "worst_bone_error"):
        getattr(out, name)[to] = getattr(tried, name)[source]
    out.iterations[to] += tried.iterations[source]
    fell: npt.NDArray[np.bool_] = better & (after < before * (1 - 1e-9))
    return fell
