"""Arrays with labels, in HDF5 or NPZ: names, units and time beside one array of positions."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
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
_CACHE_BYTES = 64 << 20
_CACHE_SLOTS = 10_007


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
    with ArrayFile(head.path) as file:
        raw = file.raw
        raw.position = file.position(0, file.n_frames)
        raw.confidence = file.confidence(0, file.n_frames)
    return [raw]


class ArrayFile:
    """An HDF5 file of arrays, opened, of which any frames can be read.

    Parameters
    ----------
    path : Path

    Attributes
    ----------
    raw : RawTake
        All that is not along time, and the time stamps; its positions are empty.
    n_frames : int

    Raises
    ------
    InputError
        From here and from reading: the file is damaged or does not hold labelled positions.
    """

    def __init__(self, path: Path) -> None:
        import h5py

        self._path = path
        try:
            # room for the chunks of some thousand frames, which are read more than once
            self._file = h5py.File(path, "r", rdcc_nbytes=_CACHE_BYTES, rdcc_nslots=_CACHE_SLOTS)
        except (OSError, RuntimeError) as error:
            raise _damaged(path, "HDF5", error) from error
        try:
            with self._read():
                self._describe()
        except BaseException:
            self.close()
            raise

    def _describe(self) -> None:
        file = self._file
        wanted = {*_LABELS, *_TIME, *_RATE, *_UNITS}
        values: dict[str, Any] = {key: v for key, v in file.attrs.items() if key in wanted}
        held = {n: file[n] for n in (*_POSITION, *_CONFIDENCE) if _is_dataset(file, n)}
        self._position: Any = _first(held, _POSITION)
        self._confidence: Any = _first(held, _CONFIDENCE)
        if self._position is not None and "units" in self._position.attrs:
            values["units"] = self._position.attrs["units"]
        values |= {name: file[name][()] for name in wanted if _is_dataset(file, name)}
        self.raw = _described(self._path, values | held, sorted(file))
        self.n_frames = len(self._position)

    def position(self, begin: int, end: int) -> FloatArray:
        """Positions of the frames from ``begin`` to ``end``, (time, point, 3)."""
        with self._read():
            return np.asarray(self._position[begin:end], dtype=np.float64)

    def confidence(self, begin: int, end: int) -> FloatArray | None:
        """Confidences (time, point), if the file has them."""
        if self._confidence is None:
            return None
        with self._read():
            return np.asarray(self._confidence[begin:end], dtype=np.float64)

    @contextmanager
    def _read(self) -> Iterator[None]:
        try:
            yield
        except (OSError, RuntimeError, KeyError) as error:
            raise _damaged(self._path, "HDF5", error) from error

    def close(self) -> None:
        """Let go of the file."""
        self._file.close()

    def __enter__(self) -> ArrayFile:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _is_dataset(file: Any, name: str) -> bool:
    return name in file and hasattr(file[name], "shape")


def _take(path: Path, values: Mapping[str, Any]) -> RawTake:
    """One raw take from named arrays."""
    raw = _described(path, values, sorted(values))
    raw.position = np.asarray(_first(values, _POSITION)).astype(np.float64)
    confidence = _first(values, _CONFIDENCE)
    raw.confidence = None if confidence is None else np.asarray(confidence).astype(np.float64)
    return raw


def _described(path: Path, values: Mapping[str, Any], held: list[str]) -> RawTake:
    """One raw take without its positions and confidences, whose shapes are checked."""
    name = next((name for name in _POSITION if name in values), None)
    if name is None:
        raise InputError(
            f"no array of positions; arrays are {', '.join(held) or 'none'}",
            path=path,
            hint=f"expected one of {', '.join(_POSITION)} of shape (time, point, 3)",
        )
    shape, dtype = values[name].shape, values[name].dtype
    if len(shape) != 3 or shape[2] != 3 or dtype.kind not in "fiu":
        raise InputError(
            f"{name} has shape {shape} and type {dtype}, expected numbers of shape "
            "(time, point, 3)",
            path=path,
        )
    labels = _first(values, _LABELS)
    if labels is None:
        raise InputError(
            f"no names for the {shape[1]} points",
            path=path,
            hint=f"add an array of strings, one of {', '.join(_LABELS)}",
        )
    names = [_text(label) for label in np.ravel(labels)]
    if len(names) != shape[1]:
        raise InputError(f"{len(names)} labels for {shape[1]} points of {name}", path=path)
    time_s = _numbers(path, values, _TIME, shape[:1])
    rate = _numbers(path, values, _RATE, None)
    _check_numbers(path, values, _CONFIDENCE, shape[:2])
    unit = _first(values, _UNITS)
    return RawTake(
        labels=names,
        position=np.empty((0, shape[1], 3)),
        time_s=time_s,
        rate_hz=None if rate is None else float(np.ravel(rate)[0]),
        unit="m" if name == "position_m" else (None if unit is None else _text(np.ravel(unit)[0])),
        assumed_unit="m",
    )


def _first(values: Mapping[str, Any], names: tuple[str, ...]) -> Any:
    return next((values[name] for name in names if name in values), None)


def _numbers(
    path: Path, values: Mapping[str, Any], names: tuple[str, ...], shape: tuple[int, ...] | None
) -> FloatArray | None:
    """The first of some arrays, checked for its shape; None if there is none."""
    name = _check_numbers(path, values, names, shape)
    return None if name is None else np.asarray(values[name]).astype(np.float64)


def _check_numbers(
    path: Path, values: Mapping[str, Any], names: tuple[str, ...], shape: tuple[int, ...] | None
) -> str | None:
    """Name of the first of some arrays that is there; InputError if it is not of that shape."""
    name = next((name for name in names if name in values), None)
    if name is None:
        return None
    array = values[name] if hasattr(values[name], "dtype") else np.asarray(values[name])
    if array.dtype.kind not in "fiu" or (shape is not None and array.shape != shape):
        raise InputError(
            f"{name} has shape {array.shape} and type {array.dtype}, expected numbers of shape "
            f"{shape}",
            path=path,
        )
    return name


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
