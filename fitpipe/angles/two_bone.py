"""Two bones in closed form: the law of cosines, turned about the line to the target."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from fitpipe.arrays import FloatArray
from fitpipe.errors import SolveError

ALONG = 1e-9  # sine of the angle below which a pole lies on the line to the target


class TwoBone(NamedTuple):
    """Where `two_bone` puts two bones; leading axes are those of the target."""

    joint_m: FloatArray
    """(..., 3) the middle joint"""
    tip_m: FloatArray
    """(..., 3)"""
    inner_angle: FloatArray
    """(...) radians between the bones: pi is straight, 0 folded"""
    swivel: FloatArray
    """(...) radians about the axis, from where the axis was given a zero direction; see there"""
    error: FloatArray
    """(...) metres left to the target"""


def inner_angle(distance: FloatArray, first: float, second: float) -> FloatArray:
    """Angle between two bones whose far ends are ``distance`` apart; clamped at 0 and pi.

    The law of cosines in the half-angle form, which keeps its digits near straight and folded.
    """
    d = np.asarray(distance, dtype=float)
    opening = np.maximum((d - (first - second)) * (d + (first - second)), 0.0)
    closing = np.maximum(((first + second) - d) * ((first + second) + d), 0.0)
    return np.asarray(2 * np.arctan2(np.sqrt(opening), np.sqrt(closing)))


def two_bone(
    target_m: npt.ArrayLike,
    lengths_m: tuple[float, float],
    *,
    root_m: npt.ArrayLike = (0.0, 0.0, 0.0),
    pole_m: npt.ArrayLike | None = None,
    axis: npt.ArrayLike = (0.0, 1.0, 0.0),
) -> TwoBone:
    """Two bones from a root to a target, for any number of targets at once.

    Too far: both bones straight towards the target. Too near: the second folded back on the first,
    which points at the target if it is the longer one and away from it otherwise.

    Parameters
    ----------
    target_m : (..., 3), metres
    lengths_m : (float, float), metres
        First and second bone.
    root_m : (..., 3), metres
    pole_m : (..., 3), metres, optional
        Point towards which the middle joint bends (elbow, knee). Without it the bones hang on a
        swivel hinge about ``axis``, like a crane: they stay in the plane of axis and target, the
        middle joint on the side where the axis points.
    axis : (3,)
        Of the swivel hinge, through the root; also the side taken where the pole lies on the
        line from root to target.

    Returns
    -------
    TwoBone
        ``swivel`` is the azimuth of the target about ``axis``: zero along z for the axis y, along
        x for the axis z, in general along the base direction after the axis' largest component.

    Raises
    ------
    SolveError
        Lengths that are not positive, an axis of length zero, shapes that do not fit.
    """
    first, second = (float(length) for length in lengths_m)
    if not (0 < first < np.inf and 0 < second < np.inf):
        raise SolveError(f"lengths_m is {lengths_m}, expected two numbers > 0")
    up = np.asarray(axis, dtype=float)
    if up.shape != (3,) or not np.linalg.norm(up) > 0:
        raise SolveError(f"axis is {axis!r}, expected a vector (3,) that is not zero")
    up = up / np.linalg.norm(up)
    try:
        root, way, pole = _broadcast(target_m, root_m, pole_m)
    except ValueError as error:
        raise SolveError(f"target_m, root_m and pole_m do not fit together: {error}") from error
    ahead = _base_direction(up)
    distance = np.linalg.norm(way, axis=-1)
    towards = _unit(way, ahead)
    bend = up if pole is None else pole - root
    side = _unit(_across(bend, towards), _unit(_across(up, towards), ahead))
    side = _unit(_across(side, towards), ahead)  # again, where `ahead` itself had to serve
    angle = inner_angle(distance, first, second)
    # angle at the root between the first bone and the line to the target
    tip_far = np.sqrt(np.maximum(first**2 + second**2 - 2 * first * second * np.cos(angle), 0.0))
    lift = np.arctan2(second * np.sin(angle), first - second * np.cos(angle))
    joint = root + first * (np.cos(lift)[..., None] * towards + np.sin(lift)[..., None] * side)
    tip = root + tip_far[..., None] * towards
    level = _across(way, np.broadcast_to(up, way.shape))
    swivel = np.arctan2(level @ np.cross(up, ahead), level @ ahead)
    return TwoBone(joint, tip, angle, swivel, np.abs(distance - tip_far))


def _broadcast(
    target_m: npt.ArrayLike, root_m: npt.ArrayLike, pole_m: npt.ArrayLike | None
) -> tuple[FloatArray, FloatArray, FloatArray | None]:
    given = [np.asarray(a, dtype=float) for a in (target_m, root_m)]
    given += [] if pole_m is None else [np.asarray(pole_m, dtype=float)]
    target, root, *pole = np.broadcast_arrays(*given)
    if target.shape[-1:] != (3,):
        raise ValueError(f"the last axis has {target.shape[-1:]} entries, expected 3")
    return root, target - root, pole[0] if pole else None


def _base_direction(up: FloatArray) -> FloatArray:
    """The base direction after the largest component of ``up``, made square to it."""
    ahead = np.eye(3)[(int(np.argmax(np.abs(up))) + 1) % 3]
    ahead = ahead - (ahead @ up) * up
    return np.asarray(ahead / np.linalg.norm(ahead))


def _across(vector: FloatArray, towards: FloatArray) -> FloatArray:
    """The part of vectors square to unit vectors ``towards``; zero where hardly any is."""
    part = vector - np.sum(vector * towards, axis=-1, keepdims=True) * towards
    size = np.linalg.norm(part, axis=-1, keepdims=True)
    return np.where(size > ALONG * np.linalg.norm(vector, axis=-1, keepdims=True), part, 0.0)


def _unit(vector: FloatArray, instead: FloatArray) -> FloatArray:
    """Vectors (..., 3) of length one; ``instead`` where they are zero."""
    size = np.linalg.norm(vector, axis=-1, keepdims=True)
    return np.where(size > 0, vector / np.where(size > 0, size, 1.0), instead)
