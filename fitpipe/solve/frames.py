"""Fits every frame by itself: blocks of frames through a solver, in the kernel's order."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from typing import NamedTuple, TypeAlias

import numpy as np

from fitpipe.arrays import BoolArray, ByteArray, FloatArray, IntArray
from fitpipe.config import SolveConfig
from fitpipe.errors import SolveError
from fitpipe.kernels.tree_newton import TreeFit, fit_tree
from fitpipe.kernels.tree_repair import REACH, repaired_start
from fitpipe.kernels.tree_start import fill_directions, last_directions
from fitpipe.records import Finding, FrameStatus, JointStatus, Skeleton
from fitpipe.solve.frames_loop import fit_loop
from fitpipe.solve.problem import Problem
from fitpipe.solve.rigid_pairs import has_rigid_pairs, hold_rigid_pairs

# Frames between two reports of progress; beyond the start of a bone that no frame so far has shown,
# they have no influence on the result. Takes are fitted in stretches of a multiple of both.
BLOCK = 16_384
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


class Repaired(NamedTuple):
    """Directions placed by inverse kinematics where no source saw a joint; by kernel slot."""

    frame: IntArray  # (direction,) counted from the first frame of a block
    slot: IntArray  # (direction,)
    direction: FloatArray  # (direction, 3)


Starts: TypeAlias = dict[int, Repaired]  # by the first frame of a block; others need none


class Carried:
    """The direction every bone had last, carried from one stretch of a take to the next."""

    def __init__(self) -> None:
        self.direction: FloatArray | None = None


def fit_frames(
    problem: Problem,
    settings: SolveConfig,
    *,
    carried: Carried | None = None,
    starts: Starts | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> FrameFits:
    """Minimise J0 under the bones' lengths in every frame (formulation.md sections 2 to 4).

    The default settings run in the compiled tree kernel, all others in the loop of the family.
    Rigid pairs, if there are any, are then held by the graph kernel, which starts from there.

    Parameters
    ----------
    problem : Problem
    settings : SolveConfig
    carried : Carried, optional
        Of the frames before these; moved on to the end of these. Stretches of a take that begin
        at multiples of ``BLOCK`` frames end up with the numbers of the whole.
    starts : Starts, optional
        As `find_starts` finds them; by default those of this problem.
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
    if starts is None:
        starts = find_starts(problem, settings)
    carried = carried or Carried()
    fit_block, size = _solver(settings)
    for begin in range(0, n_time, size):
        block = slice(begin, min(begin + size, n_time))
        target = np.take(problem.target[block], tree.order, axis=1, mode="clip")
        stiffness = np.take(problem.stiffness[block], tree.order, axis=1, mode="clip")
        bones = target, stiffness, tree.length_m, tree.parent
        start = _with_repairs(bones, tree.rest, carried.direction, starts.get(begin))
        fitted = fit_block(*bones, rest=tree.rest, last=carried.direction, start=start)
        carried.direction = last_directions(*bones, last=carried.direction)
        held = np.where(stiffness > 0, JointStatus.OBSERVED, JointStatus.CARRIED)
        np.take(fitted.position, slot, axis=1, out=fits.position[block], mode="clip")
        status = np.where(fitted.active, held, JointStatus.ABSENT)
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


def find_starts(
    problem: Problem,
    settings: SolveConfig,
    *,
    carried: Carried | None = None,
    frames: slice | None = None,
) -> Starts:
    """Where frames start, with joints that no source saw placed between the seen.

    Parameters
    ----------
    problem : Problem
    settings : SolveConfig
    carried : Carried, optional
        As in `fit_frames`, but of this function's own.
    frames : slice, optional
        The frames that are to be fitted; those around them, up to ``REACH``, are looked into.

    Returns
    -------
    Starts
        For `fit_frames` of those frames.
    """
    tree, carried = kernel_tree(problem.skeleton), carried or Carried()
    n_time = len(problem.stiffness)
    first, end = (0, n_time) if frames is None else (frames.start, frames.stop)
    size = _solver(settings)[1]
    starts: Starts = {}
    for begin in range(first, end, size):
        block = slice(begin, min(begin + size, end))
        around = slice(max(0, begin - REACH), block.stop + REACH)
        own = slice(begin - around.start, block.stop - around.start)
        start = None
        if not (problem.stiffness[block] > 0).all():
            start = repaired_start(
                np.take(problem.target[around], tree.order, axis=1, mode="clip"),
                np.take(problem.stiffness[around], tree.order, axis=1, mode="clip"),
                tree.length_m,
                tree.parent,
                rest=tree.rest,
                last=carried.direction,
                low=own.start,
                high=own.stop,
                n_threads=settings.threads,
            )
        target = np.take(problem.target[block], tree.order, axis=1, mode="clip")
        stiffness = np.take(problem.stiffness[block], tree.order, axis=1, mode="clip")
        bones = target, stiffness, tree.length_m, tree.parent
        if start is not None:
            plain = _filled(bones, tree.rest, carried.direction)
            frame, slot = np.nonzero((start != plain).any(axis=-1))
            starts[begin - first] = Repaired(frame, slot, start[frame, slot])
        carried.direction = last_directions(*bones, last=carried.direction)
    return starts


_Bones: TypeAlias = tuple[FloatArray, FloatArray, FloatArray, IntArray]


def _filled(bones: _Bones, rest: FloatArray, last: FloatArray | None) -> FloatArray:
    """Directions (frame, joint, 3) by the targets themselves, or the nearest before that tell."""
    start = np.empty_like(bones[0])
    known = np.full(start.shape[1:], np.nan) if last is None else last
    fill_directions(0, len(start), *bones, rest, known, start)
    return start


def _with_repairs(
    bones: _Bones, rest: FloatArray, last: FloatArray | None, repaired: Repaired | None
) -> FloatArray | None:
    if repaired is None:
        return None
    start = _filled(bones, rest, last)
    start[repaired.frame, repaired.slot] = repaired.direction
    return start


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
    return in_kernel, BLOCK


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
