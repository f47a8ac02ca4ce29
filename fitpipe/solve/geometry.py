"""A batch of frames as the loop sees it: weighted targets and bones, with their derivatives.

Notation of formulation.md: bone k joins parent a and child b, D_k = x_b - x_a, u_k = D_k / |D_k|,
r_k = |D_k| - L_k. The incidence matrix S (bone, joint) has -1 at a and +1 at b, so D = S x, and row
k of the constraints' first derivative is S_k times u_k.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fitpipe.arrays import BoolArray, FloatArray, IntArray

# A carried joint has no target (h = 0), yet H must have an inverse: each step holds it where it is
# by this share of the frame's largest stiffness. A Levenberg term: it damps the step and pulls
# nowhere, so the optimum stays what it was.
PROXIMAL_SHARE = 1e-3
# Shares of a bone's length: ends nearer than the first have no direction of their own, and the
# curvature 1/|D| is that of the second at most.
APART_SHARE = 1e-9
CURVATURE_SHARE = 0.1


class Frames(NamedTuple):
    """Targets and bones of a batch of frames."""

    target: FloatArray  # (frame, joint, 3) metres, any finite value where not observed
    stiffness: FloatArray  # (frame, joint) h_i; 0 = not observed
    active: BoolArray  # (frame, joint) observed, or carried by bones
    bound: BoolArray  # (frame, bone) both ends are active
    direction: FloatArray  # (frame, bone, 3) unit vectors for bones whose ends coincide
    pairs: IntArray  # (bone, 2) parent and child joint
    length: FloatArray  # (bone,) metres, above 0

    def at(self, rows: IntArray | BoolArray) -> Frames:
        """These rows of the batch."""
        return self._replace(
            target=self.target[rows],
            stiffness=self.stiffness[rows],
            active=self.active[rows],
            bound=self.bound[rows],
            direction=self.direction[rows],
        )

    @property
    def incidence(self) -> FloatArray:
        """S, shape (bone, joint)."""
        joints = np.arange(self.stiffness.shape[1])
        parent, child = self.pairs.T[..., None]
        return np.asarray((joints == child) * 1.0 - (joints == parent))

    @property
    def damped_stiffness(self) -> FloatArray:
        """Diagonal of H with the Levenberg term of carried joints; 1 for absent ones."""
        largest = self.stiffness.max(axis=1, keepdims=True)
        unseen = np.where(self.active, PROXIMAL_SHARE * largest, 1.0)
        return np.asarray(np.where(self.stiffness > 0, self.stiffness, unseen))


class Bones(NamedTuple):
    """Where the bones of a batch point, and how far they are from their lengths."""

    unit: FloatArray  # (frame, bone, 3) u_k; 0 where the bone is not bound
    residual: FloatArray  # (frame, bone) r_k, metres; 0 where the bone is not bound
    curvature: FloatArray  # (frame, bone) 1/|D_k|: the second derivative of r_k across the bone


def bones_at(frames: Frames, x: FloatArray) -> Bones:
    """Directions, residuals and curvatures of all bones at positions x (frame, joint, 3)."""
    parent, child = frames.pairs.T
    apart = x[:, child] - x[:, parent]
    distance = np.sqrt(np.einsum("fkc,fkc->fk", apart, apart))
    has_direction = distance > APART_SHARE * frames.length
    unit = np.where(
        has_direction[..., None],
        apart / np.where(has_direction, distance, 1.0)[..., None],
        frames.direction,
    )
    return Bones(
        unit=np.where(frames.bound[..., None], unit, 0.0),
        residual=np.where(frames.bound, distance - frames.length, 0.0),
        curvature=frames.bound / np.maximum(distance, CURVATURE_SHARE * frames.length),
    )


def objective(frames: Frames, x: FloatArray) -> FloatArray:
    """J0 = sum of 1/2 h |x - m|^2, shape (frame,)."""
    apart = x - frames.target
    return np.asarray(0.5 * np.einsum("fj,fjc,fjc->f", frames.stiffness, apart, apart))


def pull(frames: Frames, x: FloatArray) -> FloatArray:
    """b_p = -grad J0 = H (m - x), shape (frame, joint, 3)."""
    return frames.stiffness[..., None] * (frames.target - x)


def violation(frames: Frames, x: FloatArray) -> FloatArray:
    """Worst |r_k| of each frame, shape (frame,), metres."""
    return np.asarray(np.abs(bones_at(frames, x).residual).max(axis=1, initial=0.0))


def stiffness_matrix(stiffness: FloatArray, tension: FloatArray, S: FloatArray) -> FloatArray:
    """K = diag(h) + S' diag(tension) S, shape (..., joint, joint).

    With tension = lambda_k / |D_k| it is the matrix of formulation.md section 4: if it is positive
    definite at a feasible stationary point, that point is the global optimum.
    """
    return (S.T * tension[..., None, :]) @ S + stiffness[..., None] * np.eye(S.shape[1])


def is_definite(matrix: FloatArray) -> BoolArray:
    """Whether each symmetric matrix (..., n, n) is positive definite: Gauss' pivots above 0."""
    rest = matrix.copy()
    definite = np.ones(matrix.shape[:-2], np.bool_)
    for i in range(matrix.shape[-1]):
        pivot = rest[..., i, i]
        definite &= pivot > 0
        share = np.divide(1.0, pivot, out=np.zeros_like(pivot), where=definite)
        row = share[..., None] * rest[..., i, i + 1 :]
        rest[..., i + 1 :, i + 1 :] -= rest[..., i + 1 :, i, None] * row[..., None, :]
    return definite


def guarded_tension(stiffness: FloatArray, tension: FloatArray, S: FloatArray) -> FloatArray:
    """The tension where its stiffness matrix is positive definite, else its positive part."""
    definite = is_definite(stiffness_matrix(stiffness, tension, S))
    return np.where(definite[..., None], tension, np.maximum(tension, 0.0))
