"""A traffic light for a fit: a few measures against the limits of the config's [report]."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import IntEnum

import numpy as np

from fitpipe.config import ReportConfig
from fitpipe.records import Doubt, Fit, JointStatus
from fitpipe.report.numbers import largest, median, milliseconds, mm, percent, ratio


class Level(IntEnum):
    """How a measure stands to its limits; the larger the worse."""

    UNKNOWN = 0
    GOOD = 1
    CHECK = 2
    POOR = 3

    @property
    def word(self) -> str:
        """For people."""
        return "n/a" if self is Level.UNKNOWN else self.name.lower()

    @property
    def sign(self) -> str:
        """A sign of its own for those who do not see its colour."""
        return "○●▲■"[self]


@dataclass(frozen=True)
class Check:
    """One measure of a fit, judged.

    Parameters
    ----------
    key : str
        Name of its limits in [report].
    title, value, limits : str
        For people.
    number : float
        NaN where the fit says nothing about it.
    level : Level
    """

    key: str
    title: str
    value: str
    limits: str
    number: float
    level: Level


@dataclass(frozen=True)
class _Measure:
    title: str
    of: Callable[[Fit], float]
    text: Callable[[float], str]


def _seen_share(fit: Fit) -> float:
    seen = fit.status == JointStatus.OBSERVED
    ever = seen.any(axis=0)
    return ratio(float(seen[:, ever].sum()), float(seen[:, ever].size))


def _length_interval_share(fit: Fit) -> float:
    lengths = fit.calibration.bone_lengths
    half = (lengths.high_m - lengths.low_m) / 2
    is_known = lengths.length_m > 0  # of no length: two joints in one place
    if lengths.origin == "estimated":
        is_known &= half > 0  # from one sample: nothing is known of its error
    return largest(half[is_known] / lengths.length_m[is_known])


def _doubted_share(fit: Fit) -> float:
    doubted = fit.doubt != Doubt.NONE
    return ratio(float(doubted.sum()), float((doubted | ~np.isnan(fit.residual)).sum()))


def _of_others(fit: Fit, name: str) -> float:
    """The largest of a field of all transforms but the reference's."""
    return largest(np.array([getattr(t, name) for t in fit.calibration.transforms[1:]], float))


_MEASURES: dict[str, _Measure] = {
    "fitted_share": _Measure(
        "Frames fitted", lambda f: ratio(f.is_fitted.sum(), f.n_frames), percent
    ),
    "converged_share": _Measure(
        "Frames converged", lambda f: ratio(f.is_converged.sum(), f.is_fitted.sum()), percent
    ),
    "seen_share": _Measure("Joint samples seen", _seen_share, percent),
    "rms_m": _Measure("Fit to data, weighted rms", lambda f: f.rms_m, mm),
    "bone_error_m": _Measure("Worst bone error", lambda f: f.worst_bone_m, mm),
    "length_interval_share": _Measure(
        "Least known bone length", _length_interval_share, lambda v: f"± {percent(v)}"
    ),
    "registration_rms_m": _Measure("Registration, rms left", lambda f: _of_others(f, "rms_m"), mm),
    "time_offset_sd_s": _Measure(
        "Time offset known to", lambda f: _of_others(f, "time_offset_sd_s"), milliseconds
    ),
    "disagreement_m": _Measure("Sources apart, median", lambda f: median(f.disagreement), mm),
    "doubted_share": _Measure("Observations doubted", _doubted_share, percent),
}


def measures(fit: Fit) -> dict[str, float]:
    """Every measure that has a limit in [report], by its key; NaN where there is none."""
    return {key: float(measure.of(fit)) for key, measure in _MEASURES.items()}


def judge(fit: Fit, limits: ReportConfig) -> tuple[Check, ...]:
    """The measures of a fit against their limits.

    Parameters
    ----------
    fit : Fit
    limits : ReportConfig
        The section [report] of a config.

    Returns
    -------
    tuple of Check
        In the order of the config.
    """
    return tuple(_check(key, number, limits) for key, number in measures(fit).items())


def overall(checks: Iterable[Check]) -> Level:
    """The worst of all; UNKNOWN of none."""
    return max((check.level for check in checks), default=Level.UNKNOWN)


def _check(key: str, number: float, limits: ReportConfig) -> Check:
    good, poor = getattr(limits, key)
    measure = _MEASURES[key]
    is_share_of_good = key in ("fitted_share", "converged_share", "seen_share")
    if np.isnan(number):
        level = Level.UNKNOWN
    elif is_share_of_good:
        level = Level.GOOD if number >= good else Level.POOR if number < poor else Level.CHECK
    else:
        level = Level.GOOD if number <= good else Level.POOR if number > poor else Level.CHECK
    words = ("from", "below") if is_share_of_good else ("up to", "above")
    texts = [measure.text(limit).removeprefix("± ").replace(".0 ", " ") for limit in (good, poor)]
    told = f"good {words[0]} {texts[0]}, poor {words[1]} {texts[1]}"
    return Check(
        key, measure.title, measure.text(number).replace("± n/a", "n/a"), told, number, level
    )
