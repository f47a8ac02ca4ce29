"""Damped least squares: the pseudo-inverse with large steps made costly."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from fitpipe.angles.settings import Settings
from fitpipe.arrays import FloatArray
from fitpipe.kernels import ik_descent, ik_steps

SETTINGS = Settings(ik_descent.DLS, max_iterations=300, damping=0.01, max_step_rad=1.0, turns=True)


def dls_step(J: npt.ArrayLike, error: npt.ArrayLike, *, damping: float) -> FloatArray:
    """One step of damped least squares, J' (J J' + damping^2 I)^-1 e.

    Never longer than |e| / (2 damping), however singular the pose. `solve_ik` takes damping^2 as a
    share of |error| x reach, more where a singular value is small.

    Parameters
    ----------
    J : (rows, dof)
    error : (rows,)
        Way left to the target.
    damping : float
        In the units of J's singular values.

    Returns
    -------
    ndarray, shape (dof,)

    References
    ----------
    Nakamura, Hanafusa (1986), doi:10.1115/1.3143764; Wampler (1986), doi:10.1109/TSMC.1986.289285.
    """
    W = np.array(J, dtype=float, order="C", ndmin=2)
    U, sigma, step = np.empty((len(W), len(W))), np.empty(len(W)), np.empty(W.shape[1])
    ik_steps.split_rows(W, U, sigma)
    ik_steps.step_from_rows(
        W, U, sigma, np.array(error, dtype=float), float(damping) ** 2, 0.0, step
    )
    return step
