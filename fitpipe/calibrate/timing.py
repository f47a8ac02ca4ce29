"""Puts a source onto the reference source's clock."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from fitpipe.arrays import FloatArray
from fitpipe.errors import CalibrationError
from fitpipe.records import Finding, Take

_SAME_TICK = 0.02  # stamps within 2 % of the reference's tick are the same instant


def onto_clock(take: Take, time_s: FloatArray, *, max_gap_s: float) -> Take:
    """The take at the reference clock's instants, interpolated linearly between its own frames.

    A point is NaN where the instant lies outside the take, or between two samples of that point
    that are more than ``max_gap_s`` apart.

    Parameters
    ----------
    take : Take
    time_s : ndarray, shape (time,), seconds
        The reference clock.
    max_gap_s : float, seconds
        Longest gap that is bridged; two ticks of the take are always bridged.

    Raises
    ------
    CalibrationError
        The take and the clock do not overlap in time.
    """
    if take.n_frames == len(time_s) and np.allclose(
        take.time_s, time_s, rtol=0, atol=_SAME_TICK * tick_s(time_s)
    ):
        return replace(take, time_s=time_s)
    start, end = max(take.time_s[0], time_s[0]), min(take.time_s[-1], time_s[-1])
    if start > end:
        raise CalibrationError(
            f"source {take.source!r} runs from {take.time_s[0]:.3f} to {take.time_s[-1]:.3f} s and "
            f"the reference from {time_s[0]:.3f} to {time_s[-1]:.3f} s: they do not overlap",
            hint="calibrate.time_offset = 'estimate' finds the offset from the motion",
        )
    own_tick = tick_s(take.time_s)
    reach = max(max_gap_s, 2.01 * own_tick)
    instants = _snapped(time_s, take.time_s, _SAME_TICK * own_tick)
    position = np.full((len(time_s), take.n_points, 3), np.nan)
    confidence = None if take.confidence is None else np.zeros(position.shape[:2])
    for p in range(take.n_points):
        seen = np.flatnonzero(take.is_observed[:, p])
        if seen.size == 0:
            continue
        at = take.time_s[seen]
        after = np.searchsorted(at, instants, side="left").clip(0, seen.size - 1)
        before = np.where(at[after] <= instants, after, after - 1).clip(0)
        span = at[after] - at[before]
        good = (at[before] <= instants) & (instants <= at[after]) & (span <= reach)
        share = np.where(span > 0, (instants - at[before]) / np.where(span > 0, span, 1), 0.0)
        first, last = take.position_m[seen[before], p], take.position_m[seen[after], p]
        position[good, p] = (first + share[:, None] * (last - first))[good]
        if confidence is not None and take.confidence is not None:
            lower = np.minimum(take.confidence[seen[before], p], take.confidence[seen[after], p])
            confidence[good, p] = lower[good]
    n_inside = int(np.count_nonzero((time_s >= start) & (time_s <= end)))
    resampled = Finding(
        f"{take.n_frames} frames at {take.rate_hz:.6g} Hz, the reference has {len(time_s)} at "
        f"{1 / tick_s(time_s):.6g} Hz",
        f"put on the reference clock; {n_inside} frames in common",
        "note",
    )
    return replace(
        take,
        position_m=position,
        time_s=time_s,
        confidence=confidence,
        repairs=(*take.repairs, resampled, *_lost(take, time_s)),
    )


def _lost(take: Take, time_s: FloatArray) -> list[Finding]:
    """Frames of either that lie a tick or more before or after the other."""
    least_s = (1 - _SAME_TICK) * max(tick_s(take.time_s), tick_s(time_s))

    def n_outside(inner: FloatArray, outer: FloatArray) -> int:
        outside = (inner < outer[0] - least_s) | (inner > outer[-1] + least_s)
        return int(np.count_nonzero(outside))

    findings = []
    if n := n_outside(take.time_s, time_s):
        findings.append(
            Finding(
                f"{n} of its {take.n_frames} frames lie outside the reference's time", "not used"
            )
        )
    if n := n_outside(time_s, take.time_s):
        findings.append(
            Finding(
                f"{n} of the reference's {len(time_s)} frames lie outside its time",
                "without this source there",
                "note",
            )
        )
    return findings


def tick_s(time_s: FloatArray) -> float:
    """Median time from frame to frame, seconds; 1 for a single frame."""
    return float(np.median(np.diff(time_s))) if len(time_s) > 1 else 1.0


def _snapped(time_s: FloatArray, own_s: FloatArray, within_s: float) -> FloatArray:
    """The instants, moved onto the take's own stamps where they are the same up to rounding."""
    right = np.searchsorted(own_s, time_s).clip(0, len(own_s) - 1)
    left = (right - 1).clip(0)
    nearer_left = np.abs(own_s[left] - time_s) <= np.abs(own_s[right] - time_s)
    nearest = np.where(nearer_left, own_s[left], own_s[right])
    return np.where(np.abs(nearest - time_s) <= within_s, nearest, time_s)
