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

OPPOSITE = 1e-12  # 1 + cosine below which the smallest turn between two directions has no axis
FLIP = 20.0  # what it costs to turn a hinge's axis to its opposite from one frame to the next
FADE = 10.0  # frames without a plane after which that is half
BENT_BACK = 0.2  # cost of a frame in which a limb is bent against its hinge
TWISTED = 0.5  # cost of a frame in which a hinge's axis is on the far side of its parent's
IMPOSSIBLE = 1e3  # cost of a frame in which it is farther off than it can be


@kernel()
def cross(a, b, out):
    x = a[1] * b[2] - a[2] * b[1]
    y = a[2] * b[0] - a[0] * b[2]
    z = a[0] * b[1] - a[1] * b[0]
    out[0], out[1], out[2] = x, y, z


@kernel()
def dot(a, b):
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@kernel()
def some_perpendicular(u, out):
    """A unit vector at right angles to `u`, into `out`."""
    least = 0
    for i in range(1, 3):
        if abs(u[i]) < abs(u[least]):
            least = i
    axis = np.zeros(3)
    axis[least] = 1.0
    cross(u, axis, out)
    size = math.sqrt(dot(out, out))
    for i in range(3):
        out[i] /= size


@kernel()
def swing_matrix(start, end, out):
    """Smallest rotation from one unit vector to another, into `out` (3, 3).

    For opposite vectors, half a turn about an axis at right angles.
    """
    k = np.empty(3)
    c = dot(start, end)
    if 1.0 + c < OPPOSITE:
        some_perpendicular(start, k)
        for r in range(3):
            for i in range(3):
                out[r, i] = 2.0 * k[r] * k[i] - (1.0 if r == i else 0.0)
        return
    cross(start, end, k)
    f = 1.0 / (1.0 + c)
    for r in range(3):
        for i in range(3):
            out[r, i] = f * k[r] * k[i] + (c if r == i else 0.0)
    out[0, 1] -= k[2]
    out[0, 2] += k[1]
    out[1, 0] += k[2]
    out[1, 2] -= k[0]
    out[2, 0] -= k[1]
    out[2, 1] += k[0]


@kernel()
def apply(R, v, out):
    x = R[0, 0] * v[0] + R[0, 1] * v[1] + R[0, 2] * v[2]
    y = R[1, 0] * v[0] + R[1, 1] * v[1] + R[1, 2] * v[2]
    z = R[2, 0] * v[0] + R[2, 1] * v[1] + R[2, 2] * v[2]
    out[0], out[1], out[2] = x, y, z


@kernel()
def frame_of(d, n, u, a, out):
    """Rotation that takes `u` to `d` and `a` to `n` (n as far as it is at right angles to d)."""
    m = np.empty(3)
    side = dot(d, n)
    for i in range(3):
        m[i] = n[i] - side * d[i]
    size = math.sqrt(dot(m, m))
    for i in range(3):
        m[i] /= size
    dm = np.empty(3)
    ua = np.empty(3)
    cross(d, m, dm)
    cross(u, a, ua)
    for r in range(3):
        for i in range(3):
            out[r, i] = d[r] * u[i] + m[r] * a[i] + dm[r] * ua[i]


@kernel()
def turn_about(d, angle, v, out):
    """`v` turned about the unit vector `d` (Rodrigues), into `out`."""
    s, c = math.sin(angle), math.cos(angle)
    dv = np.empty(3)
    cross(d, v, dv)
    along = dot(d, v) * (1.0 - c)
    for i in range(3):
        out[i] = c * v[i] + s * dv[i] + along * d[i]


@kernel()
def twist_between(d, n_from, n_to):
    """Angle about `d` from one vector to another, both at right angles to it."""
    k = np.empty(3)
    cross(n_from, n_to, k)
    return math.atan2(dot(d, k), dot(n_from, n_to))


@kernel()
def carry_axis(l_from, l_to, n, out):
    """`n` carried along by the smallest turn from one direction to the next, into `out`."""
    R = np.empty((3, 3))
    swing_matrix(l_from, l_to, R)
    apply(R, n, out)
    side = dot(out, l_to)
    for i in range(3):
        out[i] -= side * l_to[i]
    size = math.sqrt(dot(out, out))
    for i in range(3):
        out[i] /= size


@kernel()
def choose_sides(direction, normal, bend, there, seen, twist, most, sign):
    """Which side of a hinge's plane its axis is on, into `sign` (frame,): 1 or -1, 0 if not seen.

    The cheapest sequence of signs over the take (dynamic programming over two states). An axis
    that flips costs, less so the longer the limb was straight before, and so does a limb that is
    bent backwards. `normal` (frame, 3) is the axis about which the limb bends positively, `bend`
    (frame,) the sine of the angle.

    With `most` > 0 the parent tells the side instead: `twist` (frame,) is by how much the axis is
    turned about the limb from the middle of its range if it is `normal`, half a turn more if it
    is the opposite; beyond `most` it cannot be.
    """
    n_frames = direction.shape[0]
    came = np.zeros((n_frames, 2), np.int8)
    cost = np.zeros(2)
    new = np.zeros(2)
    own = np.zeros(2)
    axis = np.zeros(3)
    last = -1
    last_seen = -1
    for t in range(n_frames):
        sign[t] = 0
        if not there[t]:
            continue
        if last_seen >= 0:
            carry_axis(direction[last], direction[t], axis, axis)
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
        same = dot(axis, normal[t]) if last_seen >= 0 else 0.0
        flip_cost = FLIP / (1.0 + (t - last_seen - 1) / FADE)
        for s in range(2):
            stay = cost[s] + flip_cost * (1.0 - same)
            flip = cost[1 - s] + flip_cost * (1.0 + same)
            came[t, s] = s if stay <= flip else 1 - s
            new[s] = min(stay, flip) + own[s]
        low = min(new[0], new[1])
        cost[0], cost[1] = new[0] - low, new[1] - low
        last_seen = t
        for i in range(3):
            axis[i] = normal[t, i]
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
    axis = np.empty((n_frames, 3))
    first = -1
    for t in range(n_frames):
        if there[t] and seen[t]:
            first = t
            break
    if first < 0:
        return
    later = first
    apply(frame[first], a, axis[first])
    for t in range(first - 1, -1, -1):
        if there[t]:
            carry_axis(direction[later], direction[t], axis[later], axis[t])
            frame_of(direction[t], axis[t], u, a, frame[t])
            later = t
    last = first  # last frame with a direction
    start = first  # last frame that was seen
    n_open = 0
    carried = np.empty(3)
    for t in range(first + 1, n_frames):
        if not there[t]:
            continue
        carry_axis(direction[last], direction[t], axis[last], axis[t])
        last = t
        if not seen[t]:
            frame_of(direction[t], axis[t], u, a, frame[t])
            n_open += 1
            continue
        apply(frame[t], a, carried)
        missed = twist_between(direction[t], axis[t], carried)
        for i in range(3):
            axis[t, i] = carried[i]
        step = 0
        if n_open > 0:
            for k in range(start + 1, t):
                if there[k]:
                    step += 1
                    turn_about(direction[k], missed * step / (n_open + 1), axis[k], carried)
                    frame_of(direction[k], carried, u, a, frame[k])
        start = t
        n_open = 0


@kernel()
def follow_parent(direction, there, u, a, most, frame):
    """Frames by the smallest turn from the zero pose, into `frame` (frame, 3, 3).

    Near half a turn the smallest turn swings about; so from one frame to the next the twist
    changes by no more than `most` (frame,), radians, and catches up afterwards.
    """
    n_frames = direction.shape[0]
    R = np.empty((3, 3))
    axis = np.empty(3)
    kept = np.empty(3)
    last = -1
    for t in range(n_frames):
        if not there[t]:
            continue
        d = direction[t]
        opposite = 1.0 + dot(u, d) < OPPOSITE
        if opposite and last < 0:
            for i in range(3):  # half a turn about `a`
                axis[i] = a[i]
        elif not opposite:
            swing_matrix(u, d, R)
            apply(R, a, axis)
        if last >= 0:
            carry_axis(direction[last], d, kept, kept)
            missed = 0.0 if opposite else twist_between(d, kept, axis)
            if opposite or abs(missed) > most[t]:
                turn_about(d, math.copysign(min(most[t], abs(missed)), missed), kept, axis)
        frame_of(d, axis, u, a, frame[t])
        for i in range(3):
            kept[i] = axis[i]
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
