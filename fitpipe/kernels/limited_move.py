"""Steps of the joint angles of one frame: the pose that they lead to."""

# mypy: allow-untyped-defs, allow-untyped-calls
# (Numba infers the types of compiled functions; the Python faces are annotated.)

from __future__ import annotations

import math

import numpy as np

from fitpipe.kernels._jit import kernel
from fitpipe.kernels.ik_links import turn_matrix
from fitpipe.kernels.limited_pose import (
    BALL,
    EULER,
    EULER_TWO,
    HINGE,
    MEMBER,
    SLIDE,
    SWING,
    SWING_EULER,
    TWIST,
    euler_matrix,
    fill_lines,
    matmul,
    matmul_transposed,
    place,
    tangents,
)
from fitpipe.kernels.rotations import apply, dot, frame_of, some_perpendicular, swing_matrix


@kernel()
def move(body, frame, state, step, out):
    """The state after a step (column,) of its variables, into `out`; angles stay in their box."""
    n = body.parent.size
    e = np.empty((2, 3))
    d = np.empty(3)
    R = np.empty((3, 3))
    S = np.empty((3, 3))
    T = np.empty((3, 3))
    raw = np.zeros((n, 3))
    for s in range(n):
        kind = frame.kind[s]
        col = 3 * body.rank[s]
        out.local[s] = state.local[s]
        out.angle[s] = state.angle[s]
        if kind in (EULER, EULER_TWO, HINGE, SWING_EULER):
            n_turns = 3 if kind == EULER else 1 if kind == HINGE else 2
            for i in range(n_turns):
                out.angle[s, i] = min(
                    max(state.angle[s, i] + step[col + i], frame.low[s, i]), frame.high[s, i]
                )
            if kind != SWING_EULER:
                n_all = 1 if kind == HINGE else 3
                euler_matrix(body.axes[s], out.angle[s], n_all, out.local[s])
                continue
            euler_matrix(body.axes[s], out.angle[s], 2, R)
            apply(R, body.rest[s], raw[s])
            swing_matrix(body.rest[s], raw[s], out.local[s])
        elif kind == BALL:
            size = math.sqrt(step[col] ** 2 + step[col + 1] ** 2 + step[col + 2] ** 2)
            if size > 0.0:
                for r in range(3):
                    d[r] = step[col + r] / size
                turn_matrix(d, size, R)
                matmul(R, state.local[s], out.local[s])
        elif kind in (SWING, SLIDE, TWIST, MEMBER):
            direction_of(state.local[s], body.rest[s], d)
            tangents(d, e)
            size = 0.0
            for r in range(3):
                raw[s, r] = d[r] + step[col] * e[0, r] + step[col + 1] * e[1, r]
                size += raw[s, r] ** 2
            for r in range(3):
                raw[s, r] /= math.sqrt(size)
            if kind in (SLIDE, TWIST):
                swing_matrix(d, raw[s], R)
                if kind == TWIST:
                    out.angle[s, 2] = min(
                        max(state.angle[s, 2] + step[col + 2], frame.low[s, 2]), frame.high[s, 2]
                    )
                    turn_matrix(raw[s], out.angle[s, 2] - state.angle[s, 2], S)
                    matmul(S, R, T)
                    R[:] = T
                matmul(R, state.local[s], out.local[s])
            elif kind == SWING:
                _swing_on(body.rest[s], d, raw[s], state.local[s], R, S, out.local[s])
    for b in range(n):
        if body.bone[b] < 0 and has_members(body, frame, b):
            _put_members(body, frame, state, b, raw, R, S, out)
    for a in range(body.anchor.size):
        for r in range(3):
            out.anchor[a, r] = state.anchor[a, r] + step[3 * n + 3 * a + r]
    place(body, frame, out)


@kernel()
def has_members(body, frame, owner):
    """Whether bones that may move against each other make up a body's frame."""
    n = 0
    for s in range(body.parent.size):
        if body.body[s] == owner and frame.kind[s] == MEMBER:
            n += 1
    return n > 0


@kernel()
def direction_of(R, u, out):
    """R u as a unit vector, into `out`: rounding must not grow from step to step."""
    apply(R, u, out)
    size = math.sqrt(dot(out, out))
    for r in range(3):
        out[r] /= size


@kernel()
def _swing_on(u, before, after, local, R, S, out):
    """`local` turned on as the smallest turn from `u` is between two directions, into `out`."""
    T = np.empty((3, 3))
    a = np.empty(3)
    n = np.empty(3)
    swing_matrix(u, after, R)
    swing_matrix(u, before, S)
    matmul_transposed(R, S, T)
    # a clean frame: near half a turn the product is one to few digits only
    some_perpendicular(u, a)
    apply(local, a, n)
    apply(T, n, n)
    frame_of(after, n, u, a, out)


@kernel()
def _put_members(body, frame, state, owner, raw, R, S, out):
    """Turn a body's bones, moved to `raw`, back until their best common turn (Kabsch) is none."""
    n = body.parent.size
    M = np.zeros((3, 3))
    line = np.empty((body.line_owner.size, 3))
    fill_lines(body, frame, raw, line)
    for i in range(body.line_owner.size):
        if body.line_owner[i] == owner and frame.is_line[i]:
            for r in range(3):
                for k in range(3):
                    M[r, k] += line[i, r] * body.line_rest[i, k]
    U, _, Vt = np.linalg.svd(M)
    U, V = np.ascontiguousarray(U), np.ascontiguousarray(Vt.T)
    for A in (U, V):  # right-handed, so that Q is no mirror image
        A[0, 2] = A[1, 0] * A[2, 1] - A[2, 0] * A[1, 1]
        A[1, 2] = A[2, 0] * A[0, 1] - A[0, 0] * A[2, 1]
        A[2, 2] = A[0, 0] * A[1, 1] - A[1, 0] * A[0, 1]
    Q = np.empty((3, 3))
    matmul_transposed(U, V, Q)
    d = np.empty(3)
    after = np.empty(3)
    for s in range(n):
        if body.body[s] == owner and frame.kind[s] == MEMBER:
            direction_of(state.local[s], body.rest[s], d)
            for r in range(3):
                after[r] = Q[0, r] * raw[s, 0] + Q[1, r] * raw[s, 1] + Q[2, r] * raw[s, 2]
            _swing_on(body.rest[s], d, after, state.local[s], R, S, out.local[s])
