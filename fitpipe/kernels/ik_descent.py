"""Inverse kinematics by descent: pseudo-inverse, damped least squares and Newton in one loop.

Minimises F(q) = 1/2 |left(q)|^2 within lower <= q <= upper. A step is kept off the limits it
would cross (joints held there take no part in it), shortened by halving until F falls, and
damped in proportion to the way left, so that it is plain Gauss-Newton or Newton at a target and
bounded beside a singular pose or before a target out of reach.
"""

# mypy: allow-untyped-defs, allow-untyped-calls
# (Numba infers the types of compiled functions; the Python faces are annotated.)

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from fitpipe.kernels._jit import kernel
from fitpipe.kernels.ik_links import (
    Pose,
    fill_hessian,
    fill_jacobian,
    forward,
    new_pose,
    residual,
)
from fitpipe.kernels.ik_steps import solve_positive, split_rows, step_from_rows

Float = npt.NDArray[np.float64]

PINV, DLS, NEWTON, CCD, FABRIK = 0, 1, 2, 3, 4
REACHED, CLOSEST, STALLED, AT_LIMIT, NO_TARGET = 0, 1, 2, 3, 4

ARMIJO = 1e-4
HALVINGS = 12
STATIONARY = 1e-7  # |J' left| / (|left| reach): no joint brings the tips closer
NEAR_SINGULAR = 0.05  # smallest singular value / reach below which the damping grows
FLAT = 1e-12  # relative decrease of F that counts as none
PATIENCE = 8
SOFTER, HARDER = 0.3, 4.0
DAMPING_RANGE = (1e-6, 1e3)


class Rules(NamedTuple):
    """When to stop and how far to step."""

    tolerance: float  # metres
    turn_tolerance: float  # radians
    max_iterations: int
    max_step: float  # radians, the largest change of a joint in one step
    damping: float  # in units of |left| x reach


class Work(NamedTuple):
    """Memory of one solve."""

    q_try: Float
    left: Float
    left_try: Float
    pose: Pose
    pose_try: Pose
    J: Float
    W: Float
    U: Float
    sigma: Float
    gradient: Float
    free: npt.NDArray[np.bool_]
    step: Float
    H: Float
    L: Float


@kernel()
def new_work(n, n_tips, n_rows):
    return Work(
        np.zeros(n),
        np.zeros(n_rows),
        np.zeros(n_rows),
        new_pose(n, n_tips),
        new_pose(n, n_tips),
        np.zeros((n_rows, n)),
        np.zeros((n_rows, n)),
        np.zeros((n_rows, n_rows)),
        np.zeros(n_rows),
        np.zeros(n),
        np.zeros(n, np.bool_),
        np.zeros(n),
        np.zeros((n, n)),
        np.zeros((n, n)),
    )


@kernel()
def clip(links, q):
    for i in range(q.size):
        q[i] = min(max(q[i], links.lower[i]), links.upper[i])


@kernel()
def look(links, q, goal, work):
    """Jacobian, gradient and free joints at `work.pose` and `work.left`.

    Columns and gradient are per unit step. Returns the steepest free gradient and the steepest
    that a limit holds back.
    """
    fill_jacobian(links, work.pose, goal.weight, goal.turn_weight, work.J)
    steepest = 0.0
    held = 0.0
    for i in range(q.size):
        total = 0.0
        for r in range(work.left.size):
            work.J[r, i] *= links.unit[i]
            total -= work.J[r, i] * work.left[r]
        work.gradient[i] = total
        work.free[i] = not (
            (q[i] <= links.lower[i] and total >= 0.0) or (q[i] >= links.upper[i] and total <= 0.0)
        ) or (total == 0.0 and links.lower[i] < links.upper[i])
        if work.free[i]:
            steepest = max(steepest, abs(total))
        else:
            held = max(held, abs(total))
    return steepest, held


@kernel()
def try_step(links, q, goal, work, tau):
    """F after the step times `tau`, the change the gradient foretells, and the worst tip's."""
    foretold = 0.0
    for i in range(q.size):
        moved = q[i] + tau * work.step[i] * links.unit[i]
        moved = min(max(moved, links.lower[i]), links.upper[i])
        work.q_try[i] = moved
        foretold += work.gradient[i] * (moved - q[i]) / links.unit[i]
    forward(links, work.q_try, work.pose_try)
    F, worst, worst_turn = residual(links, work.pose_try, goal, work.left_try)
    return F, foretold, worst, worst_turn


@kernel()
def take_try(q, work):
    """Make the pose that was tried the present one."""
    for i in range(q.size):
        q[i] = work.q_try[i]
        for r in range(3):
            work.pose.centre[i, r] = work.pose_try.centre[i, r]
            work.pose.axis[i, r] = work.pose_try.axis[i, r]
            for k in range(3):
                work.pose.R[i, r, k] = work.pose_try.R[i, r, k]
    for e in range(work.pose.tip.shape[0]):
        for r in range(3):
            work.pose.tip[e, r] = work.pose_try.tip[e, r]
    for r in range(work.left.size):
        work.left[r] = work.left_try[r]


@kernel()
def shorten(step, max_step):
    largest = 0.0
    for i in range(step.size):
        largest = max(largest, abs(step[i]))
    if largest > max_step:
        for i in range(step.size):
            step[i] *= max_step / largest


@kernel()
def hessian_of_free(links, work):
    fill_hessian(links, work.pose, work.J, work.left, work.H)
    n = work.free.size
    for i in range(n):
        for j in range(n):
            if not (work.free[i] and work.free[j]):
                work.H[i, j] = 0.0


@kernel()
def find_step(links, method, q, F, damping, work):
    """Fill `work.step`; False where Newton's matrix is not positive for this damping."""
    left = math.sqrt(2.0 * F)
    damping2 = damping * left * links.reach
    if method == NEWTON:
        hessian_of_free(links, work)
        return solve_positive(work.H, damping2, work.gradient, work.free, work.L, work.step)
    for i in range(q.size):
        for r in range(work.left.size):
            work.W[r, i] = work.J[r, i] if work.free[i] else 0.0
    split_rows(work.W, work.U, work.sigma)
    floor2 = 0.0
    if method == PINV:
        floor2, damping2 = damping2, 0.0
    else:
        smallest = np.inf
        for k in range(work.sigma.size):
            if work.sigma[k] > 1e-12 * links.reach:  # a plane arm never moves along its normal
                smallest = min(smallest, work.sigma[k])
        short = max(0.0, 1.0 - smallest / (NEAR_SINGULAR * links.reach))
        damping2 *= 1.0 + short * short
    step_from_rows(work.W, work.U, work.sigma, work.left, damping2, floor2, work.step)
    return True


@kernel()
def descend(links, method, goal, rules, q, work):
    """Improve `q` in place; iterations taken. Ends at a target, a stationary point, or stuck."""
    damping = rules.damping
    flat = 0
    iteration = 0
    forward(links, q, work.pose)
    F, worst, worst_turn = residual(links, work.pose, goal, work.left)
    while iteration < rules.max_iterations and flat < PATIENCE:
        if worst <= rules.tolerance and worst_turn <= rules.turn_tolerance:
            break
        steepest, _ = look(links, q, goal, work)
        if steepest <= STATIONARY * math.sqrt(2.0 * F) * links.reach:
            break
        iteration += 1
        while not find_step(links, method, q, F, damping, work):
            damping = max(damping * HARDER, DAMPING_RANGE[0])
        shorten(work.step, rules.max_step)
        tau = 1.0
        accepted = False
        F_new, worst_new, turn_new = F, worst, worst_turn
        for _ in range(HALVINGS):
            F_new, foretold, worst_new, turn_new = try_step(links, q, goal, work, tau)
            if F_new < F and F_new <= F + ARMIJO * foretold:
                accepted = True
                break
            tau *= 0.5
        if not accepted:
            flat += 1
            damping *= HARDER * HARDER
        else:
            flat = flat + 1 if F - F_new <= FLAT * F else 0
            damping = damping * SOFTER if tau == 1.0 else damping * HARDER
            take_try(q, work)
            F, worst, worst_turn = F_new, worst_new, turn_new
        damping = min(max(damping, DAMPING_RANGE[0]), DAMPING_RANGE[1])
    return iteration
