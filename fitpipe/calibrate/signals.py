"""What two sources can compare without knowing each other's frame: distances and speeds."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from fitpipe.arrays import BoolArray, FloatArray, IntArray
from fitpipe.calibrate.timing import onto_clock, tick_s
from fitpipe.records import Take

_WIDTH_S: Final = 0.025  # smoothing keeps human movement: -3 dB at 5.3 Hz
_MAX_PAIRS: Final = 40
_PAIRS_PER_JOINT: Final = 4  # so that one busy hand does not fill the list
_MAX_SPEEDS: Final = 30
_MEDIAN_HALF: Final = 2  # frames of the running median on either side
_TAPS: Final = np.exp(-0.5 * (np.arange(-8, 9) / 2) ** 2)
_GAUSSIAN: Final = _TAPS / _TAPS.sum()  # two steps wide, cut at four times that
_SPIKE_CUT: Final = 6.0  # times the median distance from the running median
_LEAST_DEVIATION_M: Final = 0.002
_LEAST_KNOWN: Final = 3
_RANKED_INSTANTS: Final = 4000


@dataclass(frozen=True, eq=False)
class Signals:
    """Rotation-invariant signals of one source, evenly spaced on its own clock.

    Parameters
    ----------
    start_s, step_s : float, seconds
        Instant of the first row, and from row to row.
    value : ndarray, shape (time, signal)
        Distances between joints, metres, then speeds of joints, metres per second; 0 where not
        known.
    is_known : ndarray of bool, shape (time, signal)
    n_distances : int
    """

    start_s: float
    step_s: float
    value: FloatArray
    is_known: BoolArray
    n_distances: int

    def at(self, time_s: FloatArray) -> tuple[FloatArray, FloatArray, BoolArray]:
        """Value, slope per second and whether known, each (time, signal), at any instants.

        Cubic Hermite interpolation with central differences as slopes.
        """
        u = (time_s - self.start_s) / self.step_s
        before = np.floor(u).astype(np.int64)
        inside = (before >= 1) & (before + 2 < len(self.value))
        before = np.where(inside, before, 1)
        f = (u - before)[:, None]
        p0, p1, p2, p3 = (self.value[before + k] for k in (-1, 0, 1, 2))
        m1, m2 = (p2 - p0) / 2, (p3 - p1) / 2
        c2, c3 = 3 * (p2 - p1) - 2 * m1 - m2, 2 * (p1 - p2) + m1 + m2
        known = np.logical_and.reduce([self.is_known[before + k] for k in (-1, 0, 1, 2)])
        value = p1 + f * (m1 + f * (c2 + f * c3))
        slope = (m1 + f * (2 * c2 + 3 * f * c3)) / self.step_s
        return np.asarray(value), np.asarray(slope), known & inside[:, None]

    @property
    def time_s(self) -> FloatArray:
        """Instants of the rows."""
        return np.asarray(self.start_s + self.step_s * np.arange(len(self.value)), np.float64)


def shape_signals(
    reference: Take, take: Take, *, max_gap_s: float
) -> tuple[Signals, Signals] | None:
    """The signals of two takes that tell most of their motion; None if they have none in common.

    Positions are freed of single wild samples, smoothed, and only then turned into distances and
    speeds: smoothing commutes with rigid motion, so the signals stay invariant, and the noise of
    neighbouring frames averages out before it can bias a length.

    Parameters
    ----------
    reference, take : Take
        With the same labels; each on its own clock.
    max_gap_s : float, seconds
        Longest gap that is bridged.
    """
    width_s = max(_WIDTH_S, tick_s(reference.time_s), tick_s(take.time_s))
    step_s = width_s / 2
    clouds = [_smoothed(t, step_s, max_gap_s) for t in (reference, take)]
    speeds = [_speed(cloud, step_s) for cloud in clouds]
    pairs = _best_pairs(clouds)
    moving = _most_varied(speeds)[:_MAX_SPEEDS]
    if len(pairs) == 0 and len(moving) == 0:
        return None
    both = []
    for owner, cloud, speed in zip((reference, take), clouds, speeds, strict=True):
        apart = cloud[:, pairs[:, 0]] - cloud[:, pairs[:, 1]]
        value = np.concatenate((np.linalg.norm(apart, axis=2), speed[:, moving]), axis=1)
        known = ~np.isnan(value)
        both.append(
            Signals(float(owner.time_s[0]), step_s, np.where(known, value, 0), known, len(pairs))
        )
    return both[0], both[1]


def _smoothed(take: Take, step_s: float, max_gap_s: float) -> FloatArray:
    """Smoothed positions, (time, joint, xyz), from the first frame on; NaN in gaps."""
    instants = take.time_s[0] + step_s * np.arange(int(take.duration_s / step_s) + 1)
    even = onto_clock(_without_spikes(take), instants, max_gap_s=max_gap_s)
    seen = even.is_observed
    given = seen if even.confidence is None else np.where(seen, even.confidence, 0.0)
    weight = np.asarray(given, dtype=np.float64)
    # normalised convolution: Knutsson and Westin (1993), doi:10.1109/CVPR.1993.341081
    total = _convolved(weight)
    filled = np.where(seen[..., None], even.position_m, 0.0) * weight[..., None]
    summed = _convolved(filled)
    usable = seen & (total > 1e-3)
    smooth = summed / np.where(usable, total, 1.0)[..., None]
    return np.where(usable[..., None], smooth, np.nan)


def _convolved(rows: FloatArray) -> FloatArray:
    """Rows (time, ...) smoothed by a Gaussian two steps wide; beyond the ends they are zero."""
    columns = rows.reshape(len(rows), -1)
    out = np.empty_like(columns)
    cut = _GAUSSIAN.size // 2
    for i in range(columns.shape[1]):
        out[:, i] = np.convolve(columns[:, i], _GAUSSIAN)[cut:-cut]
    return out.reshape(rows.shape)


def _without_spikes(take: Take) -> Take:
    """The take without samples far from the running median of their neighbours."""
    kept = take.is_observed.copy()
    for p in np.flatnonzero(kept.any(axis=0)):
        position, seen = take.position_m[:, p], take.is_observed[:, p]
        off = np.linalg.norm(position - _running_median(position), axis=1)[seen]
        typical = max(float(np.median(off)), _LEAST_DEVIATION_M)
        kept[seen, p] = off <= _SPIKE_CUT * typical
    return replace(take, position_m=np.where(kept[..., None], take.position_m, np.nan))


def _running_median(rows: FloatArray) -> FloatArray:
    """Median of those rows (time, xyz) around each one that are not NaN."""
    padded = np.pad(rows, ((_MEDIAN_HALF, _MEDIAN_HALF), (0, 0)), constant_values=np.nan)
    n = len(rows)
    around = np.sort([padded[k : k + n] for k in range(2 * _MEDIAN_HALF + 1)], axis=0)
    known = np.count_nonzero(~np.isnan(around), axis=0)  # NaN comes last
    pick = np.stack([(known - 1) // 2, known // 2])
    return np.asarray(np.take_along_axis(around, pick, axis=0).mean(axis=0))


def _speed(cloud: FloatArray, step_s: float) -> FloatArray:
    """Speed of every joint, (time, joint), by central differences; NaN at the ends."""
    speed = np.full(cloud.shape[:2], np.nan)
    speed[1:-1] = np.linalg.norm(cloud[2:] - cloud[:-2], axis=2) / (2 * step_s)
    return speed


def _best_pairs(clouds: list[FloatArray]) -> IntArray:
    """Pairs of joints, (pair, 2), whose distance varies most in both sources."""
    n = clouds[0].shape[1]
    first, second = np.triu_indices(n, 1)
    distances = []
    for cloud in clouds:
        some = cloud[:: max(1, len(cloud) // _RANKED_INSTANTS)]
        apart = [np.linalg.norm(some[:, i, None] - some[:, i + 1 :], axis=2) for i in range(n)]
        distances.append(np.concatenate(apart, axis=1))
    taken: list[tuple[int, int]] = []
    uses = np.zeros(n, dtype=np.int64)
    for k in _most_varied(distances):
        i, j = int(first[k]), int(second[k])
        if len(taken) < _MAX_PAIRS and max(uses[i], uses[j]) < _PAIRS_PER_JOINT:
            taken.append((i, j))
            uses[[i, j]] += 1
    return np.array(taken, dtype=np.int64).reshape(-1, 2)


def _most_varied(signals: list[FloatArray]) -> IntArray:
    """Columns of the two sources' signals, those first that vary most where they vary less."""
    spread = np.full((2, signals[0].shape[1]), -1.0)
    for source, value in enumerate(signals):
        usable = np.count_nonzero(~np.isnan(value), axis=0) >= _LEAST_KNOWN
        if usable.any():
            # the outermost half per cent may be wild; a short movement must still count
            low, high = np.nanquantile(value[:, usable], [0.005, 0.995], axis=0)
            spread[source, usable] = np.nanstd(np.clip(value[:, usable], low, high), axis=0)
    least = spread.min(axis=0)
    ranked = np.argsort(-least, kind="stable")
    return np.asarray(ranked[least[ranked] > 0])
