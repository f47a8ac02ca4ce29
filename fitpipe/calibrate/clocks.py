"""How far a source's clock is ahead of the reference's, from motion that both saw."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.fft import irfft, rfft

from fitpipe.arrays import BoolArray, FloatArray
from fitpipe.calibrate.signals import Signals, shape_signals
from fitpipe.errors import CalibrationError
from fitpipe.records import LongTake, Take

_COARSE_STEP_S: Final = 0.05
_LEAST_OVERLAP_S: Final = 1.0
_LEAST_OVERLAP_SHARE: Final = 0.2  # of the shorter take
_INDEPENDENT_S: Final = 0.25  # movement a quarter of a second later is new information
_LEAST_EVIDENCE: Final = 5.0  # log likelihood ratio; unrelated motions reach 1 to 3
_LEAST_CORRELATION: Final = 0.6  # two slow random walks reach 0.5
_AS_GOOD: Final = 0.85  # a lag with this share of the best one's evidence fits nearly as well
_ABOUT_ZERO_S: Final = 0.15  # clocks that overlap are mostly meant to be one: there, an offset ...
_GOOD_ENOUGH: Final = 0.5  # ... below this needs no more than this share of the best evidence
_LEAST_MOTION_M: Final = 0.01
_MAX_INSTANTS: Final = 8_000
_SEGMENT_S: Final = 60.0  # drift is followed outward from a stretch of this length
_MAX_ROUNDS: Final = 30
_CONVERGED_S: Final = 1e-6
_HUBER_CUT: Final = 1.345
_LEAST_INSTANTS: Final = 8  # fewer do not tell a signal's constant, gain and spread
_LEAST_SPREAD: Final = 1e-6  # metres, or metres per second; keeps exact data finite
_STRETCH_S: Final = 1.0
_LARGEST_SD_S: Final = 0.05


@dataclass(frozen=True, slots=True)
class ClockFit:
    """A source's clock against the reference's: ``t_source = t_ref + offset + drift (t_ref - t0)``.

    Parameters
    ----------
    offset_s, offset_sd_s : float, seconds
        How far the source is ahead at t0, and its standard deviation.
    drift, drift_sd : float
        Seconds gained in a second, and its standard deviation; 0 where it was not asked for.
    t0_s : float, seconds
        First instant of the reference.
    overlap_s : float, seconds
        Time both saw.
    correlation : float
        Of the two sources' distances and speeds, between 0 and 1.
    motion_m : float, metres
        By how much the most varying distances between joints vary (standard deviation).
    other_offset_s : float or None
        Another offset that fits nearly as well, or better, where the motion repeats.
    other_evidence : float
        Evidence for that one over the evidence for this one.
    """

    offset_s: float
    offset_sd_s: float
    drift: float
    drift_sd: float
    t0_s: float
    overlap_s: float
    correlation: float
    motion_m: float
    other_offset_s: float | None = None
    other_evidence: float = 0.0


class NoCommonMotionError(CalibrationError):
    """The takes do not tell an offset; ``is_still`` where they hardly move or are very short."""

    is_still = False


def estimate_clock(
    reference: Take, take: Take, *, max_gap_s: float, with_drift: bool = False
) -> ClockFit:
    """Offset (and drift) of a source's clock, from distances between joints and their speeds.

    Every lag that leaves enough overlap is searched by correlation; then the offset is found to a
    fraction of a frame by Gauss-Newton steps on the robustly weighted differences of the signals.
    Where the motion repeats, the offset nearest to the clocks' own is taken, if they overlap; one
    of nearly zero even where another fits better.

    Parameters
    ----------
    reference, take : Take
        With the same labels, each on its own clock.
    max_gap_s : float, seconds
        Longest gap that is bridged.
    with_drift : bool
        Also estimate by how much the source's clock runs faster.

    Raises
    ------
    NoCommonMotionError
        The takes are too short, hardly move, or do not show one motion; with the evidence.
    """
    told = f"source {take.source!r} to {reference.source!r}: no time offset can be told"
    shorter_s = min(reference.duration_s, take.duration_s)
    if shorter_s < _LEAST_OVERLAP_S:
        raise _still(f"{told}: {shorter_s:.2f} s in common at most, {_LEAST_OVERLAP_S:g} s needed")
    signals = shape_signals(reference, take, max_gap_s=max_gap_s)
    if signals is None:
        raise NoCommonMotionError(f"{told}: hardly a joint is seen by both")
    a, b = signals
    motion_m = min(_motion(a), _motion(b))
    segment = _richest(a) if with_drift else np.ones(len(a.value), dtype=np.bool_)
    lags_s, evidence, correlation, overlap_s = _search(a, b, segment)
    best = _peak(lags_s, evidence, prefer_zero=clocks_overlap(reference, take))
    if best is None:
        raise _still(f"{told}: at no offset are joints seen by both for {_LEAST_OVERLAP_S:g} s")
    at, other = best
    said = (
        f"correlation {correlation[at]:.2f} over {overlap_s[at]:.1f} s at best, while the "
        f"distances between joints vary by {motion_m * 1e3:.0f} mm"
    )
    if evidence[at] < _LEAST_EVIDENCE or correlation[at] < _LEAST_CORRELATION:
        if motion_m < _LEAST_MOTION_M:
            raise _still(f"{told}: the takes hardly move ({said})")
        raise NoCommonMotionError(f"{told}: the takes do not show one motion clearly ({said})")
    found = _refine(a, b, float(lags_s[at]), segment, with_drift=with_drift)
    if found is None or found[1] > _LARGEST_SD_S:
        raise NoCommonMotionError(f"{told}: the movements fit at no offset ({said})")
    offset, offset_sd, drift, drift_sd = found
    return ClockFit(
        offset_s=offset,
        offset_sd_s=offset_sd,
        drift=drift,
        drift_sd=drift_sd,
        t0_s=float(reference.time_s[0]),
        overlap_s=float(overlap_s[at]),
        correlation=float(correlation[at]),
        motion_m=motion_m,
        other_offset_s=None if other is None else float(lags_s[other]),
        other_evidence=0.0 if other is None else float(evidence[other] / evidence[at]),
    )


def clocks_overlap(reference: Take | LongTake, take: Take | LongTake) -> bool:
    """Whether the stamps of two takes meet as they are."""
    start = max(reference.time_s[0], take.time_s[0])
    return bool(start <= min(reference.time_s[-1], take.time_s[-1]))


def _still(problem: str) -> NoCommonMotionError:
    error = NoCommonMotionError(problem)
    error.is_still = True
    return error


def _motion(signals: Signals) -> float:
    """Median over the compared distances of their standard deviation, metres."""
    n = signals.n_distances
    if n == 0:
        return 0.0
    value = np.where(signals.is_known[:, :n], signals.value[:, :n], np.nan)
    return float(np.median(np.nanstd(value, axis=0)))


def _richest(signals: Signals) -> BoolArray:
    """The stretch of the reference that moves most."""
    n = len(signals.value)
    width = int(_SEGMENT_S / signals.step_s)
    if n <= width:
        return np.ones(n, dtype=np.bool_)
    size = signals.value.std(axis=0)
    change = np.abs(np.diff(signals.value, axis=0, prepend=signals.value[:1]))
    known = signals.is_known & np.roll(signals.is_known, 1, axis=0)
    moved = np.cumsum((np.where(known, change, 0) / np.where(size > 0, size, 1)).sum(axis=1))
    start = int(np.argmax(moved[width:] - moved[:-width]))
    return (np.arange(n) >= start) & (np.arange(n) < start + width)


def _search(
    a: Signals, b: Signals, segment: BoolArray
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Lags, seconds, and for each the evidence, correlation and overlap, seconds.

    The evidence is n/2 times the mean over the signals of -log(1 - r²): the log likelihood ratio
    of a common signal in noise of unknown size, with n independent instants of overlap.
    """
    skip = max(1, int(_COARSE_STEP_S / a.step_s))
    step_s = skip * a.step_s
    rows_a, rows_b = (s.value[::skip] for s in (a, b))
    known_a, known_b = (a.is_known & segment[:, None])[::skip], b.is_known[::skip]
    n_a, n_b = len(rows_a), len(rows_b)
    size = 1 << (n_a + n_b).bit_length()
    lag = np.arange(-(n_a - 1), n_b)
    gain, common = np.zeros(len(lag)), np.zeros(len(lag))
    n_signals = rows_a.shape[1]
    for s in range(n_signals):
        spectra = []
        for rows, known in ((rows_a, known_a), (rows_b, known_b)):
            mask = known[:, s]
            value = _clipped(rows[:, s], mask)
            spectra.append([rfft(x, size) for x in (mask.astype(np.float64), value, value**2)])
        (ma, va, qa), (mb, vb, qb) = spectra
        sums = [
            irfft(np.conj(left) * right, size)[lag % size]
            for left, right in ((ma, mb), (va, mb), (ma, vb), (qa, mb), (ma, qb), (va, vb))
        ]
        n, sum_a, sum_b, sum_aa, sum_bb, sum_ab = sums
        n = np.maximum(np.rint(n), 1)
        var_a, var_b = sum_aa - sum_a**2 / n, sum_bb - sum_b**2 / n
        covariance = sum_ab - sum_a * sum_b / n
        scale = np.sqrt(np.maximum(var_a, 1e-12 * n) * np.maximum(var_b, 1e-12 * n))
        r = np.clip(covariance / scale, 0, 0.999)
        gain -= np.log1p(-(r**2)) / n_signals
        common += n / n_signals
    overlap_s = common * step_s
    shorter_s = min(int(np.count_nonzero(segment[::skip])), n_b) * step_s
    enough = overlap_s >= max(_LEAST_OVERLAP_S, _LEAST_OVERLAP_SHARE * shorter_s)
    evidence = np.where(enough, 0.5 * overlap_s / _INDEPENDENT_S * gain, -np.inf)
    lags_s = np.asarray(lag * step_s + b.start_s - a.start_s, dtype=np.float64)
    return lags_s, evidence, np.sqrt(-np.expm1(-gain)), overlap_s


def _clipped(value: FloatArray, known: BoolArray) -> FloatArray:
    """The signal about its median, wild values cut, 0 where not known."""
    if not known.any():
        return np.zeros_like(value)
    low, middle, high = np.quantile(value[known], [0.02, 0.5, 0.98])
    return np.where(known, np.clip(value, low, high) - middle, 0.0)


def _peak(
    lags_s: FloatArray, evidence: FloatArray, *, prefer_zero: bool
) -> tuple[int, int | None] | None:
    """Index of the lag to believe, and of another that is nearly as good; None if none is valid."""
    if not np.isfinite(evidence).any():
        return None
    padded = np.concatenate(([-np.inf], evidence, [-np.inf]))
    is_top = np.isfinite(evidence) & (evidence >= padded[:-2]) & (evidence > padded[2:])
    share = evidence / evidence.max()
    good = np.flatnonzero(is_top & (share >= _AS_GOOD))
    good = good[np.argsort(-evidence[good], kind="stable")]
    at = good[0]
    if prefer_zero:
        at = good[np.argmin(np.abs(lags_s[good]))]
        near = np.flatnonzero(is_top & (share >= _GOOD_ENOUGH) & (np.abs(lags_s) <= _ABOUT_ZERO_S))
        if near.size:
            at = near[np.argmax(evidence[near])]
    others = good[good != at]
    return int(at), int(others[0]) if others.size else None


def _refine(
    a: Signals, b: Signals, offset_s: float, segment: BoolArray, *, with_drift: bool
) -> tuple[float, float, float, float] | None:
    """Offset at the reference's first instant, its sd, drift and its sd; None if nothing fits."""
    rows = np.flatnonzero(segment)
    middle_s = float(a.time_s[(rows[0] + rows[-1]) // 2])
    half_s = float(a.time_s[rows[-1]] - a.time_s[rows[0]]) / 2
    whole_s = max(middle_s - a.time_s[0], a.time_s[-1] - middle_s)
    clock = np.array([offset_s, 0.0])
    while True:
        near = np.flatnonzero(np.abs(a.time_s - middle_s) <= half_s + a.step_s)
        near = near[:: max(1, len(near) // _MAX_INSTANTS)]
        found = _gauss_newton(a, b, a.time_s[near], middle_s, clock, with_drift=with_drift)
        if found is None:
            return None
        clock, covariance = found
        if half_s >= whole_s:
            break
        half_s *= 2  # what is known of the drift so far still holds this far out
    to_start = np.array([1.0, a.start_s - middle_s])
    sd = np.sqrt(to_start @ covariance @ to_start)
    return float(to_start @ clock), float(sd), float(clock[1]), float(np.sqrt(covariance[1, 1]))


def _gauss_newton(
    a: Signals,
    b: Signals,
    time_s: FloatArray,
    middle_s: float,
    clock: FloatArray,
    *,
    with_drift: bool,
) -> tuple[FloatArray, FloatArray] | None:
    """(offset at the middle, drift) that make b(t + offset + drift (t - middle)) match a(t).

    Slopes of both sources enter the normal matrix as a product, so that noise, which is not
    common to them, does not make it look steeper than it is.
    """
    value_a, slope_a, known_a = a.at(time_s)
    lever = np.stack([np.ones_like(time_s), time_s - middle_s], axis=1)[:, : 1 + with_drift]
    for _ in range(_MAX_ROUNDS):
        value_b, slope_b, known_b = b.at(time_s + clock[0] + clock[1] * (time_s - middle_s))
        known = known_a & known_b
        weight, left = _weighted_difference(value_a, value_b, known)
        score = (weight * left * (slope_a + slope_b) / 2).sum(axis=1)
        steepness = (weight * slope_a * slope_b).sum(axis=1)
        H = np.einsum("t,ti,tj->ij", steepness, lever, lever)
        if np.linalg.eigvalsh(H)[0] <= 0:
            return None
        step = np.linalg.solve(H, np.einsum("t,ti->i", score, lever))
        clock = clock + np.pad(step, (0, 2 - len(step)))
        if np.abs(step).max() < _CONVERGED_S:
            break
    covariance = np.zeros((2, 2))
    k = len(step)
    covariance[:k, :k] = _sandwich(H, score[:, None] * lever, time_s)
    return clock, covariance


def _weighted_difference(
    value_a: FloatArray, value_b: FloatArray, known: BoolArray
) -> tuple[FloatArray, FloatArray]:
    """Huber weights over the residual variance, and a - b free of constant and gain."""
    weight, left = np.zeros_like(value_a), np.zeros_like(value_a)
    for s, (a, b, k) in enumerate(zip(value_a.T, value_b.T, known.T, strict=True)):
        if np.count_nonzero(k) < _LEAST_INSTANTS:
            continue
        e, m = a[k] - b[k], (a[k] + b[k]) / 2
        e, m = e - np.median(e), m - np.median(m)
        w = np.ones_like(e)
        for _ in range(2):
            # sums, not dot products: threads of a BLAS would add in an order of their own
            power = np.sum(w * m * m)
            e = e - (np.sum(w * e * m) / power if power > 0 else 0.0) * m
            e = e - np.sum(w * e) / w.sum()
            spread = max(1.4826 * float(np.median(np.abs(e))), _LEAST_SPREAD)
            w = np.minimum(1.0, _HUBER_CUT * spread / np.maximum(np.abs(e), 1e-12))
        weight[k, s], left[k, s] = w / spread**2, e
    return weight, left


def _sandwich(H: FloatArray, scores: FloatArray, time_s: FloatArray) -> FloatArray:
    """Covariance from scores summed over stretches longer than their errors hang together."""
    span_s = float(time_s[-1] - time_s[0])
    n = int(np.clip(span_s / _STRETCH_S, 4, 40))
    edges = np.linspace(0, len(time_s), n + 1).astype(np.int64)[:-1]
    sums = np.add.reduceat(scores, edges, axis=0)
    inverse = np.linalg.inv(H)
    return np.asarray(inverse @ (sums.T @ sums) @ inverse * n / (n - 1))
