"""One frame's skeleton as a function of joint angles: where everything is, and its derivatives.

Every segment has up to three variables, columns 3 rank + i in the order in which the segments
carry each other (rank); after them come three for every anchor. What they do depends on the
segment's kind; angular velocities are those of the segment in its parent's frame.
"""

# mypy: allow-untyped-defs, allow-untyped-calls
# (Numba infers the types of compiled functions; the Python faces are annotated.)

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from fitpipe.kernels._jit import kernel
from fitpipe.kernels.ik_links import turn_matrix
from fitpipe.kernels.rotations import apply, cross, dot, some_perpendicular

Float = npt.NDArray[np.float64]
Int = npt.NDArray[np.int64]

ABSENT = 0  # no orientation in this frame
FIXED = 1  # keeps its turn against its parent
BALL = 2  # three turns about the parent's axes
EULER = 3  # the three angles of its sequence
EULER_TWO = 4  # the first two; the third, which nothing shows, stays
HINGE = 5  # the first angle alone
SWING = 6  # its direction; the frame follows by the smallest turn from the zero pose
SWING_EULER = 7  # the same, by the first two angles; the third axis lies along the bone
SLIDE = 8  # its direction; the frame follows by the smallest turn from where it was
MEMBER = 9  # its direction against the other bones of its body, whose frame they make up
TWIST = 10  # SLIDE, and a turn about its own axis (the third angle)


class Body(NamedTuple):
    """What stays the same in all frames of a take."""

    parent: Int  # (segment,) -1 is the world
    order: Int  # (segment,) parents first
    rank: Int  # (segment,) place in `order`
    body: Int  # (segment,) of a body's bones: the body; else -1
    bone: Int  # (segment,) -1 for a body
    axes: Float  # (segment, 3, 3) row i: axis of turn i in the zero pose
    rest: Float  # (segment, 3) direction in the zero pose; zero for a body
    length: Float  # (segment,) metres; 0 for a body
    bone_order: Int  # (bone,) segments of the bones, those nearer to a root first
    from_joint: Int  # (segment,)
    to_joint: Int  # (segment,)
    anchor: Int  # (anchor,) joints placed by their own position
    line_owner: Int  # (line,) the body that a line turns with
    line_rest: Float  # (line, 3) metres, in the zero pose
    line_bone: Float  # (line, segment) metres of every segment's direction that make up a line


class Frame(NamedTuple):
    """What one frame brings along; constant while it is fitted."""

    kind: Int  # (segment,)
    up: Float  # (segment, 3, 3) the parent's frame where it has none of its own
    is_placed: npt.NDArray[np.bool_]  # (joint,) the joint is there
    is_anchored: npt.NDArray[np.bool_]  # (anchor,) it is placed by its own position
    target: Float  # (joint, 3) metres
    stiffness: Float  # (joint,) 0 where there is no target
    is_line: npt.NDArray[np.bool_]  # (line,) all joints of the line are there
    low: Float  # (segment, 3) radians
    high: Float  # (segment, 3)


class State(NamedTuple):
    """A pose: angles where a segment has them, turns against the parents, and what follows."""

    angle: Float  # (segment, 3) radians
    local: Float  # (segment, 3, 3)
    anchor: Float  # (anchor, 3) metres
    world: Float  # (segment, 3, 3)
    joint: Float  # (joint, 3) metres


@kernel()
def new_state(n_segments, n_anchors, n_joints):
    return State(
        np.zeros((n_segments, 3)),
        np.zeros((n_segments, 3, 3)),
        np.zeros((n_anchors, 3)),
        np.zeros((n_segments, 3, 3)),
        np.zeros((n_joints, 3)),
    )


@kernel()
def copy_state(source, out):
    out.angle[:] = source.angle
    out.local[:] = source.local
    out.anchor[:] = source.anchor
    out.world[:] = source.world
    out.joint[:] = source.joint


@kernel()
def matmul(A, B, out):
    for r in range(3):
        x, y, z = A[r, 0], A[r, 1], A[r, 2]
        for k in range(3):
            out[r, k] = x * B[0, k] + y * B[1, k] + z * B[2, k]


@kernel()
def matmul_transposed(A, B, out):
    """A @ B.T, into `out`."""
    for r in range(3):
        for k in range(3):
            out[r, k] = A[r, 0] * B[k, 0] + A[r, 1] * B[k, 1] + A[r, 2] * B[k, 2]


@kernel()
def place(body, frame, state):
    """World frames and joints of a state, written into it."""
    for s in body.order:
        if frame.kind[s] == ABSENT:
            continue
        up = body.parent[s]
        if up >= 0 and frame.kind[up] != ABSENT:
            matmul(state.world[up], state.local[s], state.world[s])
        else:
            matmul(frame.up[s], state.local[s], state.world[s])
    for a in range(body.anchor.size):
        if frame.is_anchored[a]:
            state.joint[body.anchor[a]] = state.anchor[a]
    step = np.empty(3)
    for s in body.bone_order:
        if is_carrying(body, frame, s):
            apply(state.world[s], body.rest[s], step)
            for r in range(3):
                state.joint[body.to_joint[s], r] = (
                    state.joint[body.from_joint[s], r] + body.length[s] * step[r]
                )


@kernel()
def is_carrying(body, frame, s):
    """Whether a bone's segment places the joint at its end."""
    if frame.kind[s] == ABSENT:
        return False
    for a in range(body.anchor.size):
        if body.anchor[a] == body.to_joint[s] and frame.is_anchored[a]:
            return False
    return True


@kernel()
def objective(frame, state):
    """J0 without its constant: half the stiffness times squared distance, summed."""
    total = 0.0
    for j in range(frame.stiffness.size):
        if frame.stiffness[j] > 0.0:
            square = 0.0
            for r in range(3):
                square += (state.joint[j, r] - frame.target[j, r]) ** 2
            total += 0.5 * frame.stiffness[j] * square
    return total


@kernel()
def euler_matrix(axes, angle, n, out):
    """Product of the first `n` turns, into `out`."""
    own = np.empty((3, 3))
    before = np.empty((3, 3))
    for r in range(3):
        for k in range(3):
            out[r, k] = 1.0 if r == k else 0.0
    for i in range(n):
        turn_matrix(axes[i], angle[i], own)
        before[:] = out
        matmul(before, own, out)


@kernel()
def swing_rate(u, d, e, out):
    """Angular velocity of the smallest turn from `u` to `d` while `d` moves by `e`, into `out`."""
    side = np.empty(3)
    cross(u, d, side)
    twist = -dot(side, e) / max(1.0 + dot(u, d), 1e-9)
    cross(d, e, out)
    for r in range(3):
        out[r] += twist * d[r]


@kernel()
def tangents(d, out):
    """Two unit vectors (2, 3) at right angles to `d` and each other."""
    some_perpendicular(d, out[0])
    cross(d, out[0], out[1])


@kernel()
def fill_lines(body, frame, d, out):
    """Lines (line, 3) of the segments' directions `d` (segment, 3), into `out`."""
    for i in range(body.line_owner.size):
        for r in range(3):
            out[i, r] = 0.0
        if frame.is_line[i]:
            for s in range(body.parent.size):
                if body.line_bone[i, s] != 0.0:
                    for r in range(3):
                        out[i, r] += body.line_bone[i, s] * d[s, r]


@kernel()
def gauge_matrix(body, frame, owner, line, out):
    """Sum of (a . b) I - a b' over the lines of a body that is not turned: a at rest, b now."""
    for r in range(3):
        for k in range(3):
            out[r, k] = 0.0
    for i in range(body.line_owner.size):
        if body.line_owner[i] == owner and frame.is_line[i]:
            a = body.line_rest[i]
            along = dot(a, line[i])
            for r in range(3):
                for k in range(3):
                    out[r, k] -= 0.5 * (a[r] * line[i, k] + a[k] * line[i, r])
                out[r, r] += along


@kernel()
def solve_three(M, b, out):
    """M x = b for three unknowns by Cramer's rule, into `out`; zero where M is singular."""
    c0 = M[1, 1] * M[2, 2] - M[1, 2] * M[2, 1]
    c1 = M[1, 2] * M[2, 0] - M[1, 0] * M[2, 2]
    c2 = M[1, 0] * M[2, 1] - M[1, 1] * M[2, 0]
    det = M[0, 0] * c0 + M[0, 1] * c1 + M[0, 2] * c2
    size = max(abs(M[0, 0]), abs(M[1, 1]), abs(M[2, 2]))
    if abs(det) <= 1e-14 * size**3:
        out[:] = 0.0
        return
    x, y, z = b[0], b[1], b[2]
    out[0] = (
        x * c0
        + y * (M[0, 2] * M[2, 1] - M[0, 1] * M[2, 2])
        + z * (M[0, 1] * M[1, 2] - M[0, 2] * M[1, 1])
    ) / det
    out[1] = (
        x * c1
        + y * (M[0, 0] * M[2, 2] - M[0, 2] * M[2, 0])
        + z * (M[0, 2] * M[1, 0] - M[0, 0] * M[1, 2])
    ) / det
    out[2] = (
        x * c2
        + y * (M[0, 1] * M[2, 0] - M[0, 0] * M[2, 1])
        + z * (M[0, 0] * M[1, 1] - M[0, 1] * M[1, 0])
    ) / det


@kernel()
def fill_rates(body, frame, state, W):
    """World angular velocity of every segment for every variable, into `W` (column, segment, 3)."""
    n = body.parent.size
    W[:] = 0.0
    rate = np.zeros((n, 3, 3))  # of one segment in its parent's frame, (segment, variable, 3)
    R = np.empty((3, 3))
    d = np.empty((n, 3))
    e = np.empty((2, 3))
    moved = np.empty(3)
    M = np.empty((3, 3))
    push = np.empty(3)
    turn = np.empty(3)
    d[:] = 0.0
    for s in range(n):
        if frame.kind[s] != ABSENT:
            apply(state.local[s], body.rest[s], d[s])
    line = np.empty((body.line_owner.size, 3))
    fill_lines(body, frame, d, line)
    total = np.empty(3)
    for s in range(n):
        kind = frame.kind[s]
        if kind == BALL:
            for i in range(3):
                rate[s, i, i] = 1.0
        elif kind in (EULER, EULER_TWO, HINGE, SWING_EULER):
            n_turns = 3 if kind == EULER else 1 if kind == HINGE else 2
            for i in range(n_turns):
                euler_matrix(body.axes[s], state.angle[s], i, R)
                apply(R, body.axes[s, i], rate[s, i])
                if kind == SWING_EULER:
                    cross(rate[s, i], d[s], moved)
                    swing_rate(body.rest[s], d[s], moved, rate[s, i])
        elif kind in (SWING, SLIDE, TWIST):
            tangents(d[s], e)
            for i in range(2):
                if kind == SWING:
                    swing_rate(body.rest[s], d[s], e[i], rate[s, i])
                else:
                    cross(d[s], e[i], rate[s, i])
            if kind == TWIST:
                rate[s, 2] = d[s]
    for s in range(n):
        up = body.parent[s]
        above = state.world[up] if up >= 0 and frame.kind[up] != ABSENT else frame.up[s]
        if frame.kind[s] != MEMBER:
            for i in range(3):
                apply(above, rate[s, i], W[3 * body.rank[s] + i, s])
            continue
        # its own move, less the turn of the body's frame that the move makes
        owner = body.body[s]
        gauge_matrix(body, frame, owner, line, M)
        tangents(d[s], e)
        for i in range(2):
            total[:] = 0.0
            for j in range(body.line_owner.size):
                if body.line_owner[j] == owner and frame.is_line[j]:
                    cross(body.line_rest[j], e[i], push)
                    for r in range(3):
                        total[r] += body.line_bone[j, s] * push[r]
            solve_three(M, total, turn)
            for k in range(n):
                if body.body[k] == owner and frame.kind[k] == MEMBER:
                    cross(turn, d[k], moved)
                    for r in range(3):
                        moved[r] = (e[i, r] if k == s else 0.0) - moved[r]
                    swing_rate(body.rest[k], d[k], moved, push)
                    apply(above, push, W[3 * body.rank[s] + i, k])
    for s in body.order:
        up = body.parent[s]
        if up >= 0 and frame.kind[s] != ABSENT and frame.kind[up] != ABSENT:
            for c in range(W.shape[0]):
                for r in range(3):
                    W[c, s, r] += W[c, up, r]


@kernel()
def fill_velocities(body, frame, state, W, V):
    """Velocity of every joint for every variable, into `V` (column, joint, 3)."""
    V[:] = 0.0
    first = 3 * body.parent.size
    for a in range(body.anchor.size):
        if frame.is_anchored[a]:
            for r in range(3):
                V[first + 3 * a + r, body.anchor[a], r] = 1.0
    bone = np.empty(3)
    side = np.empty(3)
    for s in body.bone_order:
        if not is_carrying(body, frame, s):
            continue
        start, end = body.from_joint[s], body.to_joint[s]
        for r in range(3):
            bone[r] = state.joint[end, r] - state.joint[start, r]
        for c in range(V.shape[0]):
            cross(W[c, s], bone, side)
            for r in range(3):
                V[c, end, r] = V[c, start, r] + side[r]
