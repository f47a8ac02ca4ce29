"""What the user asks of a chain, checked and in the kernels' shapes."""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from fitpipe.angles.chain import Chain
from fitpipe.angles.result import CODES, IkResult
from fitpipe.arrays import FloatArray, IntArray
from fitpipe.errors import SolveError
from fitpipe.kernels.ik_links import Goal

HAIR = 1e-3  # a start this little outside a limit is rounding, not a mistake


class IkWarning(UserWarning):
    """A start outside the joint limits was moved onto them."""


@dataclass(frozen=True)
class Problem:
    """Targets (target, effector, 3), starts (target, dof), and how to give the answer back."""

    chain: Chain
    goals: Goal
    start: FloatArray
    shape: tuple[int, ...]
    n_coordinates: int

    @property
    def n_targets(self) -> int:
        """Number of targets."""
        return len(self.start)

    def result(self, q: FloatArray, tip: FloatArray, found: IntArray) -> IkResult:
        """The answer in the shape of the question."""
        seen = self.goals.weight > 0
        left = np.linalg.norm(self.goals.position - tip, axis=-1)
        distance = np.where(seen, left, np.nan)
        error = np.where(seen.any(axis=1), np.max(np.where(seen, left, 0.0), axis=1), np.nan)
        position = tip[..., : self.n_coordinates].reshape(self.shape)
        if self.is_single:
            return IkResult(
                q[0], position, float(error[0]), int(found[0, 0]), CODES[found[0, 1]], distance[0]
            )
        status = np.array([code.value for code in CODES])[found[:, 1]]
        return IkResult(q, position, error, found[:, 0].copy(), status, distance)

    @property
    def is_single(self) -> bool:
        """Whether one target was given, not an array of them."""
        return len(self.shape) == (1 if len(self.chain.effectors) == 1 else 2)


def pose_problem(
    chain: Chain,
    target: npt.ArrayLike,
    q0: npt.ArrayLike | None,
    weight: npt.ArrayLike | None,
    orientation_wxyz: npt.ArrayLike | None,
    orientation_weight_m: float,
) -> Problem:
    """Check everything the user gave to `solve_ik`; see there."""
    points, n_coordinates = _points(chain, target)
    shape = np.shape(target)
    n, n_tips = points.shape[:2]
    seen = np.all(np.isfinite(points), axis=-1)
    share = np.ones(n_tips) if weight is None else np.asarray(weight, dtype=float)
    if share.shape != (n_tips,) or not np.all(np.isfinite(share) & (share >= 0)):
        raise SolveError(f"weight is {weight!r}, expected {n_tips} numbers >= 0, one per effector")
    R, turn_weight = np.zeros((n, n_tips, 3, 3)), np.zeros((n, n_tips))
    if orientation_wxyz is not None:
        R = _rotations(orientation_wxyz, n, n_tips)
        if not 0 < orientation_weight_m < np.inf:
            raise SolveError(f"orientation_weight_m is {orientation_weight_m}, expected > 0")
        turn_weight = orientation_weight_m * seen * np.sqrt(share)
    goals = Goal(np.where(seen[..., None], points, 0.0), seen * np.sqrt(share), R, turn_weight)
    start = chain.neutral if q0 is None else chain.check_q(q0, "q0")
    if start.ndim > 2 or (start.ndim == 2 and len(start) not in (1, n)):
        raise SolveError(
            f"q0 has shape {start.shape}, expected ({chain.dof},) or ({n}, {chain.dof})"
        )
    _warn_outside(chain, start)
    start = np.ascontiguousarray(np.broadcast_to(start, (n, chain.dof))).copy()
    return Problem(chain, goals, start, shape, n_coordinates)


def _points(chain: Chain, target: npt.ArrayLike) -> tuple[FloatArray, int]:
    """Targets as (target, effector, 3)."""
    array = np.asarray(target, dtype=float)
    n_tips = len(chain.effectors)
    sizes = (2, 3) if chain.is_planar else (3,)
    lead = array.shape[:-1]
    # (), (target,) or (target, 1) for one effector; (effector,) or (target, effector) for more
    fits = len(lead) <= 2 and (len(lead) < 2 or lead[1] == n_tips)
    if n_tips > 1:
        fits = fits and len(lead) > 0 and lead[-1] == n_tips
    if array.ndim == 0 or array.shape[-1] not in sizes or not fits:
        axes = " or ".join(map(str, sizes))
        many = f"({n_tips}, {axes})" if n_tips > 1 else f"({axes},)"
        raise SolveError(
            f"target has shape {array.shape}, expected {many} or any number of those",
            hint=f"the effectors are: {', '.join(e.name or e.joint for e in chain.effectors)}",
        )
    if np.isinf(array).any():
        raise SolveError("target has infinite values", hint="use NaN where there is no target")
    size = array.shape[-1]
    points = np.zeros((*array.reshape(-1, n_tips, size).shape[:2], 3))
    points[..., :size] = array.reshape(-1, n_tips, size)
    return points, size


def _rotations(wxyz: npt.ArrayLike, n: int, n_tips: int) -> FloatArray:
    from scipy.spatial.transform import Rotation  # slow to import, and few need it

    array = np.asarray(wxyz, dtype=float)
    try:
        array = np.broadcast_to(
            array if n_tips > 1 or array.ndim != 2 else array[:, None], (n, n_tips, 4)
        )
    except ValueError as error:
        raise SolveError(
            f"orientation_wxyz has shape {array.shape}, expected one quaternion per target "
            f"({n} targets, {n_tips} effectors)"
        ) from error
    norm = np.linalg.norm(array, axis=-1)
    if not np.all(np.abs(norm - 1) < 1e-3):
        raise SolveError("orientation_wxyz holds quaternions that are not of length one")
    turns = Rotation.from_quat(array.reshape(-1, 4), scalar_first=True)
    return turns.as_matrix().reshape(n, n_tips, 3, 3)


def _warn_outside(chain: Chain, start: FloatArray) -> None:
    below, above = start < chain.lower - HAIR, start > chain.upper + HAIR
    bad = np.flatnonzero((below | above).reshape(-1, chain.dof).any(axis=0))
    if bad.size:
        rows = np.atleast_2d(start)
        worst = [
            rows[
                np.argmax(np.abs(rows[:, j] - np.clip(rows[:, j], chain.lower[j], chain.upper[j]))),
                j,
            ]
            for j in bad
        ]
        told = ", ".join(
            f"{chain.dof_names[j]} = {value:g} not in [{chain.lower[j]:g}, {chain.upper[j]:g}]"
            for j, value in zip(bad, worst, strict=True)
        )
        warnings.warn(
            f"q0 is outside the joint limits and was moved onto them: {told}",
            IkWarning,
            stacklevel=4,
        )
