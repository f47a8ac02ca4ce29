"""HDF5 and netCDF-4: arrays with labels, datasets of ``movement``, tracks of SLEAP."""

from __future__ import annotations

import io
import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import numpy as np

from fitpipe.errors import InputError
from fitpipe.io.arrays import KNOWN, POSITION, damaged, takes_of
from fitpipe.io.raw import Format, RawTake, ReadOptions
from fitpipe.io.spool import Stored, stored_rows
from fitpipe.io.textfile import FileHead

_MAGIC = b"\x89HDF\r\n\x1a\n"
_CLASSIC = (b"CDF\x01", b"CDF\x02", b"CDF\x05")
_CHILD = Path(__file__).with_name("hdf5_arrays.py")
_ROWS: Final = b"rows:"
_LEAST_BYTES: Final = 6
_PIECE_BYTES: Final = 16 << 20
_LEAST_S: Final = 15.0
_BYTES_PER_S: Final = 5e6  # slower than any disk that recordings are worked on from


def _read(head: FileHead, options: ReadOptions) -> list[RawTake]:
    del options
    with _child(head) as child:
        return _takes(head, child.read(_LEAST_BYTES) + child.read())


def open_rows(head: FileHead, most_frames: int) -> list[RawTake] | Stored:
    """Takes of a file; of more than ``most_frames`` frames, the rows in a temporary file.

    Raises
    ------
    InputError
        As from reading it at once, or there is no room for the temporary file.
    """
    with _child(head, most_frames) as child:
        start = child.read(_LEAST_BYTES)
        if not start.startswith(_ROWS):
            return _takes(head, start + child.read())
        size = int.from_bytes(
            start[len(_ROWS) :] + child.read(8 - len(start) + len(_ROWS)), "little"
        )
        values = _arrays(child.read(size))
        shape, is_rated = tuple(values.pop("shape").tolist()), bool(values.pop("is_rated"))
        # in place of the positions, something of their shape that takes no memory
        values[str(values.pop("name"))] = np.broadcast_to(np.nan, shape)
        held = [str(name) for name in values.pop("held")]
        (raw,) = takes_of(head.path, values, held)
        raw.position = np.empty((0, *shape[1:]))
        return stored_rows(raw, child.blocks(), head.path, is_rated=is_rated)


def _takes(head: FileHead, content: bytes) -> list[RawTake]:
    if content.startswith(b"large:"):
        said = content[6:].decode(errors="replace")
        raise InputError(f"is damaged: {said}", path=head.path, hint="copy the file again")
    if content.startswith(b"error:"):
        raise damaged(head.path, "HDF5", ValueError(content[6:].decode(errors="replace")))
    values = _arrays(content)
    held = [str(name) for name in values.pop("held")]
    return takes_of(head.path, values, held)


def _arrays(packed: bytes) -> dict[str, Any]:
    with np.load(io.BytesIO(packed), allow_pickle=False) as archive:
        return {name: archive[name] for name in archive.files}


class _Child:
    """What a process that may crash or hang without harm says of a file."""

    def __init__(self, head: FileHead, process: subprocess.Popen[bytes], limit_s: float) -> None:
        self._path, self._process, self._limit_s = head.path, process, limit_s
        self._is_late = False
        self._said = b""
        self._timer = threading.Timer(limit_s, self._give_up)
        self._ear = threading.Thread(target=self._listen)
        self._timer.start()
        self._ear.start()

    def read(self, size: int = -1) -> bytes:
        """So many bytes, or all that are left; InputError if the process fails meanwhile."""
        if self._process.stdout is None:
            return b""
        content = self._process.stdout.read(size)
        if size < 0 or len(content) < size:
            self._check_end()
        return content

    def blocks(self) -> Iterator[bytes]:
        """All that is left, piece by piece."""
        while block := self.read(_PIECE_BYTES):
            yield block

    def close(self) -> None:
        """End the process."""
        self._timer.cancel()
        self._process.kill()
        self._process.wait()
        self._ear.join()
        for pipe in (self._process.stdout, self._process.stderr):
            if pipe is not None:
                pipe.close()

    def _give_up(self) -> None:
        self._is_late = True
        self._process.kill()

    def _listen(self) -> None:
        if self._process.stderr is not None:
            self._said = self._process.stderr.read()

    def _check_end(self) -> None:
        code = self._process.wait()
        self._ear.join()
        if self._is_late:
            raise InputError(
                "is a damaged HDF5 file: the library did not come back from it in "
                f"{self._limit_s:.0f} s",
                path=self._path,
                hint="copy the file again",
            )
        if code != 0:
            said = self._said.decode(errors="replace").strip().splitlines()[-1:] or ["no message"]
            failed = "failed" if code == 1 else "crashed"  # 1: as an error in Python
            raise InputError(
                f"is a damaged HDF5 file: the HDF5 library {failed} on it (exit code {code}: "
                f"{said[0][:160]})",
                path=self._path,
                hint="copy the file again",
            )


@contextmanager
def _child(head: FileHead, *most_frames: int) -> Iterator[_Child]:
    if head.is_gzip:
        raise InputError("is a gzipped HDF5, which is not read", path=head.path, hint="unpack it")
    size = head.path.stat().st_size
    names = (json.dumps(sorted(KNOWN)), json.dumps(POSITION), *map(str, most_frames))
    # -P: the modules beside the script must not stand in for those of the standard library
    command = [sys.executable, "-P", str(_CHILD), str(head.path.resolve()), *names]
    process = subprocess.Popen(  # noqa: S603 - no shell, our own module
        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    child = _Child(head, process, max(_LEAST_S, size / _BYTES_PER_S))
    try:
        yield child
    finally:
        child.close()


def _refuse_classic(head: FileHead, options: ReadOptions) -> list[RawTake]:
    del options
    raise InputError(
        "is a classic netCDF file, which is not read",
        path=head.path,
        hint='save it as netCDF-4: dataset.to_netcdf(path, engine="h5netcdf")',
    )


FORMAT = Format(
    "hdf5", (".h5", ".hdf5", ".hdf", ".nc"), lambda head: head.start.startswith(_MAGIC), _read
)
CLASSIC = Format("netcdf-classic", (".nc",), lambda h: h.start[:4] in _CLASSIC, _refuse_classic)
