"""A take that is too long to hold: read stretch by stretch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from fitpipe.arrays import FloatArray, frozen
from fitpipe.records.finding import Finding
from fitpipe.records.take import Origin, Take, rate_hz


@dataclass(frozen=True, eq=False)
class LongTake:
    """Labelled 3-D points over time, from one source, of which only the clock is held.

    Parameters
    ----------
    source : str
        Name of the sensor or marker system.
    labels : tuple of str
        Unique names of the points.
    time_s : ndarray, shape (time,), seconds
        Strictly increasing.
    read : callable
        Given the first frame and the one after the last, the frames between them as a Take, with
        what was repaired in them.
    origin : Origin
    repairs : tuple of Finding
        What was odd about the file as a whole.
    """

    source: str
    labels: tuple[str, ...]
    time_s: FloatArray
    read: Callable[[int, int], Take]
    origin: Origin = field(default_factory=Origin)
    repairs: tuple[Finding, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "time_s", frozen(self.time_s))

    @property
    def n_frames(self) -> int:
        """Number of frames."""
        return len(self.time_s)

    @property
    def n_points(self) -> int:
        """Number of labelled points."""
        return len(self.labels)

    @property
    def duration_s(self) -> float:
        """Time from the first frame to the last, seconds."""
        return float(self.time_s[-1] - self.time_s[0])

    @property
    def rate_hz(self) -> float:
        """Frames per second; NaN for a take of one frame."""
        return rate_hz(self.time_s)

    def frames(self, begin: int, end: int) -> Take:
        """The frames from ``begin`` to the one before ``end``."""
        return replace(self.read(begin, end), source=self.source)

    def __repr__(self) -> str:
        return (
            f"<LongTake {self.source!r}: {self.n_frames} frames, {self.n_points} points, "
            f"{self.rate_hz:.6g} Hz>"
        )


def joined(stretches: Sequence[Take]) -> Take:
    """Stretches of one take as one, with an empty frame between each two, so that none seem to
    follow each other.

    Where some have confidences, the samples of the others have 1.
    """
    first, *others = stretches
    if not others:
        return first
    hole = np.full((1, first.n_points, 3), np.nan)
    rated = any(take.confidence is not None for take in stretches)
    position, time_s, confidence = [first.position_m], [first.time_s], [_confidence(first)]
    for take in others:
        middle_s = (time_s[-1][-1] + take.time_s[0]) / 2
        position += [hole, take.position_m]
        time_s += [np.array([middle_s]), take.time_s]
        confidence += [np.zeros((1, first.n_points)), _confidence(take)]
    return replace(
        first,
        position_m=np.concatenate(position),
        time_s=np.concatenate(time_s),
        confidence=np.concatenate(confidence) if rated else None,
    )


def _confidence(take: Take) -> FloatArray:
    return np.ones(take.is_observed.shape) if take.confidence is None else take.confidence
