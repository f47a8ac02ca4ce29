"""Smoothers over time: one banded system per joint, all joints side by side.

The matrix of a joint is H + 2 s DᵀD (+ rho): H its stiffness on the diagonal, D the divided
differences of order q over its frames, so the half-bandwidth is q. Positions are kept as planes,
(time, 3, joint), so that the inner loops run over joints.
"""

# mypy: allow-untyped-defs, allow-untyped-calls
# (Numba infers the types of compiled functions; the Python faces are annotated.)

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from fitpipe.kernels._jit import kernel

Float = npt.NDArray[np.float64]


def difference_rows(time_s: Float, order: int) -> Float:
    """Rows of D: ``|D x|²`` is the integral of the squared derivative of ``order`` over the take.

    Row r is q! times the divided difference over the frames r ... r + q, times the square root of
    the time it stands for, so that uneven ticks need no special case.

    Parameters
    ----------
    time_s : ndarray, shape (time,), seconds
    order : int
        q, 1 or more.

    Returns
    -------
    ndarray, shape (time - order, order + 1), seconds^(1/2 - order)
        Empty where there are too few frames.

    References
    ----------
    Eilers and Marx (2010), doi:10.1002/wics.125, for penalties on divided differences.
    """
    n_rows = max(len(time_s) - order, 0)
    window = np.stack([time_s[k : k + n_rows] for k in range(order + 1)], axis=1)
    rows = np.empty((n_rows, order + 1))
    for k in range(order + 1):
        apart = window[:, [k]] - np.delete(window, k, axis=1)
        rows[:, k] = math.factorial(order) / np.prod(apart, axis=1)
    stands_for = (window[:, order] - window[:, 0]) / order
    return rows * np.sqrt(stands_for)[:, None]


@kernel()
def _transpose(points, planes, forward):
    for t in range(points.shape[0]):
        for c in range(3):
            for j in range(points.shape[1]):
                if forward:
                    planes[t, c, j] = points[t, j, c]
                else:
                    points[t, j, c] = planes[t, c, j]


def to_planes(points: Float) -> Float:
    """(time, joint, 3) to (time, 3, joint), a copy."""
    planes = np.empty((len(points), 3, points.shape[1]))
    _transpose(points, planes, True)
    return planes


def from_planes(planes: Float) -> Float:
    """(time, 3, joint) to (time, joint, 3), a copy."""
    points = np.empty((len(planes), planes.shape[2], 3))
    _transpose(points, planes, False)
    return points


@kernel()
def assemble(rows, is_held, diagonal, penalty, band):
    """Write into `band` (time, q + 1, joint) entry (t, t - k) of every joint's matrix.

    `rows` (time - q, q + 1) is D, `penalty` (joint,) 2 s; a row counts for a joint only where
    `is_held` (time, joint) in all its frames. `diagonal` (time, joint) must be above 0 where not.
    """
    n_time, n_joints = diagonal.shape
    q = band.shape[1] - 1
    counts = np.empty(n_joints)
    for t in range(n_time):
        for k in range(q + 1):
            for j in range(n_joints):
                band[t, k, j] = diagonal[t, j] if k == 0 else 0.0
    for r in range(rows.shape[0]):
        for j in range(n_joints):
            counts[j] = penalty[j]
        for a in range(q + 1):
            for j in range(n_joints):
                counts[j] = counts[j] if is_held[r + a, j] else 0.0
        for a in range(q + 1):
            for k in range(a + 1):
                product = rows[r, a] * rows[r, a - k]
                for j in range(n_joints):
                    band[r + a, k, j] += product * counts[j]


@kernel()
def multiply(rows, is_held, diagonal, penalty, planes, out):
    """Write every joint's matrix (see `assemble`) times `planes` (time, 3, joint) into `out`."""
    n_time, _, n_joints = planes.shape
    width = rows.shape[1]
    for t in range(n_time):
        for c in range(3):
            for j in range(n_joints):
                out[t, c, j] = diagonal[t, j] * planes[t, c, j]
    counts, difference = np.empty(n_joints), np.empty(n_joints)
    for r in range(rows.shape[0]):
        for j in range(n_joints):
            counts[j] = penalty[j]
        for a in range(width):
            for j in range(n_joints):
                counts[j] = counts[j] if is_held[r + a, j] else 0.0
        for c in range(3):
            for j in range(n_joints):
                difference[j] = 0.0
            for a in range(width):
                for j in range(n_joints):
                    difference[j] += rows[r, a] * planes[r + a, c, j]
            for a in range(width):
                for j in range(n_joints):
                    out[r + a, c, j] += rows[r, a] * counts[j] * difference[j]


@kernel()
def factor(band):
    """Turn `band` into L D Lᵀ in place: 1 / d in slot 0, entry (t, t - k) of L in slot k."""
    n_time, width, n_joints = band.shape
    q = width - 1
    scaled = np.zeros((width, n_joints))  # slot k: entry (t, t - k) of L times d of t - k
    for t in range(n_time):
        own = band[t]
        for k in range(min(q, t), 0, -1):
            for m in range(k + 1, min(q, t) + 1):
                other = band[t - k, m - k]
                for j in range(n_joints):
                    own[k, j] -= scaled[m, j] * other[j]
            inverse = band[t - k, 0]
            for j in range(n_joints):
                scaled[k, j] = own[k, j]
                own[k, j] *= inverse[j]
        for k in range(1, min(q, t) + 1):
            for j in range(n_joints):
                own[0, j] -= scaled[k, j] * own[k, j]
        for j in range(n_joints):
            own[0, j] = 1.0 / own[0, j]


@kernel()
def solve(band, planes):
    """Solve in place for `planes` (time, 3, joint); `band` is from `factor`."""
    n_time, width, n_joints = band.shape
    q = width - 1
    for t in range(n_time):
        for k in range(1, min(q, t) + 1):
            for c in range(3):
                own, other, by = planes[t, c], planes[t - k, c], band[t, k]
                for j in range(n_joints):
                    own[j] -= by[j] * other[j]
    for t in range(n_time - 1, -1, -1):
        for c in range(3):
            own, inverse = planes[t, c], band[t, 0]
            for j in range(n_joints):
                own[j] *= inverse[j]
        for k in range(1, min(q, n_time - 1 - t) + 1):
            for c in range(3):
                own, other, by = planes[t, c], planes[t + k, c], band[t + k, k]
                for j in range(n_joints):
                    own[j] -= by[j] * other[j]
