"""How far each sample of a track is from what its neighbours in time predict.

Tracks are gone through in tiles of frames, in a flat workspace addressed ``SLOT + frame`` with
constants, so that LLVM can prove the slots apart and makes vector code.
"""

# mypy: allow-untyped-defs, allow-untyped-calls
# (Numba infers the types of compiled functions; the Python faces are annotated.)

from __future__ import annotations

import math

import numpy as np

from fitpipe.kernels._jit import kernel, prefer_widest_vectors

# A sample is predicted by the polynomial through these neighbours: the two before, the two after,
# one on either side, two on either side.
NEIGHBOURS = ((-2, -1), (1, 2), (-1, 1), (-2, -1, 1, 2))
N_SHARES = 10  # of all neighbours in all predictions
HALO = 2  # frames that neighbours reach before and after
TILE = 256
_OFFSET = np.array([-2, -1, 0, 0, 1, 2, 0, 0, -1, 1, 0, 0, -2, -1, 1, 2]).reshape(4, 4)
_COUNT = np.array([2, 2, 2, 4])

# Slots of the workspace, TILE numbers each; those of the track have HALO more on either side.
_WIDE = TILE + 2 * HALO
SHARE = 0
X = N_SHARES * TILE + HALO
Y = X + _WIDE
Z = Y + _WIDE
VARIANCE = Z + _WIDE
SQUARE = VARIANCE + TILE + HALO  # (4 predictions) squared distance, NaN where there is none
SPREAD = SQUARE + 4 * TILE  # (4 predictions) variance of the distance, over that of a sample
RESULT = SPREAD + 4 * TILE
WORK = RESULT + TILE


@kernel()
def predict(time_s, reach_s, share):
    """Write what each neighbour contributes to each prediction into `share` (N_SHARES, time).

    That is Lagrange's polynomial through the neighbours at time_s (time,); NaN for a prediction of
    which a neighbour is missing or more than reach_s away.
    """
    n = len(time_s)
    slot = 0
    for row in range(4):
        count = _COUNT[row]
        for t in range(n):
            first, last = t + _OFFSET[row, 0], t + _OFFSET[row, count - 1]
            near = first >= 0 and last < n
            near = near and time_s[t] - time_s[first] <= reach_s
            near = near and time_s[last] - time_s[t] <= reach_s
            for k in range(count):
                part = np.nan
                if near:
                    own = t + _OFFSET[row, k]
                    part = 1.0
                    for m in range(count):
                        if m != k:
                            other = t + _OFFSET[row, m]
                            part *= (time_s[t] - time_s[other]) / (time_s[own] - time_s[other])
                share[slot + k, t] = part
        slot += count


@kernel()
def load_shares(share, begin, work):
    n = share.shape[1]
    for slot in range(N_SHARES):
        for t in range(TILE):
            inside = begin + t < n
            work[SHARE + slot * TILE + t] = share[slot, begin + t] if inside else np.nan


@kernel()
def load_track(position, confidence, least, jumped, joint, begin, work):
    """One joint's tile and halo: positions, NaN where missing, and the variance of the noise."""
    n = position.shape[0]
    for at in range(-HALO, TILE + HALO):
        t = begin + at
        x = y = z = np.nan
        variance = 1.0
        if 0 <= t < n:
            if not jumped[joint, t]:
                x, y, z = position[t, joint, 0], position[t, joint, 1], position[t, joint, 2]
            if confidence.shape[0] > 0:
                variance = 1.0 / max(confidence[t, joint], least)
        work[X + at] = x
        work[Y + at] = y
        work[Z + at] = z
        work[VARIANCE + at] = variance


@kernel()
def squared_distances(work):
    """Fill SQUARE and SPREAD."""
    prefer_widest_vectors()
    for t in range(TILE):
        x, y, z, v = work[X + t], work[Y + t], work[Z + t], work[VARIANCE + t]
        x1, y1, z1, v1 = work[X + t - 2], work[Y + t - 2], work[Z + t - 2], work[VARIANCE + t - 2]
        x2, y2, z2, v2 = work[X + t - 1], work[Y + t - 1], work[Z + t - 1], work[VARIANCE + t - 1]
        x3, y3, z3, v3 = work[X + t + 1], work[Y + t + 1], work[Z + t + 1], work[VARIANCE + t + 1]
        x4, y4, z4, v4 = work[X + t + 2], work[Y + t + 2], work[Z + t + 2], work[VARIANCE + t + 2]
        a, b = work[SHARE + t], work[SHARE + TILE + t]
        d0, d1, d2 = x - a * x1 - b * x2, y - a * y1 - b * y2, z - a * z1 - b * z2
        work[SQUARE + t] = d0 * d0 + d1 * d1 + d2 * d2
        work[SPREAD + t] = v + a * a * v1 + b * b * v2
        a, b = work[SHARE + 2 * TILE + t], work[SHARE + 3 * TILE + t]
        d0, d1, d2 = x - a * x3 - b * x4, y - a * y3 - b * y4, z - a * z3 - b * z4
        work[SQUARE + TILE + t] = d0 * d0 + d1 * d1 + d2 * d2
        work[SPREAD + TILE + t] = v + a * a * v3 + b * b * v4
        a, b = work[SHARE + 4 * TILE + t], work[SHARE + 5 * TILE + t]
        d0, d1, d2 = x - a * x2 - b * x3, y - a * y2 - b * y3, z - a * z2 - b * z3
        work[SQUARE + 2 * TILE + t] = d0 * d0 + d1 * d1 + d2 * d2
        work[SPREAD + 2 * TILE + t] = v + a * a * v2 + b * b * v3
        a, b = work[SHARE + 6 * TILE + t], work[SHARE + 7 * TILE + t]
        c, d = work[SHARE + 8 * TILE + t], work[SHARE + 9 * TILE + t]
        d0 = x - a * x1 - b * x2 - c * x3 - d * x4
        d1 = y - a * y1 - b * y2 - c * y3 - d * y4
        d2 = z - a * z1 - b * z2 - c * z3 - d * z4
        work[SQUARE + 3 * TILE + t] = d0 * d0 + d1 * d1 + d2 * d2
        work[SPREAD + 3 * TILE + t] = v + a * a * v1 + b * b * v2 + c * c * v3 + d * d * v4


@kernel()
def least_ratio(work):
    """Fill RESULT with the root of the least SQUARE over its SPREAD; infinite if there is none."""
    prefer_widest_vectors()
    for t in range(TILE):
        least = np.inf
        for row in range(4):
            ratio = work[SQUARE + row * TILE + t] / work[SPREAD + row * TILE + t]
            least = ratio if ratio < least else least  # not so for NaN
        work[RESULT + t] = math.sqrt(least)


@kernel()
def farther_than_all(floor2, lone2, work):
    """Turn RESULT, the squared gate over the spread, into 1 where every prediction is farther off.

    The gate is at least the root of floor2; where there is one prediction only, lone2 times wider
    (all squares). NaN is never farther.
    """
    prefer_widest_vectors()
    for t in range(TILE):
        n_known = n_far = n_very_far = 0.0
        for row in range(4):
            square = work[SQUARE + row * TILE + t]
            gate = work[RESULT + t] * work[SPREAD + row * TILE + t]
            gate = floor2 if gate < floor2 else gate
            n_known += 1.0 if square >= 0.0 else 0.0
            n_far += 1.0 if square > gate else 0.0
            n_very_far += 1.0 if square > lone2 * gate else 0.0
        alone = n_known == 1.0
        far = n_very_far == 1.0 if alone else (n_known > 0.0) & (n_far == n_known)
        work[RESULT + t] = 1.0 if far else 0.0


@kernel()
def track_noise(position, confidence, least, share, jumped, noise):
    """Write the least distance of each sample to its predictions, over its spread, into `noise`.

    position (time, joint, 3) metres with NaN where missing; confidence (time, joint), or without
    rows, at least `least`: noise grows as one over its root; share as written by `predict`; jumped
    (joint, time): samples to take as missing. noise (joint, time) is NaN where nothing predicts.
    """
    n, n_joints = position.shape[0], position.shape[1]
    work = np.empty(WORK)
    for begin in range(0, n, TILE):
        load_shares(share, begin, work)
        for joint in range(n_joints):
            load_track(position, confidence, least, jumped, joint, begin, work)
            squared_distances(work)
            least_ratio(work)
            for t in range(min(TILE, n - begin)):
                value = work[RESULT + t]
                noise[joint, begin + t] = value if value < np.inf else np.nan


@kernel()
def find_jumps(position, confidence, least, share, usual, factor, floor_m, lone, jumped, n_new):
    """Mark in `jumped` (joint, time) the samples that lie too far from all their predictions.

    The gate is `factor` times the `usual` (joint, time) noise times the spread, at least floor_m;
    where there is one prediction only, `lone` times wider. n_new (joint,) becomes the number of
    samples that were not marked before. The other arguments are those of `track_noise`.
    """
    n, n_joints = position.shape[0], position.shape[1]
    work = np.empty(WORK)
    marked = jumped.copy()
    n_new[:] = 0
    for begin in range(0, n, TILE):
        load_shares(share, begin, work)
        for joint in range(n_joints):
            load_track(position, confidence, least, marked, joint, begin, work)
            squared_distances(work)
            for t in range(TILE):
                scale = factor * usual[joint, begin + t] if begin + t < n else 0.0
                work[RESULT + t] = scale * scale
            farther_than_all(floor_m * floor_m, lone * lone, work)
            for t in range(min(TILE, n - begin)):
                if work[RESULT + t] > 0.0:
                    jumped[joint, begin + t] = True
                    n_new[joint] += 1
