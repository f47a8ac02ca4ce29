"""What becomes of every lane after a step: accepted, undone, arrived or given up."""

# mypy: allow-untyped-defs, allow-untyped-calls
# (Numba infers the types of compiled functions; the Python faces are annotated.)

from __future__ import annotations

import math

from fitpipe.kernels._jit import kernel, prefer_widest_vectors
from fitpipe.kernels.tree_lanes import (
    ARRIVED,
    CLOSE2,
    CODE,
    DECREASE,
    GOING,
    IDLE,
    LANES,
    LIMIT,
    NOTHING,
    OBJECTIVE,
    OBJECTIVE_START,
    REJECTED,
    ROUGH,
    ROUND,
    STEP2,
    STUCK,
    TAU,
    WARY,
    J,
)

ARMIJO = 1e-4
# Steps without negative curvature: at first, more so in a large tree (one bone that starts badly
# spoils the step of all), and after a rejection.
WARY_FIRST = 1.0
WARY_LARGE = 2.0
LARGE = 50
WARY_REJECTED = 2.0
SHORTEST_TAU = 1e-12
ROUNDING = 1e-15  # of J0 a joint: what a sum of squares may rise by without having risen
RESOLUTION = 1e-16  # share of J0 below which a predicted decrease is nothing (flat directions)


@kernel()
def judge_steps(lane, n_joints):
    """Accept the steps just taken, or mark them rejected; returns how many are.

    A rejected step is tried again without negative curvature, then shortened by halves.
    """
    prefer_widest_vectors()
    wary_first = WARY_LARGE if n_joints > LARGE else WARY_FIRST
    n_rejected = 0.0
    for at in range(LANES):
        tau = lane[TAU * LANES + at]
        wary = lane[WARY * LANES + at]
        before = lane[OBJECTIVE * LANES + at]
        now = lane[J * LANES + at]
        slack = ROUNDING * n_joints * before - ARMIJO * tau * lane[DECREASE * LANES + at]
        first = before == math.inf
        accepted = first | (now <= before + slack)
        start = lane[OBJECTIVE_START * LANES + at]
        lane[OBJECTIVE_START * LANES + at] = now if first else start
        rejected = 0.0 if accepted | (lane[CODE * LANES + at] != GOING) else 1.0
        lane[OBJECTIVE * LANES + at] = before if rejected > 0.0 else now
        lane[REJECTED * LANES + at] = rejected
        shorter = 0.5 * tau if wary > 0.0 else tau
        lane[TAU * LANES + at] = shorter if rejected > 0.0 else 1.0
        wary_accepted = wary_first if first else max(wary - 1.0, 0.0)
        wary_rejected = wary if wary > 0.0 else WARY_REJECTED
        lane[WARY * LANES + at] = wary_rejected if rejected > 0.0 else wary_accepted
        n_rejected += rejected
    return n_rejected


@kernel()
def judge_arrival(lane, max_iterations):
    """Write into CODE which lanes are done and count the step of the others."""
    prefer_widest_vectors()
    n_done = 0.0
    for at in range(LANES):
        objective = lane[OBJECTIVE * LANES + at]
        # Few joints seen leave whole families of exact fits, where Newton's step is singular.
        flat = lane[DECREASE * LANES + at] <= RESOLUTION * objective
        hidden = lane[ROUGH * LANES + at] * objective
        flat |= lane[DECREASE * LANES + at] * lane[DECREASE * LANES + at] <= hidden
        flat |= objective <= lane[NOTHING * LANES + at]
        arrived = flat | (lane[STEP2 * LANES + at] <= lane[CLOSE2 * LANES + at])
        stuck = lane[TAU * LANES + at] < SHORTEST_TAU
        rounds = lane[ROUND * LANES + at]
        code = LIMIT if rounds >= max_iterations else GOING
        code = STUCK if stuck else code
        code = ARRIVED if arrived else code
        going = lane[CODE * LANES + at] == GOING
        lane[CODE * LANES + at] = code if going else IDLE
        lane[ROUND * LANES + at] = rounds + (1.0 if code == GOING else 0.0)
        n_done += 1.0 if going & (code != GOING) else 0.0
    return n_done
