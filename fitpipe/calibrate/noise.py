"""The noise of every source and joint, from the take itself, and the weights it gives."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations, pairwise

import numpy as np

from fitpipe.arrays import FloatArray
from fitpipe.calibrate.robust import MEDIAN_NORM
from fitpipe.config import WeightsConfig
from fitpipe.records import Skeleton, Take

# Of a third difference with white noise of standard deviation σ on each axis, the variance is
# (1 + 9 + 9 + 1) σ²; the median norm of three such numbers is 1.5382 of their deviation.
_MEDIAN_NORM = 1.5382 * np.sqrt(20.0)
_FEW = 10
_PIECE_S = 1.0  # over which the course of the noise is measured
_PRIOR = 50  # third differences of bones that speak for the noise being the same all the time
_SLOW_UNSEEN_M = 0.01  # what one sensor by itself must be thought to be off
_SLOW_LEAST_M = 0.003
_COMPARED = 4096  # frames on which sources are compared, evenly spread


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
        out[j] = _median(known) / _MEDIAN_NORM
    return out


def noise_course(take: Take, skeleton: Skeleton, time_s: FloatArray) -> FloatArray:
    """How noisy a source is over time, about 1; it rises with the distance from a sensor.

    From third differences of bone lengths, which no motion enters: their median over all bones in
    pieces of a second, over that of the whole take.

    Parameters
    ----------
    take : Take
        With the skeleton's joints as labels, in its order.
    skeleton : Skeleton
    time_s : ndarray, shape (time,), seconds
        Where it is wanted, on the take's clock.

    Returns
    -------
    ndarray, shape (time,)
        Factor of the standard deviation; 1 all the time for bones that never change.
    """
    parent, child = np.array(skeleton.bones, dtype=np.int64).reshape(-1, 2).T
    apart = take.position_m[:, child] - take.position_m[:, parent]
    third = np.abs(np.diff(np.sqrt(np.einsum("tbx,tbx->tb", apart, apart)), 3, axis=0))
    known = ~np.isnan(third)
    usual = np.array([_median(column[seen]) for column, seen in zip(third.T, known.T, strict=True)])
    third, known = third[:, usual > 0] / usual[usual > 0], known[:, usual > 0]
    if not known.any():
        return np.ones(len(time_s))
    n_pieces = max(1, round(float(take.time_s[-1] - take.time_s[0]) / _PIECE_S))
    edges = np.unique(np.linspace(0, len(third), n_pieces + 1).astype(np.int64))
    at, factor = [], []
    for first, last in pairwise(edges):
        seen = third[first:last][known[first:last]]
        n = seen.size / 3  # differences that overlap say less
        middle = float(np.median(seen)) if seen.size else 1.0
        at.append((first + last + 2) / 2)
        factor.append(np.log((n * middle**2 + _PRIOR) / (n + _PRIOR)) / 2)
    frame = np.arange(take.n_frames)
    # of the nearest frame, so that the rounding of another clock does not reach the weights
    nearest = np.rint(np.interp(time_s, take.time_s, frame)).astype(np.int64)
    return np.asarray(np.exp(np.interp(frame, at, factor)))[nearest]


def slow_error_m(observation_m: FloatArray, noise: Sequence[FloatArray]) -> float:
    """How far sources lie apart, per source and axis, beyond what their noise explains.

    The median over joints and pairs of sources, 3 mm at least, which they may have in common. 10 mm
    where no two sources can be compared.

    Parameters
    ----------
    observation_m : ndarray, shape (time, source, joint, 3), metres
        Registered and on one clock; NaN where missing.
    noise : sequence of ndarray, shape (joint,), metres
        One per source, as `noise_m` gives it.
    """
    some = observation_m[:: max(1, len(observation_m) // _COMPARED)]
    excess = []
    for a, b in combinations(range(len(noise)), 2):
        apart = np.linalg.norm(some[:, a] - some[:, b], axis=-1)
        for j in range(apart.shape[1]):
            spread = _median(apart[~np.isnan(apart[:, j]), j]) / MEDIAN_NORM[3]
            excess.append((spread**2 - noise[a][j] ** 2 - noise[b][j] ** 2) / 2)
    known = np.array(excess)[~np.isnan(excess)]
    if known.size == 0:
        return _SLOW_UNSEEN_M
    return max(float(np.sqrt(max(np.median(known), 0.0))), _SLOW_LEAST_M)


def noise_weights(
    noise: Sequence[FloatArray],
    settings: WeightsConfig,
    *,
    course: Sequence[FloatArray],
    slow_m: float,
) -> FloatArray:
    """Weight of each observation, (time, source, joint): 1 for a typical source, joint and time.

    1 / (σ² + floor²) over its median over all sources and joints. The floor stands for what the
    noise does not show: a sensor's slow errors.

    Parameters
    ----------
    noise : sequence of ndarray, shape (joint,), metres
        One per source; NaN where unknown, which weighs like the median.
    settings : WeightsConfig
    course : sequence of ndarray, shape (time,)
        One per source, as `noise_course` gives it.
    slow_m : float, metres
        As `slow_error_m` gives it; ``settings.noise_floor_m`` goes before it.
    """
    floor2 = (slow_m if settings.noise_floor_m is None else settings.noise_floor_m) ** 2
    variance = np.stack(noise) ** 2 + floor2
    known = variance[~np.isnan(variance)]
    over_time = np.stack(course, axis=1)[..., None]
    if not settings.noise or known.size == 0:
        return np.ones((len(over_time), *variance.shape))
    typical = float(np.median(known))
    variance = np.where(np.isnan(variance), typical, variance)
    return np.asarray(typical / (floor2 + (variance - floor2) * over_time**2))


def _median(values: FloatArray) -> float:
    """NaN if there are few."""
    return float(np.median(values)) if values.size >= _FEW else float("nan")
