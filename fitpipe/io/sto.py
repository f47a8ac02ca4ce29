"""OpenSim storage files (.sto, .mot): markers as triples, or bodies and markers by axis."""

from __future__ import annotations

import re

import numpy as np

from fitpipe.errors import InputError
from fitpipe.io.columns import understand
from fitpipe.io.csv_wide import TextTable, read_wide
from fitpipe.io.raw import Format, RawTake, ReadOptions
from fitpipe.io.table import no_rows, read_numbers, sniff_decimal
from fitpipe.io.textfile import FileHead

_MOST_HEADER = 200
_AXIS = re.compile(r"^(.+)_t([xyz])$")


def _sniff(head: FileHead) -> bool:
    return any(line.strip().lower() == "endheader" for line in head.lines[:_MOST_HEADER])


def _read(head: FileHead, options: ReadOptions) -> list[RawTake]:
    del options
    lines = head.text_lines()
    at = next(
        (i for i, line in enumerate(lines[:_MOST_HEADER]) if line.strip().lower() == "endheader"),
        None,
    )
    if at is None or at + 1 >= len(lines):
        raise InputError(
            "is not a whole OpenSim file: no line endheader, or nothing after it", path=head.path
        )
    header = _header(lines[:at])
    # keys such as markers of several header blocks may repeat
    rows = [line for line in lines[at + 2 :] if line.strip()]
    names = [name.strip() for name in lines[at + 1].rstrip().split("\t")]
    if not rows:
        raise no_rows(head)
    facts = {key: header[key] for key in ("name", "opensimversion") if header.get(key)}
    if "vec3" in header.get("datatype", "").lower():
        return [_triples(head, names, rows, at + 3, facts)]
    table = TextTable(
        names=[_AXIS.sub(r"\1_\2", name) for name in names],
        rows=rows,
        separator="\t",
        decimal=sniff_decimal(rows, "\t"),
        first_line=at + 3,
    )
    columns = understand(table.names)
    # the pelvis' coordinates are no marker: a file of joint angles has nothing else by axis
    points = {label: c for label, c in columns.points.items() if not label.endswith("_O")}
    if not points or set(points) <= {"pelvis", "ground_pelvis"}:
        raise InputError(
            "no 3D points: the columns are joint angles or forces, not positions",
            path=head.path,
            hint="export marker or body positions (OpenSim: Analyze, BodyKinematics or "
            "PointKinematics), or give the .trc",
        )
    columns.points = points
    takes = read_wide(head, table, columns, unit="m")
    for take in takes:
        take.metadata |= facts
    return takes


def _header(lines: list[str]) -> dict[str, str]:
    pairs = [line.strip().replace(" ", "=", 1).split("=", 1) for line in lines if line.strip()]
    return {pair[0].strip().lower(): pair[1].strip() for pair in pairs if len(pair) == 2}


def _triples(
    head: FileHead, names: list[str], rows: list[str], first_row: int, facts: dict[str, str]
) -> RawTake:
    """Columns that hold x,y,z each."""
    labels = names[1:]
    flat = [row.strip().replace(",", "\t") for row in rows]
    n_columns = 1 + 3 * len(labels)
    widths = {row.count("\t") + 1 for row in flat}
    if max(widths) != n_columns:
        raise InputError(
            f"{n_columns} numbers a row expected for {len(labels)} points, {max(widths)} came",
            path=head.path,
            place=f"line {first_row}",
        )
    table, findings = read_numbers(flat, n_columns=n_columns, first_row=first_row)
    return RawTake(
        labels=labels,
        position=np.reshape(table[:, 1:], (len(table), -1, 3)),
        time_s=table[:, 0],
        unit="m",
        metadata=facts,
        findings=findings,
    )


FORMAT = Format("opensim", (".sto", ".mot"), _sniff, _read)
