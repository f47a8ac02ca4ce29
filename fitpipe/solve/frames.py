"""Fits every frame by itself: blocks of frames through a solver, in the kernel's order."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np

from fitpipe.arrays import BoolArray, ByteArray, FloatArray, IntArray
from fitpipe.config import SolveConfig
from fitpipe.errors import SolveError
from fitpipe.kernels.tree_newton import TreeFit, fit_tree
from fitpipe.kernels.tree_repair import REACH, repaired_start
from fitpipe.kernels.tree_start import last_directions
from fitpipe.records import Finding, FrameStatus, JointStatus, Skeleton
from fitpipe.solve.frames_loop import fit_loop
from fitpipe.solve.problem import Problem
from fitpipe.solve.rigid_pairs import has_rigid_pairs, hold_rigid_pairs

# Frames between two reports of progress; has no influence on the result.
_BLOCK = 16_384
_LOOP_BLOCK = 1_024


class FrameFits(NamedTuple):
    """Arrays of a Fit that the solver makes; see Fit for shapes and units."""

    position: FloatArray
    status: ByteArray
    frame_status: ByteArray
    objective: FloatArray
    objective_start: FloatArray
    iterations: IntArray
    multiplier: FloatArray


class TakeFits(NamedTuple):
    """A fit of all frames: the solver's arrays, the weights it ended with, what it noticed."""

    frames: FrameFits
    weight: FloatArray  # (time, source, joint)
    findings: tuple[Finding, ...]


class KernelTree(NamedTuple):
    """A skeleton as the kernel wants it: parents first, bones of unknown length cut."""

    order: IntArray  # (joint,) skeleton joint at each kernel slot
    parent: IntArray  # (joint,) slot of the parent, -1 for a root
    length_m: FloatArray  # (joint,) of the bone to the parent
    rest: FloatArray  # (joint, 3)
    child: IntArray  # (bone,) slot of each bone's child joint


def fit_frames(
    problem: Problem, settings: SolveConfig, *, progress: Callable[[int, int], None] | None = None
) -> FrameFits:
    """Minimise J0 under the bones' lengths in every frame (formulation.md sections 2 to 4).

    The default settings run in the compiled tree kernel, all others in the loop of the family.
    Rigid pairs, if there are any, are then held by the graph kernel, which starts from there.

    Parameters
    ----------
    problem : Problem
    settings : SolveConfig
    progress : callable, optional
        Called with (frames done, frames in all) after every block.

    Raises
    ------
    SolveError
        The skeleton has rigid pairs and the settings choose a solver that cannot hold them.
    """
    tree = kernel_tree(problem.skeleton)
    n_time, n_joints = problem.stiffness.shape
    fits = FrameFits(
        position=np.empty((n_time, n_joints, 3)),
        status=np.empty((n_time, n_joints), np.uint8),
        frame_status=np.empty(n_time, np.uint8),
        objective=np.empty(n_time),
        objective_start=np.empty(n_time),
        iterations=np.empty(n_time, np.int64),
        multiplier=np.full((n_time, problem.skeleton.n_links), np.nan),
    )
    rigid_pairs = has_rigid_pairs(problem.skeleton)
    if rigid_pairs and (other := _other_solver(settings)):
        raise SolveError(
            f"skeleton {problem.skeleton.name!r} has rigid pairs, which {', '.join(other)} of "
            "[solve] cannot hold: that solver knows bones only",
            hint="leave these settings out, or use a skeleton without rigid_pairs",
        )
    slot = np.argsort(tree.order)
    last = None
    fit_block, size = _solver(settings)
    for begin in range(0, n_time, size):
        block = slice(begin, min(begin + size, n_time))
        target = np.take(problem.target[block], tree.order, axis=1)
        stiffness = np.take(problem.stiffness[block], tree.order, axis=1)
        start = _start(problem, block, tree, last, settings)
        fitted = fit_block(
            target, stiffness, tree.length_m, tree.parent, rest=tree.rest, last=last, start=start
        )
        last = last_directions(target, stiffness, tree.length_m, tree.parent, last=last)
        carried = np.where(stiffness > 0, JointStatus.OBSERVED, JointStatus.CARRIED)
        np.take(fitted.position, slot, axis=1, out=fits.position[block])
        status = np.where(fitted.active, carried, JointStatus.ABSENT)
        fits.status[block] = np.take(status, slot, axis=1)
        fits.frame_status[block] = fitted.outcome
        fits.objective[block] = fitted.objective + problem.constant[block]
        fits.objective_start[block] = fitted.objective_start + problem.constant[block]
        fits.iterations[block] = fitted.iterations
        fits.multiplier[block, : len(tree.child)] = fitted.multiplier[:, tree.child]
        if rigid_pairs:
            hold_rigid_pairs(fits, block, problem, settings)
        if progress is not None:
            progress(block.stop, n_time)
    return fits


def _start(
    problem: Problem,
    block: slice,
    tree: KernelTree,
    last: FloatArray | None,
    settings: SolveConfig,
) -> FloatArray | None:
    """Where the frames of a block start, with joints that no source saw placed between the seen."""
    if (problem.stiffness[block] > 0).all():
        return None
    around = slice(max(0, block.start - REACH), block.stop + REACH)
    return repaired_start(
        np.ascontiguousarray(problem.target[around][:, tree.order]),
        np.ascontiguousarray(problem.stiffness[around][:, tree.order]),
        tree.length_m,
        tree.parent,
        rest=tree.rest,
        last=last,
        low=block.start - around.start,
        high=block.stop - around.start,
        n_threads=settings.threads,
    )


def _solver(settings: SolveConfig) -> tuple[Callable[..., TreeFit], int]:
    """What fits a block of frames, and how many at a time."""
    if _other_solver(settings):
        return partial(fit_loop, settings=settings), _LOOP_BLOCK
    in_kernel = partial(
        fit_tree,
        tolerance_m=settings.stop_step_m,
        max_iterations=settings.max_iterations,
        n_threads=settings.threads or (os.cpu_count() or 1),
    )
    return in_kernel, _BLOCK


def _other_solver(settings: SolveConfig) -> list[str]:
    """Settings that the compiled kernels do not know, as text: ``formulation = 'aggregate'``."""
    plain = SolveConfig()
    return [
        f"{key} = {getattr(settings, key)!r}"
        for key in ("formulation", "curvature", "line_search", "reverse")
        if getattr(settings, key) != getattr(plain, key)
    ]


def kernel_tree(skeleton: Skeleton) -> KernelTree:
    """The skeleton with parents before children, and with bones of NaN length cut."""
    order = skeleton.topological_order
    slot = np.empty_like(order)
    slot[order] = np.arange(len(order))
    length = np.full(skeleton.n_joints, np.nan)
    children = np.array([child for _, child in skeleton.bones], dtype=np.int64)
    if skeleton.bone_length_m is not None:
        length[children] = skeleton.bone_length_m[: skeleton.n_bones]
    parents = np.array(skeleton.parents)
    parent = np.where(np.isnan(length) | (parents < 0), -1, slot[parents])[order]
    rest = np.ascontiguousarray(skeleton.rest_direction[order])
    return KernelTree(order, parent, np.nan_to_num(length[order]), rest, slot[children])


def refitted(
    fits: FrameFits,
    problem: Problem,
    position_m: FloatArray,
    is_refitted: BoolArray,
    is_converged: BoolArray,
) -> FrameFits:
    """The fits with other positions in some frames, found under constraints besides the bones.

    Their objective is that of the new positions; multipliers there are none.

    Parameters
    ----------
    fits : FrameFits
    problem : Problem
        That of the objective.
    position_m : ndarray, shape (time, joint, 3), metres
    is_refitted, is_converged : ndarray of bool, shape (time,)
        Which frames, and whether they came to rest.
    """
    apart = np.nan_to_num(position_m - problem.target)
    J0 = 0.5 * np.einsum("tj,tjc,tjc->t", problem.stiffness, apart, apart) + problem.constant
    status = np.where(is_converged, FrameStatus.STATIONARY, FrameStatus.STALLED)
    return fits._replace(
        position=position_m,
        objective=np.where(is_refitted, J0, fits.objective),
        frame_status=np.where(is_refitted, status, fits.frame_status).astype(np.uint8),
        multiplier=np.where(is_refitted[:, None], np.nan, fits.multiplier),
    )
