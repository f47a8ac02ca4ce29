"""The noise of every source and joint, from the take itself, and the weights it gives."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np

from fitpipe.arrays import FloatArray, IntArray, writable
from fitpipe.calibrate.robust import MEDIAN_NORM
from fitpipe.config import WeightsConfig
from fitpipe.kernels.bone_strain import bone_lengths
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


class NoiseCourse:
    """How noisy a source is over time, about 1; it rises with the distance from a sensor.

    From third differences of bone lengths, which no motion enters: their median over all bones in
    pieces of a second, over that of the whole take.

    Parameters
    ----------
    sample : Take
        The take, or a fair sample of it, with the skeleton's joints as labels, in its order.
    skeleton : Skeleton
    time_s : ndarray, shape (time,), seconds
        Of the whole take.
    """

    def __init__(self, sample: Take, skeleton: Skeleton, time_s: FloatArray) -> None:
        self._bones = np.array(skeleton.bones, dtype=np.int64).reshape(-1, 2).T
        self._n_frames = len(time_s)
        third = self._third(sample.position_m)
        self._usual_m = np.array([_median(column[~np.isnan(column)]) for column in third.T])
        n_third = max(self._n_frames - 3, 0)
        n_pieces = max(1, round(float(time_s[-1] - time_s[0]) / _PIECE_S))
        self._edges = np.unique(np.linspace(0, n_third, n_pieces + 1).astype(np.int64))
        self._middle = (self._edges[:-1] + self._edges[1:] + 2) / 2

    def needs(self, begin: int, end: int) -> tuple[int, int]:
        """The frames that have a say in the factors of frames ``begin`` to ``end``."""
        first, last = self._pieces(begin, end)
        if first == last:
            return begin, end
        return min(begin, int(self._edges[first])), max(end, int(self._edges[last]) + 3)

    def factor(self, position_m: FloatArray, begin: int, end: int) -> FloatArray:
        """Factor of the standard deviation in frames ``begin`` to ``end``, shape (time,).

        1 all the time for bones that never change. ``position_m`` (time, joint, 3) is of the frames
        that these need.
        """
        first, last = self._pieces(begin, end)
        known = self._usual_m > 0
        if first == last or not known.any():
            return np.ones(end - begin)
        low = self.needs(begin, end)[0]
        third = self._third(position_m)[:, known] / self._usual_m[known]
        middle, n = _piecewise_median(third, self._edges[first : last + 1] - low)
        size = n / 3  # differences that overlap say less
        factor = np.log((size * middle**2 + _PRIOR) / (size + _PRIOR)) / 2
        course = np.interp(np.arange(begin, end), self._middle[first:last], factor)
        return np.asarray(np.exp(course))

    def _pieces(self, begin: int, end: int) -> tuple[int, int]:
        """First piece, and the one after the last, between whose middles these frames lie."""
        first = int(np.searchsorted(self._middle, begin, side="right")) - 1
        last = int(np.searchsorted(self._middle, end - 1)) + 1
        return max(first, 0), min(last, len(self._middle))

    def _third(self, position_m: FloatArray) -> FloatArray:
        """Third differences of the bone lengths, (time - 3, bone)."""
        parent, child = self._bones
        length = np.empty((self._bones.shape[1], len(position_m)))
        bone_lengths(writable(position_m), parent.copy(), child.copy(), length)
        return np.abs(np.diff(length, 3, axis=1)).T


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
        One per source, as `NoiseCourse` gives it, at the instants of the observations.
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


def _piecewise_median(values: FloatArray, edges: IntArray) -> tuple[FloatArray, IntArray]:
    """Medians (piece,) of rows of values between edges, 1 where all are NaN; and of how many."""
    length = np.diff(edges)
    step = np.arange(length.max())
    pieces = values[np.minimum(edges[:-1, None] + step, len(values) - 1)]
    pieces[step >= length[:, None]] = np.nan
    pieces = np.sort(pieces.reshape(len(length), -1), axis=1)  # NaN last
    n = np.count_nonzero(~np.isnan(pieces), axis=1)
    rows = np.arange(len(length))
    middle = (pieces[rows, np.maximum(n - 1, 0) // 2] + pieces[rows, n // 2 % pieces.shape[1]]) / 2
    return np.where(n > 0, middle, 1.0), n


def _median(values: FloatArray) -> float:
    """NaN if there are few."""
    return float(np.median(values)) if values.size >= _FEW else float("nan")
