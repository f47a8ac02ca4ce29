"""The manifest of a run: ``summary.csv``, and ``summary.jsonl`` that grows as takes end.

A line of ``summary.jsonl`` reaches the disk before the next take is waited for, so it is true even
of a run whose process was killed: each line's output is whole and as the line says. A take that
was written in the moment between is found again by the next run, from its file.
"""

from __future__ import annotations

import csv
import io
import json
import logging
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any, Final

from fitpipe.batch.outcome import Outcome
from fitpipe.output.atomic import refused, write_atomically

SUMMARY: Final = "summary.csv"
JOURNAL: Final = "summary.jsonl"
_log = logging.getLogger(__name__)


class Summary:
    """The manifest of the takes in one folder.

    Parameters
    ----------
    folder : Path
    takes : sequence of str
        All takes of the run, in the order of the rows.
    """

    def __init__(self, folder: Path, takes: Sequence[str]) -> None:
        self._folder = folder
        self._takes = tuple(takes)
        self._outcomes: dict[str, Outcome] = {}
        self._is_written = False

    def begin(self, outcomes: Iterable[Outcome]) -> None:
        """Write what is known before any take is fitted, in place of what an earlier run wrote."""
        self._outcomes = {outcome.take: outcome for outcome in outcomes}
        self._is_written = False
        self.write()

    def add(self, outcome: Outcome) -> None:
        """Tell of one more take; returns when it is on the disk.

        Raises
        ------
        OutputError
            It cannot be written; the file is as it was.
        """
        self._outcomes[outcome.take] = outcome
        self._is_written = False
        path = self._folder / JOURNAL
        line = _line(outcome, self._folder)
        try:
            with path.open("r+b") as file:
                size = file.seek(0, os.SEEK_END)
                try:
                    file.write(line)
                    file.flush()
                    os.fsync(file.fileno())
                except OSError:
                    file.truncate(size)
                    raise
        except OSError as error:
            raise refused(error, path) from error

    def write(self) -> None:
        """Write both files anew, a row for each take in the order of the run, if any has changed.

        Raises
        ------
        OutputError
            They cannot be written.
        """
        if self._is_written:
            return
        rows = [self._outcomes.get(take) or Outcome(take, "pending") for take in self._takes]
        lines = b"".join(_line(row, self._folder) for row in rows if row.status != "pending")
        write_atomically(self._folder / JOURNAL, lines)
        text = io.StringIO()
        table = csv.writer(text, lineterminator="\n")
        table.writerow(field.name for field in fields(Outcome))
        for row in rows:
            table.writerow(_cell(value) for value in row.to_row(self._folder).values())
        image = text.getvalue().encode("utf-8", "backslashreplace")
        write_atomically(self._folder / SUMMARY, image)
        self._is_written = True


def read_summary(folder: Path) -> Mapping[str, Outcome]:
    """What the last run in a folder told of its takes; lines that cannot be read are left out."""
    try:
        lines = (folder / JOURNAL).read_bytes().splitlines()
    except OSError:
        return {}
    outcomes = {}
    for number, line in enumerate(lines, start=1):
        try:
            outcome = Outcome.from_row(json.loads(line), folder)
        except (ValueError, TypeError, AttributeError):
            # the last line of a run that was killed may be cut; outputs tell what it said
            _log.info("%s, line %d is no row and left out", folder / JOURNAL, number)
            continue
        outcomes[outcome.take] = outcome
    return outcomes


def _cell(value: Any) -> Any:
    """As JSON writes it; empty where there is nothing."""
    if isinstance(value, bool):
        return str(value).lower()
    return "" if value is None else value


def _line(outcome: Outcome, folder: Path) -> bytes:
    return (json.dumps(outcome.to_row(folder)) + "\n").encode()
