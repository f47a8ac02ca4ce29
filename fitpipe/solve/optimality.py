"""Whether a pose is an optimum, whichever way it was found: forces on the joints in balance."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fitpipe.arrays import BoolArray, FloatArray
from fitpipe.kernels.tree_frames import CERTIFICATE_SHARE
from fitpipe.solve.geometry import (
    Frames,
    bones_at,
    is_definite,
    pull,
    stiffness_matrix,
    violation,
)

BALANCE = 10.0  # tolerances times the frame's largest stiffness: force that may be left on a joint


class Optimality(NamedTuple):
    """What holds at a pose; see `examine`."""

    multiplier: FloatArray  # (frame, bone)
    is_stationary: BoolArray  # (frame,)
    is_certified: BoolArray  # (frame,)


def examine(frames: Frames, x: FloatArray, *, tolerance_m: float) -> Optimality:
    """Multipliers of the bones at x, and what they prove.

    Parameters
    ----------
    frames : Frames
    x : ndarray, shape (frame, joint, 3), metres
    tolerance_m : float

    Returns
    -------
    Optimality
        ``multiplier``: the forces along the bones that balance the targets' pulls best (least
        squares, weighted by 1/h). ``is_stationary``: bones are exact and pulls are balanced, within
        the tolerance. ``is_certified``: besides, K(lambda) is positive semidefinite, so this is the
        global optimum (formulation.md section 4).
    """
    S, bones = frames.incidence, bones_at(frames, x)
    h, b_p = frames.damped_stiffness, pull(frames, x)
    flexibility = ((S / h[:, None]) @ S.T) * (bones.unit @ bones.unit.swapaxes(1, 2))
    stretch = np.einsum("fkc,fkc->fk", bones.unit, S @ (b_p / h[..., None]))
    multiplier = solve_bones(flexibility, stretch, frames.bound)
    rest = b_p - S.T @ (multiplier[..., None] * bones.unit)
    largest = frames.stiffness.max(axis=1)
    force = np.sqrt(np.einsum("fjc,fjc->fj", rest, rest).max(axis=1))
    is_stationary = (force <= BALANCE * tolerance_m * largest) & (
        violation(frames, x) <= tolerance_m
    )
    shifted = np.where(frames.active, frames.stiffness + CERTIFICATE_SHARE * largest[:, None], 1.0)
    K = stiffness_matrix(shifted, multiplier / frames.length, S)
    return Optimality(multiplier, is_stationary, is_stationary & is_definite(K))


def solve_bones(flexibility: FloatArray, wanted: FloatArray, bound: BoolArray) -> FloatArray:
    """Solve (L H^-1 L') lambda = wanted in every frame; bones that are not bound get 0.

    Parameters
    ----------
    flexibility : ndarray, shape (frame, bone, bone)
        L H^-1 L', with rows and columns of zeros for bones that are not bound.
    wanted : ndarray, shape (frame, bone)
    bound : ndarray of bool, shape (frame, bone)
    """
    matrix = flexibility + np.eye(bound.shape[1]) * ~bound[:, None]
    return np.asarray(np.linalg.solve(matrix, wanted[..., None])[..., 0])
