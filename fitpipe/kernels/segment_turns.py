"""How segments are turned about their own axes: carried over time where nothing shows it.

Directions and frames are those of one segment in the frame of its parent, over all frames of a
take; frames in which it has no direction are passed over. `u` is the segment's direction in the
zero pose: a frame R always has R u = the direction.
"""

# mypy: allow-untyped-defs, allow-untyped-calls
# (Numba infers the types of compiled functions; the Python faces are annotated.)

from __future__ import annotations

import math

import numpy as np

from fitpipe.kernels._jit import kernel
from fitpipe.kernels.rotations import OPPOSITE, apply, swing_matrix
from fitpipe.kernels.vectors import cross, dot, plus, square_to, unit

FLIP = 10.0  # what it costs to turn a hinge's axis to its opposite from one frame to the next
FADE = 10.0  # frames without a plane after which that is half
BENT_BACK = 1.0  # cost of a frame in which a limb is bent against its hinge, per radian
TWISTED = 0.5  # cost, per radian, of one in which its axis is on the far side of its parent's
IMPOSSIBLE = 1e3  # cost of a frame in which it is farther off than it can be


@kernel()
def row(table, t):
    return table[t, 0], table[t, 1], table[t, 2]


@kernel()
def put(vector, table, t):
    table[t, 0], table[t, 1], table[t, 2] = vector


@kernel()
def swung(start, end, v):
    """`v` after the smallest turn from one unit vector to another (opposites: half a turn)."""
    c = dot(start, end)
    if 1.0 + c < OPPOSITE:
        p = square_to(start)
        return plus((-v[0], -v[1], -v[2]), 2.0 * dot(p, v), p)
    k = cross(start, end)
    kv = cross(k, v)
    return plus(plus(v, 1.0, kv), 1.0 / (1.0 + c), cross(k, kv))


@kernel()
def carried(start, end, n):
    """`n`, square to `start`, carried on by the smallest turn to `end`; of length one."""
    moved = swung(start, end, n)
    return unit(plus(moved, -dot(moved, end), end))


@kernel()
def turned_about(d, angle, v):
    """`v` turned about the unit vector `d` (Rodrigues)."""
    c = math.cos(angle)
    along = dot(d, v) * (1.0 - c)
    return plus(plus((c * v[0], c * v[1], c * v[2]), math.sin(angle), cross(d, v)), along, d)


@kernel()
def twist_between(d, n_from, n_to):
    """Angle about `d` from one vector to another, both square to it."""
    return math.atan2(dot(d, cross(n_from, n_to)), dot(n_from, n_to))


@kernel()
def put_frame(d, n, u, a, out):
    """Rotation that takes `u` to `d` and `a` to `n`, into `out` (3, 3)."""
    m = unit(plus(n, -dot(d, n), d))
    dm, ua = cross(d, m), cross(u, a)
    for r in range(3):
        for i in range(3):
            out[r, i] = d[r] * u[i] + m[r] * a[i] + dm[r] * ua[i]


@kernel()
def choose_sides(direction, normal, bend, there, seen, twist, most, sign):
    """Which side of a hinge's plane its axis is on, into `sign` (frame,): 1 or -1, 0 if not seen.

    The cheapest sequence of signs over the take (dynamic programming over two states). An axis
    that flips costs, less so the longer the limb was straight before, and so does a limb that is
    bent backwards, the more the farther. `normal` (frame, 3) is the axis about which the limb bends
    positively, `bend` (frame,) the angle, radians.

    With `most` > 0 the parent tells the side instead: `twist` (frame,) is by how much the axis is
    turned about the limb from the middle of its range if it is `normal`, half a turn more if it
    is the opposite; beyond `most` it cannot be.
    """
    n_frames = direction.shape[0]
    came = np.zeros((n_frames, 2), np.int8)
    cost = np.zeros(2)
    new = np.zeros(2)
    own = np.zeros(2)
    axis = (0.0, 0.0, 0.0)
    last = -1
    last_seen = -1
    for t in range(n_frames):
        sign[t] = 0
        if not there[t]:
            continue
        if last_seen >= 0:
            axis = carried(row(direction, last), row(direction, t), axis)
        last = t
        if not seen[t]:
            continue
        for s in range(2):
            side = 1.0 if s == 0 else -1.0
            if most > 0.0:
                cosine = side * math.cos(twist[t])
                own[s] = -TWISTED * cosine * bend[t]
                if cosine < math.cos(most):
                    own[s] += IMPOSSIBLE
            else:
                own[s] = -BENT_BACK * side * bend[t]
        same = dot(axis, row(normal, t)) if last_seen >= 0 else 0.0
        flip_cost = FLIP / (1.0 + (t - last_seen - 1) / FADE)
        for s in range(2):
            stay = cost[s] + flip_cost * (1.0 - same)
            flip = cost[1 - s] + flip_cost * (1.0 + same)
            came[t, s] = s if stay <= flip else 1 - s
            new[s] = min(stay, flip) + own[s]
        low = min(new[0], new[1])
        cost[0], cost[1] = new[0] - low, new[1] - low
        last_seen = t
        axis = row(normal, t)
    if last_seen < 0:
        return
    state = 0 if cost[0] <= cost[1] else 1
    for t in range(last_seen, -1, -1):
        if there[t] and seen[t]:
            sign[t] = 1 if state == 0 else -1
            state = came[t, state]


@kernel()
def carry_frames(direction, there, seen, u, a, frame):
    """Fill `frame` (frame, 3, 3) where the twist was not seen, from the frames where it was.

    Before the first: carried backwards from it. After the last: carried on. In between: carried
    on from the one before, and turned evenly so as to arrive at the next.
    """
    n_frames = direction.shape[0]
    u, a = (u[0], u[1], u[2]), (a[0], a[1], a[2])
    axis = np.empty((n_frames, 3))
    first = -1
    for t in range(n_frames):
        if there[t] and seen[t]:
            if first < 0:
                first = t
            for i in range(3):
                axis[t, i] = frame[t, i, 0] * a[0] + frame[t, i, 1] * a[1] + frame[t, i, 2] * a[2]
    if first < 0:
        return
    later = first
    for t in range(first - 1, -1, -1):
        if there[t]:
            d = row(direction, t)
            put(carried(row(direction, later), d, row(axis, later)), axis, t)
            put_frame(d, row(axis, t), u, a, frame[t])
            later = t
    last = first  # last frame with a direction
    start = first  # last frame that was seen
    n_open = 0
    for t in range(first + 1, n_frames):
        if not there[t]:
            continue
        d = row(direction, t)
        n = carried(row(direction, last), d, row(axis, last))
        last = t
        if not seen[t]:
            put(n, axis, t)
            put_frame(d, n, u, a, frame[t])
            n_open += 1
            continue
        if n_open > 0:
            missed = twist_between(d, n, row(axis, t))
            step = 0
            for k in range(start + 1, t):
                if there[k]:
                    step += 1
                    own = row(direction, k)
                    part = missed * step / (n_open + 1)
                    put_frame(own, turned_about(own, part, row(axis, k)), u, a, frame[k])
        start = t
        n_open = 0


@kernel()
def follow_parent(direction, there, u, a, most, frame):
    """Frames by the smallest turn from the zero pose, into `frame` (frame, 3, 3).

    Near half a turn the smallest turn swings about; so from one frame to the next the twist
    changes by no more than `most` (frame,), radians, and catches up afterwards.
    """
    u, a = (u[0], u[1], u[2]), (a[0], a[1], a[2])
    kept = (0.0, 0.0, 0.0)
    last = -1
    for t in range(direction.shape[0]):
        if not there[t]:
            continue
        d = row(direction, t)
        opposite = 1.0 + dot(u, d) < OPPOSITE
        # from the opposite, half a turn about `a`
        axis = a if opposite else swung(u, d, a)
        if last >= 0:
            kept = carried(row(direction, last), d, kept)
            missed = 0.0 if opposite else twist_between(d, kept, axis)
            if opposite or abs(missed) > most[t]:
                axis = turned_about(d, math.copysign(min(most[t], abs(missed)), missed), kept)
        put_frame(d, axis, u, a, frame[t])
        kept = axis
        last = t


@kernel()
def carry_bodies(there, seen, main_rest, main, frame):
    """Fill `frame` (frame, 3, 3) of a body where its points do not fix it.

    There they give one direction, `main` (frame, 3), of what is `main_rest` (frame, 3) in the
    body; the rest is carried from the frame before, and before the first from that. Without any
    frame that is fixed, `frame[first]` must hold a guess.
    """
    n_frames = there.size
    first = -1
    for t in range(n_frames):
        if there[t] and seen[t]:
            first = t
            break
    last = first
    if first >= 0:
        for t in range(first - 1, -1, -1):
            if there[t]:
                _turn_onto(frame[last], main_rest[t], main[t], frame[t])
                last = t
    last = first
    for t in range(first + 1, n_frames):
        if not there[t]:
            continue
        if not seen[t]:
            _turn_onto(frame[last] if last >= 0 else frame[t], main_rest[t], main[t], frame[t])
        last = t


@kernel()
def _turn_onto(before, rest, main, out):
    """`before` turned by the smallest rotation after which it takes `rest` to `main`."""
    v = np.empty(3)
    R = np.empty((3, 3))
    new = np.empty((3, 3))
    apply(before, rest, v)
    size = math.sqrt(dot(v, v))
    for i in range(3):
        v[i] /= size
    swing_matrix(v, main, R)
    for r in range(3):
        for i in range(3):
            new[r, i] = R[r, 0] * before[0, i] + R[r, 1] * before[1, i] + R[r, 2] * before[2, i]
    for r in range(3):
        for i in range(3):
            out[r, i] = new[r, i]


@kernel()
def continue_quaternions(wxyz):
    """Give every quaternion (frame, 4) the sign nearest to the one before; the first w >= 0."""
    last = -1
    for t in range(wxyz.shape[0]):
        if math.isnan(wxyz[t, 0]):
            continue
        if last < 0:
            same = wxyz[t, 0]
        else:
            same = 0.0
            for i in range(4):
                same += wxyz[t, i] * wxyz[last, i]
        if same < 0.0:
            for i in range(4):
                wxyz[t, i] = -wxyz[t, i]
        last = t


@kernel()
def quaternions(R, wxyz):
    """Unit quaternions of rotations (frame, 3, 3), into `wxyz` (frame, 4); NaN stays NaN.

    By the largest of the four components (Shepperd 1978, doi:10.2514/3.55767b).
    """
    q = np.empty(4)
    for t in range(R.shape[0]):
        M = R[t]
        trace = M[0, 0] + M[1, 1] + M[2, 2]
        big = -1
        most = trace
        for i in range(3):
            if M[i, i] > most:
                big = i
                most = M[i, i]
        if big < 0:
            q[0] = 1.0 + trace
            q[1] = M[2, 1] - M[1, 2]
            q[2] = M[0, 2] - M[2, 0]
            q[3] = M[1, 0] - M[0, 1]
        else:
            j = (big + 1) % 3
            k = (big + 2) % 3
            q[0] = M[k, j] - M[j, k]
            q[1 + big] = 1.0 + M[big, big] - M[j, j] - M[k, k]
            q[1 + j] = M[j, big] + M[big, j]
            q[1 + k] = M[k, big] + M[big, k]
        size = math.sqrt(q[0] ** 2 + q[1] ** 2 + q[2] ** 2 + q[3] ** 2)
        for i in range(4):
            wxyz[t, i] = q[i] / size
