"""Copies the arrays of an HDF5 file to standard output; run as a process of its own.

They come as an NPZ file. Of a long take, if asked, the positions and confidences follow behind it,
row by row, as they stand in a temporary file of `fitpipe.io.spool`.

The library that parses HDF5 can crash on a damaged file, or never come back from it. Then this
process ends, and not the one that wanted the arrays.
"""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Collection
from typing import Any, BinaryIO

import h5py
import numpy as np

MOST_BYTES = 1 << 32
BLOCK = 16_384  # rows copied at a time
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


def copy_rows(
    path: str, known: Collection[str], positions: Collection[str], most_rows: int, out: BinaryIO
) -> bool:
    """Write a take of more than ``most_rows`` frames; False, and nothing written, if it is none.

    First ``rows:``, then the size of the NPZ file in eight bytes, the NPZ file, and the rows. In it
    positions have their place taken by ``"shape"`` and ``"name"``.
    """
    with h5py.File(path, "r") as file:
        name = next((n for n in positions if isinstance(file.get(n), h5py.Dataset)), None)
        if name is None or file[name].ndim != 3 or file[name].shape[0] <= most_rows:
            return False
        if file[name].shape[2] != 3 or file[name].dtype.kind not in "fiu":
            return False  # the error is told as for any other take
        datasets = [file[name]]
        if isinstance(file.get("confidence"), h5py.Dataset):
            if file["confidence"].shape != file[name].shape[:2]:
                return False
            datasets.append(file["confidence"])
        for dataset in datasets:
            _check_size(dataset)
        values: dict[str, Any] = {key: file.attrs[key] for key in file.attrs if key in known}
        for key in sorted(file):
            is_small = key not in (*positions, "confidence") and key in known
            if is_small and isinstance(file.get(key), h5py.Dataset):
                values[key] = _whole(file[key])
        if "units" in file[name].attrs:
            values["units"] = file[name].attrs["units"]
        values |= {"held": sorted(file), "shape": file[name].shape, "name": name}
        values["is_rated"] = len(datasets) > 1
        packed = _packed(values)
        out.write(b"rows:" + len(packed).to_bytes(8, "little") + packed)
        try:
            for begin in range(0, file[name].shape[0], BLOCK):
                parts = [np.asarray(d[begin : begin + BLOCK], "<f8") for d in datasets]
                rows = [part.reshape(len(part), -1) for part in parts]
                out.write(np.concatenate(rows, axis=1).tobytes())
        except _DAMAGE as error:
            sys.exit(str(error))  # among the rows it would be taken for numbers
    return True


def _check_size(dataset: Any) -> None:
    """TooLargeError if a dataset announces more than its file can hold."""
    n_bytes = (dataset.size or 0) * max(dataset.dtype.itemsize, 1)
    stored = dataset.id.get_storage_size()
    if n_bytes > _MOST_RATIO * stored + 65536:
        raise TooLargeError(f"{dataset.name} announces {n_bytes:.3g} bytes and {stored} are stored")


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


def _packed(values: dict[str, Any]) -> bytes:
    packed = io.BytesIO()
    np.savez(packed, allow_pickle=False, **{name: _plain(v) for name, v in values.items()})
    return packed.getvalue()


def main() -> None:
    """Write the arrays of the file that the arguments name, or the error, to standard output.

    Arguments: the path; as JSON, names of arrays, and which of them are positions; and, if long
    takes are to come row by row, how many frames others have at most.
    """
    path, known, positions, *most_rows = sys.argv[1], *map(json.loads, sys.argv[2:])
    out = sys.stdout.buffer
    try:
        if most_rows and copy_rows(path, known, positions, most_rows[0], out):
            return
        packed = _packed(read_arrays(path, known, positions))
    except TooLargeError as error:
        out.write(b"large:" + str(error).encode())
        return
    except _DAMAGE as error:
        out.write(b"error:" + str(error).encode(errors="replace"))
        return
    out.write(packed)


if __name__ == "__main__":
    main()
