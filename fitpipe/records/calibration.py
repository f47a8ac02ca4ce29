"""What is known of the sensors and the subject before a frame is fitted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from fitpipe.arrays import FloatArray, IntArray, frozen
from fitpipe.records.checks import Faults

_ROTATION_TOLERANCE = 1e-6


@dataclass(frozen=True, eq=False)
class SourceTransform:
    """Rigid transform of one source into the reference source's frame.

    Parameters
    ----------
    source : str
    R_ref_source : ndarray, shape (3, 3)
        A rotation, det = +1.
    t_ref_m : ndarray, shape (3,), metres
        ``reference ≈ R_ref_source @ source + t_ref_m``.
    rms_m : float, metres
        Root mean square distance left over the inliers; 0 for the reference itself.
    n_points : int
        Joint samples both sources saw.
    scale : float
        Best-fit scale to the reference, as evidence only: it is never applied.
    inlier_share : float
        Share of those samples that agree with the transform; the others had no say in it.
    time_offset_s : float, seconds
        How far the source's clock was ahead of the reference's at the first instant t0 of the
        reference: ``t_source = t_ref + time_offset_s + clock_drift * (t_ref - t0)``.
    time_offset_sd_s : float, seconds
        Standard deviation of the offset; 0 where it was given, NaN where it was not estimated.
    clock_drift : float
        Seconds that the source's clock gains in one second of the reference's.
    """

    source: str
    R_ref_source: FloatArray
    t_ref_m: FloatArray
    rms_m: float = 0.0
    n_points: int = 0
    scale: float = 1.0
    inlier_share: float = 1.0
    time_offset_s: float = 0.0
    time_offset_sd_s: float = 0.0
    clock_drift: float = 0.0

    def __post_init__(self) -> None:
        faults = Faults(f"transform of source {self.source!r}")
        R, t = frozen(self.R_ref_source), frozen(self.t_ref_m)
        if faults.shape("R_ref_source", R, (3, 3)) and faults.finite("R_ref_source", R):
            off = float(np.abs(R @ R.T - np.eye(3)).max())
            det = float(np.linalg.det(R))
            faults.unless(
                off < _ROTATION_TOLERANCE and det > 0,
                f"R_ref_source is no rotation: det {det:.3g}, off orthogonal by {off:.2g}",
            )
        if faults.shape("t_ref_m", t, (3,)):
            faults.finite("t_ref_m", t)
        faults.raise_if_any()
        object.__setattr__(self, "R_ref_source", R)
        object.__setattr__(self, "t_ref_m", t)

    @classmethod
    def identity(cls, source: str) -> SourceTransform:
        """Transform of the reference source, or of one that shares its frame."""
        return cls(source, np.eye(3), np.zeros(3))

    def apply(self, position_m: FloatArray) -> FloatArray:
        """Positions of the source, shape (..., 3), in the reference frame."""
        return position_m @ self.R_ref_source.T + self.t_ref_m


@dataclass(frozen=True, eq=False)
class BoneLengths:
    """Length of every bone and rigid pair of a skeleton, with what it rests on.

    Parameters
    ----------
    length_m : ndarray, shape (link,), metres
        In the order of ``Skeleton.links``. NaN for one no source ever saw whole.
    low_m, high_m : ndarray, shape (link,), metres
        95 % interval of the length; equal to it where it was given.
    n_samples : ndarray of int, shape (link,)
        Samples the length was measured on; 0 where it was given.
    origin : {"estimated", "given"}
    """

    length_m: FloatArray
    low_m: FloatArray
    high_m: FloatArray
    n_samples: IntArray
    origin: Literal["estimated", "given"]

    def __post_init__(self) -> None:
        faults = Faults("bone lengths")
        for name in ("length_m", "low_m", "high_m", "n_samples"):
            array = frozen(getattr(self, name), np.int64 if name == "n_samples" else np.float64)
            faults.shape(name, array, (len(self.length_m),))
            object.__setattr__(self, name, array)
        bad = ~(np.isnan(self.length_m) | ((self.length_m >= 0) & np.isfinite(self.length_m)))
        faults.unless(not bad.any(), f"length_m holds {self.length_m[bad]}, expected >= 0")
        faults.raise_if_any()

    @classmethod
    def given(cls, length_m: FloatArray) -> BoneLengths:
        """Lengths known beforehand, metres."""
        return cls(length_m, length_m, length_m, np.zeros(len(length_m), np.int64), "given")


@dataclass(frozen=True, eq=False)
class Calibration:
    """Transforms of all sources, reference first, and the subject's bone lengths."""

    transforms: tuple[SourceTransform, ...]
    bone_lengths: BoneLengths
