"""What a format module hands over before it is checked, and the options a reader knows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from fitpipe.arrays import FloatArray
from fitpipe.io.textfile import FileHead
from fitpipe.records import Finding


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """What the user says about a file; ``None`` leaves it to the file.

    Parameters
    ----------
    units : str, optional
        Length unit of the numbers; overrides what the file claims.
    up : str, optional
        Signed axis that points up in the file; the take is turned to +Y up.
    rate_hz : float, optional
        Frames per second; overrides the file's rate and its time column.
    keep_zeros : bool
        Positions that are exactly (0, 0, 0) are taken for positions, not for missing samples.
    """

    units: str | None = None
    up: str | None = None
    rate_hz: float | None = None
    keep_zeros: bool = False


@dataclass(slots=True)
class RawTake:
    """Arrays as they stand in a file, with what the file claims about them.

    Parameters
    ----------
    labels : list of str
        One per point; may repeat, may be empty.
    position : ndarray, shape (time, point, 3)
        In the file's own unit and axes; NaN where the file marks a point as missing.
    time_s : ndarray, shape (time,), optional
        The file's time stamps; None if it holds none.
    rate_hz : float, optional
        The rate the file claims.
    first_frame : int
        Number of the first frame, from 0, where there are no stamps and the rate counts frames.
    frame : ndarray, shape (time,), optional
        Frame numbers, for a file that counts frames instead of seconds.
    unit : str, optional
        Length unit as the file spells it; None if it claims none.
    assumed_unit : str, optional
        Unit to go by, and to tell about, where the file claims none.
    confidence : ndarray, shape (time, point), optional
    source, body : str
        Names in the file; empty if it holds one unnamed source or body.
    up : str
        Up axis the file claims (``"+z"``); empty if it claims none.
    screen_up : str
        Axis the file shows upright on a screen: a hint, less than a claim; may be empty.
    has_no_gaps : bool
        The format has no way to mark a sample as missing, and zeros are positions.
    """

    labels: list[str]
    position: FloatArray
    time_s: FloatArray | None = None
    rate_hz: float | None = None
    first_frame: int = 0
    frame: FloatArray | None = None
    unit: str | None = None
    assumed_unit: str | None = None
    confidence: FloatArray | None = None
    source: str = ""
    body: str = ""
    up: str = ""
    screen_up: str = ""
    has_no_gaps: bool = False
    metadata: dict[str, str] = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Format:
    """One file format: how to know it and how to read it.

    Parameters
    ----------
    name : str
        Kept in ``Take.origin.format``.
    suffixes : tuple of str
        File name endings, with the dot, lower case.
    sniff : callable
        Whether the start of a file looks like this format.
    read : callable
        Reads a whole file; one RawTake per source and body in it.
    """

    name: str
    suffixes: tuple[str, ...]
    sniff: Callable[[FileHead], bool]
    read: Callable[[FileHead, ReadOptions], Sequence[RawTake]]


def stem(path: Path) -> str:
    """File name without its ending and without ``.gz``."""
    return Path(path.name.removesuffix(".gz")).stem
