"""Joint angles against the limits of their preset."""

from __future__ import annotations

import numpy as np

from fitpipe.angles.definition import Definition
from fitpipe.arrays import BoolArray, ByteArray, FloatArray
from fitpipe.records import LimitStatus, TwistStatus

TOLERANCE_RAD = 1e-6  # an angle this near to its limit is on it


def unwound(euler_rad: FloatArray, limit_rad: FloatArray) -> FloatArray:
    """Angles less full turns, such that they are nearest to the middle of their limits, or zero.

    Parameters
    ----------
    euler_rad : ndarray, shape (..., segment, 3), radians
    limit_rad : ndarray, shape (segment, 3, 2), radians
    """
    known = np.where(np.isfinite(limit_rad).all(axis=-1, keepdims=True), limit_rad, 0.0)
    off = euler_rad - known.mean(axis=-1)
    return np.asarray(euler_rad - 2 * np.pi * np.round(off / (2 * np.pi)))


def excess(euler_rad: FloatArray, limit_rad: FloatArray) -> FloatArray:
    """How far angles lie beyond their limits, radians; negative within. Full turns do not count.

    Shapes as in `unwound`.
    """
    angle = unwound(euler_rad, limit_rad)
    return np.maximum(limit_rad[..., 0] - angle, angle - limit_rad[..., 1])


def is_judged(twist_status: ByteArray, definition: Definition) -> BoolArray:
    """Which angles (time, segment, 3) have limits and are known well enough to be held to them.

    The last angle of a hinged limb turns it about its own axis; where that was not measured it
    says nothing about the limb.
    """
    judged = np.tile(definition.is_limited, (len(twist_status), 1, 1))
    hinges = [definition.n_bodies + k for k, bend in enumerate(definition.hinged) if bend >= 0]
    judged[:, hinges, 2] &= twist_status[:, hinges] == TwistStatus.MEASURED
    return judged


def limit_status(
    euler_rad: FloatArray, twist_status: ByteArray, definition: Definition
) -> ByteArray:
    """LimitStatus of every segment in every frame, (time, segment)."""
    judged = is_judged(twist_status, definition) & ~np.isnan(euler_rad)
    over = np.where(judged, excess(euler_rad, definition.limit_rad), -np.inf).max(axis=-1)
    status = np.select(
        [~judged.any(axis=-1), over > TOLERANCE_RAD, over >= -TOLERANCE_RAD],
        [LimitStatus.NONE, LimitStatus.BEYOND, LimitStatus.AT],
        LimitStatus.WITHIN,
    )
    return np.asarray(status, dtype=np.uint8)
