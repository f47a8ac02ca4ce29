"""Puts a source onto the reference source's clock."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from fitpipe.arrays import FloatArray, writable
from fitpipe.errors import CalibrationError
from fitpipe.kernels.resample import resample
from fitpipe.records import Finding, Take
from fitpipe.records.take import rate_hz

_SAME_TICK = 0.02  # stamps within 2 % of the reference's tick are the same instant


class Resampling:
    """How a source gets onto the reference's clock, for all of a take or stretch by stretch.

    Parameters
    ----------
    source : str
        Its name, for messages.
    own_s, time_s : ndarray, shape (own time,) and (time,), seconds
        Stamps of the whole take, and the reference's.
    max_gap_s : float, seconds
        Longest gap that is bridged; two ticks of the take are always bridged.

    Raises
    ------
    CalibrationError
        The take and the clock do not overlap in time.
    """

    def __init__(
        self, source: str, own_s: FloatArray, time_s: FloatArray, *, max_gap_s: float
    ) -> None:
        self._own_s, self._time_s = own_s, time_s
        self._tick_s = tick_s(own_s)
        self._reach_s = max(max_gap_s, 2.01 * self._tick_s)
        self.is_same_clock = len(own_s) == len(time_s) and np.allclose(
            own_s, time_s, rtol=0, atol=_SAME_TICK * tick_s(time_s)
        )
        if not self.is_same_clock and max(own_s[0], time_s[0]) > min(own_s[-1], time_s[-1]):
            raise CalibrationError(
                f"source {source!r} runs from {own_s[0]:.3f} to {own_s[-1]:.3f} s and the "
                f"reference from {time_s[0]:.3f} to {time_s[-1]:.3f} s: they do not overlap",
                hint="calibrate.time_offset = 'estimate' finds the offset from the motion",
            )

    def rows(self, begin: int, end: int) -> tuple[int, int]:
        """Frames of the source that have a say in frames ``begin`` to ``end`` of the reference."""
        if self.is_same_clock:
            return begin, end
        # a sample may count for an instant from a reach before to a reach after it
        low = self._time_s[begin] - self._reach_s - self._tick_s
        high = self._time_s[end - 1] + self._reach_s + self._tick_s
        first = int(np.searchsorted(self._own_s, low))
        return first, max(int(np.searchsorted(self._own_s, high, side="right")), first)

    def stretch(self, take: Take, begin: int, end: int) -> Take:
        """The source at frames ``begin`` to ``end`` of the reference; ``take`` holds its rows.

        A point is NaN where the instant lies outside the take, or between two samples of that
        point that are too far apart.
        """
        time_s = self._time_s[begin:end]
        if self.is_same_clock:
            return replace(take, time_s=time_s)
        instants = _snapped(time_s, take.time_s, _SAME_TICK * self._tick_s)
        position = np.empty((len(time_s), take.n_points, 3))
        given = np.zeros((0, 0)) if take.confidence is None else take.confidence
        confidence = np.empty(position.shape[:2] if given.size else (0, 0))
        own = (writable(take.position_m), writable(take.time_s), writable(given))
        resample(*own, writable(instants), self._reach_s, position, confidence)
        return replace(
            take,
            position_m=position,
            time_s=time_s,
            confidence=None if take.confidence is None else confidence,
        )

    def findings(self) -> list[Finding]:
        """What to tell of it; nothing where both share one clock."""
        own_s, time_s = self._own_s, self._time_s
        if self.is_same_clock:
            return []
        start, end = max(own_s[0], time_s[0]), min(own_s[-1], time_s[-1])
        n_inside = int(np.count_nonzero((time_s >= start) & (time_s <= end)))
        resampled = Finding(
            f"{len(own_s)} frames at {rate_hz(own_s):.6g} Hz, the reference has {len(time_s)} at "
            f"{1 / tick_s(time_s):.6g} Hz",
            f"put on the reference clock; {n_inside} frames in common",
            "note",
        )
        return [resampled, *_lost(own_s, time_s)]


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
    way = Resampling(take.source, take.time_s, time_s, max_gap_s=max_gap_s)
    moved = way.stretch(take, 0, len(time_s))
    return moved.with_findings(way.findings()) if not way.is_same_clock else moved


def _lost(own_s: FloatArray, time_s: FloatArray) -> list[Finding]:
    """Frames of either that lie a tick or more before or after the other."""
    least_s = (1 - _SAME_TICK) * max(tick_s(own_s), tick_s(time_s))

    def n_outside(inner: FloatArray, outer: FloatArray) -> int:
        outside = (inner < outer[0] - least_s) | (inner > outer[-1] + least_s)
        return int(np.count_nonzero(outside))

    findings = []
    if n := n_outside(own_s, time_s):
        findings.append(
            Finding(f"{n} of its {len(own_s)} frames lie outside the reference's time", "not used")
        )
    if n := n_outside(time_s, own_s):
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
