"""Arrays with labels, in HDF5 or NPZ: names, units and time beside one array of positions."""

from __future__ import annotations

import math
import tokenize
import zipfile
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Any

import numpy as np

from fitpipe.arrays import FloatArray
from fitpipe.errors import InputError
from fitpipe.io.joint_lists import SMPL
from fitpipe.io.raw import Format, RawTake, ReadOptions
from fitpipe.io.textfile import FileHead

_ZIP_MAGIC = b"PK\x03\x04"
POSITION = (
    "position", "position_m", "positions", "xyz", "points", "tracks", "joints3d", "joint_positions",
    "jtr", "Jtr", "joints_3d", "joints",
)  # fmt: skip
_BODY_MODEL_JOINTS = POSITION[6:]
_LABELS = (
    "labels", "label", "keypoint", "keypoints", "names", "joint_names", "node_names", "markers",
)  # fmt: skip
_BODIES = ("individuals", "track_names")
_DIMS = ("time", "individuals", "keypoints", "space")
_TIME = ("time_s", "time", "t")
_RATE = ("rate_hz", "fps", "rate", "frame_rate", "mocap_framerate", "mocap_frame_rate")
_UNITS = ("units", "unit")
_CONFIDENCE = ("confidence",)
KNOWN = {
    *POSITION, *_LABELS, *_BODIES, *_TIME, *_RATE, *_UNITS, *_CONFIDENCE, "point_scores",
    "time_unit",
}  # fmt: skip
MOST_BYTES = 1 << 32
_MOST_RATIO = 1100  # deflate packs no better than 1032 to 1
_BODY_MODEL = (
    "the file holds the parameters of a body model, from which its joints cannot be told without "
    "the model: save the joints (time, 22 or 24 or 52 or 55, 3) as 'joints'"
)


def read_npz(head: FileHead, options: ReadOptions) -> list[RawTake]:
    """Read the arrays of an NPZ file whose names are known; others are not looked at."""
    del options
    values: dict[str, Any] = {}
    try:
        with zipfile.ZipFile(head.path) as archive:
            held = [name.removesuffix(".npy") for name in archive.namelist()]
            for name in held:
                if name in KNOWN:
                    values[name] = _member(head.path, archive, name + ".npy")
    except ValueError as error:
        if "pickle" not in str(error).lower():
            raise damaged(head.path, "NPZ", error) from error
        raise InputError(
            "holds Python objects, which are not read because they can run code",
            path=head.path,
            hint="save the labels as an array of strings: np.array(labels, dtype=str)",
        ) from error
    except _DAMAGE as error:
        raise damaged(head.path, "NPZ", error) from error
    return takes_of(head.path, values, held)


_DAMAGE = (
    zipfile.BadZipFile, zlib.error, OSError, EOFError, KeyError, SyntaxError, TypeError,
    NotImplementedError, RuntimeError, MemoryError, OverflowError, tokenize.TokenError,
)  # fmt: skip


def _member(path: Path, archive: zipfile.ZipFile, name: str) -> Any:
    """One array, if it is no larger than what the archive holds for it."""
    info = archive.getinfo(name)
    if info.file_size > MOST_BYTES or info.file_size > _MOST_RATIO * info.compress_size + 65536:
        raise InputError(
            f"{name} unpacks to {info.file_size:.3g} bytes from {info.compress_size}, which no "
            "recording does",
            path=path,
        )
    with archive.open(info) as file:
        shape, _, dtype = npy_header(file)
    claimed = math.prod(shape) * dtype.itemsize
    if not dtype.hasobject and claimed > info.file_size:
        raise InputError(
            f"NPZ file is damaged: {name} announces {claimed} bytes and holds {info.file_size}",
            path=path,
            hint="copy the file again",
        )
    with archive.open(info) as file:
        return np.lib.format.read_array(file, allow_pickle=False)


def npy_header(file: IO[bytes]) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    """Shape, whether in Fortran's order, and type that an array in NumPy's format announces."""
    version = np.lib.format.read_magic(file)
    if version == (1, 0):
        return np.lib.format.read_array_header_1_0(file)
    if version not in ((2, 0), (3, 0)):
        raise ValueError(f"version {version[0]}.{version[1]} of the format is not known")
    return np.lib.format.read_array_header_2_0(file)


def takes_of(path: Path, values: Mapping[str, Any], held: Sequence[str]) -> list[RawTake]:
    """Raw takes from named arrays: one, or one per individual where there is such an axis.

    Parameters
    ----------
    path : Path
    values : mapping of str to array
        Position is (time, point, 3); or, with the axes named under ``"dims"``, any order of
        time, space, keypoints and individuals.
    held : sequence of str
        Names of everything in the file, for messages.

    Raises
    ------
    InputError
        No positions, or shapes that do not fit together.
    """
    name = next((name for name in POSITION if name in values), None)
    if name is None:
        raise InputError(
            f"no array of positions; arrays are {', '.join(held) or 'none'}",
            path=path,
            hint=_BODY_MODEL
            if {"poses", "betas"} & set(held)
            else f"expected one of {', '.join(POSITION)} of shape (time, point, 3)",
        )
    position = np.asarray(values[name])
    if position.dtype.kind in "fiu" and position.ndim == 4:
        return _several(path, name, position, values)
    if position.ndim != 3 or position.shape[2] != 3 or position.dtype.kind not in "fiu":
        raise InputError(
            f"{name} has shape {position.shape} and type {position.dtype}, expected numbers of "
            "shape (time, point, 3)",
            path=path,
        )
    return [_take(path, name, position, values, _confidence(path, values, position.shape[:2]))]


def _several(path: Path, name: str, array: Any, values: Mapping[str, Any]) -> list[RawTake]:
    """One take per individual of a four-dimensional array."""
    dims = tuple(values.get("dims", ())) or _guessed_dims(array.shape, name)
    if sorted(dims) != sorted(_DIMS):
        raise InputError(
            f"{name} has shape {array.shape}, expected axes time, space (3), keypoints and "
            "individuals",
            path=path,
        )
    position = np.moveaxis(array, [dims.index(dim) for dim in _DIMS], range(4))
    if position.shape[3] != 3:
        raise InputError(
            f"no 3D points: {name} has {position.shape[3]} coordinates a point",
            path=path,
            hint="triangulate the two-dimensional tracks of several cameras first",
        )
    sure = values.get("confidence", values.get("point_scores"))
    if sure is not None and np.ndim(sure) == 3 and len(dims) == 4:
        order = [dim for dim in dims if dim != "space"]
        sure = np.moveaxis(sure, [order.index(dim) for dim in _DIMS[:3]], range(3))
    bodies = _first(values, _BODIES)
    names = [] if bodies is None else [_text(value) for value in np.ravel(bodies)]
    takes = []
    for k in range(position.shape[1]):
        own = position[:, k]
        confidence = None
        if sure is not None and np.shape(sure) == position.shape[:3]:
            confidence = np.asarray(sure[:, k], dtype=np.float64)
        if np.isfinite(own).all(axis=-1).any() or position.shape[1] == 1:
            take = _take(path, name, own, values, confidence)
            if position.shape[1] > 1:
                take.body = names[k] if k < len(names) else f"body{k}"
            takes.append(take)
    if not takes:
        raise InputError("no valid sample: every position of every individual is NaN", path=path)
    return takes


def _guessed_dims(shape: tuple[int, ...], name: str) -> tuple[str, ...]:
    """Axes of an array without names: those of triangulated tracks, of SLEAP, of ``movement``."""
    if shape[3] in (2, 3):
        return ("time", "individuals", "keypoints", "space")
    if shape[1] in (2, 3) and name == "tracks":
        return ("individuals", "space", "keypoints", "time")
    return ("time", "space", "keypoints", "individuals") if shape[1] in (2, 3) else ()


def _take(
    path: Path, name: str, position: Any, values: Mapping[str, Any], confidence: FloatArray | None
) -> RawTake:
    """One raw take from an array (time, point, 3)."""
    labels = _first(values, _LABELS)
    names = [_text(label) for label in np.ravel(labels)] if labels is not None else []
    metadata = {}
    if not names and position.shape[1] in SMPL and name in _BODY_MODEL_JOINTS:
        names = list(SMPL[position.shape[1]])
        metadata["points"] = "joints of an SMPL body model, named by their number"
    if not names:
        raise InputError(
            f"no names for the {position.shape[1]} points",
            path=path,
            hint=f"add an array of strings, one of {', '.join(_LABELS)}",
        )
    if len(names) != position.shape[1]:
        raise InputError(f"{len(names)} labels for {position.shape[1]} points of {name}", path=path)
    time_s = _numbers(path, values, _TIME, (len(position),))
    rate = _numbers(path, values, _RATE, None)
    unit = _first(values, _UNITS)
    if time_s is not None and _text(_first(values, ("time_unit",))) == "frames":
        time_s = None
    return RawTake(
        labels=names,
        position=position.astype(np.float64, copy=False),
        time_s=time_s,
        rate_hz=None if rate is None or not rate.size else float(np.ravel(rate)[0]),
        unit="m" if name == "position_m" else _unit(unit),
        assumed_unit="m",
        confidence=confidence,
        metadata=metadata,
    )


def _unit(unit: Any) -> str | None:
    text = None if unit is None or not np.size(unit) else _text(np.ravel(unit)[0])
    # pixels and the like are no claim about a length
    return None if text in ("", "pixels", "a.u.") else text


def _confidence(path: Path, values: Mapping[str, Any], shape: tuple[int, ...]) -> FloatArray | None:
    return _numbers(path, values, _CONFIDENCE, shape)


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
    return array.astype(np.float64, copy=False)


def _text(value: Any) -> str:
    return value.decode("utf-8", errors="replace") if isinstance(value, bytes) else str(value)


def damaged(path: Path, kind: str, error: Exception) -> InputError:
    """Error for a file that the library which parses it cannot make sense of."""
    said = " ".join(str(error).split())[:160]
    return InputError(
        f"{kind} file is truncated or damaged ({said})", path=path, hint="copy the file again"
    )


NPZ = Format("npz", (".npz",), lambda head: head.start.startswith(_ZIP_MAGIC), read_npz)
