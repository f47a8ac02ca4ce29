"""Cyclic coordinate descent: each joint in turn takes the value that is best for all tips."""

# mypy: allow-untyped-defs, allow-untyped-calls
# (Numba infers the types of compiled functions; the Python faces are annotated.)

from __future__ import annotations

import math

from fitpipe.kernels._jit import kernel
from fitpipe.kernels.ik_descent import FLAT, PATIENCE
from fitpipe.kernels.ik_links import forward, residual

TURN = 2.0 * math.pi


@kernel()
def best_turn(across, along, q, lower, upper):
    """Value within the limits that maximises along cos(d) + across sin(d), d its way from `q`."""
    if across == 0.0 and along == 0.0:
        return q
    best = q + math.atan2(across, along)
    if lower <= best <= upper:
        return best
    # a full turn away may be inside; else one of the two ends is best
    if best < lower:
        again = best + TURN * math.ceil((lower - best) / TURN)
    else:
        again = best - TURN * math.ceil((best - upper) / TURN)
    if lower <= again <= upper:
        return again
    at_lower = along * math.cos(lower - q) + across * math.sin(lower - q)
    at_upper = along * math.cos(upper - q) + across * math.sin(upper - q)
    return lower if at_lower >= at_upper else upper


@kernel()
def turn_point(point, centre, axis, s, c):
    """Rotate `point` about the axis through `centre`, in place."""
    x, y, z = point[0] - centre[0], point[1] - centre[1], point[2] - centre[2]
    d = (axis[0] * x + axis[1] * y + axis[2] * z) * (1.0 - c)
    point[0] = centre[0] + c * x + s * (axis[1] * z - axis[2] * y) + d * axis[0]
    point[1] = centre[1] + c * y + s * (axis[2] * x - axis[0] * z) + d * axis[1]
    point[2] = centre[2] + c * z + s * (axis[0] * y - axis[1] * x) + d * axis[2]


@kernel()
def pull(point, goal, centre, axis, weight):
    """What one point adds to (across, along) of the best turn about an axis."""
    ux, uy, uz = point[0] - centre[0], point[1] - centre[1], point[2] - centre[2]
    vx, vy, vz = goal[0] - centre[0], goal[1] - centre[1], goal[2] - centre[2]
    across = (
        axis[0] * (uy * vz - uz * vy)
        + axis[1] * (uz * vx - ux * vz)
        + axis[2] * (ux * vy - uy * vx)
    )
    du = axis[0] * ux + axis[1] * uy + axis[2] * uz
    dv = axis[0] * vx + axis[1] * vy + axis[2] * vz
    return weight * across, weight * (ux * vx + uy * vy + uz * vz - du * dv)


@kernel()
def sweep(links, goal, q, pose):
    """One pass from the tips to the base; `pose.tip` follows, the rest of `pose` does not."""
    n_tips = links.tip_joint.size
    for i in range(q.size - 1, -1, -1):
        centre = pose.centre[i]
        axis = pose.axis[i]
        across = 0.0
        along = 0.0
        for e in range(n_tips):
            if not links.moves[e, i]:
                continue
            w2 = goal.weight[e] ** 2
            if links.slides[i]:
                for r in range(3):
                    across += w2 * axis[r] * (goal.position[e, r] - pose.tip[e, r])
                along += w2
            elif w2 > 0.0:
                more_across, more_along = pull(pose.tip[e], goal.position[e], centre, axis, w2)
                across += more_across
                along += more_along
        if links.slides[i]:
            value = q[i] if along == 0.0 else q[i] + across / along
            value = min(max(value, links.lower[i]), links.upper[i])
        else:
            value = best_turn(across, along, q[i], links.lower[i], links.upper[i])
        moved = value - q[i]
        if moved == 0.0:
            continue
        q[i] = value
        s, c = math.sin(moved), math.cos(moved)
        for e in range(n_tips):
            if not links.moves[e, i]:
                continue
            if links.slides[i]:
                for r in range(3):
                    pose.tip[e, r] += moved * axis[r]
            else:
                turn_point(pose.tip[e], centre, axis, s, c)


@kernel()
def cycle(links, goal, rules, q, work):
    """Improve `q` in place; sweeps taken. Ends at a target or when sweeps no longer help."""
    flat = 0
    iteration = 0
    forward(links, q, work.pose)
    F, worst, _ = residual(links, work.pose, goal, work.left)
    while iteration < rules.max_iterations and worst > rules.tolerance and flat < PATIENCE:
        iteration += 1
        before = F
        sweep(links, goal, q, work.pose)
        forward(links, q, work.pose)
        F, worst, _ = residual(links, work.pose, goal, work.left)
        flat = flat + 1 if before - F <= FLAT * before else 0
    return iteration
