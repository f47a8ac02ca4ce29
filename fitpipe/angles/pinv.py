"""Pseudo-inverse of the Jacobian: the smallest joint step that makes the wanted small move."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from fitpipe.angles.settings import Settings
from fitpipe.arrays import FloatArray
from fitpipe.kernels import ik_descent, ik_steps

SETTINGS = Settings(ik_descent.PINV, max_iterations=500, damping=0.01, max_step_rad=0.5, turns=True)


def pinv_step(
    J: npt.ArrayLike, error: npt.ArrayLike, *, max_step_rad: float = 0.5, floor: float = 0.0
) -> FloatArray:
    """One step of the pseudo-inverse, J+ e, its largest entry cut to ``max_step_rad``.

    Parameters
    ----------
    J : (rows, dof)
    error : (rows,)
        Way left to the target.
    max_step_rad : float
    floor : float
        Singular values below it count as it; 0 gives the plain pseudo-inverse. `solve_ik` uses the
        square root of a share of |error| x reach, which vanishes at the target.

    Returns
    -------
    ndarray, shape (dof,)
    """
    W = np.array(J, dtype=float, order="C", ndmin=2)
    U, sigma, step = np.empty((len(W), len(W))), np.empty(len(W)), np.empty(W.shape[1])
    ik_steps.split_rows(W, U, sigma)
    ik_steps.step_from_rows(W, U, sigma, np.array(error, dtype=float), 0.0, float(floor) ** 2, step)
    ik_descent.shorten(step, float(max_step_rad))
    return step
