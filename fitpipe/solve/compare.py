"""The solvers against each other on the same problems."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product

import numpy as np

from fitpipe.arrays import FloatArray, IntArray
from fitpipe.config import SolveConfig
from fitpipe.records import FrameStatus
from fitpipe.solve.frames import fit_frames
from fitpipe.solve.problem import Problem
from fitpipe.solve.residuals import worst_bone_error

SOURCE_STOP_STEP_M = 1e-4  # 0.1 mm
_CONVERGED = [status for status in FrameStatus if status.is_converged]


@dataclass(frozen=True)
class Score:
    """How one solver did, over all frames with data of all problems."""

    settings: SolveConfig
    frames: int
    converged: float
    """Share of frames that ended at an optimum."""
    iterations: float
    """Mean over the frames."""
    worst_bone_m: float
    """Largest bone error of any frame."""
    median_bone_m: float
    """Median over the frames of their largest bone error."""
    objective_m2: float
    """Mean J0."""
    objective_ratio: float
    """Mean J0 over that of the default solver; below 1 where bones give way."""
    error_m: float
    """Mean distance of the joints to the true ones; NaN where the truth is not known."""
    frames_per_s: float


def solver_settings() -> tuple[SolveConfig, ...]:
    """The default first, then every formulation, curvature and search.

    The reversing searches stop at the source's 0.1 mm, the others at the default step; all use one
    core.
    """
    plain = SolveConfig(threads=1)
    choices = product(
        ("per_bone", "aggregate", "per_axis"),
        ("exact", "none"),
        (False, True),
        ("halving", "golden"),
    )
    family = (
        SolveConfig(
            formulation=formulation,
            curvature=curvature,
            reverse=reverse,
            line_search=line_search,
            stop_step_m=SOURCE_STOP_STEP_M if reverse else plain.stop_step_m,
            threads=1,
        )
        for formulation, curvature, reverse, line_search in choices
    )
    return (plain, *(settings for settings in family if settings != plain))


def compare_solvers(
    problems: Sequence[Problem],
    truths: Sequence[FloatArray | None],
    solvers: Sequence[SolveConfig],
    *,
    progress: Callable[[int, int], None] | None = None,
) -> Iterator[Score]:
    """Fit all problems with every solver; the first solver is the one others are measured by.

    Parameters
    ----------
    problems : sequence of Problem
    truths : sequence of ndarray of shape (time, joint, 3), metres, or None
        One per problem.
    solvers : sequence of SolveConfig
    progress : callable, optional
        Called with (solvers done, solvers in all).

    Yields
    ------
    Score
        One per solver, as each is done.
    """
    first: Score | None = None
    if problems:
        fit_frames(problems[0], solvers[0])  # loads what the compiled solver needs for these frames
    for done, settings in enumerate(solvers, start=1):
        score = _score(problems, truths, settings)
        first = first or score
        yield replace(score, objective_ratio=score.objective_m2 / first.objective_m2)
        if progress is not None:
            progress(done, len(solvers))


def thinned(problem: Problem, rows: IntArray) -> Problem:
    """The problem with these frames only."""
    return replace(
        problem,
        target=problem.target[rows],
        stiffness=problem.stiffness[rows],
        constant=problem.constant[rows],
    )


def _score(
    problems: Sequence[Problem], truths: Sequence[FloatArray | None], settings: SolveConfig
) -> Score:
    seconds = 0.0
    iterations, status, bone, value, error = [], [], [], [], []
    for problem, truth in zip(problems, truths, strict=True):
        begin = time.perf_counter()
        fits = fit_frames(problem, settings)
        seconds += time.perf_counter() - begin
        is_fitted = fits.frame_status != FrameStatus.NO_DATA
        skeleton = problem.skeleton
        unknown = np.full(skeleton.n_links, np.nan)
        length = unknown if skeleton.bone_length_m is None else skeleton.bone_length_m
        worst = worst_bone_error(fits.position, skeleton.links, length)
        iterations.append(fits.iterations[is_fitted])
        status.append(fits.frame_status[is_fitted])
        bone.append(worst[is_fitted])
        value.append(fits.objective[is_fitted])
        if truth is not None:
            distance = np.linalg.norm(fits.position - truth, axis=-1)
            error.append(distance[~np.isnan(distance)])
    bones = np.concatenate(bone)
    return Score(
        settings=settings,
        frames=len(bones),
        converged=float(np.isin(np.concatenate(status), _CONVERGED).mean()),
        iterations=float(np.concatenate(iterations).mean()),
        worst_bone_m=float(bones.max()),
        median_bone_m=float(np.median(bones)),
        objective_m2=float(np.concatenate(value).mean()),
        objective_ratio=1.0,
        error_m=float(np.concatenate(error).mean()) if error else float("nan"),
        frames_per_s=len(bones) / seconds,
    )
