"""Many targets on one chain, with fresh starts where the first did not arrive."""

# mypy: allow-untyped-defs, allow-untyped-calls
# (Numba infers the types of compiled functions; the Python faces are annotated.)

from __future__ import annotations

import math

import numpy as np

from fitpipe.kernels._jit import kernel
from fitpipe.kernels.ik_ccd import cycle
from fitpipe.kernels.ik_descent import (
    AT_LIMIT,
    CCD,
    CLOSEST,
    FABRIK,
    NO_TARGET,
    REACHED,
    STALLED,
    clip,
    descend,
    hessian_of_free,
    look,
    new_work,
    try_step,
)
from fitpipe.kernels.ik_fabrik import reach
from fitpipe.kernels.ik_links import Goal, forward, residual

TURN = 2.0 * math.pi
BETTER = 0.999  # a fresh start must shorten the way left by more than this to replace the first


CLASSIFY = 1e-4  # |J' left| / (|left| reach) of a run that counts as ended at the closest point
SADDLE = 1e-6  # curvature / (|left| reach) below minus this leads away from a saddle
ESCAPES = 10


@kernel()
def leave_saddle(links, q, F, goal, work):
    """Move `q` along the most negative curvature, where there is any; whether it moved.

    A straight arm asked to come back along itself has no gradient, yet bending brings it closer.
    """
    hessian_of_free(links, work)
    values, vectors = np.linalg.eigh(work.H)
    scale = math.sqrt(2.0 * F) * links.reach
    if not values[0] < -SADDLE * scale:
        return False
    # eigenvectors have no sign of their own: the largest entry becomes plus one
    largest = 0.0
    for i in range(q.size):
        if abs(vectors[i, 0]) > abs(largest) * (1.0 + 1e-9):
            largest = vectors[i, 0]
    size = 1.0
    for _ in range(20):
        best = 0.0
        best_F = F + 0.1 * values[0] * size * size / 2.0
        for sign in (1.0, -1.0):
            for i in range(q.size):
                work.step[i] = sign * size * vectors[i, 0] / largest
            F_try, _, _, _ = try_step(links, q, goal, work, 1.0)
            if F_try < best_F:
                best, best_F = sign, F_try
        if best != 0.0:
            for i in range(q.size):
                work.step[i] = best * size * vectors[i, 0] / largest
            try_step(links, q, goal, work, 1.0)
            for i in range(q.size):
                q[i] = work.q_try[i]
            return True
        size *= 0.5
    return False


@kernel()
def copy(source, out):
    for i in range(source.size):
        out[i] = source[i]


@kernel()
def improve(links, points, method, goal, rules, q, work):
    if method == CCD:
        return cycle(links, goal, rules, q, work)
    if method == FABRIK:
        # points that hinges and limits cannot follow leave a rest, which sweeps take up
        rounds = reach(links, points, goal, rules, q, work)
        return rounds + cycle(links, goal, rules, q, work)
    return descend(links, method, goal, rules, q, work)


@kernel()
def run(links, points, method, goal, rules, q, work):
    """Improve `q` in place from one start; iterations taken and how it ended."""
    iterations = 0
    for escape in range(ESCAPES):
        iterations += improve(links, points, method, goal, rules, q, work)
        forward(links, q, work.pose)
        F, worst, worst_turn = residual(links, work.pose, goal, work.left)
        if worst <= rules.tolerance and worst_turn <= rules.turn_tolerance:
            return iterations, REACHED
        steepest, held = look(links, q, goal, work)
        scale = math.sqrt(2.0 * F) * links.reach
        if steepest > CLASSIFY * scale or iterations >= rules.max_iterations:
            break
        if escape == ESCAPES - 1 or not leave_saddle(links, q, F, goal, work):
            return iterations, AT_LIMIT if held > CLASSIFY * scale else CLOSEST
    return iterations, STALLED


@kernel()
def is_out_of_reach(links, goal):
    """Whether the lengths alone rule a target out."""
    for e in range(goal.weight.size):
        if goal.weight[e] > 0.0:
            square = 0.0
            for r in range(3):
                square += (goal.position[e, r] - links.centre[e, r]) ** 2
            if not links.near[e] <= math.sqrt(square) <= links.far[e]:
                return True
    return False


@kernel()
def unwind(links, start, q):
    """Whole turns taken off the joints without limits, to end within half a turn of the start."""
    for i in range(q.size):
        if not links.slides[i] and links.lower[i] == -math.inf and links.upper[i] == math.inf:
            q[i] -= TURN * round((q[i] - start[i]) / TURN)


@kernel()
def solve_many(links, points, method, rules, goals, starts, follow, others, q, tip, found):
    """Solve each row of `goals` (all arrays lead with (target, ...)) from its row of `starts`.

    With `follow` a target starts where the one before ended. `others` (start, joint) are tried
    in turn where a target within reach was not reached. Fills `q` (target, joint), `tip`
    (target, tip, 3) and `found` (target, 2): iterations and how it ended.
    """
    n = q.shape[1]
    n_tips = tip.shape[1]
    with_turn = False
    for t in range(q.shape[0]):
        for e in range(n_tips):
            with_turn = with_turn or goals.turn_weight[t, e] > 0.0
    work = new_work(n, n_tips, 6 * n_tips if with_turn else 3 * n_tips)
    start = starts[0].copy()
    now = start.copy()
    for t in range(q.shape[0]):
        if not follow:
            copy(starts[t], start)
            clip(links, start)
        elif t == 0:
            clip(links, start)
        goal = Goal(goals.position[t], goals.weight[t], goals.R[t], goals.turn_weight[t])
        copy(start, now)
        asked = 0.0
        for e in range(n_tips):
            asked += goal.weight[e] + goal.turn_weight[e]
        if asked == 0.0:
            iterations, outcome = 0, NO_TARGET
        else:
            iterations, outcome = run(links, points, method, goal, rules, now, work)
        copy(now, q[t])
        if outcome != REACHED and outcome != NO_TARGET and not is_out_of_reach(links, goal):
            forward(links, now, work.pose)
            best, _, _ = residual(links, work.pose, goal, work.left)
            for k in range(others.shape[0]):
                copy(others[k], now)
                more, outcome_k = run(links, points, method, goal, rules, now, work)
                iterations += more
                forward(links, now, work.pose)
                F, _, _ = residual(links, work.pose, goal, work.left)
                if BETTER * best > F or (outcome_k == REACHED and outcome != REACHED):
                    best, outcome = F, outcome_k
                    copy(now, q[t])
                if outcome == REACHED:
                    break
        unwind(links, start, q[t])
        forward(links, q[t], work.pose)
        for e in range(n_tips):
            copy(work.pose.tip[e], tip[t, e])
        found[t, 0] = iterations
        found[t, 1] = outcome
        if follow:
            copy(q[t], start)
