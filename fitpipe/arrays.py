"""Array types used everywhere, and the views that keep records read-only."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

FloatArray: TypeAlias = npt.NDArray[np.float64]
IntArray: TypeAlias = npt.NDArray[np.int64]
BoolArray: TypeAlias = npt.NDArray[np.bool_]
ByteArray: TypeAlias = npt.NDArray[np.uint8]


def frozen(array: npt.ArrayLike, dtype: npt.DTypeLike = np.float64) -> npt.NDArray[Any]:
    """Read-only view of ``array`` in ``dtype``; copies only where the type differs."""
    view = np.asarray(array, dtype=dtype).view()
    view.flags.writeable = False
    return view


def all_of_xyz(mask: BoolArray) -> BoolArray:
    """Where all three along the last axis are true; ``all(axis=-1)``, many times faster."""
    return np.asarray(mask[..., 0] & mask[..., 1] & mask[..., 2])


def any_of_xyz(mask: BoolArray) -> BoolArray:
    """Where one of three along the last axis is true."""
    return np.asarray(mask[..., 0] | mask[..., 1] | mask[..., 2])


def writable(array: FloatArray) -> FloatArray:
    """The same numbers as a kernel takes them: a read-only array would be another type to it."""
    if array.flags.writeable and array.flags.c_contiguous:
        return array
    view = np.ascontiguousarray(array).view()
    try:
        view.flags.writeable = True
    except ValueError:
        return view.copy()
    return view
