"""Bare arrays (.npy) of known joint counts: MediaPipe as FreeMoCap stores it, SMPL joints."""

from __future__ import annotations

import numpy as np

from fitpipe.errors import InputError
from fitpipe.io.claims import unit_by_height
from fitpipe.io.joint_lists import MEDIAPIPE_COUNTS, SMPL, mediapipe_names
from fitpipe.io.raw import Format, RawTake, ReadOptions
from fitpipe.io.textfile import FileHead

_MAGIC = b"\x93NUMPY"


def _sniff(head: FileHead) -> bool:
    return head.start.startswith(_MAGIC)


def _read(head: FileHead, options: ReadOptions) -> list[RawTake]:
    del options
    try:
        # a map of the file: what its header claims beyond its size is refused, not allocated
        mapped = np.load(head.path, mmap_mode="r", allow_pickle=False)
    except ValueError as error:
        hint = "save positions as numbers of shape (time, point, 3)"
        raise InputError(
            f"is no whole array of numbers ({error})", path=head.path, hint=hint
        ) from (error)
    except (OSError, EOFError, SyntaxError, OverflowError, MemoryError) as error:
        raise InputError(
            f"is no whole NumPy array ({error})", path=head.path, hint="copy the file again"
        ) from error
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


FORMAT = Format("npy", (".npy",), _sniff, _read)
