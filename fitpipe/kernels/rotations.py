"""Vectors and rotations of three dimensions, written into arrays."""

# mypy: allow-untyped-defs, allow-untyped-calls
# (Numba infers the types of compiled functions; the Python faces are annotated.)

from __future__ import annotations

import math

import numpy as np

from fitpipe.kernels._jit import kernel

OPPOSITE = 1e-12  # 1 + cosine below which the smallest turn between two directions has no axis


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
