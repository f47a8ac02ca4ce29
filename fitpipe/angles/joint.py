"""What a chain is made of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

Kind = Literal["revolute", "ball", "prismatic", "fixed"]

BASE = "base"
DOF = {"revolute": 1, "ball": 3, "prismatic": 1, "fixed": 0}


@dataclass(frozen=True)
class Joint:
    """One joint of a chain, described in the pose where all joint values are zero.

    Frames are parallel to the base in that pose, so an axis or an offset reads the same in all
    of them. A ball joint is three hinges in one place, about x, then the turned y, then the turned
    z (R = Rx Ry Rz): joint values stay plain numbers with limits of their own, and a column of the
    Jacobian belongs to each. The price is gimbal lock at a middle angle of a quarter turn.

    Parameters
    ----------
    name : str, optional
        ``joint1``, ``joint2``, ... where not given.
    parent : str, optional
        The joint that carries this one, or ``"base"``; by default the one before it in the list.
    kind : {"revolute", "ball", "prismatic", "fixed"}
    axis : (3,)
        Of a revolute or prismatic joint; made a unit vector.
    offset_m : (3,), metres
        From the parent's centre to this joint's.
    lower, upper : float or (3,), radians or metres, optional
        Limits; none by default.
    """

    name: str = ""
    parent: str | None = None
    kind: Kind = "revolute"
    axis: Sequence[float] = (0.0, 0.0, 1.0)
    offset_m: Sequence[float] = (0.0, 0.0, 0.0)
    lower: float | Sequence[float] | None = None
    upper: float | Sequence[float] | None = None


@dataclass(frozen=True)
class Effector:
    """A point, fixed to a joint, that is to reach a target.

    Parameters
    ----------
    joint : str
    offset_m : (3,), metres
        From the joint's centre, in the pose where all joint values are zero.
    name : str, optional
        The joint's name where not given.
    """

    joint: str
    offset_m: Sequence[float] = (0.0, 0.0, 0.0)
    name: str = ""
