"""Robust scale and weights, and how many samples of a series count as independent."""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from fitpipe.arrays import FloatArray

# Median norm of a vector of independent normal deviates of unit variance, by its dimension
MEDIAN_NORM: Final = {1: 0.67449, 2: 1.17741, 3: 1.53817}
# Tukey's cut-off for 95 % efficiency at the normal, by dimension
_TUKEY_CUT: Final = {1: 4.685, 2: 5.12, 3: 5.51}
_SMALL: Final = 1e-9
_MAX_ROUNDS: Final = 50


def tukey_weights(distance: FloatArray, *, dimensions: int, floor: float) -> FloatArray:
    """Tukey's biweight of residual norms: 1 at zero, 0 beyond the cut-off.

    Parameters
    ----------
    distance : ndarray
        Norms of the residuals; their median sets the scale.
    dimensions : int
        Of the residual vectors, 1 to 3.
    floor : float
        Smallest standard deviation per axis that is believed, in the unit of ``distance``.
    """
    scale = max(float(np.median(distance)) / MEDIAN_NORM[dimensions], floor)
    u = distance / (_TUKEY_CUT[dimensions] * scale)
    return np.where(u < 1, (1 - u**2) ** 2, 0.0)


class Centre(NamedTuple):
    """A robust centre of a series and the variance of its error."""

    value: float
    variance: float


def robust_centre(series: FloatArray) -> Centre:
    """Centre of a series by Tukey's biweight, from the median on.

    The variance allows for samples that follow each other being alike.

    Parameters
    ----------
    series : ndarray, shape (time,)
        In order of time, without NaN.

    References
    ----------
    Beaton and Tukey (1974), doi:10.1080/00401706.1974.10489171.
    """
    value = float(np.median(series))
    scale = float(np.median(np.abs(series - value))) / MEDIAN_NORM[1]
    if scale < _SMALL:  # half of the samples agree exactly
        return Centre(value, 0.0)
    for _ in range(_MAX_ROUNDS):
        u = (series - value) / (_TUKEY_CUT[1] * scale)
        w = np.where(np.abs(u) < 1, (1 - u**2) ** 2, 0.0)
        step = float(np.sum(w * (series - value)) / w.sum())
        value += step
        if abs(step) < _SMALL * scale:
            break
    pull = w * (series - value)
    steepness = float(np.where(np.abs(u) < 1, (1 - u**2) * (1 - 5 * u**2), 0.0).sum())
    variance = float(np.sum(pull**2)) / max(steepness, 0.25 * float(w.sum())) ** 2
    return Centre(value, variance * autocorrelation_time(pull))


def autocorrelation_time(series: FloatArray) -> float:
    """Samples per independent sample, 1 or more: 1 + 2 Σ ρ_k, cut off where pairs turn negative.

    Parameters
    ----------
    series : ndarray, shape (time,)
        Of mean zero; a missing sample is given as 0.

    References
    ----------
    Geyer (1992), doi:10.1214/ss/1177011137, initial positive sequence.
    """
    n = len(series)
    if n < 4 or not np.any(series):
        return 1.0
    spectrum = np.fft.rfft(series, 2 * n)
    rho = np.fft.irfft(spectrum * np.conj(spectrum))[: n // 2]
    rho = rho / rho[0]
    pairs = rho[: len(rho) // 2 * 2].reshape(-1, 2).sum(axis=1)
    negative = np.flatnonzero(pairs <= 0)
    kept = pairs[: negative[0]] if negative.size else pairs
    return max(1.0, 2.0 * float(kept.sum()) - 1.0)
