"""Augmented Lagrangian with exact curvature: one frame from one start to one optimum.

The Newton step of the merit φ (`graph_merit`) is that of the bordered system with −1/ρ in the
corner (`graph_ldl`), and near the optimum λ ← λ + ρ r makes it Newton's method on the optimality
conditions. Where the curvature is indefinite it is lifted; steps are corrected along the curved
valley of the lengths and shortened by halves until φ falls.

Contradictory lengths have no λ. `minimise` with `penalty` keeps λ = 0 and lets ρ grow: the limit
minimises the violations ½|r|² first, and J0 among all poses that do.

References
----------
Armand, Omheni (2017), A globally and quadratically convergent primal–dual augmented Lagrangian
algorithm, doi:10.1080/10556788.2015.1025401. Chiche, Gilbert (2016), How the augmented Lagrangian
algorithm can deal with an infeasible convex quadratic optimization problem, J. Convex Anal. 23.
"""

# mypy: allow-untyped-defs, allow-untyped-calls
# (Numba infers the types of compiled functions; the Python faces are annotated.)

from __future__ import annotations

import math

import numpy as np

from fitpipe.kernels._jit import kernel
from fitpipe.kernels.graph_ldl import factor, solve
from fitpipe.kernels.graph_merit import assemble, clear, force, measure, merit

# How a search ends.
ARRIVED = 0
STUCK = 1  # no step lowers the merit though it is longer than the tolerance
LIMIT = 2
DIVERGED = 3  # multipliers grow without end: the lengths contradict, or their normals depend

# ρ at first in units of the mean stiffness (harmonic: soft joints, too, must be free to travel
# along the valley), then of the largest: while lengths close in, where they resist, and
# of the penalty at last.
RHO_FIRST = 10.0
RHO_TOP = 1e5
RHO_LAST = 1e11
RHO_PENALTY = 1e8

# Lifts of an indefinite curvature, in units of each joint's stiffness (Wächter, Biegler 2006,
# doi:10.1007/s10107-004-0559-y, section 3.1).
LIFT_FIRST = 1e-4
LIFT_LAST = 4.0

ARMIJO = 1e-4
SHORTEST_TAU = 1e-9
ROUNDING = 4 * np.finfo(np.float64).eps
LENGTH_CLOSE_M = 1e-10
CONTRACTION = 0.25  # a multiplier step that leaves more of the worst length error raises ρ
HOPELESS = 0.9  # likewise, at high ρ: no ρ will do
N_CORRECTIONS = 2
VALLEY = 0.1  # share of a curved valley's width that a step may have when ρ narrows the valley


@kernel()
def newton_step(plan, frame, w, rho, exact, lift, most):
    """Write the step into w.step; returns (found, lift of the curvature, −slope, longest move).

    Where exact curvature is not positive definite all of it is lifted, at first by a bit less than
    last time, then eightfold; beyond `most` stiffnesses its negative part is dropped instead.
    `exact` False begins there; its lift is infinite.
    """
    raised = 0.0 if exact else np.inf
    rounding = 0.0
    for _ in range(16):
        if raised < np.inf:
            assemble(plan, frame, w, rho, raised, 1.0)
        else:
            assemble(plan, frame, w, rho, rounding, 0.0)
            rounding = max(LIFT_FIRST, 10.0 * rounding)
        for j in range(w.x.shape[0]):
            for i in range(3):
                w.trial[j, i] = w.step[j, i]
        if factor(plan, w.diagonal, w.block):
            solve(plan, w.diagonal, w.block, w.step)
            decrease = longest = 0.0
            for j in range(w.x.shape[0]):
                move = 0.0
                for i in range(3):
                    decrease += w.trial[j, i] * w.step[j, i]
                    move += w.step[j, i] * w.step[j, i]
                longest = max(longest, move)
            return True, raised, decrease, math.sqrt(longest)
        raised = max(LIFT_FIRST, lift / 3.0 if raised == 0.0 else 8.0 * raised)
        if raised > most:
            raised = np.inf
    return False, raised, 0.0, 0.0


@kernel()
def estimate(plan, frame, w, rho, ahead, into):
    """Write λ + ρ r into `into` (pair,), or with `ahead` λ + ρ (r + Λ d): r after the step d."""
    for k in range(frame.length.shape[0]):
        if frame.bound[k]:
            r = w.r[k]
            if ahead:
                a, b = plan.pair[k, 0], plan.pair[k, 1]
                for i in range(3):
                    r += w.u[k, i] * (w.step[b, i] - w.step[a, i])
            into[k] = w.multiplier[k] + rho * r


@kernel()
def take_step(plan, frame, w, rho, decrease, close):
    """Go along w.step until φ falls, and there; returns the share of the step, 0 for none.

    Tangents leave the curved valley of the lengths, whose walls are as steep as ρ. So a rejected
    full step is first led back by the same factors (a second-order correction), then halved.
    """
    before, size = merit(plan, frame, w, w.x, rho)
    slack = ROUNDING * (size + w.x.shape[0] * before)
    tau = 1.0
    correction = 0
    while tau > SHORTEST_TAU:
        for j in range(w.x.shape[0]):
            for i in range(3):
                if correction == 0:
                    w.trial[j, i] = w.x[j, i] + tau * w.step[j, i]
                else:
                    w.trial[j, i] += w.back[j, i]
        now, _ = merit(plan, frame, w, w.trial, rho)
        if close or now <= before - ARMIJO * tau * decrease + slack:
            for j in range(w.x.shape[0]):
                for i in range(3):
                    w.x[j, i] = w.trial[j, i]
            return tau
        if tau == 1.0 and correction < N_CORRECTIONS:
            correction += 1
            force(plan, frame, w, w.trial, rho, w.back)
            solve(plan, w.diagonal, w.block, w.back)
        else:
            correction = 0
            tau *= 0.5
    return 0.0


@kernel()
def minimise(plan, frame, w, penalty, tolerance_m, max_iterations):
    """From w.x and w.multiplier to an optimum; returns (how it ended, Newton steps, ρ)."""
    close = max(0.1 * tolerance_m, ROUNDING * frame.reach_m)
    if penalty:
        close *= 10.0  # forces of the size of ρ leave as much rounding
    length_close = max(LENGTH_CLOSE_M, ROUNDING * frame.reach_m)
    rho = RHO_FIRST * frame.softness
    last = RHO_PENALTY * frame.scale
    before = previous = np.inf
    lift = 0.0
    exact = True
    worst = measure(plan, frame, w)
    estimate(plan, frame, w, rho, False, w.force)
    for n in range(max_iterations):
        # forces of contradictory lengths, and the curvature they cause, grow with ρ
        most = LIFT_LAST * (max(1.0, rho / (RHO_FIRST * frame.scale)) if penalty else 1.0)
        found, raised, decrease, longest = newton_step(plan, frame, w, rho, exact, lift, most)
        if raised > 0.0:
            lift = min(raised, most)
        if not found:
            return STUCK, n, rho
        arrived = rho >= last if penalty else worst <= length_close
        if longest <= close and arrived:
            if not penalty:
                estimate(plan, frame, w, rho, True, w.multiplier)
            for j in range(w.x.shape[0]):
                for i in range(3):
                    w.x[j, i] += w.step[j, i]
            measure(plan, frame, w)
            return ARRIVED, n, rho
        estimate(plan, frame, w, rho, True, w.force)
        tau = take_step(plan, frame, w, rho, decrease, longest <= close)
        if tau == 0.0:
            estimate(plan, frame, w, rho, False, w.force)
            if raised == np.inf:
                return STUCK, n + 1, rho
            exact = False  # once more without negative curvature
            continue
        exact = True
        worst = measure(plan, frame, w)
        # The merit's valley along the lengths is curved: the higher ρ, the shorter the steps in it.
        recent, previous = max(longest, previous), longest
        narrow = VALLEY * frame.softness * (frame.size_m / max(recent, close)) ** 2
        if tau < 1.0:
            estimate(plan, frame, w, rho, False, w.force)
            continue
        if penalty:
            if longest <= close or (raised == 0.0 and 10.0 * rho <= narrow):
                higher = min(10.0 * rho, last)
                for k in range(w.force.shape[0]):
                    w.force[k] *= higher / rho
                rho = higher
        elif longest <= max(close, 0.5 * worst):
            estimate(plan, frame, w, rho, False, w.multiplier)
            higher = min(max(rho, narrow), max(rho, RHO_TOP * frame.scale), 1e3 * rho)
            hopeless = False
            if worst > CONTRACTION * before and worst > length_close:
                higher = max(higher, 10.0 * rho)
                hopeless = rho > RHO_TOP * frame.scale and worst > HOPELESS * before
            if hopeless or higher > RHO_LAST * frame.scale:
                return DIVERGED, n + 1, rho
            rho = higher
            before = worst
    return LIMIT, max_iterations, rho


@kernel()
def polish(plan, frame, w):
    """Shortest way to exact lengths (Gauss–Newton on ½|r|²); returns the worst error left.

    Where the pairs' directions depend on each other (three joints on a line) an error shrinks to a
    quarter a step, elsewhere to its square.
    """
    damping = 1e-13
    worst = measure(plan, frame, w)
    for _ in range(60):
        if worst <= ROUNDING * frame.reach_m or damping > 1.0:
            break
        clear(w)
        total = 0.0
        for k in range(frame.length.shape[0]):
            slot = plan.pair_slot[k]
            if slot < 0 or not frame.bound[k]:
                continue
            a, b = plan.pair[k, 0], plan.pair[k, 1]
            total += w.r[k] * w.r[k]
            at = 0
            for i in range(3):
                w.step[a, i] += w.r[k] * w.u[k, i]
                w.step[b, i] -= w.r[k] * w.u[k, i]
                for j in range(3):
                    w.block[slot, i, j] -= w.u[k, i] * w.u[k, j]
                for j in range(i, 3):
                    w.diagonal[a, at] += w.u[k, i] * w.u[k, j]
                    w.diagonal[b, at] += w.u[k, i] * w.u[k, j]
                    at += 1
        for j in range(w.x.shape[0]):
            for i in (0, 3, 5):
                w.diagonal[j, i] += damping
        if not factor(plan, w.diagonal, w.block):
            damping *= 100.0
            continue
        solve(plan, w.diagonal, w.block, w.step)
        for j in range(w.x.shape[0]):
            for i in range(3):
                w.trial[j, i] = w.x[j, i]
                w.x[j, i] += w.step[j, i]
        worst = measure(plan, frame, w)
        now = 0.0
        for k in range(frame.length.shape[0]):
            if plan.pair_slot[k] >= 0:
                now += w.r[k] * w.r[k]
        if not now < total:
            for j in range(w.x.shape[0]):
                for i in range(3):
                    w.x[j, i] = w.trial[j, i]
            worst = measure(plan, frame, w)
            damping *= 100.0
        elif now > 0.98 * total:
            break
    return worst
