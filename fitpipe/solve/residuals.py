"""How far the fit lies from each observation, and the observations from one another."""

from __future__ import annotations

import numpy as np

from fitpipe.arrays import BoolArray, FloatArray


def residuals(position_m: FloatArray, observation_m: FloatArray) -> FloatArray:
    """Distance of each observation to the fitted joint, shape (time, source, joint), metres."""
    return np.asarray(np.linalg.norm(observation_m - position_m[:, None], axis=-1))


def disagreement(observation_m: FloatArray) -> FloatArray:
    """Largest distance between two sources' observations, shape (time, joint), metres.

    NaN where fewer than two sources saw the joint.
    """
    n_time, n_sources, n_joints, _ = observation_m.shape
    largest = np.full((n_time, n_joints), np.nan)
    for a in range(n_sources):
        for b in range(a + 1, n_sources):
            apart = np.linalg.norm(observation_m[:, a] - observation_m[:, b], axis=-1)
            largest = np.fmax(largest, apart)
    return largest


def worst_bone_error(
    position_m: FloatArray, links: tuple[tuple[int, int], ...], length_m: FloatArray
) -> FloatArray:
    """Largest deviation of a bone or rigid pair from its length, shape (time,), metres.

    Those with an absent end or without a known length do not count; NaN in a frame without any
    position, 0 in one with positions but no whole bone.
    """
    worst = np.where(np.isnan(position_m[..., 0]).all(axis=1), np.nan, 0.0)
    for (parent, child), length in zip(links, length_m, strict=True):
        error = np.abs(
            np.linalg.norm(position_m[:, child] - position_m[:, parent], axis=-1) - length
        )
        whole: BoolArray = ~np.isnan(error)
        worst[whole] = np.maximum(worst[whole], error[whole])
    return worst
