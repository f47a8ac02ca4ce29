"""One constraint for all bones together, M = sum of r_k^2 = 0, and one multiplier."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from fitpipe.arrays import FloatArray
from fitpipe.solve.formulations.formulation import Step
from fitpipe.solve.formulations.squared_sum import (
    curvature_weight,
    gradient,
    has_multiplier,
    squared_sum,
    target_start,
)
from fitpipe.solve.geometry import Bones, Frames, bones_at, guarded_tension, pull, stiffness_matrix


@dataclass(frozen=True)
class Aggregate:
    """The source page read literally, without its errors: both ends move, each bone counts once.

    M' vanishes where all lengths are right, so the multiplier grows without bound on the way there
    and the errors can be halved per step at best. Without M'' a step holds the bones in one
    combination only and lets go of all others; with it, the step converges.
    """

    curvature: Literal["exact", "none"] = "exact"
    n_parts: ClassVar[int] = 1

    def start(self, frames: Frames, rigid: FloatArray) -> FloatArray:
        """The targets: at exact bones there is no step."""
        return target_start(frames, rigid)

    def constraint(self, frames: Frames, x: FloatArray) -> FloatArray:
        """M, shape (frame, 1), square metres."""
        return squared_sum(bones_at(frames, x))

    def step(self, frames: Frames, x: FloatArray, multiplier: FloatArray) -> Step:
        """lambda = (L H^-1 b_p - b_lambda) / (L H^-1 L'), d = H^-1 (b_p - L' lambda)."""
        bones, b_p = bones_at(frames, x), pull(frames, x)
        M, slope = squared_sum(bones)[:, 0], gradient(frames, bones)
        both = np.stack([b_p, slope], axis=-1)
        if self.curvature == "exact":
            weight = curvature_weight(frames, multiplier[:, 0])
            free, along = np.moveaxis(_solve_curved(frames, bones, weight, both), -1, 0)
        else:
            free, along = np.moveaxis(both / frames.damped_stiffness[..., None, None], -1, 0)
        is_defined = has_multiplier(frames, bones)
        bottom = np.einsum("fjc,fjc->f", slope, along)
        top = np.einsum("fjc,fjc->f", slope, free) + M
        new = np.divide(top, bottom, out=np.zeros_like(top), where=is_defined & (bottom > 0))
        direction = free - new[:, None, None] * along
        change = np.einsum("fjc,fjc->f", slope, direction)
        return Step(direction[:, None], new[:, None, None], change[:, None, None], is_defined)


def _solve_curved(
    frames: Frames, bones: Bones, weight: FloatArray, right: FloatArray
) -> FloatArray:
    """(H + lambda M'')^-1 right, with M'' = 2 sum of S_k' S_k (u u' + r_k/|D_k| (1 - u u')).

    Parameters
    ----------
    frames : Frames
    bones : Bones
    weight : ndarray, shape (frame, 1)
        2 lambda.
    right : ndarray, shape (frame, joint, 3, column)
    """
    S, h = frames.incidence, frames.damped_stiffness
    across = guarded_tension(h, weight * bones.residual * bones.curvature, S)
    n_frames, n_joints = h.shape
    wide = 3 * n_joints
    K = np.zeros((n_frames, n_joints, 3, n_joints, 3))
    for c in range(3):
        K[:, :, c, :, c] = stiffness_matrix(h, across, S)
    G = (S[..., None] * bones.unit[:, :, None]).reshape(n_frames, -1, wide)
    W = K.reshape(n_frames, wide, wide) + (G.swapaxes(1, 2) * (weight - across)[:, None]) @ G
    return np.asarray(np.linalg.solve(W, right.reshape(n_frames, wide, -1)).reshape(right.shape))
