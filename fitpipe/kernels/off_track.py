"""How far each sample of one track is from what its neighbours in time predict."""

# mypy: allow-untyped-defs, allow-untyped-calls
# (Numba infers the types of compiled functions; the Python faces are annotated.)

from __future__ import annotations

import math

import numpy as np

from fitpipe.kernels._jit import kernel

# A sample is predicted by the polynomial through these neighbours: the two before, the two after,
# one on either side, two on either side.
NEIGHBOURS = ((-2, -1), (1, 2), (-1, 1), (-2, -1, 1, 2))
N_PREDICTIONS = len(NEIGHBOURS)
MOST_NEIGHBOURS = 4
_OFFSET = np.array([-2, -1, 0, 0, 1, 2, 0, 0, -1, 1, 0, 0, -2, -1, 1, 2]).reshape(4, 4)
_COUNT = np.array([2, 2, 2, 4])


@kernel()
def predict(time_s, reach_s, share):
    """Write what each neighbour contributes to each prediction into `share`.

    share (time, prediction, neighbour) becomes Lagrange's polynomial through the neighbours at
    time_s (time,); its first entry is NaN where a neighbour is more than reach_s away, or none.
    """
    n = len(time_s)
    for t in range(n):
        for row in range(N_PREDICTIONS):
            count = _COUNT[row]
            share[t, row, 0] = np.nan
            first, last = t + _OFFSET[row, 0], t + _OFFSET[row, count - 1]
            if first < 0 or last >= n:
                continue
            if time_s[t] - time_s[first] > reach_s or time_s[last] - time_s[t] > reach_s:
                continue
            for k in range(count):
                own = t + _OFFSET[row, k]
                part = 1.0
                for m in range(count):
                    if m != k:
                        other = t + _OFFSET[row, m]
                        part *= (time_s[t] - time_s[other]) / (time_s[own] - time_s[other])
                share[t, row, k] = part


@kernel()
def off_track(position, variance, share, distance, spread, noise):
    """Write distance and spread of every prediction, and the least ratio of the two.

    position (time, 3) metres with NaN where missing; variance (time,) of each sample's noise;
    share as written by `predict`. distance (time, prediction) becomes the distance to the
    prediction in metres, NaN where there is none; spread the standard deviation of that distance,
    in units of the root of the variance; noise (time,) the least distance over its spread, NaN
    where there is no prediction.
    """
    for t in range(len(position)):
        noise[t] = np.nan
        for row in range(N_PREDICTIONS):
            distance[t, row] = np.nan
            spread[t, row] = 1.0
            if share[t, row, 0] != share[t, row, 0]:
                continue
            x, y, z, total = position[t, 0], position[t, 1], position[t, 2], variance[t]
            for k in range(_COUNT[row]):
                own = t + _OFFSET[row, k]
                part = share[t, row, k]
                x -= part * position[own, 0]
                y -= part * position[own, 1]
                z -= part * position[own, 2]
                total += part * part * variance[own]
            distance[t, row] = math.sqrt(x * x + y * y + z * z)
            spread[t, row] = math.sqrt(total)
            ratio = distance[t, row] / spread[t, row]
            if not ratio >= noise[t]:
                noise[t] = ratio if ratio == ratio else noise[t]


@kernel()
def jumps(distance, spread, usual, factor, floor_m, lone, position, jumped):
    """Mark the samples that lie too far from all their predictions; returns how many are new.

    The gate is `factor` times the `usual` (time,) noise times the spread, at least `floor_m`; where
    there is one prediction only, `lone` times wider. New ones become NaN in `position` (time, 3)
    and True in `jumped` (time,).
    """
    n_new = 0
    for t in range(len(usual)):
        best = np.nan
        n_known = 0
        for row in range(N_PREDICTIONS):
            if not distance[t, row] >= 0.0:
                continue
            n_known += 1
            gate = factor * usual[t] * spread[t, row]
            gate = floor_m if gate < floor_m else gate
            ratio = distance[t, row] / gate
            if not ratio >= best:
                best = ratio
        if best > (lone if n_known == 1 else 1.0):
            jumped[t] = True
            n_new += 1
            position[t, 0] = position[t, 1] = position[t, 2] = np.nan
    return n_new
