"""Other starts for the frames whose first stationary point has no certificate."""

# mypy: allow-untyped-defs, allow-untyped-calls
# (Numba infers the types of compiled functions; the Python faces are annotated.)

from __future__ import annotations

import math

import numpy as np

from fitpipe.kernels import tree_frames as frames
from fitpipe.kernels._jit import kernel

N_SUSPECTS = 8  # bones flipped one at a time
N_COMBINED = 3  # of these, the worst are also flipped together
N_RANDOM = 8  # and fixed pseudo-random directions, should none of the above help
FIRST_RANDOM = 2 + N_SUSPECTS + 2**N_COMBINED
N_STARTS = FIRST_RANDOM + N_RANDOM


@kernel()
def rank_suspects(stiffness, length, parent, multiplier, suspect):
    """Write into `suspect` (N_SUSPECTS,) the bones that make K(lambda) least definite; -1 = none.

    A bone pointing the wrong way has a pivot s + lambda/L far below s, mostly below zero.
    """
    n_joints = parent.shape[0]
    pivot = stiffness.copy()
    ratio = np.full(n_joints, np.inf)
    for i in range(n_joints - 1, -1, -1):
        p = parent[i]
        if p < 0:
            continue
        kappa = 0.0
        if length[i] > 0.0 and multiplier[i] == multiplier[i]:
            kappa = multiplier[i] / length[i]
        total = pivot[i] + kappa
        if kappa < 0.0:
            ratio[i] = total / (pivot[i] + 1e-9 * abs(kappa))
        if total > 0.0:
            pivot[p] += kappa * pivot[i] / total
            pivot[p] = max(pivot[p], 0.0)
    for k in range(suspect.shape[0]):
        worst = np.argmin(ratio)
        suspect[k] = worst if ratio[worst] < np.inf else -1
        ratio[worst] = np.inf


@kernel()
def unit_noise(seed):
    """Fixed pseudo-random unit vector number `seed` (golden-ratio sequence on the sphere)."""
    z = 1.0 - 2.0 * ((0.5 + seed * 0.7548776662466927) % 1.0)
    turn = 2.0 * math.pi * ((0.5 + seed * 0.5698402909980532) % 1.0)
    rim = math.sqrt(max(0.0, 1.0 - z * z))
    return rim * math.cos(turn), rim * math.sin(turn), z


@kernel()
def propose(rows, attempt, stiffness, length, parent, rest, out, start):
    """Write N_STARTS starts for every frame of `rows` into `start` (row * N_STARTS, joint, 3).

    The present pose again (to be polished); single flips of the suspects; joint flips of the worst
    ones; the rest pose; directions spread over the sphere.
    """
    n_joints = parent.shape[0]
    suspect = np.empty(N_SUSPECTS, np.int64)
    for k in range(rows.shape[0]):
        t = rows[k]
        position = out.position[t]
        rank_suspects(stiffness[t], length, parent, out.multiplier[t], suspect)
        present = start[k * N_STARTS]
        for i in range(n_joints):
            p = parent[i]
            present[i] = rest[i]  # where the bone is absent it does not matter
            if p >= 0 and out.active[t, i] and out.active[t, p] and length[i] > 0.0:
                size = 0.0
                for c in range(3):
                    size += (position[i, c] - position[p, c]) ** 2
                for c in range(3):
                    present[i, c] = (position[i, c] - position[p, c]) / math.sqrt(size)
        for s in range(1, N_STARTS):
            start[k * N_STARTS + s] = present
        for s in range(N_SUSPECTS):
            if suspect[s] >= 0:
                start[k * N_STARTS + 1 + s, suspect[s]] *= -1.0
        for s in range(2**N_COMBINED):
            for b in range(N_COMBINED):
                if (s >> b) & 1 and suspect[b] >= 0:
                    start[k * N_STARTS + 1 + N_SUSPECTS + s, suspect[b]] *= -1.0
        start[k * N_STARTS + FIRST_RANDOM - 1] = rest
        for s in range(N_RANDOM):
            for i in range(n_joints):
                if parent[i] >= 0:
                    seed = 1.0 + i + n_joints * (s + N_RANDOM * attempt)
                    d0, d1, d2 = unit_noise(seed)
                    start[k * N_STARTS + FIRST_RANDOM + s, i, 0] = d0
                    start[k * N_STARTS + FIRST_RANDOM + s, i, 1] = d1
                    start[k * N_STARTS + FIRST_RANDOM + s, i, 2] = d2


@kernel()
def keep_best(rows, tried, out, improved):
    """Copy a frame's best attempt over its row of `out`; `improved` (row,) says where J0 fell."""
    for k in range(rows.shape[0]):
        t = rows[k]
        best = -1
        for s in range(k * N_STARTS, (k + 1) * N_STARTS):
            # Converged attempts outrank others, then the lower objective, then the certificate.
            if tried.outcome[s] > frames.STATIONARY and out.outcome[t] <= frames.STATIONARY:
                continue
            if best < 0 or is_better(tried, s, tried, best):
                best = s
        before = out.objective[t]
        improved[k] = False
        if best >= 0 and is_better(tried, best, out, t):
            improved[k] = tried.objective[best] < before * (1.0 - 1e-9)
            out.position[t] = tried.position[best]
            out.objective[t] = tried.objective[best]
            out.iterations[t] += tried.iterations[best]
            out.outcome[t] = tried.outcome[best]
            out.multiplier[t] = tried.multiplier[best]
            out.worst_bone_error[t] = tried.worst_bone_error[best]


@kernel()
def is_better(a, i, b, j):
    """Whether row i of `a` is to be preferred to row j of `b`."""
    if a.outcome[i] == frames.CERTIFIED or b.outcome[j] == frames.CERTIFIED:
        return b.outcome[j] != frames.CERTIFIED
    same = abs(a.objective[i] - b.objective[j]) <= 1e-12 * b.objective[j]
    if same:
        return a.outcome[i] < b.outcome[j]
    return a.objective[i] < b.objective[j]
