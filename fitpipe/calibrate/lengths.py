"""Bone lengths: measured on the take itself, or read from a file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from fitpipe.arrays import BoolArray, FloatArray
from fitpipe.config.toml import read_toml
from fitpipe.errors import CalibrationError, nearest_names
from fitpipe.records import BoneLengths, Finding, Skeleton, Take

_RELIABLE = 0.5  # confidence below this (an inferred joint, say) does not measure a bone ...
_ENOUGH = 10  # ... unless fewer than this many better samples exist
_ZERO_M = 1e-6


def estimate_lengths(
    takes: Sequence[Take], skeleton: Skeleton, *, symmetric: bool = False
) -> tuple[BoneLengths, list[Finding]]:
    """Length of every bone and rigid pair: the median over all samples that show both its ends.

    A rigid transform does not change distances, so the takes need not be registered. The interval
    is the distribution-free 95 % interval of a median (order statistics); it takes the samples
    as independent, so read it as a lower bound of the uncertainty.

    Parameters
    ----------
    takes : sequence of Take
        With the skeleton's joints as labels, in its order.
    skeleton : Skeleton
    symmetric : bool
        Pool left and right.

    Returns
    -------
    lengths : BoneLengths
        In the order of ``Skeleton.links``; NaN for those that no source ever saw whole.
    findings : list of Finding
        Bones without samples, with few, or of length zero.
    """
    samples = [_samples(takes, link) for link in skeleton.links]
    if symmetric:
        for left, right in skeleton.mirrored_bones:
            samples[left] = samples[right] = np.concatenate((samples[left], samples[right]))
    rows = np.array([_median_interval(values) for values in samples]).reshape(-1, 3)
    n_samples = np.array([values.size for values in samples], dtype=np.int64)
    findings = []
    for name, length, n in zip(skeleton.bone_names, rows[:, 0], n_samples, strict=True):
        if n == 0:
            findings.append(
                Finding(f"bone {name}: no frame shows both ends", "fitted without this bone")
            )
        elif n < _ENOUGH:
            findings.append(Finding(f"bone {name}: length from few samples (n = {n})"))
        if length < _ZERO_M:
            findings.append(
                Finding(f"bone {name}: its ends coincide, length zero", "kept as one point")
            )
    return BoneLengths(rows[:, 0], rows[:, 1], rows[:, 2], n_samples, "estimated"), findings


def read_lengths(path: Path, skeleton: Skeleton) -> BoneLengths:
    """Bone lengths from a TOML file with a table ``[bone_length_m]``: ``"A-B" = 0.42``.

    Raises
    ------
    ConfigError
        The file cannot be read as TOML.
    CalibrationError
        The table is missing, or bones are unknown, missing or without a length (all listed).
    """
    table = read_toml(path).get("bone_length_m")
    if not isinstance(table, Mapping):
        raise CalibrationError(
            "has no table [bone_length_m]", path=path, hint='write lines such as "A-B" = 0.42'
        )
    return BoneLengths.given(lengths_from_names(table, skeleton, path=path))


def lengths_from_names(
    table: Mapping[str, float], skeleton: Skeleton, *, path: Path | None = None
) -> FloatArray:
    """Lengths in the order of ``Skeleton.links``, metres, from ``Skeleton.bone_names``.

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
        elif isinstance(value, bool) or not isinstance(value, int | float) or not value >= 0:
            faults.append(f"{name!r} has length {value!r}, expected metres")
    faults += [f"{name!r} is missing" for name in skeleton.bone_names if name not in table]
    if faults:
        raise CalibrationError("bone lengths do not fit the skeleton", path=path, faults=faults)
    return np.array([float(table[name]) for name in skeleton.bone_names])


def _samples(takes: Sequence[Take], bone: tuple[int, int]) -> FloatArray:
    """Distances between the bone's ends, metres, over all frames and takes."""
    parent, child = bone
    all_samples, reliable = [], []
    for take in takes:
        seen: BoolArray = take.is_observed[:, parent] & take.is_observed[:, child]
        apart = take.position_m[seen, child] - take.position_m[seen, parent]
        distance = np.linalg.norm(apart, axis=1)
        all_samples.append(distance)
        if take.confidence is not None:
            sure = take.confidence[seen][:, [parent, child]].min(axis=1) >= _RELIABLE
            distance = distance[sure]
        reliable.append(distance)
    best = np.concatenate(reliable)
    return best if best.size >= _ENOUGH else np.concatenate(all_samples)


def _median_interval(values: FloatArray) -> tuple[float, float, float]:
    """Median and its 95 % interval by order statistics (normal approximation of the binomial)."""
    if values.size == 0:
        return (np.nan, np.nan, np.nan)
    ordered = np.sort(values)
    half = 0.98 * np.sqrt(values.size)
    low = ordered[max(int(np.floor(values.size / 2 - half)), 0)]
    high = ordered[min(int(np.ceil(values.size / 2 + half)), values.size - 1)]
    return (float(np.median(ordered)), float(low), float(high))
