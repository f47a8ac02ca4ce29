"""Fits the whole take at once: smooth over time, every bone exact in every frame.

Minimises Σ_t J0(x_t) + Σ_j s_j ∫ |d^q x_j / dt^q|² dt subject to all bone lengths at all frames
(formulation.md section 5), with s_j from `smoothness.tune` and observations weighed down by their
distance to the motion. Long takes are fitted in windows that overlap by many times the length over
which the smoother forgets, so that the seams cannot be seen.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from fitpipe.arrays import BoolArray, FloatArray, IntArray
from fitpipe.config import SolveConfig
from fitpipe.kernels import tree_time
from fitpipe.kernels.banded import difference_rows
from fitpipe.kernels.tree_newton import fit_tree
from fitpipe.kernels.tree_repair import REACH
from fitpipe.records import Finding, FrameStatus, JointStatus, Skeleton
from fitpipe.solve.frames import Carried, FrameFits, TakeFits, fit_frames, kernel_tree
from fitpipe.solve.gaps import held_by_bones, within_gaps
from fitpipe.solve.problem import pose_problem, weighted_mean
from fitpipe.solve.smoothness import Tuning, rate_of, robust_weight, scored, smooth, tune
from fitpipe.solve.stretch import Observe, Progress, Stretch, starts_of

_WINDOW = 2048  # frames fitted together, at least; the overlap comes on top. Divides frames.BLOCK.
_FORGOTTEN = 1e-8  # what is left of an influence after the overlap
_ROUNDS = 3  # of re-weighting
_SLACK = 1e-3  # stiffness that ties the start to the per-frame fit where nothing was seen
_OUTCOME = {
    tree_time.ARRIVED: FrameStatus.STATIONARY,
    tree_time.STUCK: FrameStatus.STALLED,
    tree_time.LIMIT: FrameStatus.ITERATION_LIMIT,
}


class _Tree(NamedTuple):
    """The kernel's tree without bones of length zero: their ends are one point."""

    order: IntArray  # (joint,) skeleton joint at each slot
    point: IntArray  # (joint,) point of each slot
    parent: IntArray  # (point,)
    length_m: FloatArray  # (point,)
    rest: FloatArray  # (point, 3)
    slot_parent: IntArray  # (joint,) of every slot, bones of length zero included
    child: IntArray  # (bone,) slot of each bone's child


class _Window(NamedTuple):
    """What was found in one window, per slot."""

    position: FloatArray
    force: FloatArray
    weight: FloatArray
    status: FrameStatus
    iterations: int


class TrajectoryFitter:
    """Fits all frames of a take together, window by window.

    A joint that no source saw has status INTERPOLATED where its gap is at most ``max_gap_s`` long,
    CARRIED where bones hold it in a longer one, ABSENT elsewhere. All frames of a window share its
    outcome: STATIONARY once a step moves no coordinate by more than ``stop_step_m``.

    Parameters
    ----------
    skeleton : Skeleton
        With bone lengths, without rigid pairs.
    time_s : ndarray, shape (time,), seconds
        Of the whole take, more than ``smoothness_order`` frames.
    settings : SolveConfig
    observe : callable
        Gives the stretches on which smoothness and noise are found.
    window : int
        Frames fitted together, at least; has no influence on the result beyond its tolerance.
    """

    def __init__(
        self,
        skeleton: Skeleton,
        time_s: FloatArray,
        settings: SolveConfig,
        observe: Observe,
        *,
        window: int = _WINDOW,
    ) -> None:
        self._skeleton, self._time_s, self._settings = skeleton, time_s, settings
        self._tree = _make_tree(skeleton)
        stretches = []
        for begin, end in scored(len(time_s)):
            seen = observe(*self._widened(begin, end, 0.0))
            given, filled, _ = self._held(seen)
            rows = slice(begin - seen.first, end - seen.first)
            observed = seen.observation_m[rows][:, :, self._tree.order]
            stretches.append((observed, given[rows], filled[rows], time_s[begin:end]))
        self._tuning = tune(
            stretches,
            rate_of(time_s),
            order=settings.smoothness_order,
            robust=settings.robust,
            smoothness=settings.smoothness,
        )
        self._reach_s = _reach_s(self._tuning, settings)
        self._windows = _windows(time_s, self._reach_s, window)
        self._carried, self._of_starts = Carried(), Carried()
        self._n_filled = 0

    def needs(self, begin: int, end: int) -> tuple[int, int]:
        """The frames that have a say in frames ``begin`` to ``end``."""
        low, high = self._widened(begin, end, self._reach_s)
        return min(low, max(begin - REACH, 0)), max(high, min(end + REACH, len(self._time_s)))

    def fit(self, seen: Stretch, begin: int, end: int, progress: Progress | None) -> TakeFits:
        """Fit frames ``begin`` to ``end``; ``seen`` holds those they need."""
        tree, settings = self._tree, self._settings
        observation_m = seen.observation_m[:, :, tree.order]
        given, filled, is_held = self._held(seen)
        shape = (end - begin, len(tree.order))
        position, force = np.empty((*shape, 3)), np.empty((*shape, 3))
        used = np.empty((len(position), *given.shape[1:]))
        outcome = np.empty(len(position), np.uint8)
        iterations = np.empty(len(position), np.int64)
        for inner, outer in self._windows:
            if not begin <= inner.start < end:
                continue
            rows = slice(outer.start - seen.first, outer.stop - seen.first)
            part = _fit_window(
                observation_m[rows],
                given[rows],
                is_held[rows],
                self._time_s[outer],
                tree,
                self._tuning,
                settings,
            )
            own = slice(inner.start - outer.start, inner.stop - outer.start)
            to = slice(inner.start - begin, inner.stop - begin)
            position[to], force[to] = part.position[own], part.force[own]
            used[to] = part.weight[own]
            outcome[to], iterations[to] = part.status, part.iterations
            if progress is not None:
                progress(inner.stop, len(self._time_s))

        rows = slice(begin - seen.first, end - seen.first)
        observation_m, filled, is_held = observation_m[rows], filled[rows], is_held[rows]
        any_held = is_held.any(axis=1)
        status = np.where(is_held, JointStatus.CARRIED, JointStatus.ABSENT)
        status = np.where(filled, JointStatus.INTERPOLATED, status)
        status = np.where((used > 0).any(axis=1), JointStatus.OBSERVED, status)
        self._n_filled += int(np.count_nonzero(status == JointStatus.INTERPOLATED))
        back = np.argsort(tree.order)
        final_weight = used[:, :, back]
        final = pose_problem(observation_m[:, :, back], final_weight, self._skeleton)
        apart = np.where((final.stiffness > 0)[..., None], position[:, back] - final.target, 0.0)
        objective = final.constant + 0.5 * np.einsum("tj,tjx,tjx->t", final.stiffness, apart, apart)
        multiplier = _multipliers(position, force, is_held, tree)[:, tree.child]
        starts = starts_of(seen, begin, end, self._skeleton, settings, self._of_starts)
        alone = fit_frames(final, settings, carried=self._carried, starts=starts)
        frames = FrameFits(
            position=position[:, back],
            status=status[:, back].astype(np.uint8),
            frame_status=np.where(any_held, outcome, FrameStatus.NO_DATA).astype(np.uint8),
            objective=np.where(any_held, objective, np.nan),
            objective_start=alone.objective_start,
            iterations=np.where(any_held, iterations, 0),
            multiplier=_of_links(multiplier, self._skeleton),
        )
        return TakeFits(frames, final_weight, ())

    def findings(self) -> tuple[Finding, ...]:
        """How smooth the take was taken to be, and what rests on that alone."""
        return _findings(self._skeleton, self._tree, self._tuning, self._settings, self._n_filled)

    def _held(self, seen: Stretch) -> tuple[FloatArray, BoolArray, BoolArray]:
        """Weights by slot; which joints are seen or in short gaps; which these or bones hold."""
        given = seen.weight[:, :, self._tree.order]
        is_seen = np.asarray((given > 0).any(axis=1))
        time_s = self._time_s[seen.first : seen.first + len(given)]
        filled = within_gaps(is_seen, time_s, max_gap_s=self._settings.max_gap_s)
        return given, filled, held_by_bones(filled, self._tree.slot_parent)

    def _widened(self, begin: int, end: int, by_s: float) -> tuple[int, int]:
        """The frames at most so much before and after, and those that tell of gaps among them.

        With a frame more on either side, so that a gap that reaches beyond it is seen as one.
        """
        by_s += 2 * self._settings.max_gap_s
        low = np.searchsorted(self._time_s, self._time_s[begin] - by_s) - 1
        high = np.searchsorted(self._time_s, self._time_s[end - 1] + by_s, side="right") + 1
        return max(int(low), 0), min(int(high), len(self._time_s))


def _make_tree(skeleton: Skeleton) -> _Tree:
    tree = kernel_tree(skeleton)
    top = np.arange(len(tree.parent))
    for i, p in enumerate(tree.parent):
        if p >= 0 and tree.length_m[i] == 0:
            top[i] = top[p]
    first, point = np.unique(top, return_inverse=True)
    parent = tree.parent[first]
    return _Tree(
        tree.order,
        point,
        np.where(parent < 0, -1, point[parent]),
        tree.length_m[first],
        tree.rest[first],
        tree.parent,
        tree.child,
    )


def _reach_s(tuning: Tuning, settings: SolveConfig) -> float:
    """How far the smoother remembers: with order q and half-gain frequency f it forgets as
    exp(-2 π f sin(π / 2 q) t)."""
    slowest = float(tuning.cutoff_hz.min())
    rate = 2 * np.pi * slowest * math.sin(np.pi / (2 * settings.smoothness_order))
    return -math.log(_FORGOTTEN) / rate + settings.max_gap_s


def _windows(time_s: FloatArray, reach_s: float, window: int) -> list[tuple[slice, slice]]:
    """Frames of each window that are kept, and those it is fitted on."""
    n_time = len(time_s)
    windows = []
    begin = 0
    while begin < n_time:
        end = min(begin + window, n_time)
        if n_time - end < window // 2:  # no crumbs
            end = n_time
        low = int(np.searchsorted(time_s, time_s[begin] - reach_s))
        high = int(np.searchsorted(time_s, time_s[end - 1] + reach_s, side="right"))
        windows.append((slice(begin, end), slice(low, high)))
        begin = end
    return windows


def _fit_window(
    observation_m: FloatArray,
    given: FloatArray,
    is_held: BoolArray,
    time_s: FloatArray,
    tree: _Tree,
    tuning: Tuning,
    settings: SolveConfig,
) -> _Window:
    """Re-weight against the smooth motion, start from it, and descend to the optimum."""
    n_points = len(tree.parent)
    is_in = (tree.point[:, None] == np.arange(n_points)).astype(np.float64)  # (joint, point)
    held = (is_held @ is_in) > 0
    target, stiffness = _pose_points(observation_m, given, is_in)
    if not (stiffness > 0).any():
        nothing = np.full((*given.shape[::2], 3), np.nan)
        return _Window(nothing, nothing, given, FrameStatus.NO_DATA, 0)
    centre = _guess(target, stiffness, held, time_s, tree)
    rows = difference_rows(time_s, settings.smoothness_order)
    smoothness = tuning.smoothness @ is_in

    def motion(target: FloatArray, stiffness: FloatArray) -> FloatArray:
        least = _SLACK * np.median(stiffness[stiffness > 0])
        tie = np.where(held, np.maximum(least - stiffness, 0.0), 1.0)
        pulled = stiffness[..., None] * target + tie[..., None] * centre
        diagonal = stiffness + tie
        return smooth(pulled / diagonal[..., None], diagonal, held, rows, smoothness)

    weight = given
    for _ in range(_ROUNDS if settings.robust else 0):
        near = motion(target, stiffness)[:, tree.point]
        weight = robust_weight(given, observation_m, near, tuning.noise_m, tuning.usual_weight)
        target, stiffness = _pose_points(observation_m, weight, is_in)
    everywhere = held.astype(np.float64)
    start = fit_tree(
        motion(target, stiffness),
        everywhere,
        tree.length_m,
        tree.parent,
        rest=tree.rest,
        restarts=0,
    ).position
    fitted = tree_time.fit_tree_over_time(
        target,
        stiffness,
        held,
        tree.length_m,
        tree.parent,
        rows=rows,
        smoothness=smoothness,
        start=start,
        tolerance_m=settings.stop_step_m,
        max_iterations=settings.max_iterations,
    )
    position = fitted.position[:, tree.point]
    # a joint has the force of its own data, and an equal share of what else acts on its point
    h = stiffness[..., None]
    data = np.where(h > 0, h * (fitted.position - target), 0.0)
    inertia = (fitted.force - data) / is_in.sum(axis=0)[:, None]
    mean, total = weighted_mean(observation_m, weight)
    own = np.where(total[..., None] > 0, 2.0 * total[..., None] * (position - mean), 0.0)
    force = own + inertia[:, tree.point]
    return _Window(position, force, weight, _OUTCOME[fitted.outcome], fitted.iterations)


def _pose_points(
    observation_m: FloatArray, weight: FloatArray, is_in: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Target and stiffness of every point, from all observations of its joints."""
    mean, total = weighted_mean(observation_m, weight)
    if is_in.shape[0] == is_in.shape[1]:  # every joint is a point of its own
        return mean, 2.0 * total
    stiffness = 2.0 * total @ is_in
    pull = is_in.T @ (2.0 * total[..., None] * mean)
    return pull / np.where(stiffness > 0, stiffness, 1.0)[..., None], stiffness


def _guess(
    target: FloatArray, stiffness: FloatArray, held: BoolArray, time_s: FloatArray, tree: _Tree
) -> FloatArray:
    """Where unseen points may be: as bones hold them in the frame, else between such frames."""
    centre = target
    if (held & ~(stiffness > 0)).any():
        centre = fit_tree(
            target, stiffness, tree.length_m, tree.parent, rest=tree.rest, restarts=0
        ).position
        for j in range(target.shape[1]):
            known = ~np.isnan(centre[:, j, 0])
            if known.any() and not known.all():
                for c in range(3):
                    centre[~known, j, c] = np.interp(
                        time_s[~known], time_s[known], centre[known, j, c]
                    )
    return np.where(held[..., None], centre, 0.0)


def _multipliers(
    position: FloatArray, force: FloatArray, is_held: BoolArray, tree: _Tree
) -> FloatArray:
    """Multiplier of the bone that ends at each slot: the force of all that hangs on it.

    For a bone of length zero, which has no direction, the size of that force.
    """
    out = np.full(is_held.shape, np.nan)
    force = np.where(is_held[..., None], force, 0.0)
    for i in range(len(tree.slot_parent) - 1, -1, -1):
        p = tree.slot_parent[i]
        if p < 0:
            continue
        bound = is_held[:, i] & is_held[:, p]
        along = position[:, i] - position[:, p]
        length = np.linalg.norm(along, axis=-1)
        size = np.linalg.norm(force[:, i], axis=-1)
        pulled = -np.einsum("tx,tx->t", along, force[:, i])
        value = np.divide(pulled, length, out=size, where=length > 0)
        out[bound, i] = value[bound]
        force[bound, p] += force[bound, i]
    return out


def _of_links(multiplier: FloatArray, skeleton: Skeleton) -> FloatArray:
    """Multipliers (time, bone) with NaN for rigid pairs of unknown length, (time, link)."""
    more = ((0, 0), (0, skeleton.n_links - skeleton.n_bones))
    return np.pad(multiplier, more, constant_values=np.nan)


def _findings(
    skeleton: Skeleton, tree: _Tree, tuning: Tuning, settings: SolveConfig, n_filled: int
) -> tuple[Finding, ...]:
    names = [skeleton.joints[i] for i in tree.order]
    low, high = int(tuning.cutoff_hz.argmin()), int(tuning.cutoff_hz.argmax())
    how = "as given" if settings.smoothness is not None else "chosen from held-out observations"
    found = [
        Finding(
            f"smoothness {how}: s = {tuning.smoothness.min():.3g} to "
            f"{tuning.smoothness.max():.3g} s^{2 * settings.smoothness_order - 1}; what is faster "
            f"than {tuning.cutoff_hz[low]:.2g} Hz ({names[low]}) to "
            f"{tuning.cutoff_hz[high]:.2g} Hz ({names[high]}) is damped to less than half",
            severity="note",
            otherwise="solve.smoothness sets s",
        )
    ]
    if n_filled:
        found.append(
            Finding(
                f"{n_filled} joint positions in gaps of at most {settings.max_gap_s:g} s",
                "carried by the motion before and after, status interpolated",
                "note",
                "solve.max_gap_s sets the limit",
            )
        )
    return tuple(found)
