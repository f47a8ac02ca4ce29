"""Frames that several bones fix together (weighted Kabsch)."""

from __future__ import annotations

import numpy as np

from fitpipe.arrays import BoolArray, FloatArray
from fitpipe.kernels.segment_turns import carry_bodies

# second singular value over the first below which the bones lie too near to one line: that of two
# equal bones ten degrees apart
_FLAT = np.tan(np.radians(5)) ** 2


def body_frames(
    direction: FloatArray, rest: FloatArray, length_m: FloatArray, guess: FloatArray
) -> tuple[FloatArray, BoolArray, BoolArray]:
    """Rotations that lay the zero pose of a body's bones onto them, best in least squares.

    Parameters
    ----------
    direction : ndarray, shape (time, bone, 3)
        Unit vectors of the body's bones in the world; NaN where absent.
    rest : ndarray, shape (bone, 3)
        The same in the zero pose.
    length_m : ndarray, shape (bone,), metres
    guess : ndarray, shape (time, 3, 3)
        What the body is like if its bones never fix it.

    Returns
    -------
    R_world_body : ndarray, shape (time, 3, 3)
        NaN where no bone is there.
    is_fixed : ndarray of bool, shape (time,)
        Where the bones fix it; elsewhere it is carried over from the frames around.
    is_told : ndarray of bool, shape (time,)
        Where there is any such frame to carry it from.

    References
    ----------
    Kabsch (1976), doi:10.1107/S0567739476001873.
    """
    weight = np.where(np.isnan(length_m), 0.0, length_m) ** 2
    seen = np.nan_to_num(direction)
    H = np.einsum("b,tbi,bj->tij", weight, seen, rest)
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
