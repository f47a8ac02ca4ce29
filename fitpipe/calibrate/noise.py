"""The noise of every source and joint, from the take itself, and the weights it gives."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fitpipe.arrays import FloatArray
from fitpipe.config import WeightsConfig
from fitpipe.records import Take

# Of a third difference with white noise of standard deviation σ on each axis, the variance is
# (1 + 9 + 9 + 1) σ²; the median norm of three such numbers is 1.5382 of their deviation.
_MEDIAN_NORM = 1.5382 * np.sqrt(20.0)
_FEW = 10


def noise_m(take: Take) -> FloatArray:
    """Standard deviation of each joint's noise on one axis, shape (joint,), metres.

    The median of the third differences in time, which motion hardly enters and outliers hardly
    move. What is slow (a bias, or noise that a filter has smoothed) does not show. NaN for joints
    with fewer than 10 runs of four samples.
    """
    third = np.linalg.norm(np.diff(take.position_m, 3, axis=0), axis=-1)
    out = np.full(take.n_points, np.nan)
    for j, values in enumerate(third.T):
        known = values[~np.isnan(values)]
        if known.size >= _FEW:
            out[j] = np.median(known) / _MEDIAN_NORM
    return out


def noise_weights(noise: Sequence[FloatArray], settings: WeightsConfig) -> FloatArray:
    """Weight of each source and joint, shape (source, joint): about 1 for a typical one.

    1 / (σ² + floor²) over its median over all sources and joints. The floor stands for what the
    noise does not show: a sensor's slow errors.

    Parameters
    ----------
    noise : sequence of ndarray, shape (joint,), metres
        One per source; NaN where unknown, which weighs like the median.
    settings : WeightsConfig
    """
    variance = np.stack(noise) ** 2 + settings.noise_floor_m**2
    known = variance[~np.isnan(variance)]
    if not settings.noise or known.size == 0:
        return np.ones(variance.shape)
    typical = float(np.median(known))
    return np.asarray(typical / np.where(np.isnan(variance), typical, variance))
