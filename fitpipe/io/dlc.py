"""Tables of DeepLabCut: rows scorer, (individuals,) bodyparts and coords over the numbers."""

from __future__ import annotations

import numpy as np

from fitpipe.errors import InputError
from fitpipe.io.raw import Format, RawTake, ReadOptions
from fitpipe.io.table import fields_of, no_rows, read_numbers, sniff_separator
from fitpipe.io.textfile import FileHead

_ROWS = ("scorer", "individuals", "bodyparts", "coords")


def _first(line: str) -> str:
    return line.split(sniff_separator([line]), 1)[0].strip().strip('"').lower()


def _sniff(head: FileHead) -> bool:
    names = [_first(line) for line in head.lines[:4]]
    return names[:1] == ["scorer"] and "bodyparts" in names and "coords" in names


def _read(head: FileHead, options: ReadOptions) -> list[RawTake]:
    del options
    lines = head.text_lines()
    separator = sniff_separator(lines[:4])
    header: dict[str, list[str]] = {}
    for line in lines[:4]:
        if _first(line) in _ROWS:
            header[_first(line)] = fields_of(line, separator)[1:]
    rows = [line for line in lines[len(header) :] if line.strip()]
    coords = [axis.strip().lower() for axis in header["coords"]]
    parts = header["bodyparts"]
    people = header.get("individuals", [""] * len(coords))
    if "z" not in coords:
        raise InputError(
            f"no 3D points: the coordinates are {', '.join(dict.fromkeys(coords))}",
            path=head.path,
            hint="triangulate the two-dimensional tracks of several cameras first",
        )
    if not rows:
        raise no_rows(head)
    if not len(coords) == len(parts) == len(people):
        raise InputError(
            f"the header rows have {len(people)}, {len(parts)} and {len(coords)} columns",
            path=head.path,
        )
    found: dict[str, dict[str, dict[str, int]]] = {}
    for i, (who, part, axis) in enumerate(zip(people, parts, coords, strict=True)):
        found.setdefault(who, {}).setdefault(part, {})[axis] = i + 1
    n_columns = max(len(coords) + 1, *(row.count(separator) + 1 for row in rows))
    table, findings = read_numbers(
        rows, n_columns=n_columns, separator=separator, first_row=len(header) + 1
    )
    takes = []
    for who, points in found.items():
        whole = {part: axes for part, axes in points.items() if axes.keys() >= set("xyz")}
        if not whole:
            continue
        columns = [[axes[axis] for axis in "xyz"] for axes in whole.values()]
        sure = [axes.get("likelihood") for axes in whole.values()]
        confidence = None
        if all(column is not None for column in sure):
            confidence = table[:, [column for column in sure if column is not None]]
        takes.append(
            RawTake(
                labels=list(whole),
                position=np.asarray(table[:, columns]),
                frame=table[:, 0],
                confidence=confidence,
                assumed_unit="m",
                body=who if len(found) > 1 else "",
                metadata={"software": "DeepLabCut"},
                findings=list(findings),
            )
        )
    if not takes:
        raise InputError("no 3D points: no body part has x, y and z", path=head.path)
    return takes


FORMAT = Format("deeplabcut", (".csv",), _sniff, _read)
