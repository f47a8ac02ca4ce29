"""Arrays with labels, in HDF5 or NPZ: names, units and time beside one array of positions."""

from __future__ import annotations

import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from fitpipe.arrays import FloatArray
from fitpipe.errors import InputError
from fitpipe.io.raw import Format, RawTake, ReadOptions
from fitpipe.io.textfile import FileHead

_HDF5_MAGIC = b"\x89HDF\r\n\x1a\n"
_ZIP_MAGIC = b"PK\x03\x04"
_POSITION = ("position", "position_m", "positions", "xyz", "points")
_LABELS = ("labels", "label", "keypoint", "keypoints", "names", "joints", "markers")
_TIME = ("time_s", "time", "t")
_RATE = ("rate_hz", "fps", "rate", "frame_rate")
_UNITS = ("units", "unit")
_CONFIDENCE = ("confidence",)


def _read_npz(head: FileHead, options: ReadOptions) -> list[RawTake]:
    del options
    try:
        with head.path.open("rb") as file, np.load(file, allow_pickle=False) as archive:
            values = {name: archive[name] for name in archive.files}
    except ValueError as error:
        if "pickle" not in str(error):
            raise _damaged(head.path, "NPZ", error) from error
        raise InputError(
            "holds Python objects, which are not read because they can run code",
            path=head.path,
            hint="save the labels as an array of strings: np.array(labels, dtype=str)",
        ) from error
    except (zipfile.BadZipFile, OSError, EOFError) as error:
        raise _damaged(head.path, "NPZ", error) from error
    return [_take(head.path, values)]


def _read_hdf5(head: FileHead, options: ReadOptions) -> list[RawTake]:
    del options
    import h5py

    wanted = {*_POSITION, *_LABELS, *_TIME, *_RATE, *_UNITS, *_CONFIDENCE}
    try:
        with h5py.File(head.path, "r") as file:
            values = {name: file[name][()] for name in wanted if _is_dataset(file, name)}
            attributes = {key: value for key, value in file.attrs.items() if key in wanted}
            for name in _POSITION:
                if name in values and "units" in file[name].attrs:
                    attributes["units"] = file[name].attrs["units"]
            held = sorted(file)
    except (OSError, RuntimeError, KeyError) as error:
        raise _damaged(head.path, "HDF5", error) from error
    return [_take(head.path, {**attributes, **values}, held)]


def _is_dataset(file: Any, name: str) -> bool:
    return name in file and hasattr(file[name], "shape")


def _take(path: Path, values: Mapping[str, Any], held: list[str] | None = None) -> RawTake:
    """One raw take from named arrays."""
    name = next((name for name in _POSITION if name in values), None)
    if name is None:
        raise InputError(
            f"no array of positions; arrays are {', '.join(held or sorted(values)) or 'none'}",
            path=path,
            hint=f"expected one of {', '.join(_POSITION)} of shape (time, point, 3)",
        )
    position = np.asarray(values[name])
    if position.ndim != 3 or position.shape[2] != 3 or position.dtype.kind not in "fiu":
        raise InputError(
            f"{name} has shape {position.shape} and type {position.dtype}, expected numbers of "
            "shape (time, point, 3)",
            path=path,
        )
    labels = _first(values, _LABELS)
    if labels is None:
        raise InputError(
            f"no names for the {position.shape[1]} points",
            path=path,
            hint=f"add an array of strings, one of {', '.join(_LABELS)}",
        )
    names = [_text(label) for label in np.ravel(labels)]
    if len(names) != position.shape[1]:
        raise InputError(f"{len(names)} labels for {position.shape[1]} points of {name}", path=path)
    time_s = _numbers(path, values, _TIME, (len(position),))
    rate = _numbers(path, values, _RATE, None)
    unit = _first(values, _UNITS)
    return RawTake(
        labels=names,
        position=position.astype(np.float64),
        time_s=time_s,
        rate_hz=None if rate is None else float(np.ravel(rate)[0]),
        unit="m" if name == "position_m" else (None if unit is None else _text(np.ravel(unit)[0])),
        assumed_unit="m",
        confidence=_numbers(path, values, _CONFIDENCE, position.shape[:2]),
    )


def _first(values: Mapping[str, Any], names: tuple[str, ...]) -> Any:
    return next((values[name] for name in names if name in values), None)


def _numbers(
    path: Path, values: Mapping[str, Any], names: tuple[str, ...], shape: tuple[int, ...] | None
) -> FloatArray | None:
    """The first of some arrays, checked for its shape; None if there is none."""
    name = next((name for name in names if name in values), None)
    if name is None:
        return None
    array = np.asarray(values[name])
    if array.dtype.kind not in "fiu" or (shape is not None and array.shape != shape):
        raise InputError(
            f"{name} has shape {array.shape} and type {array.dtype}, expected numbers of shape "
            f"{shape}",
            path=path,
        )
    return array.astype(np.float64)


def _text(value: Any) -> str:
    return value.decode("utf-8", errors="replace") if isinstance(value, bytes) else str(value)


def _damaged(path: Path, kind: str, error: Exception) -> InputError:
    said = " ".join(str(error).split())[:160]
    return InputError(
        f"{kind} file is truncated or damaged ({said})", path=path, hint="copy the file again"
    )


NPZ = Format("npz", (".npz",), lambda head: head.start.startswith(_ZIP_MAGIC), _read_npz)
HDF5 = Format(
    "hdf5",
    (".h5", ".hdf5", ".hdf", ".nc"),
    lambda head: head.start.startswith(_HDF5_MAGIC),
    _read_hdf5,
)
