"""Euler angles about signed axes, on the branch that runs on over time."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fitpipe.arrays import BoolArray, FloatArray
from fitpipe.kernels.euler_branches import choose_branches, run_on
from fitpipe.units import axis_vector

_LOCKED = 1e-7  # cosine of the middle angle below which the outer ones cannot be told apart


def _axes(sequence: Sequence[str]) -> tuple[list[int], FloatArray, float]:
    """Axis numbers and signs of a sequence, and 1 for a cyclic one, else -1."""
    i, j, k = ("xyz".index(axis[1]) for axis in sequence)
    signs = np.array([-1.0 if axis[0] == "-" else 1.0 for axis in sequence])
    return [i, j, k], signs, 1.0 if (j - i) % 3 == 1 else -1.0


def rotation_from_euler(euler_rad: FloatArray, sequence: Sequence[str]) -> FloatArray:
    """Rotations (..., 3, 3) of turns about three signed axes, each as the ones before left it.

    Parameters
    ----------
    euler_rad : ndarray, shape (..., 3), radians
    sequence : three of ``"+x"``, ``"-x"``, ...
    """
    R = np.broadcast_to(np.eye(3), (*euler_rad.shape[:-1], 3, 3))
    for i, axis in enumerate(sequence):
        R = R @ turn(axis_vector(axis), euler_rad[..., i])
    return R


def turn(axis: FloatArray, angle_rad: FloatArray) -> FloatArray:
    """Rotations (..., 3, 3) about one unit vector (Rodrigues)."""
    x, y, z = axis
    K = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    s, c = np.sin(angle_rad)[..., None, None], np.cos(angle_rad)[..., None, None]
    return np.asarray(np.eye(3) + s * K + (1 - c) * (K @ K))


def principal_euler(R: FloatArray, sequence: Sequence[str]) -> FloatArray:
    """Euler angles (..., 3) of rotations (..., 3, 3), the middle one within a quarter turn.

    In gimbal lock the third is zero.
    """
    (i, j, k), signs, parity = _axes(sequence)
    cosine = np.hypot(R[..., i, i], R[..., i, j])
    locked = cosine < _LOCKED
    a = np.arctan2(-parity * R[..., j, k], R[..., k, k])
    b = np.arctan2(parity * R[..., i, k], cosine)
    c = np.arctan2(-parity * R[..., i, j], R[..., i, i])
    a = np.where(locked, np.arctan2(parity * R[..., k, j], R[..., j, j]), a)
    return np.stack([a, b, np.where(locked, 0.0, c)], axis=-1) * signs


def continuous_euler(R: FloatArray, sequence: Sequence[str], *, most_rad: float) -> FloatArray:
    """Euler angles (time, 3) of rotations (time, 3, 3) without jumps from frame to frame.

    Parameters
    ----------
    R : ndarray, shape (time, 3, 3)
        NaN where there is none; the angles then are NaN, too.
    sequence : three of ``"+x"``, ``"-x"``, ...
    most_rad : float, radians
        Where angles that have run on go back by a full turn: infinite for a heading, which counts
        full turns; above pi for joints that pass half a turn, pi for those that do not.
    """
    _, signs, parity = _axes(sequence)
    there = ~np.isnan(R[:, 0, 0])
    plain = principal_euler(R, sequence) * signs
    locked = np.abs(np.cos(plain[:, 1])) < _LOCKED
    plain[~there] = 0.0
    choose_branches(there, locked, parity, plain)
    plain[~there] = np.nan
    euler = plain * signs
    run_on(np.full(3, np.nan), most_rad, euler)
    return euler


def is_near_lock(euler_rad: FloatArray, within_rad: float) -> BoolArray:
    """Where the middle angle is within ``within_rad`` of a quarter turn: (...,)."""
    return np.asarray(np.abs(np.cos(euler_rad[..., 1])) < np.sin(within_rad))
