"""Time stamps of a take: from the file's own, from frame numbers, or counted by the rate."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from fitpipe.arrays import FloatArray, IntArray
from fitpipe.errors import InputError
from fitpipe.io.raw import RawTake, ReadOptions
from fitpipe.records import Finding

_LOST_SHARE = 0.5  # a clock that costs more rows than this was reset, not disturbed
_SLOWEST_HZ = 0.5
_ROUNDING_S = 0.501e-3  # half of the last of three decimals
_EXACT_S = 1e-6


def frame_times(
    raw: RawTake, n_frames: int, path: Path, options: ReadOptions, findings: list[Finding]
) -> tuple[FloatArray, IntArray]:
    """Strictly increasing time stamps and the rows they belong to.

    Parameters
    ----------
    raw : RawTake
    n_frames : int
        Rows of the file.
    findings : list of Finding
        Gets one entry per repair.

    Returns
    -------
    time_s : ndarray, shape (kept,), seconds
    rows : ndarray of int, shape (kept,)
        Rows that are kept.

    Raises
    ------
    InputError
        No stamp and no usable rate, or stamps that run backwards over most of the take.
    """
    if options.rate_hz is not None and _usable(options.rate_hz) is None:
        raise InputError(
            f"rate_hz is {options.rate_hz!r}, expected frames per second above 0", path=path
        )
    if raw.time_s is not None and options.rate_hz is None:
        state = _unusable(raw.time_s)
        if not state:
            return _counted(*_increasing(raw.time_s, path, findings), raw, findings)
        rate = _rate(raw, path, options, f"a time column that {state}")
        findings.append(Finding(f"the time column {state}", f"frames counted at {rate:g} Hz"))
    else:
        rate = _rate(raw, path, options, "no time stamps")
        claimed = _usable(raw.rate_hz)
        if claimed is not None and not np.isclose(rate, claimed, rtol=1e-6):
            findings.append(
                Finding(f"the file claims {claimed:g} Hz, rate_hz={rate:g} was given", "used that")
            )
    if raw.frame is not None:
        return _increasing(raw.frame / rate, path, findings)
    # counted, then divided: a sum of steps would drift
    return (raw.first_frame + np.arange(n_frames)) / rate, np.arange(n_frames)


def _counted(
    time_s: FloatArray, rows: IntArray, raw: RawTake, findings: list[Finding]
) -> tuple[FloatArray, IntArray]:
    """Stamps without the rounding of the file, where it claims a rate that they follow."""
    rate = _usable(raw.rate_hz)
    if rate is None or len(time_s) < 3:
        return time_s, rows
    start = time_s[0] * rate
    whole = round(start) if abs(start - round(start)) < _ROUNDING_S * rate + 1e-6 else start
    exact = (whole + np.arange(len(time_s))) / rate
    off = float(np.abs(exact - time_s).max())
    if not _EXACT_S < off <= _ROUNDING_S:
        return time_s, rows
    findings.append(
        Finding(
            f"time stamps are rounded, by up to {1000 * off:.2g} ms",
            f"frames counted at the {rate:g} Hz that the file claims",
            "note",
        )
    )
    return exact, rows


def _unusable(time_s: FloatArray) -> str:
    """Why a column of stamps as a whole tells no time; empty if it does."""
    known = time_s[np.isfinite(time_s)]
    if not known.size:
        return "has no value"
    return "never changes" if len(time_s) > 1 and np.ptp(known) == 0 else ""


def _rate(raw: RawTake, path: Path, options: ReadOptions, instead: str) -> float:
    """The rate to count frames by: given, else the file's."""
    rate = _usable(raw.rate_hz) if options.rate_hz is None else options.rate_hz
    if rate is None:
        claim = "no frame rate" if raw.rate_hz is None else f"a frame rate of {raw.rate_hz:g}"
        raise InputError(
            f"the file gives {claim} and {instead}",
            path=path,
            hint="give the frames per second with rate_hz= (--rate-hz)",
        )
    return rate


def _usable(rate_hz: float | None) -> float | None:
    if rate_hz is None or not np.isfinite(rate_hz) or rate_hz <= 0:
        return None
    return float(rate_hz)


def _increasing(
    time_s: FloatArray, path: Path, findings: list[Finding]
) -> tuple[FloatArray, IntArray]:
    """Drop the rows whose stamp is missing or not later than every one before."""
    rows = np.flatnonzero(np.isfinite(time_s))
    if len(rows) < len(time_s):
        lost = np.flatnonzero(~np.isfinite(time_s))
        findings.append(Finding(f"{len(lost)} rows have no time: {_rows(lost)}", "dropped"))
    latest = np.maximum.accumulate(time_s[rows])
    later = np.concatenate([[True], time_s[rows][1:] > latest[:-1]])
    if later.mean() < 1 - _LOST_SHARE:
        first = rows[np.flatnonzero(~later)[0]]
        raise InputError(
            f"time runs backwards or stands still in {(~later).sum()} of {len(rows)} rows",
            path=path,
            place=f"data row {first + 1}",
            hint="are several takes in one file, or is the time column another one?",
        )
    if not later.all():
        bad = rows[~later]
        findings.append(
            Finding(
                f"time stands still or runs backwards at {len(bad)} data rows: {_rows(bad)}",
                "rows dropped",
            )
        )
    kept = rows[later]
    ticks = np.diff(time_s[kept])
    if ticks.size and 1 / np.median(ticks) < _SLOWEST_HZ:
        findings.append(
            Finding(
                f"the median time step is {np.median(ticks):g} s",
                "kept",
                "warning",
                "name the column time_ms if it holds milliseconds, or give rate_hz=",
            )
        )
    return time_s[kept], kept


def _rows(index: IntArray, most: int = 6) -> str:
    shown = ", ".join(str(i + 1) for i in index[:most])
    return shown if len(index) <= most else f"{shown} and {len(index) - most} more"
