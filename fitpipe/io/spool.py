"""Keeps the numbers of a long take in a temporary file, where any rows are read at once."""

from __future__ import annotations

import errno
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from threading import Lock
from typing import BinaryIO, cast
from weakref import finalize

import numpy as np

from fitpipe.arrays import FloatArray
from fitpipe.errors import InputError
from fitpipe.io.raw import RawTake
from fitpipe.records.finding import added_up


class Stored:
    """The rows of one source and body; the file is gone with the object.

    A row holds the positions and, if there are any, the confidences of all points, as
    little-endian doubles.

    Attributes
    ----------
    raw : RawTake
        All that is not along time, and the time stamps; its positions are empty.
    n_rows : int
    """

    def __init__(self, raw: RawTake, *, is_rated: bool) -> None:
        self.raw, self.n_rows = raw, 0
        self._n_points, self._is_rated = len(raw.labels), is_rated
        self._width = self._n_points * (4 if is_rated else 3)
        self._lock = Lock()  # blocks are read in several threads
        self._file = cast("BinaryIO", tempfile.TemporaryFile(prefix="fitpipe-"))  # noqa: SIM115
        finalize(self, self._file.close)

    def append(self, rows: bytes) -> None:
        """Store more rows, or parts of them."""
        self._file.write(rows)

    def close_up(self) -> None:
        """All rows are there."""
        self._file.flush()
        self.n_rows = self._file.tell() // (self._width * 8)

    def position(self, begin: int, end: int) -> FloatArray:
        """Positions of the rows from ``begin`` to ``end``, (time, point, 3)."""
        return self._read(begin, end)[:, : 3 * self._n_points].reshape(-1, self._n_points, 3)

    def confidence(self, begin: int, end: int) -> FloatArray | None:
        """Confidences (time, point), if the file has them."""
        return self._read(begin, end)[:, 3 * self._n_points :] if self._is_rated else None

    def _read(self, begin: int, end: int) -> FloatArray:
        with self._lock:
            self._file.seek(begin * self._width * 8)
            numbers = np.fromfile(self._file, "<f8", (end - begin) * self._width)
        return numbers.astype(np.float64, copy=False).reshape(-1, self._width)


def stored_rows(raw: RawTake, pieces: Iterable[bytes], path: Path, *, is_rated: bool) -> Stored:
    """Store rows that come as `Stored` keeps them.

    Raises
    ------
    InputError
        The folder for temporary files is full or not there.
    """
    with _told(path):
        stored = Stored(raw, is_rated=is_rated)
        for piece in pieces:
            stored.append(piece)
        stored.close_up()
    return stored


def stored_blocks(blocks: Iterable[Sequence[RawTake]], path: Path) -> list[Stored]:
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
    seen: dict[tuple[str, str], list[RawTake]] = {}
    stored: dict[tuple[str, str], Stored] = {}
    with _told(path):
        for raw in (raw for block in blocks for raw in block):
            key = raw.source, raw.body
            rated = raw.confidence is not None
            own = stored.get(key) or stored.setdefault(key, Stored(raw, is_rated=rated))
            rows = [raw.position.reshape(len(raw.position), -1)]
            rows += [] if raw.confidence is None else [raw.confidence]
            own.append(np.concatenate(rows, axis=1).astype("<f8", copy=False).tobytes())
            # the numbers are in the file; stamps and findings are put together at the end
            bare = replace(raw, position=np.empty((0, *raw.position.shape[1:])), confidence=None)
            seen.setdefault(key, []).append(bare)
        for key, own in stored.items():
            parts = seen[key]
            own.raw = replace(
                parts[0],
                time_s=_joined([part.time_s for part in parts]),
                frame=_joined([part.frame for part in parts]),
                findings=added_up([part.findings for part in parts]),
            )
            own.close_up()
    return list(stored.values())


def _joined(parts: Sequence[FloatArray | None]) -> FloatArray | None:
    known = [part for part in parts if part is not None]
    return np.concatenate(known) if known else None


@contextmanager
def _told(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.ENOENT):
            raise
        raise InputError(
            f"is read by way of a temporary file, for which {tempfile.gettempdir()} has no room",
            path=path,
            hint="set TMPDIR to a folder on a larger disk",
        ) from error
