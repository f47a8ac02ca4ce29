"""Even clocks, for formats that know a rate and no time stamps."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fitpipe.arrays import FloatArray, IntArray
from fitpipe.errors import OutputError
from fitpipe.output.export.formats import count
from fitpipe.records import Finding, Fit

_LONE_HZ = 30.0  # one frame has no rate
_SPARSE = 20  # slots per frame beyond which nearly all of the file would be gaps


@dataclass(frozen=True, eq=False)
class EvenClock:
    """Frames of a fit in the slots of an even clock.

    Parameters
    ----------
    rate_hz : float
    start_s : float, seconds
        Time of slot 0.
    frame : ndarray of int, shape (slot,)
        Frame of the fit in each slot; -1 where there is none.
    findings : tuple of Finding
        What the even clock changes.
    """

    rate_hz: float
    start_s: float
    frame: IntArray
    findings: tuple[Finding, ...] = ()


def rate_of(fit: Fit) -> tuple[float, bool]:
    """Frames per second, and whether the frames are evenly spaced; 30 Hz for a lone frame."""
    take = fit.to_take()
    if fit.n_frames < 2:
        return _LONE_HZ, True
    if take.is_uniform:
        return take.rate_hz, True
    ticks = np.diff(fit.time_s)
    # a lost frame makes a tick of two: counted in whole ticks, rounded stamps do not add up
    counts = np.rint(ticks / np.median(ticks))
    return float(counts.sum() / ticks.sum()), False


def even_clock(fit: Fit) -> EvenClock:
    """The frames of a fit on an even clock: each in the nearest slot, gaps where none is near.

    Raises
    ------
    OutputError
        Nearly all slots would be empty.
    """
    rate_hz, is_even = rate_of(fit)
    start_s = float(fit.time_s[0])
    frames = np.arange(fit.n_frames)
    if is_even:
        lone = Finding("one frame has no rate", f"written as {rate_hz:g} Hz", "note")
        return EvenClock(rate_hz, start_s, frames, () if fit.n_frames > 1 else (lone,))
    exact = (fit.time_s - start_s) * rate_hz
    slot = np.rint(exact).astype(np.int64)
    n_slots = int(slot[-1]) + 1
    if n_slots > _SPARSE * fit.n_frames:
        raise OutputError(
            f"the frames of {fit.name!r} are too far apart for a format with a fixed rate: "
            f"{fit.n_frames} frames would take {n_slots} at {rate_hz:g} Hz",
            hint="csv, parquet, npz, trc, mot, sto and gltf keep the time of every frame",
        )
    frame = _nearest(exact, slot, n_slots)
    kept = frame[frame >= 0]
    worst_s = float(np.abs(exact[kept] - slot[kept]).max() / rate_hz)
    n_empty, n_left = int((frame < 0).sum()), fit.n_frames - len(kept)
    told = [f"written at {rate_hz:.6g} Hz, times up to {worst_s * 1e3:.3g} ms off"]
    told += [f"{count(n_empty, 'missing frame')} absent"] if n_empty else []
    told += [f"{count(n_left, 'frame')} left out"] if n_left else []
    finding = Finding(
        "the frames are unevenly spaced and the format has no time stamps",
        ", ".join(told),
        otherwise="csv, parquet, npz, trc, mot, sto and gltf keep the time of every frame",
    )
    return EvenClock(rate_hz, start_s, frame, (finding,))


def _nearest(exact: FloatArray, slot: IntArray, n_slots: int) -> IntArray:
    """The frame nearest to each slot among those that fall into it; -1 for none."""
    frame = np.full(n_slots, -1)
    off = np.abs(exact - slot)
    by_distance = np.argsort(-off, kind="stable")  # the nearest is written last
    frame[slot[by_distance]] = by_distance
    return frame
