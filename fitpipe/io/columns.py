"""Understands the column names of a table: which label, which axis, which unit."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from fitpipe.units import parse_length_unit

_UNIT_BRACKET = re.compile(r"^(.+?)[\s_]*[\[(]\s*([a-zA-Z]+)\s*[\])]$")
_UNIT_SUFFIX = re.compile(r"^(.*[xyzXYZ])[_\s](mm|cm|dm|m|in|ft)$", re.IGNORECASE)
_AXIS_LAST = re.compile(r"^(.+?)(?:[_.:\-\s]+|\s*[\[(])([xyzXYZ])[\])]?$")
_AXIS_FIRST = re.compile(r"^([xyzXYZ])[_.:\s]+(.+)$")
_AXIS_JOINED = re.compile(r"^(.*[a-z0-9])([XYZ])$")
_CONFIDENCE = re.compile(
    r"^(.+?)[_.:\-\s]+\(?(c|conf|confidence|likelihood|score|visibility)\)?$", re.IGNORECASE
)
_STATE = re.compile(r"^(.+?)[_.:\-\s]*\(?(tracking[_ ]?state|state|tracked)\)?$", re.IGNORECASE)
_TIME: Final = (
    "time", "times", "t", "timestamp", "time_stamp", "tracker_time", "seconds", "elapsed",
    "elapsed_time",
)  # fmt: skip
_FRAME: Final = ("frame", "frame#", "frames", "frame_number", "frame_no", "frame_index", "index",
    "fnum",
)  # fmt: skip
_SOURCE: Final = ("source", "sensor", "camera", "device", "skeleton_id", "kinect")
_BODY: Final = ("body", "person", "subject", "person_id", "body_id", "subject_id", "skeleton")
_LABEL: Final = ("label", "marker", "joint", "point", "keypoint", "name", "bodypart", "landmark")
_CONFIDENCE_COLUMN: Final = ("confidence", "conf", "c", "likelihood", "score", "visibility")

SECONDS_PER: Final[dict[str, float]] = {
    "s": 1.0, "sec": 1.0, "seconds": 1.0, "second": 1.0,
    "ms": 1e-3, "msec": 1e-3, "milliseconds": 1e-3,
    "us": 1e-6, "microseconds": 1e-6,
    "ns": 1e-9, "nanoseconds": 1e-9,
    "ticks": 1e-7,
}  # fmt: skip
"""Time units that a column name may end in; ticks are those of Windows, 100 ns."""


@dataclass(slots=True)
class Columns:
    """What the columns of a table hold; numbers are column indices.

    Parameters
    ----------
    points : dict of str to list of int
        Columns of x, y and z by label, for labels that have all three.
    flat : list of str
        Labels with only one or two of the axes.
    confidence, state : dict of str to int
        Columns of confidences, and of a Kinect's tracking states, by label.
    time, frame, source, body, label, point_confidence : int or None
    axes : list of int or None
        Columns named just x, y and z (long tables).
    time_unit : float or None
        Seconds per unit of the time column, where its name says so.
    units : set of str
        Length units that column names give.
    other : list of int
        Columns of no known use.
    """

    points: dict[str, list[int]] = field(default_factory=dict)
    flat: list[str] = field(default_factory=list)
    confidence: dict[str, int] = field(default_factory=dict)
    state: dict[str, int] = field(default_factory=dict)
    time: int | None = None
    frame: int | None = None
    source: int | None = None
    body: int | None = None
    label: int | None = None
    point_confidence: int | None = None
    axes: list[int] | None = None
    time_unit: float | None = None
    units: set[str] = field(default_factory=set)
    other: list[int] = field(default_factory=list)


def understand(names: Sequence[str]) -> Columns:
    """Sort columns by their names.

    ``LASI_X``, ``LASI.x``, ``LASI:X``, ``LASI X``, ``LASI (X)``, ``X_LASI``, ``lasi_x_mm``,
    ``LASI_x [mm]`` and ``LasiX`` are understood, in either letter case.

    Parameters
    ----------
    names : sequence of str
        As they stand in the header.
    """
    columns = Columns()
    parts: dict[str, dict[str, int]] = {}
    bare: dict[str, int] = {}
    left: list[int] = []
    for i, raw in enumerate(names):
        name, unit = _split_unit(raw.strip().strip("\"'").strip())
        if not name:
            continue
        if _take_role(columns, i, name, unit):
            continue
        if unit is not None and parse_length_unit(unit):
            columns.units.add(parse_length_unit(unit) or "")
        if name.lower() in "xyz" and len(name) == 1:
            bare[name.lower()] = i
        elif match := _AXIS_LAST.match(name):
            parts.setdefault(match[1].strip(), {})[match[2].lower()] = i
        elif match := _AXIS_FIRST.match(name):
            parts.setdefault(match[2].strip(), {})[match[1].lower()] = i
        elif match := _CONFIDENCE.match(name):
            columns.confidence[match[1].strip()] = i
        elif match := _STATE.match(name):
            columns.state[match[1].strip()] = i
        else:
            left.append(i)
    if len(bare) == 3:
        columns.axes = [bare[axis] for axis in "xyz"]
    if not any(len(axes) == 3 for axes in parts.values()):
        left = _joined(names, left, parts)
    for label, axes in parts.items():
        if len(axes) == 3:
            columns.points[label] = [axes[axis] for axis in "xyz"]
        else:
            columns.flat.append(label)
    columns.other = left
    return columns


def _joined(
    names: Sequence[str], left: Sequence[int], parts: dict[str, dict[str, int]]
) -> list[int]:
    """``LasiX LasiY LasiZ``, without a mark between: only if no other spelling is used."""
    rest = []
    for i in left:
        match = _AXIS_JOINED.match(names[i].strip().strip("\"'"))
        if match:
            parts.setdefault(match[1], {})[match[2].lower()] = i
        else:
            rest.append(i)
    return rest


def _split_unit(name: str) -> tuple[str, str | None]:
    for pattern in (_UNIT_BRACKET, _UNIT_SUFFIX):
        match = pattern.match(name)
        if match and (parse_length_unit(match[2]) or match[2].lower() in SECONDS_PER):
            return match[1], match[2]
    return name, None


def _take_role(columns: Columns, i: int, name: str, unit: str | None) -> bool:
    """Whether the column is a time, frame, source, ... and was noted as such."""
    key = re.sub(r"\s+", "_", name.lower())
    time_unit = None if unit is None else SECONDS_PER.get(unit.lower())
    if time_unit is None and "_" in key:
        base, _, tail = key.rpartition("_")
        if tail in SECONDS_PER and base in _TIME:
            key, time_unit = base, SECONDS_PER[tail]
    if key in _TIME and columns.time is None:
        columns.time = i
        columns.time_unit = time_unit
        return True
    for role, known in (
        ("frame", _FRAME),
        ("source", _SOURCE),
        ("body", _BODY),
        ("label", _LABEL),
        ("point_confidence", _CONFIDENCE_COLUMN),
    ):
        if key in known and getattr(columns, role) is None:
            setattr(columns, role, i)
            return True
    return False
