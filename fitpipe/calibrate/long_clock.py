"""A source's clock against the reference's over a long take, from windows of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Final

import numpy as np

from fitpipe.arrays import FloatArray
from fitpipe.calibrate.clock import Clock
from fitpipe.calibrate.clocks import ClockFit, NoCommonMotionError, estimate_clock
from fitpipe.records import Take

_LEAST_SD_S: Final = 1e-4  # a window is not believed to know better
_FAR_OFF: Final = 5.0  # robust deviations from the others beyond which a window is left out
_ENOUGH: Final = 5  # windows from which some may be left out

Windows = Callable[[int, Clock], tuple[Take, Take] | None]


def estimate_long_clock(
    windows: Windows, n_windows: int, t0_s: float, *, max_gap_s: float, with_drift: bool
) -> ClockFit:
    """Offset (and drift) over a long take.

    Each window tells by how much the clock found so far is off there; a constant, or with drift a
    straight line, is then laid through all of them. The deviation allows for how far the windows
    disagree.

    Parameters
    ----------
    windows : callable
        Given a window's number and the source's clock as far as it is known, the frames of the
        reference and of the source in that window, each with its own stamps; None if the source
        has none there.
    n_windows : int
    t0_s : float, seconds
        First instant of the reference.
    max_gap_s : float, seconds
        Longest gap that is bridged.
    with_drift : bool

    Raises
    ------
    NoCommonMotionError
        No window tells an offset; with what the first one says.
    """
    fits: list[ClockFit] = []
    at, offset, sd = (np.zeros(n_windows) for _ in range(3))
    clock, refused = Clock(t0_s), None
    for number in range(n_windows):
        pair = windows(number, clock)
        if pair is None:
            continue
        reference, take = pair
        try:
            fit = estimate_clock(reference, clock.set_back(take), max_gap_s=max_gap_s)
        except NoCommonMotionError as error:
            refused = refused or error
            continue
        n = len(fits)
        fits.append(fit)
        middle_s = float(reference.time_s[0] + reference.time_s[-1]) / 2
        at[n] = middle_s - t0_s
        offset[n] = clock.offset_s + clock.drift * at[n] + fit.offset_s
        sd[n] = max(fit.offset_sd_s, _LEAST_SD_S)
        found, _ = _line(at[: n + 1], offset[: n + 1], sd[: n + 1], with_drift=with_drift)
        clock = Clock(t0_s, float(found[0]), drift=float(found[1]))
    if not fits:
        raise refused or NoCommonMotionError("no time offset can be told: no frames in common")
    n = len(fits)
    used = _agreeing(at[:n], offset[:n], sd[:n], with_drift=with_drift)
    found, covariance = _line(at[:n][used], offset[:n][used], sd[:n][used], with_drift=with_drift)
    return replace(
        fits[0],
        offset_s=float(found[0]),
        offset_sd_s=float(np.sqrt(covariance[0, 0])),
        drift=float(found[1]),
        drift_sd=float(np.sqrt(covariance[1, 1])),
        t0_s=t0_s,
        overlap_s=sum(fit.overlap_s for fit in fits),
        correlation=float(np.median([fit.correlation for fit in fits])),
    )


def _line(
    at_s: FloatArray, offset_s: FloatArray, sd_s: FloatArray, *, with_drift: bool
) -> tuple[FloatArray, FloatArray]:
    """(offset at zero, drift) by weighted least squares, and their covariance."""
    k = 2 if with_drift and len(at_s) > 1 else 1
    lever = np.stack([np.ones_like(at_s), at_s], axis=1)[:, :k]
    inverse = np.linalg.inv(np.einsum("n,ni,nj->ij", 1 / sd_s**2, lever, lever))
    line = inverse @ np.einsum("n,ni->i", offset_s / sd_s**2, lever)
    off = (offset_s - lever @ line) / sd_s
    spread = float((off**2).sum()) / (len(off) - k) if len(off) > k else 1.0
    covariance = np.zeros((2, 2))
    covariance[:k, :k] = inverse * max(spread, 1.0)
    return np.pad(line, (0, 2 - k)), covariance


def _agreeing(
    at_s: FloatArray, offset_s: FloatArray, sd_s: FloatArray, *, with_drift: bool
) -> np.ndarray:
    """Windows that lie with most of the others: one may have taken another cycle of the motion."""
    everything = np.ones(len(at_s), np.bool_)
    if len(at_s) < _ENOUGH:
        return everything
    i, j = np.triu_indices(len(at_s), 1)  # slope: Sen (1968), doi:10.1080/01621459.1968.10480934
    slope = np.median((offset_s[j] - offset_s[i]) / (at_s[j] - at_s[i])) if with_drift else 0.0
    off = offset_s - slope * at_s
    off = np.abs(off - np.median(off))
    typical = np.maximum(1.4826 * np.median(off), sd_s)
    return np.asarray(off <= _FAR_OFF * typical)
