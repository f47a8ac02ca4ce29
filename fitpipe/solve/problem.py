"""Makes one weighted target per joint of any number of sources (formulation.md section 1)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from fitpipe.arrays import FloatArray
from fitpipe.errors import SolveError
from fitpipe.kernels.sources import mean_of_sources, squared_distances
from fitpipe.records import Calibration, Skeleton, Take


@dataclass(frozen=True, eq=False)
class Problem:
    """What every frame is to be fitted to; it no longer knows how many sources there were.

    Parameters
    ----------
    skeleton : Skeleton
        With bone lengths; NaN for a bone that binds nothing.
    target : ndarray, shape (time, joint, 3), metres
        m_i, the weighted mean of the registered observations; 0 where no source saw the joint.
    stiffness : ndarray, shape (time, joint)
        h_i = 2 Σ_s w_s,i; 0 where no source saw the joint.
    constant : ndarray, shape (time,), square metres
        Σ_i Σ_s w_s,i |R_s y_s,i + t_s − m_i|², the part of J0 no skeleton can change.
    """

    skeleton: Skeleton
    target: FloatArray
    stiffness: FloatArray
    constant: FloatArray


def pose_problem(observation_m: FloatArray, weight: FloatArray, skeleton: Skeleton) -> Problem:
    """Complete the square per joint: J0 = Σ ½ h_i |x_i − m_i|² + constant.

    Parameters
    ----------
    observation_m : ndarray, shape (time, source, joint, 3), metres
        In one frame of reference; NaN where missing.
    weight : ndarray, shape (time, source, joint)
        Non-negative; 0 exactly where the observation is missing or not to be used.
    skeleton : Skeleton
    """
    target, total = weighted_mean(observation_m, weight)
    squared = np.empty_like(weight)
    squared_distances(observation_m, weight, target, squared)
    constant = np.einsum("tsj,tsj->t", weight, squared)
    return Problem(skeleton, target, 2.0 * total, constant)


def weighted_mean(observation_m: FloatArray, weight: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Mean of each joint over the sources, 0 where none saw it, and the sum of its weights.

    Shapes as in `pose_problem`; returns (time, joint, 3), metres, and (time, joint).
    """
    n_time, _, n_joints = weight.shape
    mean, total = np.empty((n_time, n_joints, 3)), np.empty((n_time, n_joints))
    mean_of_sources(observation_m, weight, mean, total)
    return mean, total


def registered(takes: Sequence[Take], calibration: Calibration) -> FloatArray:
    """All sources in the reference frame, shape (time, source, joint, 3), metres."""
    pairs = zip(takes, calibration.transforms, strict=True)
    return np.stack([transform.apply(take.position_m) for take, transform in pairs], axis=1)


def weights(takes: Sequence[Take], given: Sequence[FloatArray] | None) -> FloatArray:
    """Weight of each observation, shape (time, source, joint): confidence times the given weight.

    Parameters
    ----------
    takes : sequence of Take
        On one clock.
    given : sequence of ndarray, shape (time, joint), optional
        One per take, as `check_weights` lets them pass.
    """
    table = np.stack([_confidence(take) for take in takes], axis=1)
    if given is not None:
        table = table * np.stack(given, axis=1)
    return table


def check_weights(
    given: Sequence[npt.ArrayLike], sources: Sequence[str], shape: tuple[int, int]
) -> list[FloatArray]:
    """Given weights as arrays, one (time, joint) for each source.

    Raises
    ------
    SolveError
        One has another shape, or is negative or not finite; lists all that is wrong.
    """
    arrays = [np.asarray(array, dtype=np.float64) for array in given]
    faults = []
    if len(arrays) != len(sources):
        faults.append(f"{len(arrays)} arrays for {len(sources)} sources")
    for source, array in zip(sources, arrays, strict=False):
        if array.shape != shape:
            faults.append(f"source {source!r}: shape {array.shape}, expected {shape}")
        elif not (np.isfinite(array).all() and (array >= 0).all()):
            faults.append(f"source {source!r}: values that are negative or not finite")
    if faults:
        raise SolveError("weight does not fit the takes", faults=faults)
    return arrays


def robust_weights(weight: FloatArray, residual_m: FloatArray, *, scale_m: float) -> FloatArray:
    """Weights that fall with the residual as Cauchy's do: weight / (1 + (residual / scale)²).

    Parameters
    ----------
    weight, residual_m : ndarray, shape (time, source, joint)
        The residual in metres, NaN where there is none.
    scale_m : float, metres
        Residual at which half of the weight is left.
    """
    return np.asarray(weight / (1 + np.nan_to_num(residual_m / scale_m) ** 2))


def _confidence(take: Take) -> FloatArray:
    confidence = 1.0 if take.confidence is None else take.confidence
    return np.asarray(np.where(take.is_observed, confidence, 0.0))
