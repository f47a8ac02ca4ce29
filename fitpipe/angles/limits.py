"""Joint angles against the limits of their preset."""

from __future__ import annotations

import numpy as np

from fitpipe.angles.definition import Definition
from fitpipe.arrays import BoolArray, ByteArray, FloatArray, any_of_xyz
from fitpipe.records import LimitStatus, TwistStatus

TOLERANCE_RAD = 1e-6  # an angle this near to its limit is on it
_LOCKED = 1e-3  # cosine of the middle angle below which rounding alone decides the two others


def nearest_to_limits(
    euler_rad: FloatArray, limit_rad: FloatArray, is_judged: BoolArray
) -> tuple[FloatArray, FloatArray]:
    """The triples for the same turns that exceed the limits least, and by how much they do.

    (a, b, c) and (a + pi, pi - b, c + pi) are the same turns, and full turns may be added.

    Parameters
    ----------
    euler_rad : ndarray, shape (..., segment, 3), radians
    limit_rad : ndarray, shape (segment, 3, 2), radians
    is_judged : ndarray of bool, shape (..., segment, 3)
        Angles that count.

    Returns
    -------
    euler_rad : ndarray, shape (..., segment, 3), radians
    excess_rad : ndarray, shape (..., segment), radians
        The largest of the three; negative within the limits, -inf where none counts.
    """
    other = np.stack(
        [euler_rad[..., 0] + np.pi, np.pi - euler_rad[..., 1], euler_rad[..., 2] + np.pi], axis=-1
    )
    first, second = (_unwound(angle, limit_rad) for angle in (euler_rad, other))
    over_first, over_second = (_excess(angle, limit_rad, is_judged) for angle in (first, second))
    is_second = over_second < over_first
    return (
        np.where(is_second[..., None], second, first),
        np.where(is_second, over_second, over_first),
    )


def _unwound(euler_rad: FloatArray, limit_rad: FloatArray) -> FloatArray:
    """Angles less full turns, such that they are nearest to the middle of their limits, or zero."""
    known = np.where(np.isfinite(limit_rad).all(axis=-1, keepdims=True), limit_rad, 0.0)
    off = euler_rad - known.mean(axis=-1)
    return np.asarray(euler_rad - 2 * np.pi * np.round(off / (2 * np.pi)))


def _excess(euler_rad: FloatArray, limit_rad: FloatArray, is_judged: BoolArray) -> FloatArray:
    over = np.maximum(limit_rad[..., 0] - euler_rad, euler_rad - limit_rad[..., 1])
    is_locked = np.abs(np.cos(euler_rad[..., 1])) < _LOCKED
    over[~is_judged] = -np.inf
    outer = np.where(is_locked, -np.inf, np.maximum(over[..., 0], over[..., 2]))
    return np.asarray(np.maximum(outer, over[..., 1]))


def judged(twist_status: ByteArray, definition: Definition) -> BoolArray:
    """Which angles (time, segment, 3) have limits and are known well enough to be held to them.

    The last angle of a hinged limb turns it about its own axis; where that was not measured it
    says nothing about the limb. So do all three of a body that its bones do not fix.
    """
    found = np.tile(definition.is_limited, (len(twist_status), 1, 1))
    bodies = slice(definition.n_bodies)
    found[:, bodies] &= (twist_status[:, bodies] == TwistStatus.MEASURED)[..., None]
    hinges = [definition.n_bodies + k for k, bend in enumerate(definition.hinged) if bend >= 0]
    found[:, hinges, 2] &= twist_status[:, hinges] == TwistStatus.MEASURED
    found[twist_status == TwistStatus.ABSENT] = False
    return found


def limit_status(
    euler_rad: FloatArray, twist_status: ByteArray, definition: Definition
) -> ByteArray:
    """LimitStatus of every segment in every frame, (time, segment)."""
    found: ByteArray = np.full(twist_status.shape, LimitStatus.NONE, np.uint8)
    own = np.flatnonzero(definition.is_limited.any(axis=1))
    counts = (judged(twist_status, definition) & ~np.isnan(euler_rad))[:, own]
    _, over = nearest_to_limits(euler_rad[:, own], definition.limit_rad[own], counts)
    found[:, own] = np.select(
        [~any_of_xyz(counts), over > TOLERANCE_RAD, over >= -TOLERANCE_RAD],
        [LimitStatus.NONE, LimitStatus.BEYOND, LimitStatus.AT],
        LimitStatus.WITHIN,
    )
    return found
