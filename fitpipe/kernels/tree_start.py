"""Start directions of the bones, filled over time, so that frames need not know each other."""

# mypy: allow-untyped-defs, allow-untyped-calls
# (Numba infers the types of compiled functions; the Python faces are annotated.)

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from fitpipe.kernels._jit import kernel

# Two targets nearer than this share of their bone give no direction.
APART_SHARE = 1e-6


@kernel(contract=False)
def own_direction(target, stiffness, length, frame, joint, parent):
    """Whether the target itself defines the bone's direction, and that direction."""
    if not (stiffness[frame, joint] > 0.0 and stiffness[frame, parent] > 0.0):
        return False, 0.0, 0.0, 0.0
    d0 = target[frame, joint, 0] - target[frame, parent, 0]
    d1 = target[frame, joint, 1] - target[frame, parent, 1]
    d2 = target[frame, joint, 2] - target[frame, parent, 2]
    distance = math.sqrt(d0 * d0 + d1 * d1 + d2 * d2)
    if not distance > APART_SHARE * length[joint]:
        return False, 0.0, 0.0, 0.0
    inverse = 1.0 / distance
    return True, d0 * inverse, d1 * inverse, d2 * inverse


@kernel(contract=False)
def find_direction(target, stiffness, length, joint, parent, frame, stop, out):
    """Write into row `joint` of `out` the first direction defined in `frame` ... `stop`, if any."""
    step = 1 if stop > frame else -1
    while frame != stop:
        defined, d0, d1, d2 = own_direction(target, stiffness, length, frame, joint, parent)
        if defined:
            out[joint, 0] = d0
            out[joint, 1] = d1
            out[joint, 2] = d2
            return True
        frame += step
    return False


@kernel(contract=False)
def fill_directions(low, high, target, stiffness, length, parent, rest, last, start):
    """Write unit directions of frames low ... high - 1 into `start` (high - low, joint, 3).

    The target's own where both ends are observed and apart; else the last earlier one; before any,
    `last`; where that is NaN, the first later one; else `rest`. A row is the same for any split.
    """
    n_frames, n_joints = stiffness.shape
    current = np.zeros((n_joints, 3))
    for i in range(n_joints):
        p = parent[i]
        if p < 0 or find_direction(target, stiffness, length, i, p, low - 1, -1, current):
            continue
        if last[i, 0] == last[i, 0]:
            current[i] = last[i]
        elif not find_direction(target, stiffness, length, i, p, low, n_frames, current):
            current[i] = rest[i]
    # Three short loops, of which the one with the root and the quotient is vectorised.
    difference = np.zeros((n_joints, 3))
    inverse = np.zeros(n_joints)
    for t in range(low, high):
        for i in range(n_joints):
            p = parent[i]
            inverse[i] = 0.0
            if p >= 0 and stiffness[t, i] > 0.0 and stiffness[t, p] > 0.0:
                d0 = target[t, i, 0] - target[t, p, 0]
                d1 = target[t, i, 1] - target[t, p, 1]
                d2 = target[t, i, 2] - target[t, p, 2]
                difference[i, 0] = d0
                difference[i, 1] = d1
                difference[i, 2] = d2
                inverse[i] = d0 * d0 + d1 * d1 + d2 * d2
        for i in range(n_joints):
            distance = math.sqrt(inverse[i])
            inverse[i] = 1.0 / distance if distance > APART_SHARE * length[i] else 0.0
        for i in range(n_joints):
            if inverse[i] > 0.0:
                current[i, 0] = difference[i, 0] * inverse[i]
                current[i, 1] = difference[i, 1] * inverse[i]
                current[i, 2] = difference[i, 2] * inverse[i]
            start[t - low, i, 0] = current[i, 0]
            start[t - low, i, 1] = current[i, 1]
            start[t - low, i, 2] = current[i, 2]


@kernel(contract=False)
def _last(target, stiffness, length, parent, last):
    n_frames = stiffness.shape[0]
    for i in range(parent.shape[0]):
        if parent[i] >= 0:
            find_direction(target, stiffness, length, i, parent[i], n_frames - 1, -1, last)


def last_directions(
    target: npt.NDArray[np.float64],
    stiffness: npt.NDArray[np.float64],
    length: npt.NDArray[np.float64],
    parent: npt.NDArray[np.int64],
    *,
    last: npt.NDArray[np.float64] | None = None,
) -> npt.NDArray[np.float64]:
    """Last direction each bone had in a block of frames, to start the next block of the take from.

    Parameters
    ----------
    target, stiffness, length, parent
        As in `fitpipe.kernels.tree_newton.fit_tree`.
    last : ndarray, shape (joint, 3), optional
        What this function returned for the block before.

    Returns
    -------
    ndarray, shape (joint, 3)
        Unit vectors; NaN where a bone had no direction yet.
    """
    out = np.full((len(parent), 3), np.nan) if last is None else np.array(last, dtype=np.float64)
    _last(target, stiffness, length, parent, out)
    return out
