"""M = sum of r_k^2, what the formulations with a single constraint share."""

from __future__ import annotations

import numpy as np

from fitpipe.arrays import BoolArray, FloatArray
from fitpipe.solve.geometry import Bones, Frames

# Bones this close to their lengths are exact to rounding: M' is noise, and no multiplier exists.
EXACT_SHARE = 1e-13
# lambda, in stiffnesses, above which lambda M'' would drown H in rounding.
LARGEST_WEIGHT = 1e10


def target_start(frames: Frames, rigid: FloatArray) -> FloatArray:
    """The target where there is one, else the pose with exact bones."""
    seen = (frames.stiffness > 0)[..., None]
    return np.where(seen, frames.target, np.where(frames.active[..., None], rigid, 0.0))


def squared_sum(bones: Bones) -> FloatArray:
    """M, shape (frame, 1), square metres."""
    return np.asarray(np.einsum("fk,fk->f", bones.residual, bones.residual)[:, None])


def gradient(frames: Frames, bones: Bones) -> FloatArray:
    """M' = 2 sum of r_k u_k at the child, minus that at the parent; shape (frame, joint, 3)."""
    return np.asarray(frames.incidence.T @ (2.0 * bones.residual[..., None] * bones.unit))


def has_multiplier(frames: Frames, bones: Bones) -> BoolArray:
    """Whether M' is more than rounding, or there is no bone to ask for a multiplier."""
    worst = np.abs(bones.residual / frames.length).max(axis=1, initial=0.0)
    return np.asarray((worst > EXACT_SHARE) | ~frames.bound.any(axis=1))


def curvature_weight(frames: Frames, multiplier: FloatArray) -> FloatArray:
    """2 lambda for lambda M'', shape of `multiplier` (frame, any); 0 where lambda is negative."""
    most = LARGEST_WEIGHT * frames.stiffness.max(axis=1, keepdims=True)
    return 2.0 * np.clip(multiplier, 0.0, most)
