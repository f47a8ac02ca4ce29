"""The solver family behind the face of the tree kernel: prune, place the start, run the loop."""

from __future__ import annotations

import numpy as np

from fitpipe.arrays import BoolArray, FloatArray, IntArray
from fitpipe.config import SolveConfig
from fitpipe.kernels.tree_frames import mark_active
from fitpipe.kernels.tree_newton import TreeFit
from fitpipe.kernels.tree_start import fill_directions
from fitpipe.records import FrameStatus
from fitpipe.solve.formulations import FORMULATIONS
from fitpipe.solve.geometry import Frames, objective, violation
from fitpipe.solve.line_search import SHRINK, Backtracking, LineSearch, Reversing
from fitpipe.solve.loop import minimise
from fitpipe.solve.merge import carried_force, merge_joints

CHUNK = 512  # frames in the loop together: keeps its matrices in the cache
APART_SHARE = 1e-10  # of a bone: a target nearer to its joint gives no direction
ROUNDING = 16 * np.finfo(np.float64).eps


def fit_loop(
    target: FloatArray,
    stiffness: FloatArray,
    length: FloatArray,
    parent: IntArray,
    *,
    rest: FloatArray,
    last: FloatArray | None = None,
    start: FloatArray | None = None,
    settings: SolveConfig,
) -> TreeFit:
    """Fit every frame with the formulation, curvature and line search of the settings.

    Parameters and result are those of `fitpipe.kernels.tree_newton.fit_tree`, and so is the start,
    but that bones of length zero are joined before. There are no restarts.
    """
    is_point = (parent >= 0) & (length == 0)
    if is_point.any():
        return _fit_merged(
            target, stiffness, length, parent, rest=rest, last=last, start=start, settings=settings
        )
    n_frames, n_joints = stiffness.shape
    direction = np.empty((n_frames, n_joints, 3)) if start is None else start
    if start is None:
        known = np.full((n_joints, 3), np.nan) if last is None else last
        fill_directions(0, n_frames, target, stiffness, length, parent, rest, known, direction)
    fitted = TreeFit(
        position=np.full((n_frames, n_joints, 3), np.nan),
        active=active_joints(stiffness, parent),
        objective=np.full(n_frames, np.nan),
        objective_start=np.full(n_frames, np.nan),
        iterations=np.zeros(n_frames, np.int64),
        outcome=np.full(n_frames, FrameStatus.NO_DATA, np.int64),
        multiplier=np.full((n_frames, n_joints), np.nan),
        worst_bone_error=np.full(n_frames, np.nan),
    )
    seen = np.flatnonzero(fitted.active.any(axis=1))
    for begin in range(0, len(seen), CHUNK):
        rows = seen[begin : begin + CHUNK]
        _fit_rows(rows, target, stiffness, direction, length, parent, settings, fitted)
    return fitted


def make_search(settings: SolveConfig) -> LineSearch:
    """The line search that the settings name."""
    shrink = SHRINK[settings.line_search]
    return Reversing(shrink) if settings.reverse else Backtracking(shrink)


def active_joints(stiffness: FloatArray, parent: IntArray) -> BoolArray:
    """Joints (frame, joint) that are observed or lie between observed ones: the kernel's rule."""
    active = np.empty(stiffness.shape, np.bool_)
    for h, row in zip(stiffness, active, strict=True):
        mark_active(h, parent, row)
    return active


def rigid_pose(frames: Frames, direction: FloatArray, parent: IntArray) -> FloatArray:
    """Exact bones (frame, joint, 3) along unit directions, each tree where its targets want it.

    Then bones at the ends of the tree point straight at their targets, as in the kernel.

    Parameters
    ----------
    frames : Frames
    direction : ndarray, shape (frame, joint, 3)
        Of the bone to each joint; a root's is not used.
    parent : ndarray of int, shape (joint,)
        Parents come before their children.
    """
    reach = np.zeros(len(parent))
    reach[frames.pairs[:, 1]] = frames.length
    offset = np.zeros_like(direction)
    root = np.arange(len(parent))
    for i, p in enumerate(parent):
        if p >= 0:
            # as in the kernel: a bone with an absent end makes one point of both
            is_bound = (frames.active[:, i] & frames.active[:, p])[:, None]
            offset[:, i] = offset[:, p] + is_bound * reach[i] * direction[:, i]
            root[i] = root[p]
    same_tree = (root[:, None] == root) * 1.0
    weight = frames.stiffness @ same_tree
    wanted = same_tree @ (frames.stiffness[..., None] * (frames.target - offset))
    pose = offset + wanted / np.where(weight > 0, weight, 1.0)[..., None]
    for leaf in np.setdiff1d(np.flatnonzero(parent >= 0), parent):
        base = pose[:, parent[leaf]]
        aim = frames.target[:, leaf] - base
        distance = np.linalg.norm(aim, axis=-1, keepdims=True)
        is_apart = frames.active[:, leaf, None] & (distance > APART_SHARE * reach[leaf])
        end = base + reach[leaf] * np.divide(aim, distance, out=np.zeros_like(aim), where=is_apart)
        pose[:, leaf] = np.where(is_apart, end, pose[:, leaf])
    return np.asarray(pose)


def centred_frames(
    target: FloatArray,
    stiffness: FloatArray,
    active: BoolArray,
    direction: FloatArray,
    length: FloatArray,
    parent: IntArray,
) -> tuple[Frames, FloatArray]:
    """Frames about their first observed joint, so that no digits are lost far from the origin.

    Shapes as in `fit_loop`; every frame has an observed joint. Also returns where that joint lies,
    shape (frame, 1, 3), metres.
    """
    child = np.flatnonzero(parent >= 0)
    pairs = np.stack([parent[child], child], axis=1)
    first = np.argmax(stiffness > 0, axis=1)[:, None, None]
    centre = np.take_along_axis(target, first, axis=1)
    frames = Frames(
        target=np.where((stiffness > 0)[..., None], target - centre, 0.0),
        stiffness=stiffness,
        active=active,
        bound=active[:, pairs[:, 0]] & active[:, pairs[:, 1]],
        direction=direction[:, child],
        pairs=pairs,
        length=length[child],
    )
    return frames, centre


def _fit_rows(
    rows: IntArray,
    target: FloatArray,
    stiffness: FloatArray,
    direction: FloatArray,
    length: FloatArray,
    parent: IntArray,
    settings: SolveConfig,
    out: TreeFit,
) -> None:
    """Fit frames that have an observed joint and write them into `out`."""
    active = out.active[rows]
    frames, centre = centred_frames(
        target[rows], stiffness[rows], active, direction[rows], length, parent
    )
    rigid = rigid_pose(frames, direction[rows], parent)
    found = minimise(
        FORMULATIONS[settings.formulation](settings.curvature),
        make_search(settings),
        frames,
        rigid,
        tolerance_m=max(settings.stop_step_m, ROUNDING * float(frames.length.max(initial=0.0))),
        max_iterations=settings.max_iterations,
    )
    out.position[rows] = np.where(active[..., None], found.position + centre, np.nan)
    out.objective[rows] = found.objective
    out.objective_start[rows] = objective(frames, rigid)
    out.iterations[rows] = found.iterations
    out.outcome[rows] = found.status
    multiplier = np.full(active.shape, np.nan)
    multiplier[:, frames.pairs[:, 1]] = np.where(frames.bound, found.multiplier, np.nan)
    out.multiplier[rows] = multiplier
    out.worst_bone_error[rows] = violation(frames, found.position)


def _fit_merged(
    target: FloatArray,
    stiffness: FloatArray,
    length: FloatArray,
    parent: IntArray,
    *,
    rest: FloatArray,
    last: FloatArray | None,
    start: FloatArray | None,
    settings: SolveConfig,
) -> TreeFit:
    """`fit_loop` for a tree with bones of length zero."""
    merged = merge_joints(target, stiffness, length, parent)
    fitted = fit_loop(
        merged.target,
        merged.stiffness,
        length[merged.first],
        merged.parent,
        rest=rest[merged.first],
        last=None if last is None else last[merged.first],
        start=None if start is None else start[:, merged.first],
        settings=settings,
    )
    active = active_joints(stiffness, parent)
    position = np.where(active[..., None], fitted.position[:, merged.point], np.nan)
    is_point = (parent >= 0) & (length == 0)
    multiplier = np.full(stiffness.shape, np.nan)
    multiplier[:, merged.first] = fitted.multiplier
    force = carried_force(position, target, stiffness, parent)
    is_bound = is_point & active & active[:, parent]
    return fitted._replace(
        position=position,
        active=active,
        objective=fitted.objective + merged.constant,
        objective_start=fitted.objective_start + merged.constant,
        multiplier=np.where(is_bound, force, multiplier),
    )
