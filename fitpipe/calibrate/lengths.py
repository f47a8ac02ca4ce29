"""Bone lengths, measured on one take or on several of one subject."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np

from fitpipe.arrays import FloatArray
from fitpipe.calibrate.robust import robust_centre, tukey_weights
from fitpipe.records import BoneLengths, Finding, Skeleton, Take

_RELIABLE: Final = 0.5  # confidence below this (an inferred joint) does not measure a bone ...
_ENOUGH: Final = 10  # ... unless fewer than this many better samples exist
_ZERO_M: Final = 1e-6
_NORMAL_95: Final = 1.96
_MOST_ACROSS: Final = 1.5  # noise across a bone to that along it; more is the bone's turning
_THIRD_DIFFERENCE: Final = np.sqrt(20.0)  # its deviation for white noise of deviation 1


def estimate_lengths(
    takes: Sequence[Take], skeleton: Skeleton, *, symmetric: bool = False
) -> tuple[BoneLengths, list[Finding]]:
    """Length of every bone and rigid pair, over all samples that show both its ends.

    A rigid transform does not change distances, so the takes need not be registered nor on one
    clock; they may be several takes of one subject.

    1. In each take the length is a robust centre (Tukey's biweight) of the distances.
    2. Noise across the bone makes it seem longer: E d² = L² + S, with S the variance of the two
       components across it, both ends together. S is taken from third differences in time of the
       components across the bone. Turning of the bone enters these, not those of the distance,
       which limit how large S may be. Slow errors do not show in either.
    3. The takes are joined as random effects, so that the 95 % interval holds how far they are
       apart, and within each how long its errors hang together. An error that all takes share
       does not show in it.

    Parameters
    ----------
    takes : sequence of Take
        With the skeleton's joints as labels, in its order; best on their own clocks, since
        resampling smooths the noise.
    skeleton : Skeleton
    symmetric : bool
        Pool left and right.

    Returns
    -------
    lengths : BoneLengths
        In the order of ``Skeleton.links``; NaN for those that no source ever saw whole. With fewer
        than 10 samples the interval is their range.
    findings : list of Finding
        Bones without samples, with few, or of length zero.

    References
    ----------
    DerSimonian and Laird (1986), doi:10.1016/0197-2456(86)90046-2, for step 3.
    """
    series = [_series(takes, link) for link in skeleton.links]
    if symmetric:
        for left, right in skeleton.mirrored_bones:
            series[left] = series[right] = series[left] + series[right]
    rows = np.array([_joined(each) for each in series]).reshape(-1, 3)
    n_samples = np.array([sum(len(s.known) for s in each) for each in series], dtype=np.int64)
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


@dataclass(frozen=True, eq=False)
class _Series:
    """Distance between a bone's ends in one take, and the vector from one to the other."""

    apart_m: FloatArray  # (time, xyz), NaN where not used

    @cached_property
    def distance_m(self) -> FloatArray:
        return np.asarray(np.linalg.norm(self.apart_m, axis=1))

    @cached_property
    def known(self) -> FloatArray:
        distance = self.distance_m
        return distance[~np.isnan(distance)]


def _series(takes: Sequence[Take], bone: tuple[int, int]) -> list[_Series]:
    """One series per take; of reliable samples only, if there are enough of them."""
    every, reliable = [], []
    for take in takes:
        apart = take.position_m[:, bone[1]] - take.position_m[:, bone[0]]
        every.append(_Series(apart))
        if take.confidence is not None:
            sure = take.confidence[:, list(bone)].min(axis=1) >= _RELIABLE
            apart = np.where(sure[:, None], apart, np.nan)
        reliable.append(_Series(apart))
    enough = sum(len(series.known) for series in reliable) >= _ENOUGH
    return reliable if enough else every


def _joined(every: Sequence[_Series]) -> tuple[float, float, float]:
    """Length and the ends of its 95 % interval, metres."""
    seen = [series for series in every if len(series.known)]
    if not seen:
        return (np.nan, np.nan, np.nan)
    pooled = np.concatenate([series.known for series in seen])
    centres = [robust_centre(series.known) for series in seen]
    length = np.array(
        [_unbiased(c.value, s) for c, s in zip(centres, seen, strict=True)], dtype=np.float64
    )
    if len(pooled) < _ENOUGH:
        middle = float(np.median(np.repeat(length, [len(s.known) for s in seen])))
        return (middle, min(middle, float(pooled.min())), max(middle, float(pooled.max())))
    # a take with few samples has no spread of its own
    off = np.concatenate([s.known - c.value for c, s in zip(centres, seen, strict=True)])
    typical = (1.4826 * float(np.median(np.abs(off)))) ** 2
    variance = np.array(
        [
            c.variance if len(s.known) >= _ENOUGH else typical / len(s.known)
            for c, s in zip(centres, seen, strict=True)
        ]
    )
    variance = np.maximum(variance, _ZERO_M**2)
    w = 1 / variance
    mean = float(np.sum(w * length) / w.sum())
    heterogeneity = float(np.sum(w * (length - mean) ** 2)) - (len(w) - 1)
    leverage = float(w.sum() - np.sum(w**2) / w.sum())
    tau2 = max(heterogeneity / leverage, 0.0) if len(w) > 1 else 0.0
    w = 1 / (variance + tau2)
    mean = float(np.sum(w * length) / w.sum())
    half = _NORMAL_95 / float(np.sqrt(w.sum()))
    return (mean, max(mean - half, 0.0), mean + half)


def _inlier_mean_square(norms: FloatArray, *, dimensions: int) -> float:
    """Mean square without outliers; unlike a median, right where the noise varies over the take."""
    is_inlier = tukey_weights(norms, dimensions=dimensions, floor=_ZERO_M) > 0
    return float(np.mean(norms[is_inlier] ** 2))


def _unbiased(centre_m: float, series: _Series) -> float:
    """Length whose distance, with the noise across the bone, would be ``centre_m``."""
    distance, apart = series.distance_m, series.apart_m
    along = np.abs(np.diff(distance, 3))
    usable = ~np.isnan(along)
    if np.count_nonzero(usable) < _ENOUGH or centre_m < _ZERO_M:
        return centre_m
    third = np.diff(apart, 3, axis=0)[usable]
    axis = (apart[:-3] + apart[1:-2] + apart[2:-1] + apart[3:])[usable]
    axis = axis / np.maximum(np.linalg.norm(axis, axis=1, keepdims=True), _ZERO_M)
    across = third - np.sum(third * axis, axis=1, keepdims=True) * axis
    S = min(
        _inlier_mean_square(np.linalg.norm(across, axis=1), dimensions=2),
        _MOST_ACROSS**2 * 2 * _inlier_mean_square(along[usable], dimensions=1),
    ) / (_THIRD_DIFFERENCE**2)
    # where noise is as large as the bone, half of what is seen is believed at least
    return float(np.sqrt(max(centre_m**2 - S, centre_m**2 / 4)))
