"""ASCII exports of Vicon Nexus: sections with a rate, names over X Y Z, units, then rows."""

from __future__ import annotations

import numpy as np

from fitpipe.errors import InputError
from fitpipe.io.raw import Format, RawTake, ReadOptions
from fitpipe.io.table import fields_of, no_rows, read_numbers, sniff_decimal
from fitpipe.io.textfile import FileHead, number_or_none
from fitpipe.records import Finding

_POINTS = ("trajectories", "markers")
_OTHERS = ("devices", "model outputs", "joints", "segments", "forces", "analog")
_HEADER_LINES = 5  # section, rate, names, axes, units


def _section(line: str) -> str:
    return line.strip().strip(",;\t\"' ").lower()


def _sniff(head: FileHead) -> bool:
    lines = head.lines
    known = bool(lines) and _section(lines[0]) in (*_POINTS, *_OTHERS)
    return known and any("sub frame" in line.lower() for line in lines[:10])


def _read(head: FileHead, options: ReadOptions) -> list[RawTake]:
    del options
    lines = head.text_lines()
    starts = [i for i, line in enumerate(lines) if _section(line) in (*_POINTS, *_OTHERS)]
    at = next((i for i in starts if _section(lines[i]) in _POINTS), None)
    if at is None:
        raise InputError(
            f"no 3D points: the file holds {', '.join(_section(lines[i]) for i in starts)} only",
            path=head.path,
            hint="export trajectories",
        )
    if at + _HEADER_LINES > len(lines):
        raise no_rows(head)
    separator = next((mark for mark in "\t;," if mark in lines[at + 3]), ",")
    names, axes, units = (fields_of(line, separator) for line in lines[at + 2 : at + 5])
    points = _points(names, axes)
    if not points:
        raise InputError(
            "no 3D points: no name over columns X, Y, Z", path=head.path, place=f"line {at + 3}"
        )
    rows = []
    for line in lines[at + _HEADER_LINES :]:
        if not line.strip(" ,;\t"):
            break
        rows.append(line)
    if not rows:
        raise no_rows(head)
    columns = list(points.values())
    table, findings = read_numbers(
        rows,
        n_columns=max(len(axes), *(row.count(separator) + 1 for row in rows)),
        separator=separator,
        decimal=sniff_decimal(rows, separator),
        first_row=at + _HEADER_LINES + 1,
        use=[0, *(column for triple in columns for column in triple)],
    )
    left = [_section(lines[i]) for i in starts if i != at]
    if left:
        findings.append(Finding(f"sections {', '.join(left)}", "left out", "note"))
    unit = next((units[c] for c in columns[0] if c < len(units) and units[c]), None)
    return [
        RawTake(
            labels=list(points),
            position=table[:, 1:].reshape(len(table), -1, 3),
            # Nexus counts frames from 1
            frame=np.asarray(table[:, 0] - 1),
            rate_hz=number_or_none(_section(lines[at + 1])),
            unit=unit,
            metadata={"software": "Vicon Nexus"},
            findings=findings,
        )
    ]


def _points(names: list[str], axes: list[str]) -> dict[str, list[int]]:
    """Columns of x, y, z by name; a name stands over the first of its three columns."""
    points: dict[str, list[int]] = {}
    for i in range(2, len(axes) - 2):
        name = names[i] if i < len(names) else ""
        if name and [axis.upper() for axis in axes[i : i + 3]] == ["X", "Y", "Z"]:
            while name in points:
                name += " "  # told apart, and told, where labels are made unique
            points[name] = [i, i + 1, i + 2]
    return points


FORMAT = Format("vicon", (".csv", ".txt", ".tsv"), _sniff, _read)
