"""What surrounds the search in one frame of a graph: activity, start, certificate, other starts."""

# mypy: allow-untyped-defs, allow-untyped-calls
# (Numba infers the types of compiled functions; the Python faces are annotated.)

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from fitpipe.kernels import graph_lagrangian as lagrangian
from fitpipe.kernels._jit import kernel
from fitpipe.kernels.graph_ldl import is_definite
from fitpipe.kernels.graph_merit import Frame, measure, unit_noise
from fitpipe.kernels.tree_frames import (
    CERTIFICATE_SHARE,
    CERTIFIED,
    ITERATION_LIMIT,
    NO_DATA,
    STALLED,
    STATIONARY,
)

COMPROMISE = 5  # no pose found keeps all lengths: violations least in squares, then the objective

FEASIBLE_M = 1e-10  # lengths that stay further off than this contradict each other
PENALTY_STEPS = 3  # Newton steps of a compromise, as a multiple of those of another search
N_FLIPS = 4  # joints turned over, one a start
N_JITTERS = 6  # starts that move joints in fixed pseudo-random directions
N_CONTINUED = 3  # unfinished searches are taken up again
N_STARTS = 1 + N_FLIPS + N_JITTERS


class Best(NamedTuple):
    """Best pose of a frame so far."""

    x: Any  # (joint, 3)
    multiplier: Any  # (pair,)
    value: Any  # (3,) objective, ½|r|², worst length error
    code: Any  # (3,) outcome, Newton steps of all starts, starts that led to the same compromise


@kernel()
def mark_active(stiffness, first, neighbour, active):
    """Write into `active` (joint,) what is observed or held by two or more active neighbours.

    On a tree these are the joints between observed ones. Returns how many are observed.
    """
    n_joints = stiffness.shape[0]
    degree = np.zeros(n_joints, np.int64)
    stack = np.empty(n_joints, np.int64)
    # A component that nobody observes is absent even where it is a ring.
    n = n_observed = 0
    for j in range(n_joints):
        active[j] = stiffness[j] > 0.0
        if active[j]:
            stack[n] = j
            n += 1
            n_observed += 1
    while n > 0:
        n -= 1
        j = stack[n]
        for s in range(first[j], first[j + 1]):
            i = neighbour[s]
            degree[j] += 1
            if not active[i]:
                active[i] = True
                stack[n] = i
                n += 1
    for j in range(n_joints):
        if active[j] and not stiffness[j] > 0.0 and degree[j] < 2:
            active[j] = False
            stack[n] = j
            n += 1
    while n > 0:
        n -= 1
        j = stack[n]
        for s in range(first[j], first[j + 1]):
            i = neighbour[s]
            degree[i] -= 1
            if active[i] and not stiffness[i] > 0.0 and degree[i] < 2:
                active[i] = False
                stack[n] = i
                n += 1
    return n_observed


@kernel()
def any_of(active):
    count = 0
    for is_active in active:
        count += is_active
    return count > 0


@kernel()
def load(target, stiffness, active, length, bound, start, plan, w, centre):
    """Frame about the centre of its data, with w.x at `start`; NaN there is placed near its like.

    A joint without start goes to its target, or beside the mean of the neighbours placed before.
    """
    n_joints = stiffness.shape[0]
    local = np.zeros((n_joints, 3))
    h = np.zeros(n_joints)
    placed = np.zeros(n_joints, np.bool_)
    scale = reach = size = compliance = 0.0
    n = 0
    for i in range(3):
        centre[i] = 0.0
    for j in range(n_joints):
        if stiffness[j] > 0.0:
            h[j] = stiffness[j]
            scale = max(scale, h[j])
            compliance += 1.0 / h[j]
            n += 1
            for i in range(3):
                centre[i] += (target[j, i] - centre[i]) / n
    softness = n / compliance
    n = 0
    for k in range(length.shape[0]):
        if bound[k]:
            n += 1
            size += (length[k] - size) / n
            reach = max(reach, length[k])
    for j in range(n_joints):
        started = active[j] and start[j, 0] == start[j, 0]
        placed[j] = started or h[j] > 0.0
        for i in range(3):
            if h[j] > 0.0:
                local[j, i] = target[j, i] - centre[i]
                reach = max(reach, abs(local[j, i]))
            w.x[j, i] = start[j, i] - centre[i] if started else local[j, i]
    frame = Frame(local, h, active, length, bound, scale, softness, size, reach)
    place_rest(plan, frame, w, active, placed)
    return frame


@kernel()
def place_rest(plan, frame, w, active, placed):
    """Place the other active joints around the neighbours that are placed, ring by ring."""
    n_joints = active.shape[0]
    total = np.zeros((n_joints, 3))
    number = np.zeros(n_joints)
    found = True
    while found:
        found = False
        for j in range(n_joints):
            number[j] = 0.0
        for k in range(frame.length.shape[0]):
            if frame.bound[k]:
                a, b = plan.pair[k, 0], plan.pair[k, 1]
                if placed[a] == placed[b]:
                    continue
                if placed[b]:
                    a, b = b, a
                number[b] += 1.0
                for i in range(3):
                    if number[b] == 1.0:
                        total[b, i] = 0.0
                    total[b, i] += w.x[a, i]
        for j in range(n_joints):
            if active[j] and number[j] > 0.0:
                away = 0.5 * frame.size_m
                d0, d1, d2 = unit_noise(float(j))
                w.x[j, 0] = total[j, 0] / number[j] + away * d0
                w.x[j, 1] = total[j, 1] / number[j] + away * d1
                w.x[j, 2] = total[j, 2] / number[j] + away * d2
                placed[j] = True
                found = True


@kernel()
def is_certified(plan, frame, w):
    """Whether K(λ) is positive definite up to CERTIFICATE_SHARE (formulation.md section 4)."""
    for s in range(w.entry.shape[0]):
        w.entry[s] = 0.0
    for j in range(w.pivot.shape[0]):
        w.pivot[j] = frame.stiffness[j] + CERTIFICATE_SHARE * frame.scale
    for k in range(frame.length.shape[0]):
        slot = plan.pair_slot[k]
        if slot >= 0 and frame.bound[k]:
            kappa = w.multiplier[k] / frame.length[k]
            w.pivot[plan.pair[k, 0]] += kappa
            w.pivot[plan.pair[k, 1]] += kappa
            w.entry[slot] -= kappa
    return is_definite(plan, w.pivot, w.entry)


@kernel()
def keep(x, into):
    """Copy points, shape (joint, 3); a loop, which compiles faster than an array assignment."""
    for j in range(x.shape[0]):
        for i in range(3):
            into[j, i] = x[j, i]


@kernel()
def search(plan, frame, w, spare, best, tolerance_m, max_iterations):
    """Search from w.x and w.multiplier, judge the end, and keep it in `best` if it is better."""
    feasible = max(FEASIBLE_M, 16 * lagrangian.ROUNDING * frame.reach_m)
    compromise = False
    ended, worst = lagrangian.STUCK, np.inf
    # Usually the first round is all. Where it cannot keep the lengths: from the start again without
    # multipliers; where that can (the first went astray), on from there with multipliers.
    keep(w.x, spare)
    for attempt in range(3):
        penalty = attempt == 1
        # the penalty rises in steps, each of which is a search of its own
        limit = PENALTY_STEPS * max_iterations if penalty else max_iterations
        ended, n, rho = lagrangian.minimise(plan, frame, w, penalty, tolerance_m, limit)
        best.code[1] += n
        if penalty:
            lagrangian.estimate(plan, frame, w, rho, False, w.multiplier)
            keep(w.x, spare)
        worst = lagrangian.polish(plan, frame, w)
        if worst <= feasible and not penalty:
            break
        if worst > feasible:
            keep(spare, w.x)
            if attempt == 0:
                for k in range(w.multiplier.shape[0]):
                    w.multiplier[k] = 0.0
            else:
                worst = measure(plan, frame, w)
                compromise = penalty and ended == lagrangian.ARRIVED
                break
    if compromise:
        outcome = COMPROMISE
    elif ended == lagrangian.LIMIT:
        outcome = ITERATION_LIMIT
    elif ended == lagrangian.STUCK or worst > feasible:
        outcome = STALLED
    elif is_certified(plan, frame, w):
        outcome = CERTIFIED
    else:
        outcome = STATIONARY
    objective = violation = 0.0
    for j in range(w.x.shape[0]):
        for i in range(3):
            objective += 0.5 * frame.stiffness[j] * (w.x[j, i] - frame.target[j, i]) ** 2
    for k in range(frame.length.shape[0]):
        violation += 0.5 * w.r[k] * w.r[k]
    if compromise and best.code[0] == COMPROMISE:
        same = abs(violation - best.value[1]) <= 1e-6 * violation
        best.code[2] += same and abs(objective - best.value[0]) <= 1e-6 * objective
    if best.code[0] == NO_DATA or is_better(outcome, objective, violation, worst, feasible, best):
        keep(w.x, best.x)
        for k in range(w.multiplier.shape[0]):
            best.multiplier[k] = w.multiplier[k]
        best.value[0] = objective
        best.value[1] = violation
        best.value[2] = worst
        best.code[0] = outcome


@kernel()
def is_better(outcome, objective, violation, worst, feasible, best):
    """Exact lengths first (else smaller violations), then converged, then the objective."""
    old = best.code[0]
    if worst > feasible or best.value[2] > feasible:
        if worst <= feasible or best.value[2] <= feasible:
            return worst <= feasible
        if abs(violation - best.value[1]) > 1e-6 * best.value[1]:
            return violation < best.value[1]
        if (outcome == COMPROMISE) != (old == COMPROMISE):
            return outcome == COMPROMISE
        return objective < best.value[0] * (1.0 - 1e-6)
    if outcome == CERTIFIED or old == CERTIFIED:
        return old != CERTIFIED
    if (outcome == STATIONARY) != (old == STATIONARY):
        return outcome == STATIONARY
    return objective < best.value[0] * (1.0 - 1e-12)


@kernel()
def propose(plan, frame, w, best, attempt, suspect):
    """Write start number `attempt` into w.x: the targets, a joint turned over, or places around.

    An unfinished search goes on first: a flat valley (a limb that nearly swivels) takes many steps.
    False where it would be one tried before.
    """
    keep(best.x, w.x)
    unfinished = best.code[0] == ITERATION_LIMIT and attempt < N_CONTINUED
    for k in range(w.multiplier.shape[0]):
        w.multiplier[k] = best.multiplier[k] if unfinished else 0.0
    if unfinished:
        return True
    if 0 < attempt <= N_FLIPS:
        k = suspect[attempt - 1]
        if k < 0:
            return False
        a, b = plan.pair[k, 0], plan.pair[k, 1]
        # the softer end goes to the other side of the firmer one
        if frame.stiffness[a] < frame.stiffness[b]:
            a, b = b, a
        for i in range(3):
            w.x[b, i] = 2.0 * w.x[a, i] - w.x[b, i]
        return True
    # The observed joints on their targets and the others elsewhere; every other time all elsewhere.
    onto_targets = attempt % 2 == 0
    away = frame.size_m if attempt > 0 else 0.0
    elsewhere = attempt == 0
    for j in range(w.x.shape[0]):
        if onto_targets and frame.stiffness[j] > 0.0:
            for i in range(3):
                w.x[j, i] = frame.target[j, i]
            continue
        d0, d1, d2 = unit_noise(float(1 + j + w.x.shape[0] * attempt))
        w.x[j, 0] += away * d0
        w.x[j, 1] += away * d1
        w.x[j, 2] += away * d2
        elsewhere |= frame.active[j]
    return elsewhere


@kernel()
def rank_suspects(plan, frame, best, suspect):
    """Write into `suspect` the pairs that make K(λ) least definite, worst first; -1 = none."""
    ratio = np.zeros(frame.length.shape[0])
    for k in range(frame.length.shape[0]):
        if frame.bound[k] and plan.pair_slot[k] >= 0:
            a, b = plan.pair[k, 0], plan.pair[k, 1]
            soft = frame.stiffness[a] + frame.stiffness[b] + 1e-9 * frame.scale
            ratio[k] = best.multiplier[k] / (frame.length[k] * soft)
    for s in range(suspect.shape[0]):
        suspect[s] = -1
        if ratio.shape[0] > 0:
            k = int(np.argmin(ratio))
            if ratio[k] < 0.0:
                suspect[s] = k
            ratio[k] = 0.0
