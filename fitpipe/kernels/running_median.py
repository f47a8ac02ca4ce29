"""The median over the samples around each sample of a series."""

# mypy: allow-untyped-defs, allow-untyped-calls
# (Numba infers the types of compiled functions; the Python faces are annotated.)

from __future__ import annotations

import numpy as np

from fitpipe.kernels._jit import kernel, prefer_widest_vectors

HALF = 30  # samples on either side
_WIDTH = 2 * HALF + 1
_ROOM = 64  # filled up with infinity


@kernel()
def mirrored(t, n):
    """Index of a sample beyond the ends: the series is mirrored there, its end samples twice."""
    if t < 0:
        return -t - 1
    return 2 * n - t - 1 if t >= n else t


@kernel()
def n_below(window, value):
    prefer_widest_vectors()
    count = 0
    for k in range(_ROOM):
        count += 1 if window[k] < value else 0
    return count


@kernel()
def move_down(window, first, last):
    """Move rows first + 1 ... last one down."""
    prefer_widest_vectors()
    for k in range(_ROOM - 1):
        own, above = window[k], window[k + 1]
        window[k] = above if (k >= first) & (k < last) else own


@kernel()
def move_up(window, first, last):
    """Move rows first ... last - 1 one up."""
    prefer_widest_vectors()
    for k in range(_ROOM - 1, 0, -1):
        own, below = window[k], window[k - 1]
        window[k] = below if (k > first) & (k <= last) else own


@kernel()
def exchange(window, old, new):
    """Replace a value of the sorted window by another one."""
    source, target = n_below(window, old), n_below(window, new)
    if new > old:
        target -= 1
        move_down(window, source, target)
    else:
        move_up(window, target, source)
    window[target] = new


@kernel()
def running_median(values, before, median):
    """Write the medians of `values` (time,), without NaN, into `median` (time,).

    Where nothing differs from `before` (time,), `median` is taken to be right already. The series
    has more than HALF samples.
    """
    n = len(values)
    window = np.full(_ROOM, np.inf)
    n_changed = 0
    for t in range(-HALF, HALF):
        m = mirrored(t, n)
        n_changed += values[m] != before[m]
    is_filled = False
    for t in range(n):
        m = mirrored(t + HALF, n)
        n_changed += values[m] != before[m]
        if n_changed == 0:
            is_filled = False
        elif is_filled:
            old = values[mirrored(t - HALF - 1, n)]
            new = values[mirrored(t + HALF, n)]
            if old != new:
                exchange(window, old, new)
            median[t] = window[HALF]
        else:
            for k in range(_WIDTH):
                window[k] = values[mirrored(t - HALF + k, n)]
            window.sort()
            is_filled = True
            median[t] = window[HALF]
        m = mirrored(t - HALF, n)
        n_changed -= values[m] != before[m]
