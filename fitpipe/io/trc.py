"""TRC: tab-separated marker tables in the many dialects that programs write."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from fitpipe.arrays import FloatArray
from fitpipe.errors import InputError
from fitpipe.io.raw import Format, RawTake, ReadOptions
from fitpipe.io.table import read_numbers
from fitpipe.io.textfile import FileHead, number_or_none
from fitpipe.records import Finding

_LEAD = 2  # frame number and time stand before the coordinates
_KNOWN_KEYS = ("DataRate", "CameraRate", "NumFrames", "NumMarkers", "Units")


@dataclass(frozen=True, slots=True)
class _Header:
    """Keys of lines 2 and 3 and the marker names of line 4."""

    values: dict[str, str]
    names: list[str]
    n_axes: int
    data_line: int

    def number(self, key: str) -> float | None:
        """A key as a number; None if it is absent or none."""
        return number_or_none(self.values.get(key))

    def count(self, key: str) -> int | None:
        number = self.number(key)
        return int(number) if number is not None and math.isfinite(number) else None


def _sniff(head: FileHead) -> bool:
    lines = head.lines[:6]
    return any(line.startswith("PathFileType") for line in lines[:1]) or any(
        line.lower().startswith("frame#\ttime") for line in lines
    )


def _read(head: FileHead, options: ReadOptions) -> list[RawTake]:
    del options
    lines = head.text_lines()
    findings: list[Finding] = []
    header = _header(head, lines, findings)
    rows, width = _rows(lines, header, findings)
    if not header.names:
        raise InputError(
            f"no 3D points: the file names no markers and holds {len(rows)} rows", path=head.path
        )
    if not rows:
        raise InputError("no frames: the header is not followed by any row", path=head.path)
    table, odd = read_numbers(rows, n_columns=width, first_row=header.data_line + 1)
    findings += odd
    coordinates = _coordinates(head, table, header, findings)
    _compare_counts(header, len(table), findings)
    position = coordinates.reshape(len(table), -1, 3)
    return [
        RawTake(
            labels=header.names,
            position=position,
            time_s=table[:, 1],
            rate_hz=header.number("DataRate"),
            unit=header.values.get("Units"),
            metadata=_metadata(lines, header),
            findings=findings,
        )
    ]


def _header(head: FileHead, lines: list[str], findings: list[Finding]) -> _Header:
    path = head.path
    at = next(
        (i for i, line in enumerate(lines[:12]) if line.lower().startswith(("frame#", "frame\t"))),
        None,
    )
    if at is None:
        raise InputError(
            "is not a whole TRC file: the line of marker names (`Frame#`, `Time`, names) is "
            "missing",
            path=path,
            place=f"line {min(len(lines), 4)}",
            hint="the header may have been cut; export the file again",
        )
    values = _pairs(lines[:at], findings)
    axes = lines[at + 1] if at + 1 < len(lines) else ""
    n_axes = len([field for field in axes.split("\t") if field.strip()])
    names = _names(lines[at], n_axes)
    # the axes line (X1 Y1 Z1 ...) and a blank one may follow
    data = at + 1
    while data < len(lines) and not _is_row(lines[data]):
        data += 1
    return _Header(values, names, n_axes, data)


def _pairs(lines: list[str], findings: list[Finding]) -> dict[str, str]:
    """The keys of the header and their values, which some programs pad with empty fields."""
    at = next((i for i, line in enumerate(lines) if "DataRate" in line or "Units" in line), None)
    if at is None or at + 1 >= len(lines):
        findings.append(Finding("the header has no line of keys (DataRate, Units, ...)", ""))
        return {}
    keys = [key.strip() for key in lines[at].split("\t") if key.strip()]
    values = [value.strip() for value in lines[at + 1].rstrip("\t ").split("\t")]
    if len(values) > len(keys):
        values = [value for value in values if value]
    if len(values) != len(keys):
        findings.append(
            Finding(
                f"the header has {len(keys)} keys and {len(values)} values",
                "paired from the left",
            )
        )
    return dict(zip(keys, values, strict=False))


def _names(line: str, n_axes: int) -> list[str]:
    """Marker names; a blank name between two others is kept blank if the columns show it."""
    fields = [field.strip() for field in line.split("\t")][_LEAD:]
    names = [field for field in fields if field]
    every_third = fields[0::3]
    in_thirds = not any(field for i, field in enumerate(fields) if i % 3)
    if in_thirds and n_axes == 3 * len(every_third) > 3 * len(names):
        return every_third
    return names


def _is_row(line: str) -> bool:
    first = line.split("\t", 1)[0].strip()
    try:
        float(first)
    except ValueError:
        return False
    return True


def _rows(lines: list[str], header: _Header, findings: list[Finding]) -> tuple[list[str], int]:
    """The lines of data, without a last one that was cut, and the fields of the longest."""
    rows = [row for row in lines[header.data_line :] if row and not row.isspace()]
    widths = [row.count("\t") + 1 for row in rows]
    if len(rows) > 1 and widths[-1] < min(widths[:-1]):  # ends before all others do
        findings.append(Finding("the last row is cut", "dropped"))
        rows = rows[:-1]
    return rows, max(widths, default=0)


def _coordinates(
    head: FileHead, table: FloatArray, header: _Header, findings: list[Finding]
) -> FloatArray:
    """Three columns a marker, after the lead columns; says what does not add up."""
    n_wanted = 3 * len(header.names)
    used = np.flatnonzero(~np.isnan(table).all(axis=0))
    n_used = int(used[-1]) + 1 - _LEAD if used.size else 0
    n_there = table.shape[1] - _LEAD
    surplus, shortage = n_used - n_wanted, n_wanted - n_there
    # EVa appends unlabelled trajectories without names; the axes line tells where they start
    names_hold = header.n_axes == n_wanted
    if (surplus >= 3 and not names_hold) or (shortage > 0 and shortage % 3):
        raise InputError(
            f"{n_wanted + _LEAD} columns expected for {len(header.names)} marker names, "
            f"{(n_used if surplus > 0 else n_there) + _LEAD} columns came",
            path=head.path,
            place=f"line {header.data_line + 1}",
            hint="names and columns cannot be paired; export the file again",
        )
    if surplus > 0:
        findings.append(
            Finding(
                f"rows have {n_used + _LEAD} columns, {n_wanted + _LEAD} expected for "
                f"{len(header.names)} markers",
                f"the last {surplus}, without a name, left out",
            )
        )
    if shortage > 0:
        unseen = header.names[-(shortage // 3) :]
        findings.append(
            Finding(
                f"rows have {n_there + _LEAD} columns, {n_wanted + _LEAD} expected for "
                f"{len(header.names)} markers",
                f"the last markers taken as never seen: {', '.join(unseen)}",
            )
        )
        table = np.pad(table, ((0, 0), (0, shortage)), constant_values=np.nan)
    return table[:, _LEAD : _LEAD + n_wanted]


def _compare_counts(header: _Header, n_rows: int, findings: list[Finding]) -> None:
    """Tell where the header's counts differ from what is there."""
    for key, what, there in (
        ("NumFrames", "frames", n_rows),
        ("NumMarkers", "markers", len(header.names)),
    ):
        claimed = header.count(key)
        if claimed is not None and claimed != there:
            findings.append(
                Finding(f"the header says {claimed} {what}, the file has {there}", "used those")
            )


def _metadata(lines: list[str], header: _Header) -> dict[str, str]:
    facts = {key: value for key, value in header.values.items() if key not in _KNOWN_KEYS and value}
    first = lines[0].split("\t")
    if len(first) > 3 and first[3].strip():
        # the folder a file was once exported to is nobody's business
        facts["exported_as"] = first[3].strip().replace("\\", "/").rsplit("/", 1)[-1]
    return facts


FORMAT = Format("trc", (".trc",), _sniff, _read)
