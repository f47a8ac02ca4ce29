"""Small vectors as tuples of three numbers, which compiled code keeps in registers."""

# mypy: allow-untyped-defs, allow-untyped-calls
# (Numba infers the types of compiled functions.)

from __future__ import annotations

import math

from fitpipe.kernels._jit import kernel

TINY = 1e-12  # metres, or their square: no length
ALONG = 0.05  # sine of the angle below which three points are taken to lie on a line


@kernel(contract=False)
def between(points, i, j):
    """From point i to point j."""
    return points[j, 0] - points[i, 0], points[j, 1] - points[i, 1], points[j, 2] - points[i, 2]


@kernel(contract=False)
def dot(a, b):
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@kernel(contract=False)
def cross(a, b):
    return (
        a[1] * b[2] - a[2] * b[1],
        a[2] * b[0] - a[0] * b[2],
        a[0] * b[1] - a[1] * b[0],
    )


@kernel(contract=False)
def plus(a, share, b):
    """a + share b."""
    return a[0] + share * b[0], a[1] + share * b[1], a[2] + share * b[2]


@kernel(contract=False)
def unit(v):
    """v / |v|, zero for a vector without length."""
    size = math.sqrt(dot(v, v))
    inverse = 1.0 / size if size > TINY else 0.0
    return v[0] * inverse, v[1] * inverse, v[2] * inverse


@kernel(contract=False)
def square_to(u):
    """Some unit vector square to a unit vector."""
    if abs(u[0]) <= abs(u[1]) and abs(u[0]) <= abs(u[2]):
        return unit(cross(u, (1.0, 0.0, 0.0)))
    if abs(u[1]) <= abs(u[2]):
        return unit(cross(u, (0.0, 1.0, 0.0)))
    return unit(cross(u, (0.0, 0.0, 1.0)))


@kernel(contract=False)
def axes(along, side):
    """Axes along a vector, towards another, and square to both; as rows. All zero on a line."""
    x = unit(along)
    y = unit(side)
    part = dot(x, y)
    if 1.0 - part * part < ALONG * ALONG:
        nothing = (0.0, 0.0, 0.0)
        return nothing, nothing, nothing
    y = unit(plus(y, -part, x))
    return x, y, cross(x, y)


@kernel(contract=False)
def turned(then, now, v):
    """A vector carried from the axes `then` to the axes `now`."""
    a, b, c = dot(then[0], v), dot(then[1], v), dot(then[2], v)
    return (
        a * now[0][0] + b * now[1][0] + c * now[2][0],
        a * now[0][1] + b * now[1][1] + c * now[2][1],
        a * now[0][2] + b * now[1][2] + c * now[2][2],
    )


@kernel(contract=False)
def swing(u, v):
    """Axes, as rows, that the smallest turn from unit vector u to v carries to each other."""
    across = cross(u, v)
    if dot(across, across) < TINY:
        across = square_to(u)  # the same direction, or its opposite: a half turn about any of them
    axis = unit(across)
    return (u, axis, cross(u, axis)), (v, axis, cross(v, axis))
