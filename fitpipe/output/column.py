"""A variable along time, written to HDF5 as its rows come: packed in threads, chunk by chunk."""

from __future__ import annotations

import zlib
from collections.abc import Iterable
from concurrent.futures import Executor
from functools import partial
from typing import Any, Final

import h5py
import numpy as np
import numpy.typing as npt

CHUNK_BYTES: Final = 512 * 1024
_WINDOW_BITS: Final = 15
_MEMORY: Final = 9


class Column:
    """Rows of one dataset, from the first to the last.

    Parameters
    ----------
    dataset : h5py.Dataset
        Empty; if it is chunked, by whole rows, with the filters shuffle and gzip.
    compression : int
        gzip level.
    pool : Executor
        Packs the chunks.
    """

    def __init__(self, dataset: h5py.Dataset, compression: int, pool: Executor) -> None:
        self._dataset, self._compression, self._pool = dataset, compression, pool
        self._n_done = 0
        self._waiting: list[npt.NDArray[Any]] = []

    def add(self, rows: npt.NDArray[Any]) -> None:
        """Write the next rows, as far as they make up whole chunks."""
        if self._dataset.chunks is None:
            self._dataset[self._n_done : self._n_done + len(rows)] = rows
            self._n_done += len(rows)
            return
        self._waiting.append(rows)
        n_rows, size = sum(map(len, self._waiting)), self._dataset.chunks[0]
        if n_rows >= size:
            rows = np.concatenate(self._waiting)
            whole = n_rows // size * size
            self._write(rows[k : k + size] for k in range(0, whole, size))
            self._waiting = [rows[whole:].copy()]

    def finish(self) -> None:
        """Write the last rows, which may not fill their chunk."""
        left = sum(map(len, self._waiting))
        if left:
            rows = np.concatenate(self._waiting)
            padded = np.zeros(self._dataset.chunks, rows.dtype)
            padded[:left] = rows
            self._write([padded])
            self._waiting = []

    def _write(self, chunks: Iterable[npt.NDArray[Any]]) -> None:
        zeros = (0,) * (self._dataset.ndim - 1)
        pack = partial(packed, level=self._compression)
        for chunk in self._pool.map(pack, chunks):
            self._dataset.id.write_direct_chunk((self._n_done, *zeros), chunk)
            self._n_done += self._dataset.chunks[0]


def packed(chunk: npt.NDArray[Any], *, level: int) -> bytes:
    """What HDF5's filters shuffle and gzip make of a chunk.

    The low bytes of measured numbers repeat only by chance, so zlib is told to look for runs
    alone: as small within a few per cent, in less than half the time.
    """
    planes = np.ascontiguousarray(chunk).view(np.uint8).reshape(-1, chunk.itemsize).T
    search = zlib.Z_RLE if chunk.ndim > 1 else zlib.Z_DEFAULT_STRATEGY
    packer = zlib.compressobj(level, zlib.DEFLATED, _WINDOW_BITS, _MEMORY, search)
    return packer.compress(planes.tobytes()) + packer.flush()


def chunk_shape(shape: tuple[int, ...], itemsize: int) -> tuple[int, ...]:
    """Whole rows, as many as make up a chunk, shared evenly among the chunks."""
    n_rows, *row = shape
    rows_fit = max(1, CHUNK_BYTES // (int(np.prod(row)) * itemsize))
    n_chunks = -(-n_rows // rows_fit)
    return (-(-n_rows // n_chunks), *row)
