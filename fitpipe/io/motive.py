"""CSV exports of OptiTrack Motive: several header rows, markers beside rigid bodies and bones."""

from __future__ import annotations

from itertools import pairwise

from fitpipe.errors import InputError
from fitpipe.io.raw import Format, RawTake, ReadOptions
from fitpipe.io.table import fields_of, no_rows, read_numbers
from fitpipe.io.textfile import FileHead, number_or_none
from fitpipe.records import Finding

# which kind of column to read, the first that is there
_KINDS = ("Marker", "Bone", "Rigid Body Marker", "Bone Marker")

_HEADER_ROWS = 4  # facts, types, names, axes


def _sniff(head: FileHead) -> bool:
    return bool(head.lines) and head.lines[0].startswith("Format Version,")


def _read(head: FileHead, options: ReadOptions) -> list[RawTake]:
    del options
    lines = head.text_lines()
    at = next((i for i, line in enumerate(lines[:20]) if line.startswith("Frame,")), None)
    if at is None:
        raise InputError(
            "is a Motive export without its column header (a line that starts with Frame,)",
            path=head.path,
        )
    header = [fields_of(line, ",") for line in lines[: at + 1] if line.strip()]
    if len(header) < _HEADER_ROWS:
        raise InputError(
            f"{len(header)} header rows, expected {_HEADER_ROWS} or more",
            path=head.path,
            place=f"lines 1 to {at + 1}",
            hint="a quote mark may be open",
        )
    facts = dict(pairwise(header[0]))
    named = {row[1]: row for row in header[1:] if len(row) > 2}
    axes, roles = header[-1], header[-2]
    types, names = named.get("Type", []), named.get("Name", [])
    points = _points(types, names, roles, axes)
    if not points:
        raise InputError(
            "no 3D points: no marker or bone position among the columns", path=head.path
        )
    kind = next(kind for kind in _KINDS if kind in points)
    rows = [line for line in lines[at + 1 :] if line.strip()]
    if not rows:
        raise no_rows(head)
    columns = list(points[kind].values())
    table, findings = read_numbers(
        rows,
        n_columns=max(len(axes), *(row.count(",") + 1 for row in rows)),
        separator=",",
        first_row=at + 2,
        use=[1, *(column for triple in columns for column in triple)],
    )
    other = sorted({*types[2:]} - {kind, ""})
    if other:
        findings.append(Finding(f"columns of kind {', '.join(other)}", "left out", "note"))
    rate = facts.get("Export Frame Rate") or facts.get("Capture Frame Rate")
    return [
        RawTake(
            labels=list(points[kind]),
            position=table[:, 1:].reshape(len(table), -1, 3),
            time_s=table[:, 0],
            rate_hz=number_or_none(rate),
            unit=facts.get("Length Units"),
            metadata={"software": "Motive", "recording": facts.get("Take Name", "")},
            findings=findings,
        )
    ]


def _points(
    types: list[str], names: list[str], roles: list[str], axes: list[str]
) -> dict[str, dict[str, list[int]]]:
    """Columns of x, y, z by kind and name, of the positions only."""
    found: dict[str, dict[str, dict[str, int]]] = {}
    for i in range(2, min(len(types), len(names), len(roles), len(axes))):
        if roles[i] == "Position" and types[i] in _KINDS:
            found.setdefault(types[i], {}).setdefault(names[i], {})[axes[i].lower()] = i
    whole = {
        kind: {
            name: [axis[letter] for letter in "xyz"]
            for name, axis in points.items()
            if axis.keys() >= set("xyz")
        }
        for kind, points in found.items()
    }
    return {kind: points for kind, points in whole.items() if points}


FORMAT = Format("motive", (".csv",), _sniff, _read)
