"""A subject's bone lengths as a TOML file, written once and used by every take."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import numpy as np

from fitpipe.arrays import FloatArray
from fitpipe.config.toml import read_toml
from fitpipe.errors import CalibrationError, nearest_names
from fitpipe.records import BoneLengths, Skeleton

_LENGTH: Final = "bone_length_m"
_LOW: Final = "bone_length_low_m"
_HIGH: Final = "bone_length_high_m"
_SAMPLES: Final = "bone_length_samples"


def subject_toml(lengths: BoneLengths, skeleton: Skeleton, *, comment: str = "") -> str:
    """Bone lengths, their 95 % intervals and sample counts as TOML that ``read_lengths`` reads.

    Lengths are rounded to a micrometre. A bone that was never seen whole has the length ``nan``.

    Parameters
    ----------
    lengths : BoneLengths
    skeleton : Skeleton
    comment : str
        Goes on top, a ``#`` before each line.
    """
    text = "".join(f"# {line}\n" for line in comment.splitlines())
    for key, values in (
        (_LENGTH, lengths.length_m),
        (_LOW, lengths.low_m),
        (_HIGH, lengths.high_m),
    ):
        rows = zip(skeleton.bone_names, values.tolist(), strict=True)
        text += f"\n[{key}]\n" + "".join(f'"{name}" = {value:.6f}\n' for name, value in rows)
    counts = zip(skeleton.bone_names, lengths.n_samples.tolist(), strict=True)
    return text + f"\n[{_SAMPLES}]\n" + "".join(f'"{name}" = {n}\n' for name, n in counts)


def read_lengths(path: Path, skeleton: Skeleton) -> BoneLengths:
    """Bone lengths from a TOML file with a table ``[bone_length_m]``: ``"A-B" = 0.42``.

    The tables ``[bone_length_low_m]``, ``[bone_length_high_m]`` and ``[bone_length_samples]``,
    which ``fitpipe calibrate`` writes, are read where they are there.

    Raises
    ------
    ConfigError
        The file cannot be read as TOML.
    CalibrationError
        The first table is missing, or a table has bones that are unknown, missing or without a
        length (all listed).
    """
    tables = read_toml(path)
    if not isinstance(tables.get(_LENGTH), Mapping):
        raise CalibrationError(
            f"has no table [{_LENGTH}]", path=path, hint='write lines such as "A-B" = 0.42'
        )

    def column(key: str, default: FloatArray) -> FloatArray:
        table: Any = tables.get(key)
        if not isinstance(table, Mapping):
            return default
        return lengths_from_names(table, skeleton, path=path, place=f"[{key}]")

    length = column(_LENGTH, np.zeros(0))
    low, high = column(_LOW, length), column(_HIGH, length)
    wrong = (low > length) | (high < length)
    if wrong.any():
        named = [
            name for name, is_wrong in zip(skeleton.bone_names, wrong, strict=True) if is_wrong
        ]
        raise CalibrationError(
            f"the interval does not hold the length of {', '.join(named)}",
            path=path,
            hint=f"remove [{_LOW}] and [{_HIGH}] where lengths are written by hand",
        )
    n_samples = column(_SAMPLES, np.zeros(len(length))).astype(np.int64)
    return BoneLengths(length, low, high, n_samples, "given")


def lengths_from_names(
    table: Mapping[str, float],
    skeleton: Skeleton,
    *,
    path: Path | None = None,
    place: str | None = None,
) -> FloatArray:
    """Lengths in the order of ``Skeleton.links``, metres, from ``Skeleton.bone_names``.

    NaN stands for a length that is not known: the fit goes without that bone.

    Raises
    ------
    CalibrationError
        Lists bones that are unknown, missing, or have no positive length.
    """
    faults = []
    for name, value in table.items():
        if name not in skeleton.bone_names:
            near = ", ".join(nearest_names(name, skeleton.bone_names)) or "none near"
            faults.append(f"{name!r} is no bone of {skeleton.name!r} (nearest: {near})")
        elif isinstance(value, bool) or not isinstance(value, int | float) or value < 0:
            faults.append(f"{name!r} has length {value!r}, expected metres")
    faults += [f"{name!r} is missing" for name in skeleton.bone_names if name not in table]
    if faults:
        raise CalibrationError(
            "bone lengths do not fit the skeleton", path=path, place=place, faults=faults
        )
    return np.array([float(table[name]) for name in skeleton.bone_names])
