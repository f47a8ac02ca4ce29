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


@kernel()
def products(A, B, out):
    """`out` (frame, 3, 3): rotations A after rotations B."""
    for t in range(B.shape[0]):
        for i in range(3):
            for j in range(3):
                out[t, i, j] = (
                    A[t, i, 0] * B[t, 0, j] + A[t, i, 1] * B[t, 1, j] + (A[t, i, 2] * B[t, 2, j])
                )


@kernel()
def relative_rotations(A, B, basis, out):
    """`out` (frame, 3, 3): rotations B as seen from A, about the axes that `basis` (3, 3) holds."""
    axes = np.empty((3, 3))
    own = np.empty((3, 3))
    for t in range(B.shape[0]):
        # axes of A and of B, in the world
        for i in range(3):
            for j in range(3):
                axes[i, j] = (
                    A[t, i, 0] * basis[0, j] + A[t, i, 1] * basis[1, j] + (A[t, i, 2] * basis[2, j])
                )
                own[i, j] = (
                    B[t, i, 0] * basis[0, j] + B[t, i, 1] * basis[1, j] + (B[t, i, 2] * basis[2, j])
                )
        for i in range(3):
            for j in range(3):
                out[t, i, j] = (
                    axes[0, i] * own[0, j] + axes[1, i] * own[1, j] + (axes[2, i] * own[2, j])
                )


@kernel()
def relative_quaternions(parent, child, out):
    """`out` (frame, 4): conjugates of the quaternions `parent`, times `child`."""
    for t in range(parent.shape[0]):
        a, b, c, d = parent[t, 0], parent[t, 1], parent[t, 2], parent[t, 3]
        w, x, y, z = child[t, 0], child[t, 1], child[t, 2], child[t, 3]
        out[t, 0] = a * w + b * x + c * y + d * z
        out[t, 1] = a * x - b * w - c * z + d * y
        out[t, 2] = a * y + b * z - c * w - d * x
        out[t, 3] = a * z - b * y + c * x - d * w
