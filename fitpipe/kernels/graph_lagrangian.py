"""Augmented Lagrangian with exact curvature: one frame from one start to one optimum.

For lengths r_k = |x_a − x_b| − L_k and ρ > 0 the merit and its derivatives are, with u_k the unit
vector of pair k and y = λ + ρ r the multipliers it stands for,

    φ(x) = J0 + λ·r + ρ/2 |r|² ,        ∇φ = H (x − m) + Λᵀ y ,
    ∇²φ = H + Σ_k y_k ∇²r_k + ρ ΛᵀΛ ,   ∇²r_k = (I − u_k u_kᵀ) / |x_a − x_b| at both ends,

so its Newton step is that of the bordered system with −1/ρ in the corner (see `graph_ldl`), and
near the optimum λ ← λ + ρ r makes it Newton's method on the optimality conditions. Where exact
curvature is not positive definite, pairs that push (y_k < 0) keep only ρ u uᵀ for that step.

Contradictory lengths have no λ. `PENALTY` then keeps λ = 0 and lets ρ grow: the limit minimises
the violations ½|r|² first, and J0 among all poses that do.

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
from typing import Any, NamedTuple

import numpy as np

from fitpipe.kernels._jit import kernel
from fitpipe.kernels.graph_ldl import factor, solve
from fitpipe.kernels.tree_restart import unit_noise

# How a search ends.
ARRIVED = 0
STUCK = 1  # no step lowers the merit though it is longer than the tolerance
LIMIT = 2
DIVERGED = 3  # multipliers grow without end: the lengths contradict, or their normals depend

# ρ in units of the largest stiffness: at first, while lengths close in, where they resist, and
# of the penalty at last.
RHO_FIRST = 10.0
RHO_TOP = 1e5
RHO_LAST = 1e11
RHO_PENALTY = 1e8

# Levenberg term toward the present pose: as a share of the largest stiffness, and of ρ, whose
# rounding it must exceed. It holds joints without curvature and leaves the optimum where it is.
DAMPING = 1e-6
DAMPING_RHO = 1e-14
# Lifts of an indefinite curvature, in units of the largest stiffness (Wächter, Biegler 2006,
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


class Frame(NamedTuple):
    """One frame's data; joints that are one point by a bone of length 0 are one joint here."""

    target: Any  # (joint, 3) about a centre near the data
    stiffness: Any  # (joint,)
    length: Any  # (pair,) metres
    bound: Any  # (pair,) bool, both ends active
    scale: Any  # largest stiffness
    size_m: Any  # mean length of a pair
    reach_m: Any  # largest coordinate or length, whose rounding limits everything


class Work(NamedTuple):
    """State of the search and its workspace."""

    x: Any  # (joint, 3)
    multiplier: Any  # (pair,) of r
    force: Any  # (pair,) multiplier that the curvature of the next step uses
    r: Any  # (pair,)
    u: Any  # (pair, 3) from the first joint to the second
    distance: Any  # (pair,)
    step: Any  # (joint, 3)
    trial: Any  # (joint, 3)
    back: Any  # (joint, 3)
    diagonal: Any  # (joint, 9)
    block: Any  # (slot, 3, 3)
    pivot: Any  # (joint,) of the certificate
    entry: Any  # (slot,)


@kernel()
def new_work(n_joints, n_pairs, n_slots):
    return Work(
        np.zeros((n_joints, 3)), np.zeros(n_pairs), np.zeros(n_pairs), np.zeros(n_pairs),
        np.zeros((n_pairs, 3)), np.zeros(n_pairs), np.zeros((n_joints, 3)), np.zeros((n_joints, 3)),
        np.zeros((n_joints, 3)), np.zeros((n_joints, 9)), np.zeros((n_slots, 3, 3)), np.zeros(n_joints), np.zeros(n_slots),
    )  # fmt: skip


@kernel()
def clear(w):
    """Zero the matrix and the right side."""
    for j in range(w.diagonal.shape[0]):
        for i in range(9):
            w.diagonal[j, i] = 0.0
        for i in range(3):
            w.step[j, i] = 0.0
    for s in range(w.block.shape[0]):
        for i in range(3):
            for j in range(3):
                w.block[s, i, j] = 0.0


@kernel()
def measure(plan, frame, w):
    """Lengths and directions of the bound pairs at w.x; returns the worst length error."""
    worst = 0.0
    for k in range(frame.length.shape[0]):
        w.r[k] = 0.0
        if not frame.bound[k]:
            continue
        a, b = plan.pair[k, 0], plan.pair[k, 1]
        d0 = w.x[b, 0] - w.x[a, 0]
        d1 = w.x[b, 1] - w.x[a, 1]
        d2 = w.x[b, 2] - w.x[a, 2]
        distance = math.sqrt(d0 * d0 + d1 * d1 + d2 * d2)
        w.r[k] = distance - frame.length[k]
        worst = max(worst, abs(w.r[k]))
        if distance > 1e-9 * frame.length[k]:
            d0 /= distance
            d1 /= distance
            d2 /= distance
        else:  # any direction parts the two joints
            d0, d1, d2 = unit_noise(float(k))
        w.u[k, 0] = d0
        w.u[k, 1] = d1
        w.u[k, 2] = d2
        w.distance[k] = max(distance, 1e-6 * frame.length[k])
    return worst


@kernel()
def merit(plan, frame, w, x, rho):
    """φ at x, and the sum of its terms' sizes, which bounds its rounding."""
    value = size = 0.0
    for j in range(x.shape[0]):
        if frame.stiffness[j] > 0.0:
            e0 = x[j, 0] - frame.target[j, 0]
            e1 = x[j, 1] - frame.target[j, 1]
            e2 = x[j, 2] - frame.target[j, 2]
            value += 0.5 * frame.stiffness[j] * (e0 * e0 + e1 * e1 + e2 * e2)
    size = value
    for k in range(frame.length.shape[0]):
        if frame.bound[k]:
            a, b = plan.pair[k, 0], plan.pair[k, 1]
            d0 = x[b, 0] - x[a, 0]
            d1 = x[b, 1] - x[a, 1]
            d2 = x[b, 2] - x[a, 2]
            r = math.sqrt(d0 * d0 + d1 * d1 + d2 * d2) - frame.length[k]
            term = (w.multiplier[k] + 0.5 * rho * r) * r
            value += term
            # r itself is rounded, by some bits of the largest coordinate
            size += abs(term) + (abs(w.multiplier[k]) + rho * abs(r)) * frame.reach_m
    return value, size


@kernel()
def force(plan, frame, w, x, rho, into):
    """Write −∇φ at x into `into` (joint, 3)."""
    for j in range(x.shape[0]):
        h = frame.stiffness[j]
        for i in range(3):
            into[j, i] = h * (frame.target[j, i] - x[j, i]) if h > 0.0 else 0.0
    for k in range(frame.length.shape[0]):
        if frame.bound[k]:
            a, b = plan.pair[k, 0], plan.pair[k, 1]
            d0 = x[b, 0] - x[a, 0]
            d1 = x[b, 1] - x[a, 1]
            d2 = x[b, 2] - x[a, 2]
            distance = math.sqrt(d0 * d0 + d1 * d1 + d2 * d2)
            y = w.multiplier[k] + rho * (distance - frame.length[k])
            if distance > 1e-9 * frame.length[k]:
                y /= distance
            else:
                d0, d1, d2 = w.u[k, 0], w.u[k, 1], w.u[k, 2]
            into[a, 0] += y * d0
            into[a, 1] += y * d1
            into[a, 2] += y * d2
            into[b, 0] -= y * d0
            into[b, 1] -= y * d1
            into[b, 2] -= y * d2


@kernel()
def assemble(plan, frame, w, rho, damping, share):
    """Matrix and right side of the Newton step; negative y count by `share` in the curvature."""
    clear(w)
    force(plan, frame, w, w.x, rho, w.step)
    for j in range(w.x.shape[0]):
        h = frame.stiffness[j]
        own = w.diagonal[j]
        own[0] = own[3] = own[5] = h + damping
    for k in range(frame.length.shape[0]):
        slot = plan.pair_slot[k]
        if slot < 0 or not frame.bound[k]:
            continue
        a, b = plan.pair[k, 0], plan.pair[k, 1]
        u = w.u[k]
        y = w.force[k]
        across = (y if y > 0.0 else share * y) / w.distance[k]
        along = rho - across
        at = 0
        for i in range(3):
            for j in range(i, 3):
                value = along * u[i] * u[j] + (across if i == j else 0.0)
                w.diagonal[a, at] += value
                w.diagonal[b, at] += value
                at += 1
                w.block[slot, i, j] -= value
                if i != j:
                    w.block[slot, j, i] -= value
    for j in range(w.x.shape[0]):
        own = w.diagonal[j]
        own[8] = abs(own[0]) + abs(own[3]) + abs(own[5])


@kernel()
def newton_step(plan, frame, w, rho, exact, lift):
    """Write the step into w.step; returns (found, lift of the curvature, −slope, longest move).

    Where exact curvature is not positive definite all of it is lifted, at first by a bit less than
    last time, then eightfold; beyond a few stiffnesses its negative part is dropped instead.
    `exact` False begins there; its lift is infinite.
    """
    small = frame.scale * max(DAMPING, DAMPING_RHO * rho / frame.scale)
    raised = 0.0 if exact else np.inf
    for _ in range(16):
        if raised < np.inf:
            assemble(plan, frame, w, rho, small + raised, 1.0)
        else:
            assemble(plan, frame, w, rho, small, 0.0)
            small *= 10.0
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
        raised = max(LIFT_FIRST * frame.scale, lift / 3.0 if raised == 0.0 else 8.0 * raised)
        if raised > LIFT_LAST * frame.scale:
            raised = np.inf
    return False, raised, 0.0, 0.0


@kernel()
def set_forces(plan, frame, w, rho, ahead):
    """y = λ + ρ r, or with `ahead` λ + ρ (r + Λ d): what r will be after the step d."""
    for k in range(frame.length.shape[0]):
        if frame.bound[k]:
            r = w.r[k]
            if ahead:
                a, b = plan.pair[k, 0], plan.pair[k, 1]
                for i in range(3):
                    r += w.u[k, i] * (w.step[b, i] - w.step[a, i])
            w.force[k] = w.multiplier[k] + rho * r


@kernel()
def raise_multipliers(plan, frame, w, rho, ahead):
    """λ ← λ + ρ r, or with `ahead` λ + ρ (r + Λ d): what r will be after the step d."""
    for k in range(frame.length.shape[0]):
        if frame.bound[k]:
            r = w.r[k]
            if ahead:
                a, b = plan.pair[k, 0], plan.pair[k, 1]
                for i in range(3):
                    r += w.u[k, i] * (w.step[b, i] - w.step[a, i])
            w.multiplier[k] += rho * r


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
    rho = RHO_FIRST * frame.scale
    last = RHO_PENALTY * frame.scale
    before = previous = np.inf
    lift = 0.0
    exact = True
    worst = measure(plan, frame, w)
    set_forces(plan, frame, w, rho, False)
    for n in range(max_iterations):
        found, raised, decrease, longest = newton_step(plan, frame, w, rho, exact, lift)
        if raised > 0.0:
            lift = min(raised, LIFT_LAST * frame.scale)
        if not found:
            return STUCK, n, rho
        arrived = rho >= last if penalty else worst <= length_close
        if longest <= close and arrived:
            if not penalty:
                raise_multipliers(plan, frame, w, rho, True)
            for j in range(w.x.shape[0]):
                for i in range(3):
                    w.x[j, i] += w.step[j, i]
            measure(plan, frame, w)
            return ARRIVED, n, rho
        set_forces(plan, frame, w, rho, True)
        tau = take_step(plan, frame, w, rho, decrease, longest <= close)
        if tau == 0.0:
            set_forces(plan, frame, w, rho, False)
            if raised == np.inf:
                return STUCK, n + 1, rho
            exact = False  # once more without negative curvature
            continue
        exact = True
        worst = measure(plan, frame, w)
        # The merit's valley along the lengths is curved: the higher ρ, the shorter the steps in it.
        recent, previous = max(longest, previous), longest
        narrow = VALLEY * frame.scale * (frame.size_m / max(recent, close)) ** 2
        if tau < 1.0:
            set_forces(plan, frame, w, rho, False)
            continue
        if penalty:
            if longest <= close or (raised == 0.0 and 10.0 * rho <= narrow):
                higher = min(10.0 * rho, last)
                for k in range(w.force.shape[0]):
                    w.force[k] *= higher / rho
                rho = higher
        elif longest <= max(close, 0.5 * worst):
            raise_multipliers(plan, frame, w, rho, False)
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
