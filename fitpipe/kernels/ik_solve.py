"""Many targets on one chain, with fresh starts where the first did not arrive."""

# mypy: allow-untyped-defs, allow-untyped-calls
# (Numba infers the types of compiled functions; the Python faces are annotated.)

from __future__ import annotations

import math

from fitpipe.kernels._jit import kernel
from fitpipe.kernels.ik_ccd import cycle
from fitpipe.kernels.ik_descent import CCD, FABRIK, NO_TARGET, REACHED, clip, descend, new_work
from fitpipe.kernels.ik_fabrik import reach
from fitpipe.kernels.ik_links import Goal, forward, residual

TURN = 2.0 * math.pi
BETTER = 0.999  # a fresh start must shorten the way left by more than this to replace the first


@kernel()
def run(links, points, method, goal, rules, q, work):
    if method == CCD:
        return cycle(links, goal, rules, q, work)
    if method == FABRIK:
        return reach(links, points, goal, rules, q, work)
    return descend(links, method, goal, rules, q, work)


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
            start[:] = starts[t]
            clip(links, start)
        elif t == 0:
            clip(links, start)
        goal = Goal(goals.position[t], goals.weight[t], goals.R[t], goals.turn_weight[t])
        now[:] = start
        if goal.weight.max() == 0.0 and goal.turn_weight.max() == 0.0:
            iterations, outcome = 0, NO_TARGET
        else:
            iterations, outcome = run(links, points, method, goal, rules, now, work)
        q[t] = now
        if outcome != REACHED and outcome != NO_TARGET and others.shape[0] > 0:
            if not is_out_of_reach(links, goal):
                forward(links, now, work.pose)
                best, _, _ = residual(links, work.pose, goal, work.left)
                for k in range(others.shape[0]):
                    now[:] = others[k]
                    more, outcome_k = run(links, points, method, goal, rules, now, work)
                    iterations += more
                    forward(links, now, work.pose)
                    F, _, _ = residual(links, work.pose, goal, work.left)
                    if F < BETTER * best or (outcome_k == REACHED and outcome != REACHED):
                        best, outcome = F, outcome_k
                        q[t] = now
                    if outcome == REACHED:
                        break
        unwind(links, start, q[t])
        forward(links, q[t], work.pose)
        tip[t] = work.pose.tip
        found[t, 0] = iterations
        found[t, 1] = outcome
        if follow:
            start[:] = q[t]
