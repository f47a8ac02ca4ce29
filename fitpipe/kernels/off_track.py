"""How far each sample of one track is from what its neighbours in time predict."""

# mypy: allow-untyped-defs, allow-untyped-calls
# (Numba infers the types of compiled functions; the Python faces are annotated.)

from __future__ import annotations

import numpy as np

from fitpipe.kernels._jit import kernel

# A sample is predicted by the polynomial through these neighbours: the two before, the two after,
# one on either side, two on either side.
NEIGHBOURS = ((-2, -1), (1, 2), (-1, 1), (-2, -1, 1, 2))
N_PREDICTIONS = len(NEIGHBOURS)
_OFFSET = np.array([-2, -1, 0, 0, 1, 2, 0, 0, -1, 1, 0, 0, -2, -1, 1, 2]).reshape(4, 4)
_COUNT = np.array([2, 2, 2, 4])


@kernel()
def off_track(position, time_s, variance, reach_s, distance, spread):
    """Write distance and spread of every prediction into the last two arguments.

    position (time, 3) metres with NaN where missing; time_s and variance (time,), the variance of
    each sample's noise; neighbours more than reach_s away predict nothing. distance (prediction,
    time) becomes the distance to the prediction in metres, NaN where there is none; spread the
    standard deviation of that distance, in units of the root of the variance.
    """
    n = len(time_s)
    for row in range(len(_COUNT)):
        count = _COUNT[row]
        for t in range(n):
            distance[row, t] = np.nan
            spread[row, t] = 1.0
            first, last = t + _OFFSET[row, 0], t + _OFFSET[row, count - 1]
            if first < 0 or last >= n:
                continue
            if time_s[t] - time_s[first] > reach_s or time_s[last] - time_s[t] > reach_s:
                continue
            x, y, z, total = position[t, 0], position[t, 1], position[t, 2], variance[t]
            for k in range(count):
                own = t + _OFFSET[row, k]
                # Lagrange's polynomial through the neighbours, at the sample's own time
                share = 1.0
                for m in range(count):
                    if m != k:
                        other = t + _OFFSET[row, m]
                        share *= (time_s[t] - time_s[other]) / (time_s[own] - time_s[other])
                x -= share * position[own, 0]
                y -= share * position[own, 1]
                z -= share * position[own, 2]
                total += share * share * variance[own]
            distance[row, t] = np.sqrt(x * x + y * y + z * z)
            spread[row, t] = np.sqrt(total)
