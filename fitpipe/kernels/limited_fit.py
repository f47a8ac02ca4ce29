"""Fits frames anew within joint limits: damped Newton steps over the joint angles.

Bones are exact in every pose, angles never leave their box (a variable on its limit that wants
beyond it takes no part in the step), and J0 falls with every step.
"""

# mypy: allow-untyped-defs, allow-untyped-calls
# (Numba infers the types of compiled functions; the Python faces are annotated.)

from __future__ import annotations

import numpy as np

from fitpipe.kernels._jit import kernel
from fitpipe.kernels.ik_steps import solve_positive
from fitpipe.kernels.limited_move import move
from fitpipe.kernels.limited_pose import (
    ABSENT,
    BALL,
    EULER,
    EULER_TWO,
    FIXED,
    HINGE,
    MEMBER,
    SWING_EULER,
    TWIST,
    copy_state,
    fill_rates,
    fill_velocities,
    is_carrying,
    new_state,
    objective,
)
from fitpipe.kernels.rotations import dot

CONVERGED, LIMIT, STALLED = 0, 1, 2

HALVINGS = 25
SOFTER, HARDER = 0.2, 8.0
LEAST, MOST = 1e-12, 1e6  # damping, relative to the largest curvature
FREE_STEP = 1e-3  # damping below which a short step means that the way is short
ROUNDING = 1e-14  # share of J0 below which a decrease cannot be told from rounding


@kernel()
def n_variables(kind):
    if kind in (ABSENT, FIXED):
        return 0
    if kind in (BALL, EULER, TWIST):
        return 3
    if kind == HINGE:
        return 1
    return 2


@kernel()
def find_free(body, frame, state, gradient, free):
    """Which variables take part in the step: all that exist but those held at a limit."""
    n = body.parent.size
    for s in range(n):
        kind = frame.kind[s]
        for i in range(3):
            has_box = kind in (EULER, EULER_TWO, HINGE, SWING_EULER) or (kind == TWIST and i == 2)
            c = 3 * body.rank[s] + i
            free[c] = i < n_variables(kind)
            if has_box and free[c]:
                g, q = gradient[c], state.angle[s, i]
                free[c] = not (
                    (q <= frame.low[s, i] and g >= 0.0) or (q >= frame.high[s, i] and g <= 0.0)
                )
    for a in range(body.anchor.size):
        for r in range(3):
            free[3 * n + 3 * a + r] = frame.is_anchored[a]


@kernel()
def fill_gradient(frame, state, V, gradient):
    for c in range(V.shape[0]):
        total = 0.0
        for j in range(frame.stiffness.size):
            if frame.stiffness[j] > 0.0:
                for r in range(3):
                    total += (
                        frame.stiffness[j] * V[c, j, r] * (state.joint[j, r] - frame.target[j, r])
                    )
        gradient[c] = total


@kernel()
def fill_hessian(body, frame, state, W, V, free, H):
    """Second derivative of J0 on the free variables, into `H`.

    V'V and, for every bone, its load times the second derivative of the bone: of two variables
    that turn it, the one nearer to the root carries the other's axis along.
    """
    n = V.shape[0]
    for i in range(n):
        if not free[i]:
            continue
        for j in range(i, n):
            total = 0.0
            if free[j]:
                for k in range(frame.stiffness.size):
                    h = frame.stiffness[k]
                    if h > 0.0:
                        total += h * (
                            V[i, k, 0] * V[j, k, 0]
                            + V[i, k, 1] * V[j, k, 1]
                            + V[i, k, 2] * V[j, k, 2]
                        )
            H[i, j] = total
    # the gradient at every joint, summed over all that hangs on it
    load = np.zeros((frame.stiffness.size, 3))
    for k in range(frame.stiffness.size):
        if frame.stiffness[k] > 0.0:
            for r in range(3):
                load[k, r] = frame.stiffness[k] * (state.joint[k, r] - frame.target[k, r])
    bone = np.empty(3)
    for b in range(body.bone_order.size - 1, -1, -1):
        s = body.bone_order[b]
        if not is_carrying(body, frame, s):
            continue
        start, end = body.from_joint[s], body.to_joint[s]
        for r in range(3):
            load[start, r] += load[end, r]
            bone[r] = state.joint[end, r] - state.joint[start, r]
        pull = load[end]
        along = dot(pull, bone)
        for i in range(3 * body.parent.size):
            if not free[i] or dot(W[i, s], W[i, s]) == 0.0:
                continue
            load_i, bone_i = dot(pull, W[i, s]), dot(bone, W[i, s])
            owner = body.order[i // 3]
            for j in range(i, 3 * body.parent.size):
                if not free[j]:
                    continue
                # pull . (w_i x (w_j x bone)) for i outside of j
                load_j, bone_j = dot(pull, W[j, s]), dot(bone, W[j, s])
                term = load_j * bone_i
                inner = body.order[j // 3]
                is_even = frame.kind[owner] == MEMBER and frame.kind[inner] == MEMBER
                if is_even or (owner == inner and frame.kind[owner] not in (EULER, EULER_TWO)):
                    term = 0.5 * (load_j * bone_i + load_i * bone_j)
                H[i, j] += term - along * dot(W[i, s], W[j, s])
    for i in range(n):
        for j in range(i):
            H[i, j] = H[j, i]


@kernel()
def find_step(body, frame, state, H, shift, gradient, free, kept, L, step):
    """Newton's step within the box, into `step`; False where H + shift is not positive.

    A variable that would cross its limit goes to it, and the step of the others is found again
    with that; `kept` (column,) is memory.
    """
    n = gradient.size
    n_angles = 3 * body.parent.size
    push = gradient.copy()
    for c in range(n):
        kept[c] = 0.0
    for _ in range(n):
        if not solve_positive(H, shift, push, free, L, step):
            return False
        is_within = True
        for c in range(n_angles):
            if not free[c]:
                continue
            s = body.order[c // 3]
            q = state.angle[s, c % 3]
            low, high = frame.low[s, c % 3], frame.high[s, c % 3]
            if q + step[c] < low or q + step[c] > high:
                kept[c] = (low if q + step[c] < low else high) - q
                free[c] = False
                is_within = False
                for k in range(n):
                    push[k] += H[k, c] * kept[c]
        if is_within:
            break
    for c in range(n):
        if not free[c]:
            step[c] = kept[c]
    return True


@kernel()
def descend(body, frame, state, tolerance_m, max_iterations):
    """Improve `state` in place; how it ended, and the iterations."""
    n = 3 * (body.parent.size + body.anchor.size)
    n_joints = frame.stiffness.size
    W = np.zeros((n, body.parent.size, 3))
    V = np.zeros((n, n_joints, 3))
    H = np.zeros((n, n))
    L = np.zeros((n, n))
    gradient = np.zeros(n)
    step = np.zeros(n)
    tried = np.zeros(n)
    kept = np.zeros(n)
    free = np.zeros(n, np.bool_)
    new = new_state(body.parent.size, body.anchor.size, n_joints)
    move(body, frame, state, step, new)
    copy_state(new, state)
    F = objective(frame, state)
    damping = 1e-6
    for iteration in range(max_iterations):
        fill_rates(body, frame, state, W)
        fill_velocities(body, frame, state, W, V)
        fill_gradient(frame, state, V, gradient)
        find_free(body, frame, state, gradient, free)
        scale = 0.0
        for c in range(n):
            if free[c]:
                square = 0.0
                for j in range(n_joints):
                    square += frame.stiffness[j] * dot(V[c, j], V[c, j])
                scale = max(scale, square)
        if scale == 0.0:
            return CONVERGED, iteration
        fill_hessian(body, frame, state, W, V, free, H)
        was_free = free.copy()
        while not find_step(body, frame, state, H, damping * scale, gradient, free, kept, L, step):
            damping = max(damping * HARDER, LEAST)
            free[:] = was_free
        foretold = 0.0
        for c in range(n):
            foretold -= gradient[c] * step[c]
        if foretold <= ROUNDING * F and damping <= FREE_STEP:
            return CONVERGED, iteration
        tau = 1.0
        is_better = False
        F_new = F
        farthest = 0.0
        for _ in range(HALVINGS):
            for c in range(n):
                tried[c] = tau * step[c]
            move(body, frame, state, tried, new)
            F_new = objective(frame, new)
            farthest = 0.0
            for j in range(n_joints):
                if frame.is_placed[j]:
                    square = 0.0
                    for r in range(3):
                        square += (new.joint[j, r] - state.joint[j, r]) ** 2
                    farthest = max(farthest, square**0.5)
            if F_new < F:
                is_better = True
                break
            if farthest < tolerance_m:
                break
            tau *= 0.5
        is_short = farthest < tolerance_m and damping <= FREE_STEP
        if is_better:
            copy_state(new, state)
            F = F_new
            damping = max(damping * SOFTER, LEAST) if tau == 1.0 else min(damping * HARDER, MOST)
        if is_short:
            return CONVERGED, iteration + 1
        if not is_better:
            if damping >= MOST:
                return STALLED, iteration + 1
            damping = min(damping * HARDER * HARDER, MOST)
    return LIMIT, max_iterations
