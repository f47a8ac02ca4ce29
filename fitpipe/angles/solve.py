"""One call for all inverse-kinematics solvers."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

import numpy as np
import numpy.typing as npt

from fitpipe.angles import ccd, dls, fabrik, newton, pinv
from fitpipe.angles.chain import Chain
from fitpipe.angles.problem import Problem, pose_problem
from fitpipe.angles.result import IkResult
from fitpipe.angles.settings import Settings
from fitpipe.arrays import FloatArray
from fitpipe.errors import SolveError, suggest
from fitpipe.kernels.ik_descent import Rules
from fitpipe.kernels.ik_solve import solve_many

ITERATIVE: Mapping[str, Settings] = MappingProxyType(
    {
        "pinv": pinv.SETTINGS,
        "dls": dls.SETTINGS,
        "newton": newton.SETTINGS,
        "ccd": ccd.SETTINGS,
        "fabrik": fabrik.SETTINGS,
    }
)
SOLVERS = (*ITERATIVE, "two_bone")
RESTARTS = 10


def solve_ik(
    chain: Chain,
    target: npt.ArrayLike,
    solver: str = "newton",
    q0: npt.ArrayLike | None = None,
    *,
    weight: npt.ArrayLike | None = None,
    orientation_wxyz: npt.ArrayLike | None = None,
    orientation_weight_m: float | None = None,
    pole_m: npt.ArrayLike | None = None,
    follow: bool = False,
    tolerance_m: float = 1e-6,
    tolerance_rad: float = 1e-6,
    max_iterations: int | None = None,
    max_step_rad: float | None = None,
    restarts: int | None = None,
) -> IkResult:
    """Joint values that bring the effectors of a chain to their targets, or as close as they get.

    Minimises the sum of weight |tip - target|^2 within the joint limits.

    Parameters
    ----------
    chain : Chain
    target : metres, (3,) or (target, 3) for one effector, (effector, 3) or (target, effector, 3) \
for several
        Two coordinates will do for a planar chain. An effector whose target is NaN is left free.
    solver : {"pinv", "dls", "newton", "ccd", "fabrik", "two_bone"}
    q0 : (dof,) or (target, dof), radians or metres, optional
        Where to start; the pose nearest to zero by default. Outside the limits it is moved onto
        them, with a warning if by more than a hair.
    weight : (effector,), optional
        How much each effector's distance counts.
    orientation_wxyz : (4,), (target, 4) or (target, effector, 4), optional
        Wanted orientation of the effectors' joints (world from joint), for pinv, dls and newton.
    orientation_weight_m : float, metres per radian, optional
        How much a turn left counts; a quarter of the chain's reach by default.
    pole_m : (3,) or (target, 3), metres, optional
        The point towards which the middle joint of ``two_bone`` bends; by default the side where
        it is in ``q0``.
    follow : bool
        Targets are a motion: each starts from the answer before it.
    tolerance_m, tolerance_rad : float
        A target is reached within these.
    max_iterations : int, optional
        Of one start; each solver has its own default.
    max_step_rad : float, optional
        Largest change of a joint in one step of pinv, dls or newton.
    restarts : int, optional
        Other starts to try, always the same ones, for a target that was not reached although the
        bones are long enough: 10, or none with ``follow``.

    Returns
    -------
    IkResult

    Raises
    ------
    SolveError
        No such solver, shapes that do not fit the chain, an option the solver does not have, or a
        chain that is not two bones for ``two_bone``.
    """
    if solver not in SOLVERS:
        raise SolveError(f"solver is {solver!r}", hint=suggest(str(solver), SOLVERS))
    if pole_m is not None and solver != "two_bone":
        raise SolveError(f"solver {solver!r} knows no pole", hint="pole_m is for two_bone")
    if not (tolerance_m >= 0 and tolerance_rad >= 0):
        raise SolveError(
            f"tolerance_m is {tolerance_m}, tolerance_rad {tolerance_rad}, expected >= 0"
        )
    turn_weight = chain.reach_m / 4 if orientation_weight_m is None else orientation_weight_m
    problem = pose_problem(chain, target, q0, weight, orientation_wxyz, turn_weight)
    turns = solver in ITERATIVE and ITERATIVE[solver].turns
    if orientation_wxyz is not None and not turns:
        raise SolveError(
            f"solver {solver!r} cannot follow an orientation", hint="try: pinv, dls or newton"
        )
    if solver == "two_bone":
        from fitpipe.angles.two_bone_chain import solve_two_bone  # slow to import: scipy

        return solve_two_bone(problem, pole_m, tolerance_m, follow=follow)
    settings = ITERATIVE[solver]
    rules = Rules(
        tolerance=float(tolerance_m),
        turn_tolerance=float(tolerance_rad),
        max_iterations=_count("max_iterations", max_iterations, settings.max_iterations),
        max_step=float(settings.max_step_rad if max_step_rad is None else max_step_rad),
        damping=settings.damping,
    )
    others = other_starts(chain, _count("restarts", restarts, 0 if follow else RESTARTS))
    return _iterate(problem, settings.code, rules, others, follow)


def _count(name: str, given: int | None, default: int) -> int:
    count = default if given is None else int(given)
    if count < 0:
        raise SolveError(f"{name} is {count}, expected >= 0")
    return count


def _iterate(
    problem: Problem, code: int, rules: Rules, others: FloatArray, follow: bool
) -> IkResult:
    chain, n = problem.chain, problem.n_targets
    q = np.empty((n, chain.dof))
    tip = np.empty((n, len(chain.effectors), 3))
    found = np.zeros((n, 2), dtype=np.int64)
    if n:
        solve_many(
            *chain.parts[:2],
            code,
            rules,
            problem.goals,
            problem.start,
            follow,
            others,
            q,
            tip,
            found,
        )
    return problem.result(q, tip, found)


def other_starts(chain: Chain, n: int) -> FloatArray:
    """The same ``n`` random poses (n, dof) every time, spread over the limits.

    Hinges without limits take any angle, slides without limits the chain's reach to both sides.
    """
    span = np.where(chain.parts.links.slides, chain.reach_m, np.pi)
    low = np.where(np.isfinite(chain.lower), chain.lower, np.minimum(-span, chain.upper - 2 * span))
    high = np.where(np.isfinite(chain.upper), chain.upper, np.maximum(span, low + 2 * span))
    return np.random.default_rng(0).uniform(low, high, (n, chain.dof))
