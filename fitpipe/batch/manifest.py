"""Reads a manifest: a CSV or TOML file with a row for each file of each take."""

from __future__ import annotations

import csv
import io
import tomllib
from pathlib import Path
from typing import Any, Final

from fitpipe.config import FileRow, ReadingConfig, make_config
from fitpipe.config.layers import anchored
from fitpipe.config.toml import read_text, read_toml, toml_value
from fitpipe.errors import ConfigError, suggest

COLUMNS: Final = ("take", "source", "path", "subject", *ReadingConfig.model_fields, "options")


def read_manifest(path: str | Path) -> list[FileRow]:
    """Every row of a manifest, its paths absolute.

    Columns of a CSV file (comma, semicolon or tab) and keys of a TOML file's ``[[file]]`` are the
    fields of FileRow. In CSV, ``options`` is written as TOML does between braces, and a column may
    be called by any setting (``solve.max_iterations``); an empty cell says nothing.

    Raises
    ------
    ConfigError
        The file cannot be read, or rows have unknown columns or wrong values (all listed).
    """
    path = Path(path)
    rows = _toml_rows(path) if path.suffix.lower() == ".toml" else _csv_rows(path)
    if not rows:
        raise ConfigError("lists no files", path=path)
    faults, made = [], []
    for place, row in rows:
        try:
            table = anchored(row, path.parent.absolute(), "takes.file")
            made.append(make_config(FileRow, table, path=path))
        except ConfigError as error:
            faults += [f"{place}: {fault}" for fault in error.faults or [_line(error)]]
    if faults:
        raise ConfigError("rows that cannot be used", path=path, faults=faults)
    return made


def _line(error: ConfigError) -> str:
    return f"{error.place}: {error.problem}" if error.place else error.problem


def _toml_rows(path: Path) -> list[tuple[str, dict[str, Any]]]:
    table = read_toml(path)
    rows = table.pop("file", [])
    if table or not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        odd = ", ".join(table) or "file"
        raise ConfigError(
            f"expected tables [[file]] with keys {', '.join(COLUMNS)}",
            path=path,
            place=f"[{odd}]",
        )
    return [(f"[[file]] number {i}", row) for i, row in enumerate(rows, start=1)]


def _csv_rows(path: Path) -> list[tuple[str, dict[str, Any]]]:
    text = read_text(path)
    header = text.partition("\n")[0]
    delimiter = max(",;\t", key=header.count)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    try:
        columns = [name.strip() for name in next(reader, [])]
        _check_columns(path, columns)
        rows = []
        for cells in reader:
            if not any(cell.strip() for cell in cells):
                continue
            place = f"line {reader.line_num}"
            if len(cells) > len(columns):
                raise ConfigError(
                    f"{len(cells)} cells in a table of {len(columns)} columns",
                    path=path,
                    place=place,
                    hint="put a cell that holds a comma in double quotes",
                )
            named = dict(zip(columns, cells, strict=False))
            rows.append((place, _row(path, place, named)))
    except csv.Error as error:
        raise ConfigError(f"is no CSV: {error}", path=path) from error
    return rows


def _check_columns(path: Path, columns: list[str]) -> None:
    known = COLUMNS
    faults = [
        f"unknown column {name!r}; {suggest(name, known)}"
        for name in columns
        if name not in known and "." not in name
    ]
    faults += [f"there is no column {name!r}" for name in ("take", "path") if name not in columns]
    faults += [f"two columns are called {n!r}" for n in sorted({*columns}) if columns.count(n) > 1]
    if faults:
        raise ConfigError(
            "is no manifest",
            path=path,
            place="line 1",
            faults=faults,
            hint=f"columns are {', '.join(known)}, or any setting such as solve.max_iterations",
        )


def _row(path: Path, place: str, cells: dict[str, str]) -> dict[str, Any]:
    """A row without its empty cells, options and settings as values."""
    row: dict[str, Any] = {}
    options: dict[str, Any] = {}
    for name, cell in cells.items():
        cell = cell.strip()
        if not cell:
            continue
        if name == "options":
            table = cell if cell.startswith("{") else f"{{{cell}}}"
            try:
                options |= tomllib.loads(f"value = {table}")["value"]
            except tomllib.TOMLDecodeError as error:
                raise ConfigError(
                    f"options are not TOML: {error}",
                    path=path,
                    place=place,
                    hint="write solve.max_iterations = 50, weights.noise = false",
                ) from error
        elif "." in name:
            options[name] = toml_value(cell)
        else:
            row[name] = cell
    return row | ({"options": options} if options else {})
