"""The one loop of the solver family: it knows neither the formulation nor the line search."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fitpipe.arrays import BoolArray, ByteArray, FloatArray, IntArray
from fitpipe.records import FrameStatus
from fitpipe.solve.formulations import Formulation, Step
from fitpipe.solve.geometry import Frames, objective, pull, violation
from fitpipe.solve.line_search import LineSearch
from fitpipe.solve.optimality import examine

RUNNING, ARRIVED = 255, 254  # states of a frame besides FrameStatus
MARGIN = 1.1  # mu_k over |lambda_k|
DESCENT = 1e-3  # least slope of the merit along a step, as a share of d'H d
ROUNDING = 1e-15  # what a sum of squares may rise by, as a share of it and for each joint


class Point(NamedTuple):
    """Where a frame is: positions and what the formulation says of them."""

    position: FloatArray  # (frame, joint, 3) metres
    multiplier: FloatArray  # (frame, part, constraint) of the step that led here
    objective: FloatArray  # (frame,) J0
    constraint: FloatArray  # (frame, constraint)

    def at(self, rows: IntArray | BoolArray) -> Point:
        """These rows of the batch."""
        return Point(*(array[rows] for array in self))

    def merit(self, weight: FloatArray) -> FloatArray:
        """phi = J0 + sum of mu_k |c_k|, shape (frame,)."""
        return np.asarray(self.objective + (weight * np.abs(self.constraint)).sum(axis=1))


class State(NamedTuple):
    """Where the loop stands with a batch of frames."""

    now: Point
    best: Point  # of lowest merit, by the latest weights
    weight: FloatArray  # (frame, constraint) mu of the merit; never falls
    status: ByteArray  # (frame,) FrameStatus, RUNNING or ARRIVED

    def at(self, rows: IntArray | BoolArray) -> State:
        """These rows of the batch."""
        return State(self.now.at(rows), self.best.at(rows), self.weight[rows], self.status[rows])


class Minimum(NamedTuple):
    """What `minimise` returns."""

    position: FloatArray  # (frame, joint, 3) metres
    objective: FloatArray  # (frame,) J0
    multiplier: FloatArray  # (frame, bone)
    status: ByteArray  # (frame,) FrameStatus
    iterations: IntArray  # (frame,)


def minimise(
    formulation: Formulation,
    line_search: LineSearch,
    frames: Frames,
    rigid: FloatArray,
    *,
    tolerance_m: float,
    max_iterations: int,
) -> Minimum:
    """Minimise J0 under the formulation's constraints, every frame on its own.

    A frame stops when both its whole step (tau = 1) and its worst bone error are within the
    tolerance, when the formulation has no step for it, or when the line search does not move it.
    Whether it then is at an optimum does not depend on how it got there, see
    `optimality.examine`: CERTIFIED or STATIONARY if so, else STALLED; ITERATION_LIMIT if it has not
    stopped. A frame that did not arrive returns the best point seen, that of lowest merit
    phi = J0 + sum of mu_k |c_k|, by the largest weights mu_k > |lambda_k| it has had.

    Parameters
    ----------
    formulation : Formulation
    line_search : LineSearch
    frames : Frames
        Every frame has an observed joint.
    rigid : ndarray, shape (frame, joint, 3), metres
        A pose with exact bones.
    tolerance_m : float
    max_iterations : int
        Steps a frame may take.
    """
    n_frames = len(rigid)
    found = Minimum(
        position=np.empty_like(rigid),
        objective=np.empty(n_frames),
        multiplier=np.empty(frames.bound.shape),
        status=np.empty(n_frames, np.uint8),
        iterations=np.empty(n_frames, np.int64),
    )
    rows, state = np.arange(n_frames), begin(formulation, frames, rigid)
    for iteration in range(1, max_iterations + 1):
        state = advance(formulation, line_search, frames, state, tolerance_m)
        is_done = (state.status != RUNNING) | (iteration == max_iterations)
        if is_done.any():
            at, ended, those = rows[is_done], state.at(is_done), frames.at(is_done)
            point = choose(ended.status == ARRIVED, ended.now, ended.best)
            proof = examine(those, point.position, tolerance_m=tolerance_m)
            found.position[at], found.objective[at] = point.position, point.objective
            found.multiplier[at], found.iterations[at] = proof.multiplier, iteration
            found.status[at] = np.select(
                [proof.is_certified, proof.is_stationary, ended.status == RUNNING],
                [FrameStatus.CERTIFIED, FrameStatus.STATIONARY, FrameStatus.ITERATION_LIMIT],
                FrameStatus.STALLED,
            )
            rows, frames, state = rows[~is_done], frames.at(~is_done), state.at(~is_done)
        if not len(rows):
            break
    return found


def begin(formulation: Formulation, frames: Frames, rigid: FloatArray) -> State:
    """The state before the first step."""
    x = formulation.start(frames, rigid)
    c = formulation.constraint(frames, x)
    none = np.zeros((len(x), formulation.n_parts, c.shape[1]))
    point = Point(x, none, objective(frames, x), c)
    return State(point, point, np.zeros_like(c), np.full(len(x), RUNNING, np.uint8))


def advance(
    formulation: Formulation,
    line_search: LineSearch,
    frames: Frames,
    state: State,
    tolerance_m: float,
) -> State:
    """One step of every frame: ask the formulation, search along each part, judge."""
    step = formulation.step(frames, state.now.position, state.now.multiplier)
    slope, weight = merit_slope(frames, state, step)
    now = state.now._replace(multiplier=step.multiplier)
    for part in range(formulation.n_parts):
        now = _search_part(
            formulation, line_search, frames, now, step, part, slope, weight, tolerance_m
        )
    best = choose(now.merit(weight) <= state.best.merit(weight), now, state.best)
    whole = largest_move(step.direction.sum(axis=1))
    is_near = (whole <= tolerance_m) & (violation(frames, now.position) <= tolerance_m)
    shortest = tolerance_m if line_search.falls_lagrangian else 0.0
    is_still = largest_move(now.position - state.now.position) <= shortest
    status = np.select(
        [is_near, is_still | ~step.is_defined], [ARRIVED, FrameStatus.STALLED], RUNNING
    )
    return State(now, best, weight, status.astype(np.uint8))


def merit_slope(frames: Frames, state: State, step: Step) -> tuple[FloatArray, FloatArray]:
    """Slope (frame, part) of the merit along each part, and weights (frame, constraint) for it.

    The weights are above |lambda_k| of all parts, and so high that every part descends.
    """
    d = step.direction
    along = -np.einsum("fjc,fpjc->fp", pull(frames, state.now.position), d)
    descent = DESCENT * np.einsum("fj,fpjc,fpjc->fp", frames.stiffness, d, d)
    rate = np.sign(state.now.constraint)[:, None] * step.change  # of |c|: (frame, part, constraint)
    weight = np.maximum(state.weight, MARGIN * np.abs(step.multiplier).max(axis=1))
    lack = along + descent + np.einsum("fk,fpk->fp", weight, rate)
    gain = -rate.sum(axis=2)
    more = np.divide(lack, gain, out=np.zeros_like(lack), where=(lack > 0) & (gain > 0))
    weight = weight + more.max(axis=1)[:, None]
    return along + np.einsum("fk,fpk->fp", weight, rate), weight


def _search_part(
    formulation: Formulation,
    line_search: LineSearch,
    frames: Frames,
    point: Point,
    step: Step,
    part: int,
    slope: FloatArray,
    weight: FloatArray,
    stop_m: float,
) -> Point:
    """Where the line search along one part of the step leads."""
    direction = step.direction[:, part]
    multiplier = step.multiplier[:, part]

    def price(c: FloatArray, rows: IntArray) -> FloatArray:
        cost = multiplier[rows] * c if line_search.falls_lagrangian else weight[rows] * np.abs(c)
        return np.asarray(cost.sum(axis=1))

    def value(tau: FloatArray, rows: IntArray) -> FloatArray:
        those = frames.at(rows)
        x = point.position[rows] + tau[:, None, None] * direction[rows]
        return objective(those, x) + price(formulation.constraint(those, x), rows)

    before = point.objective + price(point.constraint, np.arange(len(weight)))
    tau = line_search.search(
        value,
        before,
        slope[:, part],
        slack=ROUNDING * direction.shape[1] * np.abs(before),
        size_m=largest_move(direction),
        stop_m=stop_m,
    )
    tau = np.where(step.is_defined, tau, 0.0)
    x = point.position + tau[:, None, None] * direction
    return Point(x, point.multiplier, objective(frames, x), formulation.constraint(frames, x))


def largest_move(direction: FloatArray) -> FloatArray:
    """Length (frame,) of the longest vector of (frame, joint, 3)."""
    return np.asarray(np.sqrt(np.einsum("fjc,fjc->fj", direction, direction).max(axis=1)))


def choose(first: BoolArray, a: Point, b: Point) -> Point:
    """Rows of `a` where `first`, else of `b`."""

    def pick(one: FloatArray, other: FloatArray) -> FloatArray:
        return np.where(first.reshape(-1, *[1] * (one.ndim - 1)), one, other)

    return Point(*(pick(one, other) for one, other in zip(a, b, strict=True)))
