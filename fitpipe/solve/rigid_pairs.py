"""Holds rigid pairs besides the bones: the graph kernel, from where the tree kernel ended."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fitpipe.arrays import FloatArray
from fitpipe.config import SolveConfig
from fitpipe.errors import SolveError
from fitpipe.kernels.graph_newton import fit_graph
from fitpipe.records import JointStatus, Skeleton
from fitpipe.solve.problem import Problem

if TYPE_CHECKING:
    from fitpipe.solve.frames import FrameFits


def has_rigid_pairs(skeleton: Skeleton) -> bool:
    """Whether the skeleton has a rigid pair of known length."""
    return bool(np.isfinite(_lengths(skeleton)[skeleton.n_bones :]).any())


def refuse_rigid_pairs(skeleton: Skeleton) -> None:
    """For fits over time, which know trees of bones only.

    Raises
    ------
    SolveError
        The skeleton has a rigid pair of known length.
    """
    if has_rigid_pairs(skeleton):
        pairs = ", ".join(skeleton.bone_names[skeleton.n_bones :])
        raise SolveError(
            f"fits over time hold bones only, and {skeleton.name!r} has rigid pairs: {pairs}",
            hint="take the skeleton without rigid pairs, or solve.temporal = 'none'",
        )


def hold_rigid_pairs(
    fits: FrameFits, frames: slice, problem: Problem, settings: SolveConfig
) -> None:
    """Fit frames again under all lengths and write them into ``fits``, which holds the bones' fit.

    Where the lengths agree, bones and pairs are exact at the optimum; where they contradict each
    other the frame's status is COMPROMISE. ``objective_start`` stays that of the bones alone.
    """
    skeleton = problem.skeleton
    fitted = fit_graph(
        problem.target[frames],
        problem.stiffness[frames],
        np.array(skeleton.links),
        _lengths(skeleton),
        start_position=fits.position[frames],
        start_multiplier=fits.multiplier[frames],
        tolerance_m=settings.stop_step_m,
        max_iterations=settings.max_iterations,
        n_threads=settings.threads,
    )
    seen = np.where(problem.stiffness[frames] > 0, JointStatus.OBSERVED, JointStatus.CARRIED)
    fits.position[frames] = fitted.position
    fits.status[frames] = np.where(fitted.active, seen, JointStatus.ABSENT)
    fits.frame_status[frames] = fitted.outcome
    fits.objective[frames] = fitted.objective + problem.constant[frames]
    fits.iterations[frames] += fitted.iterations
    fits.multiplier[frames] = fitted.multiplier


def _lengths(skeleton: Skeleton) -> FloatArray:
    """Lengths of all links; NaN where none are known."""
    if skeleton.bone_length_m is None:
        return np.full(skeleton.n_links, np.nan)
    return skeleton.bone_length_m
