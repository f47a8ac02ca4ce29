"""How far the fit lies from each observation, and the observations from one another."""

from __future__ import annotations

import numpy as np

from fitpipe.arrays import FloatArray, writable
from fitpipe.kernels.sources import distances, farthest_apart, length_errors


def residuals(position_m: FloatArray, observation_m: FloatArray) -> FloatArray:
    """Distance of each observation to the fitted joint, shape (time, source, joint), metres."""
    out = np.empty(observation_m.shape[:3])
    distances(writable(observation_m), writable(position_m), out)
    return out


def disagreement(observation_m: FloatArray) -> FloatArray:
    """Largest distance between two sources' observations, shape (time, joint), metres.

    NaN where fewer than two sources saw the joint.
    """
    out = np.empty((len(observation_m), observation_m.shape[2]))
    farthest_apart(writable(observation_m), out)
    return out


def worst_bone_error(
    position_m: FloatArray, links: tuple[tuple[int, int], ...], length_m: FloatArray
) -> FloatArray:
    """Largest deviation of a bone or rigid pair from its length, shape (time,), metres.

    Those with an absent end or without a known length do not count; NaN in a frame without any
    position, 0 in one with positions but no whole bone.
    """
    up, down = np.array(links, np.int64).reshape(-1, 2).T.copy()
    worst = np.empty(len(position_m))
    length_errors(writable(position_m), up, down, writable(length_m), worst)
    return worst
