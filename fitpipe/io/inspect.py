"""What is in a file, as a record: nothing is printed here."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from fitpipe.arrays import BoolArray
from fitpipe.io.axes import infer_up
from fitpipe.io.registry import read_takes
from fitpipe.records import Finding, Take


@dataclass(frozen=True, slots=True)
class PointReport:
    """Gaps of one labelled point.

    Parameters
    ----------
    label : str
    gap_share : float
        Missing samples / frames, 0 to 1.
    longest_gap : int
        Frames in a row without a sample.
    """

    label: str
    gap_share: float
    longest_gap: int


@dataclass(frozen=True, slots=True)
class FileReport:
    """What one take of a file holds.

    Parameters
    ----------
    path, format, source, body : str
        ``body`` is empty if the file names none.
    points : tuple of PointReport
        In the order of the file.
    n_frames : int
    rate_hz, duration_s : float
        Of the take as read; the rate is NaN for a single frame.
    is_uniform : bool
        Whether frames are evenly spaced.
    rate_claimed_hz : float or None
    unit : str
        Length unit the numbers are in.
    up_claimed, up_inferred : str
        Signed axes, as the file says and as labels or extent tell; empty if they do not.
    gap_share : float
        Missing samples / all samples.
    size_m : tuple of 3 floats
        Extent of all samples along x, y and z, metres.
    findings : tuple of Finding
        Everything odd.
    metadata : tuple of (str, str)
    take : Take
        The take itself, for the questions this report does not answer.
    """

    path: str
    format: str
    source: str
    body: str
    points: tuple[PointReport, ...]
    n_frames: int
    rate_hz: float
    duration_s: float
    is_uniform: bool
    rate_claimed_hz: float | None
    unit: str
    up_claimed: str
    up_inferred: str
    gap_share: float
    size_m: tuple[float, float, float]
    findings: tuple[Finding, ...]
    metadata: tuple[tuple[str, str], ...]
    take: Take

    @property
    def labels(self) -> tuple[str, ...]:
        """Names of the points."""
        return tuple(point.label for point in self.points)


def inspect_file(
    path: str | Path,
    *,
    source: str | None = None,
    body: str | None = None,
    units: str | None = None,
    up: str | None = None,
    rate_hz: float | None = None,
    keep_zeros: bool = False,
) -> list[FileReport]:
    """Read a file and report on every take in it.

    Parameters and errors are those of `read_takes`.

    Returns
    -------
    list of FileReport
        One per source and body.
    """
    takes = read_takes(
        path,
        source=source,
        body=body,
        units=units,
        up=up,
        rate_hz=rate_hz,
        keep_zeros=keep_zeros,
    )
    return [report(take) for take in takes]


def report(take: Take) -> FileReport:
    """Report on a take.

    Parameters
    ----------
    take : Take
    """
    missing = ~take.is_observed
    longest = longest_runs(missing)
    points = tuple(
        PointReport(label, float(missing[:, i].mean()), int(longest[i]))
        for i, label in enumerate(take.labels)
    )
    seen = take.position_m[take.is_observed]
    size = np.ptp(seen, axis=0) if len(seen) else np.full(3, np.nan)
    metadata = dict(take.origin.metadata)
    return FileReport(
        path=take.origin.path,
        format=take.origin.format,
        source=take.source,
        body=metadata.pop("body", ""),
        points=points,
        n_frames=take.n_frames,
        rate_hz=take.rate_hz,
        duration_s=take.duration_s,
        is_uniform=take.is_uniform,
        rate_claimed_hz=take.origin.rate_claimed_hz,
        unit=take.origin.unit,
        up_claimed=metadata.pop("up_claimed", ""),
        up_inferred=infer_up(take),
        gap_share=float(missing.mean()) if missing.size else 0.0,
        size_m=(float(size[0]), float(size[1]), float(size[2])),
        findings=take.repairs,
        metadata=tuple(metadata.items()),
        take=take,
    )


def longest_runs(missing: BoolArray) -> list[int]:
    """Longest run of True in each column.

    Parameters
    ----------
    missing : ndarray of bool, shape (time, point)
    """
    runs = []
    for column in missing.T:
        padded = np.concatenate([[False], column, [False]]).astype(np.int8)
        edges = np.flatnonzero(np.diff(padded))
        runs.append(int((edges[1::2] - edges[::2]).max(initial=0)))
    return runs
