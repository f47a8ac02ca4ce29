"""Joint centres from motion: the point about which one segment turns in another."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.optimize import least_squares
from scipy.spatial.transform import Rotation

from fitpipe.arrays import BoolArray, FloatArray

_ENOUGH_FRAMES = 20
_MOST_FRAMES = 2000
_FRAMES_PER_CHANCE = 10
_SAME_M = 1e-12


class FunctionalCentre(NamedTuple):
    """A centre of rotation and how well the motion determines it.

    ``centre_m`` (time, 3) in the world; ``sd_m`` the standard deviation along the least certain
    direction; ``rms_m`` what is left of the model; ``turn_rad`` the standard deviation of the turn
    about the second of its main axes.
    """

    centre_m: FloatArray
    sd_m: float
    rms_m: float
    turn_rad: float


def segment_poses(markers_m: FloatArray) -> tuple[FloatArray, FloatArray, BoolArray]:
    """Pose of a segment of three or more markers in every frame (Kabsch on its mean shape).

    Parameters
    ----------
    markers_m : ndarray, shape (time, marker, 3), metres

    Returns
    -------
    R_world_segment : ndarray, shape (time, 3, 3)
    t_world_m : ndarray, shape (time, 3), metres
        The middle of the markers.
    is_known : ndarray of bool, shape (time,)
        Frames that show all markers.
    """
    n = len(markers_m)
    known = np.asarray(np.isfinite(markers_m).all(axis=(1, 2)))
    R, t = np.full((n, 3, 3), np.nan), np.full((n, 3), np.nan)
    if not known.any():
        return R, t, known
    seen = markers_m[known]
    shape = seen[0] - seen[0].mean(axis=0)
    for _ in range(3):  # the mean shape after alignment, which no single frame's noise is in
        turns = _kabsch(shape, seen)
        centred = seen - seen.mean(axis=1, keepdims=True)
        shape = np.einsum("tji,tmj->tmi", turns, centred).mean(axis=0)
    R[known], t[known] = _kabsch(shape, seen), seen.mean(axis=1)
    return R, t, known


def _kabsch(shape: FloatArray, seen: FloatArray) -> FloatArray:
    """Rotations (time, 3, 3) that carry a shape (marker, 3) onto the markers of every frame."""
    centred = seen - seen.mean(axis=1, keepdims=True)
    H = np.einsum("mi,tmj->tij", shape, centred)
    U, _, Vt = np.linalg.svd(H)
    sign = np.sign(np.linalg.det(np.einsum("tij,tjk->tik", U, Vt)))
    U[:, :, 2] *= sign[:, None]
    return np.asarray(np.einsum("tji,tkj->tik", Vt, U))


def sphere_centre(base_m: FloatArray, distal_m: FloatArray) -> FunctionalCentre | None:
    """Point of a base segment from which distal markers keep their distances.

    Geometric least squares: the radii and the centre that leave the smallest distances between
    markers and their spheres.

    Parameters
    ----------
    base_m : ndarray, shape (time, marker, 3), metres
        Three markers or more of the segment that carries the centre.
    distal_m : ndarray, shape (time, marker, 3), metres
        One or more markers of the segment that turns about it.

    Returns
    -------
    FunctionalCentre or None
        None if fewer than 20 frames show all markers, or the centre is not determined at all.

    References
    ----------
    Gamage and Lasenby (2002), doi:10.1016/S0021-9290(01)00160-9, for the start.
    """
    R, t, known = segment_poses(base_m)
    known = known & np.isfinite(distal_m).all(axis=(1, 2))
    rows = _some(known)
    if len(rows) < _ENOUGH_FRAMES:
        return None
    # (frame, marker, 3) in the base segment
    local = np.einsum("tji,tmj->tmi", R[rows], distal_m[rows] - t[rows, None])
    start = _sphere_start(local)
    if start is None:
        return None
    radii = np.linalg.norm(local - start, axis=-1).mean(axis=0)

    def left(x: FloatArray) -> FloatArray:
        return np.asarray((np.linalg.norm(local - x[:3], axis=-1) - x[3:]).ravel())

    found = least_squares(left, np.concatenate([start, radii]), method="lm")
    n_free = max(1, found.fun.size - found.x.size)
    rms = float(np.sqrt(2 * found.cost / n_free))
    sd = _widest_sd(np.asarray(found.jac), rms)
    spokes = local - found.x[:3]
    spokes = spokes / np.linalg.norm(spokes, axis=-1, keepdims=True)
    # directions of one marker spread over two tangents and, hardly, along their mean
    turn = max(_second_spread(spokes[:, m]) for m in range(spokes.shape[1]))
    return FunctionalCentre(_in_world(R, t, found.x[:3]), sd, rms, turn)


def _sphere_start(local: FloatArray) -> FloatArray | None:
    """Closed form of Gamage and Lasenby: A c = b from moments of the markers."""
    mean = local.mean(axis=0)
    A, b = np.zeros((3, 3)), np.zeros(3)
    for m in range(local.shape[1]):
        v = local[:, m]
        A += 2 * (v.T @ v / len(v) - np.outer(mean[m], mean[m]))
        square = np.sum(v**2, axis=1)
        b += (v * square[:, None]).mean(axis=0) - mean[m] * square.mean()
    if not np.linalg.eigvalsh(A)[0] > _SAME_M:
        return None
    return np.asarray(np.linalg.solve(A, b))


def score_centre(proximal_m: FloatArray, distal_m: FloatArray) -> FunctionalCentre | None:
    """Point that is fixed in two segments (symmetrical centre of rotation estimation).

    Parameters
    ----------
    proximal_m, distal_m : ndarray, shape (time, marker, 3), metres
        Three markers or more of each segment.

    Returns
    -------
    FunctionalCentre or None
        The middle between the centre as each of the segments carries it; ``rms_m`` is how far the
        two lie apart. None if fewer than 20 frames show all markers.

    References
    ----------
    Ehrig, Taylor, Duda and Heller (2006), J. Biomech. 39:2798-2809,
    doi:10.1016/j.jbiomech.2005.10.002, eq. 5: R1 c1 + t1 = R2 c2 + t2.
    """
    R1, t1, known1 = segment_poses(proximal_m)
    R2, t2, known2 = segment_poses(distal_m)
    rows = _some(known1 & known2)
    if len(rows) < _ENOUGH_FRAMES:
        return None
    A = np.concatenate([R1[rows], -R2[rows]], axis=2).reshape(-1, 6)
    b = (t2[rows] - t1[rows]).ravel()
    if not np.linalg.svd(A, compute_uv=False)[-1] > _SAME_M:
        return None
    c, *_ = np.linalg.lstsq(A, b, rcond=None)
    left = A @ c - b
    rms = float(np.sqrt(np.sum(left**2) / max(1, left.size - 6)))
    centre = (_in_world(R1, t1, c[:3]) + _in_world(R2, t2, c[3:])) / 2
    relative = Rotation.from_matrix(np.einsum("tji,tjk->tik", R1[rows], R2[rows]))
    turns = (relative * relative.mean().inv()).as_rotvec()
    return FunctionalCentre(centre, _widest_sd(A, rms), rms, _second_spread(turns))


def _in_world(R: FloatArray, t: FloatArray, local: FloatArray) -> FloatArray:
    return np.asarray(R @ local + t)


def _widest_sd(J: FloatArray, rms: float) -> float:
    """Standard deviation of the solution along its least certain direction.

    Skin slides with the motion, so that frames do not err independently of each other: only one
    in ten counts.
    """
    smallest = float(np.linalg.svd(J, compute_uv=False)[-1])
    return _FRAMES_PER_CHANCE**0.5 * rms / smallest if smallest > 0 else float("inf")


def _second_spread(vectors: FloatArray) -> float:
    """Standard deviation along the second main axis of a cloud (frame, 3)."""
    return float(np.sqrt(max(0.0, np.linalg.eigvalsh(np.cov(vectors.T))[1])))


def _some(known: BoolArray) -> np.ndarray:
    rows = np.flatnonzero(known)
    return np.asarray(rows[:: max(1, len(rows) // _MOST_FRAMES)])


def carried(reference_m: FloatArray, point_m: FloatArray, markers_m: FloatArray) -> FloatArray:
    """A point of one take carried into another by the markers of its segment.

    Parameters
    ----------
    reference_m : ndarray, shape (time, marker, 3), metres
        The segment's markers in the take that has the point (a static trial).
    point_m : ndarray, shape (time, 3), metres
        The point in that take.
    markers_m : ndarray, shape (frame, marker, 3), metres
        The same markers in the other take.

    Returns
    -------
    ndarray, shape (frame, 3), metres
        NaN where a marker is missing, or the point is never known.
    """
    R, t, known = segment_poses(reference_m)
    rows = known & np.isfinite(point_m).all(axis=1)
    if not rows.any():
        return np.full((len(markers_m), 3), np.nan)
    local = np.median(np.einsum("tji,tj->ti", R[rows], point_m[rows] - t[rows]), axis=0)
    shape = np.median(np.einsum("tji,tmj->tmi", R[rows], reference_m[rows] - t[rows, None]), axis=0)
    seen = np.isfinite(markers_m).all(axis=(1, 2))
    out = np.full((len(markers_m), 3), np.nan)
    if seen.any():
        turn = _kabsch(shape - shape.mean(axis=0), markers_m[seen])
        middle = markers_m[seen].mean(axis=1)
        out[seen] = middle + np.einsum("tij,j->ti", turn, local - shape.mean(axis=0))
    return out
