"""Wide tables: one row a frame, one column per label and axis; several bodies as several rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Protocol

import numpy as np

from fitpipe.arrays import FloatArray, IntArray
from fitpipe.errors import InputError
from fitpipe.io.columns import Columns, understand
from fitpipe.io.raw import Format, RawTake, ReadOptions
from fitpipe.io.table import (
    fields_of,
    no_rows,
    read_numbers,
    sniff_decimal,
    sniff_separator,
    tracking_worth,
)
from fitpipe.io.textfile import FileHead
from fitpipe.records import Finding

_SPELLINGS = (
    "understood are LASI_X, LASI.x, LASI:X, LASI X, LASI (X), X_LASI, LASI_x_mm, LASI_x [mm], "
    "or long tables with columns time, label, x, y, z"
)
_AXES = {"x", "y", "z"}
_GZIP_RATIO = 4  # about, of tables of numbers
_HEADER_LINES = 1024  # enough to tell separator and decimal mark as from the whole file
_BLOCK_LINES = 16_384


class Table(Protocol):
    """A table with named columns, whatever it is read from."""

    @property
    def names(self) -> list[str]:
        """Of the columns, as they stand in the header."""

    @property
    def n_rows(self) -> int:
        """Without the header."""

    def numbers(self, columns: Sequence[int]) -> tuple[FloatArray, list[Finding]]:
        """Some columns as numbers, in the order given."""

    def text(self, column: int) -> list[str]:
        """One column as text."""


@dataclass(frozen=True, slots=True)
class TextTable:
    """A text table: its header and, still as text, its rows."""

    names: list[str]
    rows: list[str]
    separator: str
    decimal: str
    first_line: int

    @property
    def n_rows(self) -> int:
        """Without the header."""
        return len(self.rows)

    def numbers(self, columns: Sequence[int]) -> tuple[FloatArray, list[Finding]]:
        """Some columns as numbers, in the order given."""
        width = max(len(self.names), *(row.count(self.separator) + 1 for row in self.rows))
        return read_numbers(
            self.rows,
            n_columns=width,
            separator=self.separator,
            decimal=self.decimal,
            first_row=self.first_line,
            use=columns,
        )

    def text(self, column: int) -> list[str]:
        """One column as text."""
        split = [fields_of(row, self.separator) for row in self.rows]
        return [row[column] if column < len(row) else "" for row in split]


def open_table(head: FileHead) -> TextTable:
    """Split a text file into header and rows; the header may take two rows (labels, then axes).

    Parameters
    ----------
    head : FileHead
    """
    every = head.text_lines()
    text = [line for line in every if line and not line.isspace() and line.lstrip()[0] != "#"]
    if not text:
        raise InputError("empty file (blank lines only)", path=head.path)
    table = _table(text)
    first_line = every.index(table.rows[0]) + 1 if table.rows else len(every)
    return replace(table, first_line=first_line)


def _table(text: Sequence[str]) -> TextTable:
    """Header and rows of lines that are neither blank nor comments."""
    separator = sniff_separator(text)
    names = fields_of(text[0], separator)
    n_header = 1
    if len(text) > 1 and _are_axes(fields_of(text[1], separator)):
        names = _two_rows(names, fields_of(text[1], separator))
        n_header = 2
    rows = list(text[n_header:])
    return TextTable(names, rows, separator, sniff_decimal(rows, separator), n_header + 1)


def estimated_rows(head: FileHead) -> int:
    """About how many rows a text file has, by its size and the length of its first lines."""
    lines = head.lines[:-1] or head.lines
    per_line = sum(len(line) + 1 for line in lines) / max(len(lines), 1)
    packed = _GZIP_RATIO if head.is_gzip else 1
    return int(packed * head.path.stat().st_size / max(per_line, 1))


def read_blocks(head: FileHead, *, n_lines: int = _BLOCK_LINES) -> Iterator[list[RawTake]]:
    """Read a wide table in blocks of rows: what `read_wide` makes of each.

    Raises
    ------
    InputError
        As from reading it at once.
    """
    lines = (
        (i, line)
        for i, line in enumerate(head.iter_lines(), start=1)
        if line and not line.isspace() and line.lstrip()[0] != "#"
    )
    start = list(islice(lines, _HEADER_LINES))
    if not start:
        raise InputError("empty file (blank lines only)", path=head.path)
    first = _table([line for _, line in start])
    if first.rows:
        first = replace(first, first_line=start[len(start) - len(first.rows)][0])
    columns = understand(first.names)
    if not columns.points:
        raise no_coordinates(head, first, columns)
    if not first.rows:
        raise no_rows(head)
    yield read_wide(head, first, columns)
    while block := list(islice(lines, n_lines)):
        rows = [line for _, line in block]
        yield read_wide(head, replace(first, rows=rows, first_line=block[0][0]), columns)


def _are_axes(fields: Sequence[str]) -> bool:
    named = [field.lower() for field in fields if field]
    return len([field for field in named if field in _AXES]) >= max(3, 0.6 * len(named))


def _two_rows(labels: Sequence[str], axes: Sequence[str]) -> list[str]:
    """One name a column from a row of labels (given once or at each axis) and a row of axes."""
    names, current = [], ""
    for i, axis in enumerate(axes):
        label = labels[i] if i < len(labels) else ""
        current = label or current
        names.append(f"{current}_{axis}" if axis.lower() in _AXES else axis or label)
    return names


def _sniff(head: FileHead) -> bool:
    lines = [line for line in head.lines if line.strip() and not line.lstrip().startswith("#")]
    if not lines:
        return False
    separator = sniff_separator(lines)
    names = fields_of(lines[0], separator)
    if len(lines) > 1 and _are_axes(fields_of(lines[1], separator)):
        names = _two_rows(names, fields_of(lines[1], separator))
    return bool(understand(names).points)


def _read(head: FileHead, options: ReadOptions) -> list[RawTake]:
    del options
    table = open_table(head)
    columns = understand(table.names)
    if not columns.points:
        raise no_coordinates(head, table, columns)
    return read_wide(head, table, columns)


def no_coordinates(head: FileHead, table: Table, columns: Columns) -> InputError:
    """Error for a table without a label that has x, y and z."""
    came = ", ".join(repr(name) for name in table.names[:8])
    more = f" and {len(table.names) - 8} more" if len(table.names) > 8 else ""
    what = "no column holds coordinates"
    if columns.flat:
        what = f"no label has all of x, y and z ({', '.join(columns.flat[:5])} have one or two)"
    return InputError(f"{what}; columns are {came}{more}", path=head.path, hint=_SPELLINGS)


def read_wide(
    head: FileHead,
    table: Table,
    columns: Columns,
    *,
    unit: str | None = None,
    up: str = "",
) -> list[RawTake]:
    """Read a wide table into one raw take per source and body.

    Parameters
    ----------
    head : FileHead
    table : Table
    columns : Columns
        With at least one point.
    unit, up : str, optional
        What the format is known to use.

    Raises
    ------
    InputError
        No rows, or columns in different length units.
    """
    if not table.n_rows:
        raise no_rows(head)
    if len(columns.units) > 1:
        raise InputError(
            f"columns are in different units: {', '.join(sorted(columns.units))}",
            path=head.path,
            place="header",
        )
    labels = list(columns.points)
    wanted = [i for label in labels for i in columns.points[label]]
    extra = {
        name: column
        for name, column in (("time", columns.time), ("frame", columns.frame))
        if column is not None
    }
    rated = [label for label in labels if label in columns.confidence]
    numbers, findings = table.numbers(
        [*wanted, *extra.values(), *(columns.confidence[label] for label in rated)]
    )
    position = numbers[:, : len(wanted)].reshape(len(numbers), -1, 3)
    stamps = dict(zip(extra, numbers[:, len(wanted) :].T, strict=False))
    confidence = None
    if rated:
        confidence = np.full(position.shape[:2], np.nan)
        confidence[:, [labels.index(label) for label in rated]] = numbers[:, -len(rated) :]
    if columns.state:
        confidence = np.ones(position.shape[:2]) if confidence is None else confidence
        for label, column in columns.state.items():
            if label in labels:
                worth = tracking_worth(table.text(column), label, findings)
                confidence[:, labels.index(label)] = worth
    if "time" in stamps:
        stamps["time"] = stamps["time"] * (columns.time_unit or 1.0)
    if columns.flat:
        short = ", ".join(columns.flat[:5])
        findings.append(Finding(f"labels without all of x, y and z: {short}", "left out"))
    return [
        RawTake(
            labels=list(labels),
            position=position[rows],
            time_s=stamps["time"][rows] if "time" in stamps else None,
            frame=stamps["frame"][rows] if "frame" in stamps else None,
            confidence=None if confidence is None else confidence[rows],
            unit=unit or next(iter(columns.units), None),
            assumed_unit="m",
            source=source,
            body=body,
            up=up,
            findings=list(findings),
        )
        for (source, body), rows in groups(table, columns).items()
    ]


def groups(table: Table, columns: Columns) -> dict[tuple[str, str], IntArray]:
    """Rows of each source and body, in the order of the file; one group if there are no columns.

    Parameters
    ----------
    table : Table
    columns : Columns
    """
    if columns.source is None and columns.body is None:
        return {("", ""): np.arange(table.n_rows)}
    sources = _names_of(table, columns.source, "sensor")
    bodies = _names_of(table, columns.body, "body")
    rows: dict[tuple[str, str], list[int]] = {}
    for i, key in enumerate(zip(sources, bodies, strict=True)):
        rows.setdefault(key, []).append(i)
    return {key: np.array(index) for key, index in rows.items()}


def _names_of(table: Table, column: int | None, noun: str) -> list[str]:
    """A column of names; a plain number gets its noun in front (``sensor0``)."""
    if column is None:
        return [""] * table.n_rows
    return [f"{noun}{name}" if name.isdigit() else name for name in table.text(column)]


FORMAT = Format("csv", (".csv", ".tsv", ".txt"), _sniff, _read)
