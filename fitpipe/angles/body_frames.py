"""Frames that several lines between joints fix together (Kabsch)."""

from __future__ import annotations

import numpy as np

from fitpipe.arrays import BoolArray, FloatArray
from fitpipe.kernels.segment_turns import carry_bodies

# second singular value over the first below which the lines lie too near to one: that of two of
# equal length ten degrees apart
_FLAT = np.tan(np.radians(5)) ** 2


def body_frames(
    line_m: FloatArray, rest_m: FloatArray, guess: FloatArray
) -> tuple[FloatArray, BoolArray, BoolArray]:
    """Rotations that lay the zero pose of a body's lines onto them, best in least squares.

    Parameters
    ----------
    line_m : ndarray, shape (time, line, 3), metres
        The body's lines in the world; NaN where absent.
    rest_m : ndarray, shape (line, 3), metres
        The same in the zero pose; NaN where unknown.
    guess : ndarray, shape (time, 3, 3)
        What the body is like if its lines never fix it.

    Returns
    -------
    R_world_body : ndarray, shape (time, 3, 3)
        NaN where no line is there.
    is_fixed : ndarray of bool, shape (time,)
        Where the lines fix it; elsewhere it is carried over from the frames around.
    is_told : ndarray of bool, shape (time,)
        Where there is any such frame to carry it from.

    References
    ----------
    Kabsch (1976), doi:10.1107/S0567739476001873.
    """
    seen = np.nan_to_num(line_m)
    H = np.einsum("tbi,bj->tij", seen, np.nan_to_num(rest_m))
    U, sigma, Vt = np.linalg.svd(H)
    there = sigma[:, 0] > 0
    fixed = there & (sigma[:, 1] > _FLAT * sigma[:, 0])
    # third vectors that make both triads right-handed: a rotation, not a mirror image
    U[..., 2] = np.cross(U[..., 0], U[..., 1])
    Vt[:, 2] = np.cross(Vt[:, 0], Vt[:, 1])
    R = np.where(fixed[:, None, None], U @ Vt, guess)
    carry_bodies(there, fixed, np.ascontiguousarray(Vt[:, 0]), np.ascontiguousarray(U[..., 0]), R)
    R[~there] = np.nan
    return R, fixed, there & fixed.any()
