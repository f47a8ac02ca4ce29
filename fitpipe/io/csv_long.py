"""Long tables: one row per frame and label, with columns time, label, x, y, z."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fitpipe.arrays import FloatArray
from fitpipe.errors import InputError
from fitpipe.io.columns import Columns, understand
from fitpipe.io.csv_wide import Table, groups, open_table
from fitpipe.io.raw import Format, RawTake, ReadOptions
from fitpipe.io.table import no_rows
from fitpipe.io.textfile import FileHead
from fitpipe.records import Finding


def _sniff(head: FileHead) -> bool:
    if not head.lines:
        return False
    columns = understand(open_header(head))
    return columns.axes is not None and columns.label is not None


def open_header(head: FileHead) -> list[str]:
    """Column names in the first line that is neither blank nor a comment."""
    lines = [line for line in head.lines if line.strip() and not line.lstrip().startswith("#")]
    for mark in "\t;,":
        if lines and mark in lines[0]:
            return [field.strip() for field in lines[0].split(mark)]
    return []


def _read(head: FileHead, options: ReadOptions) -> list[RawTake]:
    del options
    return read_long(head, open_table(head))


def read_long(head: FileHead, table: Table) -> list[RawTake]:
    """Read a long table into one raw take per source and body.

    Parameters
    ----------
    head : FileHead
    table : Table

    Raises
    ------
    InputError
        No rows, or a column that a long table needs is not there.
    """
    columns = understand(table.names)
    stamp = columns.frame if columns.time is None else columns.time
    if not table.n_rows:
        raise no_rows(head)
    if stamp is None or columns.axes is None or columns.label is None:
        raise InputError(
            "a long table needs columns label, x, y, z and one of time or frame",
            path=head.path,
            place="header",
        )
    use = [*columns.axes, stamp]
    if columns.point_confidence is not None:
        use.append(columns.point_confidence)
    numbers, findings = table.numbers(use)
    names = np.array(table.text(columns.label), dtype=object)
    takes = []
    for (source, body), rows in groups(table, columns).items():
        take = _pivot(columns, numbers[rows], names[rows], findings)
        take.source, take.body = source, body
        takes.append(take)
    return takes


def _pivot(
    columns: Columns, numbers: FloatArray, names: NDArray[np.object_], findings: list[Finding]
) -> RawTake:
    """One raw take from the rows (x, y, z, time, confidence) of one source and body."""
    findings = list(findings)
    labels = list(dict.fromkeys(names))
    column = {label: i for i, label in enumerate(labels)}
    point = np.array([column[name] for name in names])
    stamps = numbers[:, 3]
    known = np.isfinite(stamps)
    if not known.all():
        findings.append(Finding(f"{(~known).sum()} rows have no time", "dropped"))
    times, frame = np.unique(stamps[known], return_inverse=True)
    point, numbers = point[known], numbers[known]

    cell = frame * len(labels) + point
    twice = len(cell) - len(np.unique(cell))
    if twice:
        findings.append(
            Finding(f"{twice} rows repeat a time and label of another row", "the last one is used")
        )
    position = np.full((len(times), len(labels), 3), np.nan)
    position[frame, point] = numbers[:, :3]
    confidence = None
    if columns.point_confidence is not None:
        confidence = np.full(position.shape[:2], np.nan)
        confidence[frame, point] = numbers[:, 4]
    by_time = columns.time is not None
    return RawTake(
        labels=labels,
        position=position,
        time_s=times * (columns.time_unit or 1.0) if by_time else None,
        frame=None if by_time else times,
        confidence=confidence,
        unit=next(iter(columns.units), None),
        assumed_unit="m",
        findings=findings,
    )


FORMAT = Format("csv-long", (".csv", ".tsv", ".txt"), _sniff, _read)
