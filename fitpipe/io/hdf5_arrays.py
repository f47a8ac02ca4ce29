"""Copies the arrays of an HDF5 file into an NPZ file; run as a process of its own.

The library that parses HDF5 can crash on a damaged file, or never come back from it. Then this
process ends, and not the one that wanted the arrays.
"""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Collection
from typing import Any

import h5py
import numpy as np

MOST_BYTES = 1 << 32
_MOST_RATIO = 1100  # deflate packs no better than 1032 to 1
# what h5py raises on damaged files
_DAMAGE = (
    OSError, RuntimeError, KeyError, ValueError, TypeError, MemoryError, OverflowError,
    NotImplementedError, AttributeError,
)  # fmt: skip


class TooLargeError(Exception):
    """A dataset announces more than its file can hold."""


def read_arrays(path: str, known: Collection[str], positions: Collection[str]) -> dict[str, Any]:
    """Arrays and attributes of a file whose names are known, and ``"held"``: all names."""
    with h5py.File(path, "r") as file:
        values: dict[str, Any] = {key: file.attrs[key] for key in file.attrs if key in known}
        for name in sorted(file):
            if name in known and isinstance(file.get(name), h5py.Dataset):
                values[name] = _whole(file[name])
        position = next((name for name in positions if name in values), None)
        if position is not None and isinstance(file.get(position), h5py.Dataset):
            if "units" in file[position].attrs:
                values["units"] = file[position].attrs["units"]
            if np.ndim(values[position]) == 4:
                values["dims"] = _dims(file[position])
        return {**values, "held": sorted(file)}


def _whole(dataset: Any) -> Any:
    """A dataset's values, if the file can hold as much as it announces."""
    n_bytes = (dataset.size or 0) * max(dataset.dtype.itemsize, 1)
    stored = dataset.id.get_storage_size()
    if n_bytes > MOST_BYTES or n_bytes > _MOST_RATIO * stored + 65536:
        raise TooLargeError(f"{dataset.name} announces {n_bytes:.3g} bytes and {stored} are stored")
    return dataset[()]


def _dims(dataset: Any) -> list[str]:
    """Names of the axes of a netCDF variable; empty if it has none."""
    names = []
    for dim in dataset.dims:
        name = dim.label or (dim[0].name.rsplit("/", 1)[-1] if len(dim) else "")
        names.append({"keypoint": "keypoints", "individual": "individuals"}.get(name, name))
    return names if all(names) else []


def _plain(value: Any) -> Any:
    """A value without Python objects: text as an array of text."""
    array = np.asarray(value)
    if array.dtype.kind not in "OS":
        return array
    texts = [
        v.decode("utf-8", errors="replace") if isinstance(v, bytes) else str(v)
        for v in array.ravel()
    ]
    return np.array(texts, dtype=str).reshape(array.shape)


def main() -> None:
    """Read the file named by the arguments and write an NPZ, or the error, to standard output."""
    path, known, positions = sys.argv[1], *map(json.loads, sys.argv[2:4])
    out = sys.stdout.buffer
    try:
        values = {
            name: _plain(value) for name, value in read_arrays(path, known, positions).items()
        }
    except TooLargeError as error:
        out.write(b"large:" + str(error).encode())
        return
    except _DAMAGE as error:
        out.write(b"error:" + str(error).encode(errors="replace"))
        return
    packed = io.BytesIO()
    np.savez(packed, allow_pickle=False, **values)
    out.write(packed.getvalue())


if __name__ == "__main__":
    main()
