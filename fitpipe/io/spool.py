"""Keeps the numbers of a long text file in a temporary file, where any rows are read at once."""

from __future__ import annotations

import errno
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import BinaryIO, cast

import numpy as np

from fitpipe.arrays import FloatArray
from fitpipe.errors import InputError
from fitpipe.io.raw import RawTake
from fitpipe.records.finding import added_up


class Stored:
    """The rows of one source and body; the file is gone with the object.

    Attributes
    ----------
    raw : RawTake
        All that is not along time, and the time stamps; its positions are empty.
    n_rows : int
    """

    def __init__(self, first: RawTake) -> None:
        self.n_rows = 0
        self._n_points = len(first.labels)
        self._rated = first.confidence is not None
        self._file = cast("BinaryIO", tempfile.TemporaryFile(prefix="fitpipe-"))  # noqa: SIM115
        self._stamps: dict[str, list[FloatArray]] = {"time_s": [], "frame": []}
        self._findings = [first.findings[:0]]
        self.raw = replace(first, position=np.empty((0, self._n_points, 3)), confidence=None)

    def append(self, block: RawTake) -> None:
        """Store the next rows."""
        rows = [block.position.reshape(len(block.position), -1)]
        if self._rated and block.confidence is not None:
            rows.append(block.confidence)
        np.ascontiguousarray(np.concatenate(rows, axis=1), "<f8").tofile(self._file)
        self.n_rows += len(block.position)
        for name, parts in self._stamps.items():
            stamps = getattr(block, name)
            if stamps is not None:
                parts.append(stamps)
        self._findings.append(block.findings)

    def close_up(self) -> None:
        """All rows are there: put the stamps together."""
        self._file.flush()
        for name, parts in self._stamps.items():
            setattr(self.raw, name, np.concatenate(parts) if parts else None)
        self.raw.findings = added_up(self._findings)

    def position(self, begin: int, end: int) -> FloatArray:
        """Positions of the rows from ``begin`` to ``end``, (time, point, 3)."""
        return self._read(begin, end)[:, : 3 * self._n_points].reshape(-1, self._n_points, 3)

    def confidence(self, begin: int, end: int) -> FloatArray | None:
        """Confidences (time, point), if the file has them."""
        return self._read(begin, end)[:, 3 * self._n_points :] if self._rated else None

    def _read(self, begin: int, end: int) -> FloatArray:
        width = self._n_points * (4 if self._rated else 3)
        self._file.seek(begin * width * 8)
        numbers = np.fromfile(self._file, "<f8", (end - begin) * width)
        return numbers.astype(np.float64, copy=False).reshape(-1, width)


def spooled(blocks: Iterable[Sequence[RawTake]], path: Path) -> list[Stored]:
    """Store blocks of rows, by source and body.

    Parameters
    ----------
    blocks : iterable of sequence of RawTake
        Rows in the order of the file; in each block one raw take per source and body.
    path : Path
        The file they are from, for messages.

    Raises
    ------
    InputError
        The folder for temporary files is full or not there.
    """
    stored: dict[tuple[str, str], Stored] = {}
    for block in blocks:
        for raw in block:
            try:
                key = raw.source, raw.body
                own = stored.get(key) or stored.setdefault(key, Stored(raw))
                own.append(raw)
            except OSError as error:
                if error.errno not in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.ENOENT):
                    raise
                raise InputError(
                    f"is read by way of a temporary file, for which {tempfile.gettempdir()} has "
                    "no room",
                    path=path,
                    hint="set TMPDIR to a folder on a larger disk",
                ) from error
    for own in stored.values():
        own.close_up()
    return list(stored.values())
