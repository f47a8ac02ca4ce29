"""HDF5 and netCDF-4: arrays with labels, datasets of ``movement``, tracks of SLEAP."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from pathlib import Path
from typing import Any, Final

import numpy as np

from fitpipe.errors import InputError
from fitpipe.io.arrays import KNOWN, POSITION, damaged, takes_of
from fitpipe.io.raw import Format, RawTake, ReadOptions
from fitpipe.io.textfile import FileHead

_MAGIC = b"\x89HDF\r\n\x1a\n"
_CLASSIC = (b"CDF\x01", b"CDF\x02", b"CDF\x05")
_CHILD = Path(__file__).with_name("hdf5_arrays.py")
_LEAST_S: Final = 15.0
_BYTES_PER_S: Final = 5e6  # slower than any disk that recordings are worked on from


def _read(head: FileHead, options: ReadOptions) -> list[RawTake]:
    del options
    if head.is_gzip:
        raise InputError("is a gzipped HDF5, which is not read", path=head.path, hint="unpack it")
    content = _child(head)
    if content.startswith(b"large:"):
        said = content[6:].decode(errors="replace")
        raise InputError(f"is damaged: {said}", path=head.path, hint="copy the file again")
    if content.startswith(b"error:"):
        raise damaged(head.path, "HDF5", ValueError(content[6:].decode(errors="replace")))
    with np.load(io.BytesIO(content), allow_pickle=False) as archive:
        values: dict[str, Any] = {name: archive[name] for name in archive.files}
    held = [str(name) for name in values.pop("held")]
    return takes_of(head.path, values, held)


def _child(head: FileHead) -> bytes:
    """The arrays as NPZ, read by a process that may crash or hang without harm."""
    size = head.path.stat().st_size
    limit_s = max(_LEAST_S, size / _BYTES_PER_S)
    names = (json.dumps(sorted(KNOWN)), json.dumps(POSITION))
    # -P: the modules beside the script must not stand in for those of the standard library
    command = [sys.executable, "-P", str(_CHILD), str(head.path.resolve()), *names]
    try:
        done = subprocess.run(  # noqa: S603 - no shell, our own module
            command,
            capture_output=True,
            timeout=limit_s,
            check=False,
            stdin=subprocess.DEVNULL,
        )
    except subprocess.TimeoutExpired:
        raise InputError(
            f"is a damaged HDF5 file: the library did not come back from it in {limit_s:.0f} s",
            path=head.path,
            hint="copy the file again",
        ) from None
    if done.returncode != 0 or not done.stdout:
        said = done.stderr.decode(errors="replace").strip().splitlines()[-1:] or ["no message"]
        raise InputError(
            f"is a damaged HDF5 file: the HDF5 library crashed on it (exit code "
            f"{done.returncode}: {said[0][:160]})",
            path=head.path,
            hint="copy the file again",
        )
    return done.stdout


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
