"""Which of the equivalent triples of Euler angles is meant, so that they run on over time.

(a, b, c) and (a + pi, pi - b, c + pi) are the same rotation, and full turns may be added.
"""

# mypy: allow-untyped-defs, allow-untyped-calls
# (Numba infers the types of compiled functions; the Python faces are annotated.)

from __future__ import annotations

import math

import numpy as np

from fitpipe.kernels._jit import kernel

FAR = 0.02  # cost per frame and radian away from zero, against one per radian from frame to frame


@kernel()
def wrapped(angle):
    """The same angle between -pi and pi."""
    return angle - 2.0 * math.pi * math.floor(angle / (2.0 * math.pi) + 0.5)


@kernel()
def choose_branches(there, locked, parity, euler):
    """Choose the triples of `euler` (frame, 3), radians, in place; given on any branch.

    The cheapest sequence over the take (dynamic programming over two states): jumps from frame
    to frame cost, and so do large angles. Where `locked` (frame,), only the sum or difference of
    the outer angles is known, and the third is taken from the frame before. `parity` is 1 for
    cyclic sequences of axes (xyz, yzx, zxy), else -1.
    """
    n_frames = there.size
    came = np.zeros((n_frames, 2), np.int8)
    cost = np.zeros(2)
    new = np.zeros(2)
    angle = np.zeros((2, 3))
    before = np.zeros((2, 3))
    last = -1
    for t in range(n_frames):
        if not there[t]:
            continue
        if locked[t] and last >= 0:
            # b = pi/2: the rotation depends on a + parity c; b = -pi/2: on a - parity c
            sign = parity if euler[t, 1] > 0.0 else -parity
            moved = euler[last, 2] - euler[t, 2]
            euler[t, 2] += moved
            euler[t, 0] -= sign * moved
        for s in range(2):
            if s == 0:
                for i in range(3):
                    angle[s, i] = wrapped(euler[t, i])
            else:
                angle[s, 0] = wrapped(euler[t, 0] + math.pi)
                angle[s, 1] = wrapped(math.pi - euler[t, 1])
                angle[s, 2] = wrapped(euler[t, 2] + math.pi)
        for s in range(2):
            far = 0.0
            for i in range(3):
                far += abs(angle[s, i])
            if last < 0:
                new[s] = far * FAR
                continue
            best = np.inf
            for b in range(2):
                jump = 0.0
                for i in range(3):
                    jump += abs(wrapped(angle[s, i] - before[b, i]))
                if cost[b] + jump < best:
                    best = cost[b] + jump
                    came[t, s] = b
            new[s] = best + far * FAR
        low = min(new[0], new[1])
        for s in range(2):
            cost[s] = new[s] - low
            for i in range(3):
                before[s, i] = angle[s, i]
        last = t
    if last < 0:
        return
    state = 0 if cost[0] <= cost[1] else 1
    for t in range(last, -1, -1):
        if there[t]:
            if state == 1:
                euler[t, 0] = wrapped(euler[t, 0] + math.pi)
                euler[t, 1] = wrapped(math.pi - euler[t, 1])
                euler[t, 2] = wrapped(euler[t, 2] + math.pi)
            else:
                for i in range(3):
                    euler[t, i] = wrapped(euler[t, i])
            state = came[t, state]


@kernel()
def run_on(before, most, euler):
    """Add full turns to `euler` (frame, 3), in place, such that each frame is nearest to the last.

    `before` (3,) are the angles of the frame before these, NaN if there is none. An angle that
    has run on beyond `most` (rad) goes back by a full turn.
    """
    last = np.empty(3)
    for i in range(3):
        last[i] = before[i]
    for t in range(euler.shape[0]):
        if math.isnan(euler[t, 0]):
            continue
        for i in range(3):
            if not math.isnan(last[i]):
                euler[t, i] = last[i] + wrapped(euler[t, i] - last[i])
                if abs(euler[t, i]) > most:
                    euler[t, i] = wrapped(euler[t, i])
            last[i] = euler[t, i]
