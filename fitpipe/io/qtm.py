"""TSV exports of Qualisys Track Manager: key lines, then rows of coordinates in millimetres."""

from __future__ import annotations

from fitpipe.errors import InputError
from fitpipe.io.raw import Format, RawTake, ReadOptions
from fitpipe.io.table import no_rows, read_numbers
from fitpipe.io.textfile import FileHead, number_or_none

_KEY_LINES = 40


def _sniff(head: FileHead) -> bool:
    return bool(head.lines) and head.lines[0].startswith("NO_OF_FRAMES")


def _read(head: FileHead, options: ReadOptions) -> list[RawTake]:
    del options
    lines = head.text_lines()
    keys: dict[str, list[str]] = {}
    at = 0
    for i, line in enumerate(lines[:_KEY_LINES]):
        key, *values = line.rstrip().split("\t")
        if key.replace("_", "").isalpha() and key.isupper():
            keys[key] = values
            at = i + 1
    names = [name for name in keys.get("MARKER_NAMES", []) if name]
    if not names:
        raise InputError("no 3D points: MARKER_NAMES is absent or empty", path=head.path)
    rows = [line for line in lines[at:] if line.strip()]
    with_time = bool(rows) and rows[0].lower().startswith("frame\ttime")
    rows = rows[1:] if with_time else rows
    if not rows:
        raise no_rows(head)
    lead = 2 if with_time else 0
    width = max(row.rstrip("\t").count("\t") + 1 for row in rows)
    if width != lead + 3 * len(names):
        raise InputError(
            f"{lead + 3 * len(names)} columns expected for {len(names)} markers, {width} came",
            path=head.path,
            place=f"line {at + 1}",
        )
    table, findings = read_numbers([row.rstrip("\t") for row in rows], n_columns=width)
    rate = next(iter(keys.get("FREQUENCY", ())), "")
    return [
        RawTake(
            labels=names,
            position=table[:, lead:].reshape(len(table), -1, 3),
            time_s=table[:, 1] if with_time else None,
            rate_hz=number_or_none(rate),
            unit="mm",
            metadata={"software": "Qualisys Track Manager"},
            findings=findings,
        )
    ]


FORMAT = Format("qtm-tsv", (".tsv", ".txt"), _sniff, _read)
