"""What an inverse-kinematics solve returns."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import numpy as np

from fitpipe.arrays import FloatArray


class IkStatus(StrEnum):
    """How the solve of one target ended."""

    REACHED = "reached"
    """Every effector is within the tolerance of its target."""
    CLOSEST = "closest"
    """Out of reach: no small change of the joints brings the effectors closer."""
    STALLED = "stalled"
    """Stopped before either, at the iteration limit or where steps no longer help."""
    AT_LIMIT = "at_limit"
    """As close as the joint limits allow: at least one joint is held by its limit."""
    NO_TARGET = "no_target"
    """All effectors' targets are NaN; the joints stay where they were."""


CODES = tuple(IkStatus)  # in the order of the kernels' numbers


@dataclass(frozen=True, eq=False)
class IkResult:
    """Joint values found for one target, or for many; leading axes are those of the target.

    Attributes
    ----------
    q : ndarray, shape (..., dof)
        Radians or metres, within the limits. A hinge without limits ends within half a turn of its
        start.
    position : ndarray, metres
        Where the effectors are with ``q``; shaped like the target.
    error : float or ndarray
        Distance left, metres: that of the effector farthest from its target. NaN without target.
    iterations : int or ndarray
        Steps, sweeps or rounds taken, those from other starts included; 0 for a closed form.
    status : IkStatus or ndarray of str
        An array compares with text: ``result.status == "reached"``.
    distance : ndarray, shape (..., effector), metres
        Distance left of every effector; NaN where it had no target.
    """

    q: FloatArray
    position: FloatArray
    error: Any
    iterations: Any
    status: Any
    distance: FloatArray

    @property
    def is_reached(self) -> Any:
        """Whether the status is reached: bool or array."""
        return (
            self.status == IkStatus.REACHED
            if isinstance(self.status, str)
            else (np.asarray(self.status) == IkStatus.REACHED.value)
        )
