"""A take: labelled 3-D points over time, from one source."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from types import MappingProxyType

import numpy as np

from fitpipe.arrays import BoolArray, FloatArray, frozen
from fitpipe.errors import RecordError
from fitpipe.records.checks import Faults
from fitpipe.records.finding import Finding

_UNIFORM_TICK = 0.05  # ticks within 5 % of the median (or 1 ms) count as evenly spaced
_TIME_ROUNDING_S = 1.01e-3  # TRC and CSV exports round time stamps to milliseconds


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a take came from, and what its file claimed before units and axes were converted.

    Parameters
    ----------
    path : str
        The file; empty for a take made from arrays.
    format : str
        Name of the reader: ``"c3d"``, ``"trc"``, ``"csv"``, ...
    unit : str
        Length unit the numbers were in: a key of ``units.METRES_PER``.
    up : str
        Signed axis that points up in the take as it is now (``"+y"``); empty if unknown.
    rate_claimed_hz : float or None
        The rate the header states.
    sha256 : str
        Hash of the file's bytes, hexadecimal; empty for a take made from arrays.
    metadata : mapping of str to str
        Whatever else the file says: subject, events, manufacturer.
    asked : mapping of str to str or float
        What the reader was told: units, up, rate_hz, body, and which source of several.
    """

    path: str = ""
    format: str = "array"
    unit: str = "m"
    up: str = ""
    rate_claimed_hz: float | None = None
    sha256: str = ""
    metadata: Mapping[str, str] = field(default_factory=dict)
    asked: Mapping[str, str | float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "metadata", MappingProxyType(dict(self.metadata)))
        object.__setattr__(self, "asked", MappingProxyType(dict(self.asked)))

    def __reduce__(self) -> tuple[object, ...]:
        fields = (self.path, self.format, self.unit, self.up, self.rate_claimed_hz, self.sha256)
        return (Origin, (*fields, dict(self.metadata), dict(self.asked)))


@dataclass(frozen=True, eq=False)
class Take:
    """Labelled 3-D points over time, from one source.

    Lists are taken as well as arrays and tuples; what is kept is read-only.

    Parameters
    ----------
    source : str
        Name of the sensor or marker system.
    labels : sequence of str, length n_points
        Unique names of the points.
    position_m : ndarray, shape (time, point, 3), metres
        NaN where a point was not seen. A sample with one coordinate that is not finite is taken
        as missing as a whole, and ``repairs`` says so.
    time_s : ndarray, shape (time,), seconds
        Strictly increasing.
    confidence : ndarray, shape (time, point), optional
        Between 0 (do not use) and 1; None if the source gives none.
    origin : Origin
    repairs : sequence of Finding
        Everything odd in the input and what was done about it.

    Raises
    ------
    RecordError
        Lists every fault of the arrays at once.
    """

    source: str
    labels: tuple[str, ...]
    position_m: FloatArray
    time_s: FloatArray
    confidence: FloatArray | None = None
    origin: Origin = Origin()
    repairs: tuple[Finding, ...] = ()

    def __post_init__(self) -> None:
        faults = Faults(f"take {self.source!r}")
        labels = tuple(str(label) for label in self.labels)
        position = frozen(self.position_m)
        time_s = frozen(self.time_s)
        repairs = tuple(self.repairs)

        faults.unless(bool(self.source), "source is empty, expected a name")
        faults.unique("labels", labels)
        if faults.shape("time_s", time_s, (None,)) and faults.finite("time_s", time_s):
            back = np.flatnonzero(np.diff(time_s) <= 0)
            where = ", ".join(f"{i + 1} ({time_s[i]:g} to {time_s[i + 1]:g} s)" for i in back[:5])
            faults.unless(back.size == 0, f"time_s does not increase at index {where}")
        faults.unless(len(time_s) > 0, "time_s is empty, expected one or more frames")
        if faults.shape("position_m", position, (len(time_s), len(labels), 3)):
            position, partial = _whole_samples(position)
            if partial:
                repairs += (
                    Finding(
                        f"{partial} samples have some coordinates that are infinite or NaN",
                        "taken as missing",
                    ),
                )
        confidence = None
        if self.confidence is not None:
            confidence = frozen(self.confidence)
            if faults.shape("confidence", confidence, (len(time_s), len(labels))):
                within = (confidence >= 0) & (confidence <= 1)
                n_out = int(np.size(within) - np.count_nonzero(within))
                faults.unless(n_out == 0, f"confidence has {n_out} values outside 0 to 1")
        faults.raise_if_any()

        for name, value in (
            ("labels", labels),
            ("position_m", position),
            ("time_s", time_s),
            ("confidence", confidence),
            ("repairs", repairs),
        ):
            object.__setattr__(self, name, value)

    @property
    def n_frames(self) -> int:
        """Number of frames."""
        return len(self.time_s)

    @property
    def n_points(self) -> int:
        """Number of labelled points."""
        return len(self.labels)

    @cached_property
    def is_observed(self) -> BoolArray:
        """Boolean (time, point): where a point was seen."""
        return np.asarray(~np.isnan(self.position_m[..., 0]))

    @property
    def duration_s(self) -> float:
        """Time from the first frame to the last, seconds."""
        return float(self.time_s[-1] - self.time_s[0])

    @cached_property
    def rate_hz(self) -> float:
        """Frames per second: mean over the take if evenly spaced, else 1 / median tick.

        NaN for a take of one frame.
        """
        return rate_hz(self.time_s)

    @cached_property
    def is_uniform(self) -> bool:
        """Whether the frames are evenly spaced, up to rounding of the stamps to milliseconds."""
        return _is_uniform(np.diff(self.time_s))

    def index(self, label: str) -> int:
        """Column of a label; ValueError if it is not there."""
        return self.labels.index(label)

    def frames(self, begin: int, end: int) -> Take:
        """The frames from ``begin`` to the one before ``end``; the take itself if these are all."""
        if begin == 0 and end == self.n_frames:
            return self
        rows = slice(begin, end)
        if not len(self.time_s[rows]):
            raise RecordError(f"take {self.source!r} has no frames from {begin} to {end}")
        part = object.__new__(Take)  # all of it has passed the checks
        part.__dict__.update(
            source=self.source,
            labels=self.labels,
            position_m=self.position_m[rows],
            time_s=self.time_s[rows],
            confidence=None if self.confidence is None else self.confidence[rows],
            origin=self.origin,
            repairs=(),
        )
        return part

    def with_findings(self, findings: Sequence[Finding]) -> Take:
        """The same take with more entries in ``repairs``."""
        return replace(self, repairs=(*self.repairs, *findings))

    def __repr__(self) -> str:
        gaps = 1 - self.is_observed.mean() if self.is_observed.size else 0.0
        return (
            f"<Take {self.source!r}: {self.n_frames} frames, {self.n_points} points, "
            f"{self.rate_hz:.6g} Hz, {gaps:.1%} missing>"
        )


def rate_hz(time_s: FloatArray) -> float:
    """Frames per second: mean over the stamps if evenly spaced, else 1 / median tick.

    NaN for a single stamp.
    """
    if len(time_s) < 2:
        return float("nan")
    ticks = np.diff(time_s)
    return float(1 / (ticks.mean() if _is_uniform(ticks) else np.median(ticks)))


def _is_uniform(ticks: FloatArray) -> bool:
    if ticks.size < 2:
        return True
    middle = np.median(ticks)
    allowed = max(_UNIFORM_TICK * middle, min(_TIME_ROUNDING_S, 0.5 * middle))
    return bool(np.all(np.abs(ticks - middle) <= allowed))


def _whole_samples(position: FloatArray) -> tuple[FloatArray, int]:
    """Set samples with a non-finite coordinate to NaN; also how many were only partly NaN."""
    finite = np.isfinite(position)
    if finite.all():
        return position, 0
    x, y, z = (finite[..., c] for c in range(3))
    seen, some = x & y & z, x | y | z
    n_odd = int(np.count_nonzero(some & ~seen))
    n_odd += int(np.count_nonzero(np.isinf(position[~some]).any(axis=-1)))
    if n_odd == 0:
        return position, 0
    return frozen(np.where(seen[..., None], position, np.nan)), n_odd
