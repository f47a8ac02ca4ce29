"""Other starts for the frames whose first stationary point has no certificate."""

# mypy: allow-untyped-defs, allow-untyped-calls
# (Numba infers the types of compiled functions; the Python faces are annotated.)

from __future__ import annotations

from functools import cache

import numpy as np
import numpy.typing as npt

from fitpipe.kernels._jit import kernel
from fitpipe.kernels.tree_frames import CERTIFIED, STATIONARY

N_SUSPECTS = 8  # bones flipped one at a time
N_COMBINED = 3  # of these, the worst are also flipped together
N_RANDOM = 8  # and fixed pseudo-random directions, should none of the above help
N_STARTS = 1 + N_SUSPECTS + 2**N_COMBINED + 1 + N_RANDOM

GAIN = 1e-12  # relative; less is rounding
FELL = 1e-9  # relative; a frame that gains this much may gain from another round


@kernel(contract=False)
def rank_suspects(stiffness, tree, multiplier, pivot, ratio, suspect):
    """Write the bones that make K(lambda) least definite into `suspect`, worst first; -1 = none.

    A bone pointing the wrong way has a pivot s + lambda/L far below s, mostly below zero. `pivot`
    and `ratio` (joint,) are scratch.
    """
    n_joints = len(pivot)
    for i in range(n_joints):
        pivot[i] = stiffness[i]
    for i in range(n_joints - 1, -1, -1):
        ratio[i] = np.inf
        p = tree.parent[i]
        if p < 0:
            continue
        k = multiplier[i] * tree.inverse[i] if multiplier[i] == multiplier[i] else 0.0
        total = pivot[i] + k
        if k < 0.0:
            ratio[i] = total / (pivot[i] + 1e-9 * abs(k))
        message = k * pivot[i] / total if total > 0.0 else 0.0
        pivot[p] = max(pivot[p] + message, 0.0)
    for member in range(N_SUSPECTS):
        suspect[member] = -1
        least = np.inf
        for i in range(n_joints):
            if ratio[i] < least:
                least = ratio[i]
                suspect[member] = i
        if suspect[member] >= 0:
            ratio[suspect[member]] = np.inf


@cache
def spread_directions(n_joints: int, attempt: int) -> npt.NDArray[np.float64]:
    """Unit vectors of a fixed sequence that fills the sphere, (N_RANDOM, joint, 3).

    Every attempt has its own.
    """
    first = 1 + attempt * N_RANDOM * n_joints
    number = first + np.arange(N_RANDOM * n_joints).reshape(N_RANDOM, n_joints)
    z = 1.0 - 2.0 * ((0.5 + number * 0.7548776662466927) % 1.0)  # R2 sequence (Roberts 2018)
    turn = 2.0 * np.pi * ((0.5 + number * 0.5698402909980532) % 1.0)
    rim = np.sqrt(np.maximum(0.0, 1.0 - z * z))
    return np.stack([rim * np.cos(turn), rim * np.sin(turn), z], axis=-1)


@kernel(contract=False)
def propose(rows, stiffness, tree, rest, spread, out, start):
    """Write N_STARTS starts for every frame of `rows` into `start` (row x N_STARTS, joint, 3).

    The present pose again (to be polished); single flips of the suspects; joint flips of the worst
    of them; the rest pose; `spread` of `spread_directions`.
    """
    n_joints = len(tree.parent)
    pivot, ratio = np.zeros(n_joints), np.zeros(n_joints)
    suspect = np.zeros(N_SUSPECTS, np.int64)
    for r in range(len(rows)):
        row = rows[r]
        own = start[r * N_STARTS : (r + 1) * N_STARTS]
        for i in range(n_joints):
            p = tree.parent[i]
            own[0, i] = rest[i]
            if p >= 0 and tree.length[i] > 0.0:
                d0 = out.position[row, i, 0] - out.position[row, p, 0]
                d1 = out.position[row, i, 1] - out.position[row, p, 1]
                d2 = out.position[row, i, 2] - out.position[row, p, 2]
                size = np.sqrt(d0 * d0 + d1 * d1 + d2 * d2)
                if size > 0.0:  # not so for NaN
                    own[0, i, 0] = d0 / size
                    own[0, i, 1] = d1 / size
                    own[0, i, 2] = d2 / size
        for at in range(1, N_STARTS - N_RANDOM - 1):
            own[at] = own[0]
        own[N_STARTS - N_RANDOM - 1] = rest
        own[N_STARTS - N_RANDOM :] = spread
        rank_suspects(stiffness[row], tree, out.multiplier[row], pivot, ratio, suspect)
        for member in range(N_SUSPECTS):
            bone = suspect[member]
            if bone < 0:
                continue
            for c in range(3):
                own[1 + member, bone, c] *= -1.0
                for combined in range(2**N_COMBINED):
                    if member < N_COMBINED and combined >> member & 1:
                        own[1 + N_SUSPECTS + combined, bone, c] *= -1.0


@kernel(contract=False)
def keep_best(rows, tried, out, fell):
    """Copy each frame's best attempt over its row of `out`; `fell` (row,) says where J0 fell.

    Certified attempts first, then stationary ones, then the others; the lowest objective of a kind.
    """
    for r in range(len(rows)):
        row = rows[r]
        best = r * N_STARTS
        kind = min(max(tried.outcome[best], CERTIFIED), STATIONARY + 1)
        for k in range(best + 1, (r + 1) * N_STARTS):
            other = min(max(tried.outcome[k], CERTIFIED), STATIONARY + 1)
            lower = tried.objective[k] < tried.objective[best]
            lower |= tried.objective[best] != tried.objective[best]
            if other < kind or (other == kind and lower):
                best, kind = k, other
        before, after = out.objective[row], tried.objective[best]
        better = tried.outcome[best] == CERTIFIED or after < before * (1.0 - GAIN)
        converges = kind < min(out.outcome[row], STATIONARY + 1)
        better |= converges and after <= before * (1.0 + GAIN)
        fell[r] = better and after < before * (1.0 - FELL)
        if better:
            out.position[row] = tried.position[best]
            out.objective[row] = after
            out.outcome[row] = tried.outcome[best]
            out.multiplier[row] = tried.multiplier[best]
            out.worst_bone_error[row] = tried.worst_bone_error[best]
            out.iterations[row] += tried.iterations[best]
