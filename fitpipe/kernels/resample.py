"""Puts the samples of a source at the instants of another clock."""

# mypy: allow-untyped-defs, allow-untyped-calls
# (Numba infers the types of compiled functions; the Python faces are annotated.)

from __future__ import annotations

import numpy as np

from fitpipe.kernels._jit import kernel


@kernel(contract=False)
def resample(position, own_s, confidence, time_s, reach_s, out, out_confidence):
    """Interpolate every point linearly between its own samples; writes into the last two.

    position (own time, point, 3) with NaN where missing, at own_s, which rise; out (time, point, 3)
    becomes NaN where an instant of time_s, which rise too, lies outside the samples or between two
    that are more than reach_s apart. The confidence, where it has rows, is the lower of the two.
    """
    n_own, n_points = position.shape[0], position.shape[1]
    with_confidence = confidence.shape[0] > 0
    # samples of each point around the instant; after = n_own: there is none
    before, after = np.full(n_points, -1), np.full(n_points, -1)
    for t in range(len(time_s)):
        at = time_s[t]
        for p in range(n_points):
            b, a = before[p], after[p]
            while a < n_own and (a < 0 or own_s[a] < at):
                if a >= 0:
                    b = a
                a += 1
                while a < n_own and position[a, p, 0] != position[a, p, 0]:
                    a += 1
            before[p], after[p] = b, a
            first = a if a < n_own and own_s[a] == at else b
            if first >= 0 and a < n_own and own_s[a] - own_s[first] <= reach_s:
                span = own_s[a] - own_s[first]
                share = (at - own_s[first]) / span if span > 0.0 else 0.0
                for c in range(3):
                    low, high = position[first, p, c], position[a, p, c]
                    out[t, p, c] = low + share * (high - low)
                if with_confidence:
                    out_confidence[t, p] = min(confidence[first, p], confidence[a, p])
                continue
            out[t, p, 0] = out[t, p, 1] = out[t, p, 2] = np.nan
            if with_confidence:
                out_confidence[t, p] = 0.0
