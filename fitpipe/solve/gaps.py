"""Which joints a fit over time may give a position: seen, between sightings, or held by bones."""

from __future__ import annotations

import numpy as np

from fitpipe.arrays import BoolArray, FloatArray, IntArray
from fitpipe.kernels.tree_frames import mark_active

# Carrying a joint on from one side errs as much as bridging a gap three times as long.
ONE_SIDED = 1.0 / 3.0
ROUNDING = 1.0 + 1e-9  # stamps that are sums of ticks carry rounding


def within_gaps(is_seen: BoolArray, time_s: FloatArray, *, max_gap_s: float) -> BoolArray:
    """Frames of each joint that are seen, or lie in a gap that is short enough.

    Parameters
    ----------
    is_seen : ndarray of bool, shape (time, joint)
    time_s : ndarray, shape (time,), seconds
    max_gap_s : float, seconds
        Longest time between the sightings before and after a gap; a third of it between the first
        or last sighting and that end of the take. A longer gap stays a gap from end to end.

    Returns
    -------
    ndarray of bool, shape (time, joint)
        False for a joint that is never seen.
    """
    out = is_seen.copy()
    reach = max_gap_s * ROUNDING
    for joint in range(is_seen.shape[1]):
        seen = np.flatnonzero(is_seen[:, joint])
        if seen.size == 0:
            continue
        if time_s[seen[0]] - time_s[0] <= ONE_SIDED * reach:
            out[: seen[0], joint] = True
        if time_s[-1] - time_s[seen[-1]] <= ONE_SIDED * reach:
            out[seen[-1] :, joint] = True
        gaps = np.flatnonzero(np.diff(seen) > 1)
        for before, after in zip(seen[gaps], seen[gaps + 1], strict=True):
            if time_s[after] - time_s[before] <= reach:
                out[before:after, joint] = True
    return out


def held_by_bones(present: BoolArray, parent: IntArray) -> BoolArray:
    """The joints of each frame that are present or that bones hold between present ones.

    Parameters
    ----------
    present : ndarray of bool, shape (time, joint)
    parent : ndarray of int, shape (joint,)
        Parents before children; -1 for a root.
    """
    out = np.empty_like(present)
    for frame, row in enumerate(present.astype(np.float64)):
        mark_active(row, parent, out[frame])
    return out
