"""One constraint and one multiplier per bone: r_k = 0."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from fitpipe.arrays import FloatArray
from fitpipe.solve.formulations.formulation import Step
from fitpipe.solve.geometry import Frames, bones_at, guarded_tension, pull, stiffness_matrix
from fitpipe.solve.optimality import solve_bones


@dataclass(frozen=True)
class PerBone:
    """The article's plural hard constraints.

    With the curvature lambda_k r_k'' in H this is Newton's method on the Lagrangian. Adding
    lambda_k/|D_k| u u' of the constraint's own direction to it changes only the multipliers, by a
    known amount, and makes the matrix K of the certificate, the same for x, y and z, of a matrix
    three times as wide.
    """

    curvature: Literal["exact", "none"] = "exact"
    n_parts: ClassVar[int] = 1

    def start(self, frames: Frames, rigid: FloatArray) -> FloatArray:
        """The pose with exact bones."""
        return np.where(frames.active[..., None], rigid, 0.0)

    def constraint(self, frames: Frames, x: FloatArray) -> FloatArray:
        """r_k, shape (frame, bone)."""
        return bones_at(frames, x).residual

    def step(self, frames: Frames, x: FloatArray, multiplier: FloatArray) -> Step:
        """Solve (L H^-1 L') lambda = L H^-1 b_p - b_lambda, then d = H^-1 (b_p - L' lambda)."""
        S, bones = frames.incidence, bones_at(frames, x)
        h, b_p = frames.damped_stiffness, pull(frames, x)
        if self.curvature == "exact":
            tension = guarded_tension(h, multiplier[:, 0] * bones.curvature, S)
            inverse = np.linalg.inv(stiffness_matrix(h, tension, S))
        else:
            tension = np.zeros_like(bones.residual)
            inverse = np.eye(S.shape[1]) / h[:, None]
        free = inverse @ b_p
        flexibility = (S @ inverse @ S.T) * (bones.unit @ bones.unit.swapaxes(1, 2))
        wanted = np.einsum("fkc,fkc->fk", bones.unit, S @ free) + bones.residual
        force = solve_bones(flexibility, wanted, frames.bound)
        direction = free - inverse @ (S.T @ (force[..., None] * bones.unit))
        return Step(
            direction=direction[:, None],
            multiplier=(force - tension * bones.residual)[:, None],
            change=-bones.residual[:, None],
            is_defined=np.ones(len(x), np.bool_),
        )
