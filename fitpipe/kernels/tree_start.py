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


@kernel()
def write_direction(target, stiffness, length, parent, i, out):
    """Write the target's own direction of bone i into `out` (3,); False where it has none."""
    p = parent[i]
    if not (stiffness[i] > 0.0 and stiffness[p] > 0.0):
        return False
    d0 = target[i, 0] - target[p, 0]
    d1 = target[i, 1] - target[p, 1]
    d2 = target[i, 2] - target[p, 2]
    distance = math.sqrt(d0 * d0 + d1 * d1 + d2 * d2)
    if not distance > APART_SHARE * length[i]:
        return False
    inverse = 1.0 / distance
    out[0] = d0 * inverse
    out[1] = d1 * inverse
    out[2] = d2 * inverse
    return True


@kernel()
def find_direction(target, stiffness, length, parent, i, frame, stop, out):
    """Write the direction of bone i at the first frame of `frame` ... `stop` that defines one."""
    step = 1 if stop > frame else -1
    while frame != stop:
        if write_direction(target[frame], stiffness[frame], length, parent, i, out):
            return True
        frame += step
    return False


@kernel()
def fill_directions(low, high, target, stiffness, length, parent, rest, last, start):
    """Write unit directions into rows low ... high - 1 of `start` (frame, joint, 3).

    The target's own where both ends are observed and apart; else the last earlier one; before any,
    `last`; where that is NaN, the first later one; else `rest`. A row is the same for any split.
    """
    n_joints = parent.shape[0]
    current = np.empty((n_joints, 3))
    for i in range(n_joints):
        current[i] = 0.0
        if parent[i] < 0:
            continue
        if find_direction(target, stiffness, length, parent, i, low - 1, -1, current[i]):
            continue
        if last[i, 0] == last[i, 0]:
            current[i] = last[i]
        elif not find_direction(
            target, stiffness, length, parent, i, low, stiffness.shape[0], current[i]
        ):
            current[i] = rest[i]
    for t in range(low, high):
        for i in range(n_joints):
            if parent[i] >= 0:
                write_direction(target[t], stiffness[t], length, parent, i, current[i])
            start[t, i, 0] = current[i, 0]
            start[t, i, 1] = current[i, 1]
            start[t, i, 2] = current[i, 2]


@kernel()
def _last(target, stiffness, length, parent, last):
    n_frames = stiffness.shape[0]
    for i in range(parent.shape[0]):
        if parent[i] >= 0:
            find_direction(target, stiffness, length, parent, i, n_frames - 1, -1, last[i])


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
