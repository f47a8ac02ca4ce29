"""Bare arrays (.npy) of known joint counts: MediaPipe as FreeMoCap stores it, SMPL joints."""

from __future__ import annotations

import math
import tokenize
from typing import Any

import numpy as np

from fitpipe.errors import InputError
from fitpipe.io.arrays import npy_header
from fitpipe.io.claims import unit_by_height
from fitpipe.io.joint_lists import MEDIAPIPE_COUNTS, SMPL, mediapipe_names
from fitpipe.io.raw import Format, RawTake, ReadOptions
from fitpipe.io.textfile import FileHead

_MAGIC = b"\x93NUMPY"


def _sniff(head: FileHead) -> bool:
    return head.start.startswith(_MAGIC)


def _read(head: FileHead, options: ReadOptions) -> list[RawTake]:
    del options
    mapped = _mapped(head)
    if mapped.ndim != 3 or mapped.shape[2] != 3 or mapped.dtype.kind not in "fiu":
        raise InputError(
            f"holds an array of shape {mapped.shape} and type {mapped.dtype}, expected numbers of "
            "shape (time, point, 3)",
            path=head.path,
        )
    n_points = mapped.shape[1]
    if n_points in MEDIAPIPE_COUNTS:
        labels = mediapipe_names(n_points)
        kind = "MediaPipe landmarks"
    elif n_points in SMPL:
        labels, kind = SMPL[n_points], "joints of an SMPL body model"
    else:
        known = ", ".join(map(str, (*MEDIAPIPE_COUNTS, *SMPL)))
        raise InputError(
            f"holds {n_points} points without names; known by their number are {known}",
            path=head.path,
            hint="save names beside them: np.savez(file, position=..., labels=[...], rate_hz=...)",
        )
    position = np.array(mapped, dtype=np.float64)
    return [
        RawTake(
            labels=list(labels),
            position=position,
            assumed_unit=unit_by_height(labels, position, smallest_m=0.5),
            metadata={"points": f"{kind}, named by their number"},
        )
    ]


def _mapped(head: FileHead) -> Any:
    """The array as a map of the file, if the file is as large as its header says."""
    try:
        with head.path.open("rb") as file:
            shape, order, dtype = npy_header(file)
            start = file.tell()
    except (ValueError, OSError, EOFError, SyntaxError, TypeError, tokenize.TokenError) as error:
        said = " ".join(str(error).split())[:160]
        raise InputError(
            f"is no whole NumPy array ({said})", path=head.path, hint="copy the file again"
        ) from error
    if dtype.hasobject:
        raise InputError(
            "holds Python objects, which are not read because they can run code",
            path=head.path,
            hint="save positions as numbers of shape (time, point, 3)",
        )
    claimed = math.prod(shape) * dtype.itemsize
    if min(shape, default=0) < 0 or claimed > head.path.stat().st_size - start:
        raise InputError(
            f"truncated NumPy array: it announces {claimed} bytes, the file holds "
            f"{head.path.stat().st_size - start}",
            path=head.path,
            hint="copy the file again",
        )
    if claimed == 0:
        raise InputError(f"no frames: an array of shape {shape}", path=head.path)
    return np.memmap(head.path, dtype, "r", offset=start, shape=shape, order="F" if order else "C")


FORMAT = Format("npy", (".npy",), _sniff, _read)
