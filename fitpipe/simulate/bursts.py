"""Things that begin and end at random."""

from __future__ import annotations

import numpy as np

from fitpipe.arrays import BoolArray, FloatArray


def bursts(chance: FloatArray, *, share: float, mean_frames: float) -> BoolArray:
    """Two-state Markov chain down each column: True in a burst.

    ``chance`` (time, column), uniform in 0..1, decides; the stationary share of True is ``share``
    and a burst lasts ``mean_frames`` on average.
    """
    end = 1.0 / mean_frames
    begin = end * share / (1.0 - share)
    lost = np.empty(chance.shape, dtype=np.bool_)
    state = chance[0] < share
    lost[0] = state
    for frame_i in range(1, len(chance)):
        state = np.where(state, chance[frame_i] >= end, chance[frame_i] < begin)
        lost[frame_i] = state
    return lost
