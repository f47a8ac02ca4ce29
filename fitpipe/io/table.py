"""Turns rows of text into an array of numbers, whatever words stand for a missing one."""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from fitpipe.arrays import FloatArray
from fitpipe.errors import InputError
from fitpipe.io.textfile import FileHead
from fitpipe.records import Finding

# beside the words pandas knows (nan, NaN, NA, N/A, null, -nan, 1.#QNAN, 1.#IND, ...)
_MISSING_WORDS = (
    "NAN", "-NAN", "Nan", "nan(ind)", "-nan(ind)", "-nan(snan)", "1.#QNAN0", "-1.#QNAN0",
    "1.#QNB", "1.#IND00", "-1.#IND00", "-", "--", "---", ".", "none", "missing",
)  # fmt: skip
# those that pandas knows, for Arrow
_ALL_MISSING = (
    *_MISSING_WORDS, "", "nan", "NaN", "NA", "N/A", "n/a", "null", "NULL", "-nan", "-NaN", "<NA>",
    "None", "#N/A", "#N/A N/A", "#NA", "1.#QNAN", "-1.#QNAN", "1.#IND", "-1.#IND",
)  # fmt: skip
# what a tracking state is worth: not tracked, inferred, tracked
_STATE_CONFIDENCE = (0.0, 0.2, 1.0)
_STATES = (
    (("nottracked", "untracked", "none", "false", "low"), 0.0),
    (("inferred", "medium"), 0.2),
    (("tracked", "true", "high"), 1.0),
)


def read_numbers(
    lines: Sequence[str],
    *,
    n_columns: int,
    separator: str = "\t",
    decimal: str = ".",
    first_row: int = 1,
    use: Sequence[int] | None = None,
) -> tuple[FloatArray, list[Finding]]:
    """Parse rows of numbers; empty fields and the usual words for "missing" become NaN.

    Parameters
    ----------
    lines : sequence of str
        One row each, none of them blank.
    n_columns : int
        Fields of the longest row; shorter rows end in NaN.
    separator : str
        Field separator; ``" "`` stands for any run of blanks.
    first_row : int
        Line number of the first row, for messages.
    use : sequence of int, optional
        Columns to read, all if None.

    Returns
    -------
    table : ndarray, shape (row, column)
        In the order of ``use``.
    findings : list of Finding
        Cells that are neither a number nor a word for missing (read as missing).
    """
    use = list(range(n_columns)) if use is None else list(use)
    if not lines:
        return np.empty((0, len(use))), []
    table = _all_numbers(lines, n_columns, separator, decimal, use)
    if table is not None:
        return table, []
    return _some_numbers(lines, n_columns, separator, decimal, first_row, use)


def _all_numbers(
    lines: Sequence[str], n_columns: int, separator: str, decimal: str, use: Sequence[int]
) -> FloatArray | None:
    """The cells by Arrow's reader; None if one is neither a number nor a word for missing."""
    import pyarrow as pa
    from pyarrow import csv as arrow

    if separator == " ":
        lines, separator = ["\t".join(line.split()) for line in lines], "\t"
    text = "\n".join(lines)
    if '"' in text or "\r" in text:
        return None
    if text.count(separator) < len(lines) * (n_columns - 1):
        # rows that end early end in missing cells
        missing = ((line, n_columns - 1 - line.count(separator)) for line in lines)
        text = "\n".join([line + separator * n for line, n in missing])
    content = text.encode()
    names = [str(i) for i in range(n_columns)]
    wanted = list(dict.fromkeys(str(i) for i in use))
    try:
        table = arrow.read_csv(
            pa.BufferReader(content),
            read_options=arrow.ReadOptions(
                column_names=names, use_threads=False, block_size=max(1 << 20, len(content) + 1)
            ),
            parse_options=arrow.ParseOptions(
                delimiter=separator, quote_char=False, ignore_empty_lines=False
            ),
            convert_options=arrow.ConvertOptions(
                column_types=dict.fromkeys(wanted, pa.float64()),
                include_columns=wanted,
                null_values=_ALL_MISSING,
                decimal_point=decimal,
            ),
        )
    except (pa.ArrowException, OverflowError):
        return None
    columns = {name: _floats(table.column(name)) for name in wanted}
    out = np.empty((table.num_rows, len(use)))
    for k, i in enumerate(use):
        out[:, k] = columns[str(i)]
    return out


def _floats(column: Any) -> FloatArray:
    """A column of Arrow's doubles, (row,), NaN where null. Arrow's own way imports pandas."""
    parts = []
    for chunk in column.chunks:
        validity, values = chunk.buffers()
        rows = slice(chunk.offset, chunk.offset + len(chunk))
        part = np.frombuffer(values, np.float64)[rows]
        if chunk.null_count:
            is_there = np.unpackbits(np.frombuffer(validity, np.uint8), bitorder="little")[rows]
            part = np.where(is_there, part, np.nan)
        parts.append(part)
    return np.concatenate(parts)


def _some_numbers(
    lines: Sequence[str],
    n_columns: int,
    separator: str,
    decimal: str,
    first_row: int,
    use: list[int],
) -> tuple[FloatArray, list[Finding]]:
    """The cells by pandas' reader, as text; and those that are no numbers."""
    import pandas as pd

    options: dict[str, object] = {
        "sep": r"\s+" if separator == " " else separator,
        "header": None,
        "names": list(range(n_columns)),
        "index_col": False,
        "usecols": sorted(set(use)),
        "na_values": list(_MISSING_WORDS),
        "skipinitialspace": True,
        "skip_blank_lines": False,
        # a single quote mark is a slip, not the start of a field of many lines
        "quoting": csv.QUOTE_NONE
        if any(line.count('"') % 2 for line in lines)
        else csv.QUOTE_MINIMAL,
        "engine": "c",
    }
    # pandas takes the width from the first row
    short = 0 if separator == " " else n_columns - 1 - lines[0].count(separator)
    text = io.StringIO("\n".join([lines[0] + separator * short, *lines[1:]]))
    try:
        frame = pd.read_csv(text, dtype=str, **options)  # type: ignore[call-overload]
    except pd.errors.ParserError:  # quote marks that are no pairs after all
        text.seek(0)
        options["quoting"] = csv.QUOTE_NONE
        frame = pd.read_csv(text, dtype=str, **options)  # type: ignore[call-overload]
    numbers = frame.map(lambda cell: _number(cell, decimal), na_action="ignore").astype(np.float64)
    odd = (numbers.isna() & frame.notna()).to_numpy()
    findings = []
    if odd.any():
        rows, columns = np.nonzero(odd)
        shown = ", ".join(
            f"{frame.iat[r, c]!r} (row {r + first_row}, column {frame.columns[c] + 1})"
            for r, c in list(zip(rows.tolist(), columns.tolist(), strict=True))[:3]
        )
        findings.append(Finding(f"{odd.sum()} cells are not numbers: {shown}", "taken as missing"))
    return np.asarray(numbers[use].to_numpy(dtype=np.float64)), findings


def _number(cell: str, decimal: str) -> float:
    """A cell as a number, to the last bit as Arrow reads it; NaN if it is none."""
    try:
        return math.nan if "_" in cell else float(cell.replace(decimal, "."))
    except ValueError:
        return math.nan


def tracking_worth(states: Sequence[str], label: str, findings: list[Finding]) -> FloatArray:
    """Confidence for tracking states, as numbers or words.

    Parameters
    ----------
    states : sequence of str
        ``"2"``, ``"Tracked"``, ``"inferred"``, ``"NotTracked"``, ...
    label : str
        Of the joint, for messages.
    findings : list of Finding
    """
    known = {state: _worth_of(state) for state in set(states)}
    odd = sorted(state for state, worth in known.items() if worth is None)
    if odd:
        findings.append(
            Finding(f"{label}: tracking states {', '.join(map(repr, odd[:3]))}", "taken as 0")
        )
    return np.array([known[state] or 0.0 for state in states])


def _worth_of(state: str) -> float | None:
    word = "".join(c for c in state.lower() if c.isalnum())
    for names, worth in _STATES:
        if word in names:
            return worth
    try:
        return _STATE_CONFIDENCE[int(float(state))] if float(state) in (0, 1, 2) else None
    except ValueError:
        return None


def fields_of(line: str, separator: str) -> list[str]:
    """The fields of one line, quotes and outer blanks removed."""
    if separator == " ":
        return line.split()
    try:
        fields = next(csv.reader([line], delimiter=separator, skipinitialspace=True), [])
    except csv.Error:  # a field longer than the library takes: an open quote mark
        fields = line.split(separator)
    return [field.strip() for field in fields]


def sniff_separator(lines: Sequence[str]) -> str:
    """The field separator of a table: the one of tab, semicolon, comma that splits most rows."""
    sample = [line for line in lines[:20] if line.strip()]
    counts = {mark: sum(line.count(mark) > 0 for line in sample) for mark in "\t;,"}
    # a decimal comma is in every row of a table that semicolons or tabs separate
    return max("\t;,", key=lambda mark: counts[mark]) if any(counts.values()) else " "


def sniff_decimal(lines: Sequence[str], separator: str) -> str:
    """``","`` if numbers in the rows are written with a decimal comma, else ``"."``."""
    if separator == ",":
        return "."
    sample = "\n".join(lines[:50])
    with_comma = len(re.findall(r"\d,\d", sample))
    with_point = len(re.findall(r"\d\.\d", sample))
    return "," if with_comma > with_point else "."


def no_rows(head: FileHead) -> InputError:
    """Error for a table that has a header and nothing under it."""
    return InputError("no frames: the file has a header and no rows of data", path=head.path)
