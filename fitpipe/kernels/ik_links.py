"""A tree of one-degree joints as arrays: where everything is, and its derivatives.

Joint i turns (or slides) by q_i about (along) `axis[i]`, given in the frame of its parent. Its
centre sits at `offset[i]` there. Parents come before their children.
"""

# mypy: allow-untyped-defs, allow-untyped-calls
# (Numba infers the types of compiled functions; the Python faces are annotated.)

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from fitpipe.kernels._jit import kernel

Float = npt.NDArray[np.float64]
Int = npt.NDArray[np.int64]
Bool = npt.NDArray[np.bool_]


class Links(NamedTuple):
    """The chain itself."""

    parent: Int  # (joint,) -1 is the base
    slides: Bool  # (joint,) prismatic
    axis: Float  # (joint, 3) unit vector in the parent's frame
    offset: Float  # (joint, 3) metres in the parent's frame
    lower: Float  # (joint,) radians or metres; -inf where free
    upper: Float  # (joint,)
    unit: Float  # (joint,) 1 for a hinge, the chain's reach for a slide: makes steps comparable
    tip_joint: Int  # (tip,) the joint an end effector sits on
    tip_offset: Float  # (tip, 3) metres in that joint's frame
    moves: Bool  # (tip, joint) the joint lies between base and tip
    R_world_base: Float  # (3, 3)
    base: Float  # (3,) metres
    centre: Float  # (tip, 3) where the first turning joint before a tip sits, in the world
    near: Float  # (tip,) metres from there that the tip certainly cannot come below
    far: Float  # (tip,) metres from there that the tip certainly cannot exceed
    reach: float  # longest way from base to a tip, metres


class Pose(NamedTuple):
    """Where everything is, in the world."""

    R: Float  # (joint, 3, 3) frame of the joint, after its own turn
    centre: Float  # (joint, 3)
    axis: Float  # (joint, 3)
    tip: Float  # (tip, 3)


class Goal(NamedTuple):
    """What the tips should do; weight 0 leaves a tip free."""

    position: Float  # (tip, 3) metres
    weight: Float  # (tip,)
    R: Float  # (tip, 3, 3)
    turn_weight: Float  # (tip,) metres per radian; 0 leaves the orientation free


@kernel()
def new_pose(n, n_tips):
    return Pose(np.zeros((n, 3, 3)), np.zeros((n, 3)), np.zeros((n, 3)), np.zeros((n_tips, 3)))


@kernel()
def turn_matrix(axis, angle, out):
    """Rodrigues' formula, written into `out` (3, 3)."""
    x, y, z = axis[0], axis[1], axis[2]
    s, c = math.sin(angle), math.cos(angle)
    v = 1.0 - c
    out[0, 0] = c + x * x * v
    out[0, 1] = x * y * v - z * s
    out[0, 2] = x * z * v + y * s
    out[1, 0] = x * y * v + z * s
    out[1, 1] = c + y * y * v
    out[1, 2] = y * z * v - x * s
    out[2, 0] = x * z * v - y * s
    out[2, 1] = y * z * v + x * s
    out[2, 2] = c + z * z * v


@kernel()
def forward(links, q, pose):
    """Place all joints and tips for the joint values `q`; written into `pose`."""
    own = np.empty((3, 3))
    for i in range(links.parent.size):
        up = links.parent[i]
        R_up = pose.R[up] if up >= 0 else links.R_world_base
        origin = pose.centre[up] if up >= 0 else links.base
        for r in range(3):
            a = 0.0
            o = 0.0
            for k in range(3):
                a += R_up[r, k] * links.axis[i, k]
                o += R_up[r, k] * links.offset[i, k]
            pose.axis[i, r] = a
            pose.centre[i, r] = origin[r] + o
            if links.slides[i]:
                pose.centre[i, r] += a * q[i]
        if links.slides[i]:
            for r in range(3):
                for k in range(3):
                    pose.R[i, r, k] = R_up[r, k]
        else:
            turn_matrix(links.axis[i], q[i], own)
            for r in range(3):
                for k in range(3):
                    pose.R[i, r, k] = (
                        R_up[r, 0] * own[0, k] + R_up[r, 1] * own[1, k] + R_up[r, 2] * own[2, k]
                    )
    for e in range(links.tip_joint.size):
        j = links.tip_joint[e]
        for r in range(3):
            pose.tip[e, r] = pose.centre[j, r] + (
                pose.R[j, r, 0] * links.tip_offset[e, 0]
                + pose.R[j, r, 1] * links.tip_offset[e, 1]
                + pose.R[j, r, 2] * links.tip_offset[e, 2]
            )


@kernel()
def forward_many(links, q, R, centre, axis, tip):
    """`forward` for every row of `q` (pose, joint); the outputs lead with (pose, ...)."""
    for t in range(q.shape[0]):
        forward(links, q[t], Pose(R[t], centre[t], axis[t], tip[t]))


@kernel()
def rotation_vector(R_goal, R, out):
    """Axis times angle of the turn that carries `R` onto `R_goal`, in the world; into `out`."""
    D = np.empty((3, 3))
    for r in range(3):
        for k in range(3):
            D[r, k] = R_goal[r, 0] * R[k, 0] + R_goal[r, 1] * R[k, 1] + R_goal[r, 2] * R[k, 2]
    out[0] = 0.5 * (D[2, 1] - D[1, 2])
    out[1] = 0.5 * (D[0, 2] - D[2, 0])
    out[2] = 0.5 * (D[1, 0] - D[0, 1])
    s = math.sqrt(out[0] ** 2 + out[1] ** 2 + out[2] ** 2)
    c = 0.5 * (D[0, 0] + D[1, 1] + D[2, 2] - 1.0)
    angle = math.atan2(s, c)
    if c < -0.9:
        # near half a turn the axis is the large column of the symmetric part D + D'
        k = 0
        for i in range(1, 3):
            if D[i, i] > D[k, k]:
                k = i
        size = 0.0
        sign = 1.0 if out[k] >= 0.0 else -1.0
        column = np.empty(3)
        for i in range(3):
            column[i] = 0.5 * (D[i, k] + D[k, i]) - (c if i == k else 0.0)
            size += column[i] ** 2
        for i in range(3):
            out[i] = sign * angle * column[i] / math.sqrt(size)
    elif s > 0.0:
        for i in range(3):
            out[i] *= angle / s


@kernel()
def residual(links, pose, goal, out):
    """Weighted way left to go, into `out`: 3 rows a tip for position, then 3 for orientation.

    Returns half its square, the farthest tip's distance (m) and the largest turn left (rad).
    """
    n_tips = links.tip_joint.size
    objective = 0.0
    worst = 0.0
    worst_turn = 0.0
    for e in range(n_tips):
        square = 0.0
        for r in range(3):
            out[3 * e + r] = 0.0
            if goal.weight[e] > 0.0:
                left = goal.position[e, r] - pose.tip[e, r]
                square += left * left
                out[3 * e + r] = goal.weight[e] * left
        objective += 0.5 * goal.weight[e] ** 2 * square
        worst = max(worst, math.sqrt(square))
    if out.size > 3 * n_tips:
        for e in range(n_tips):
            rows = out[3 * (n_tips + e) : 3 * (n_tips + e) + 3]
            for r in range(3):
                rows[r] = 0.0
            if goal.turn_weight[e] > 0.0:
                rotation_vector(goal.R[e], pose.R[links.tip_joint[e]], rows)
                angle = math.sqrt(rows[0] ** 2 + rows[1] ** 2 + rows[2] ** 2)
                worst_turn = max(worst_turn, angle)
                objective += 0.5 * (goal.turn_weight[e] * angle) ** 2
                for r in range(3):
                    rows[r] *= goal.turn_weight[e]
    return objective, worst, worst_turn


@kernel()
def fill_jacobian(links, pose, weight, turn_weight, J):
    """Geometric Jacobian into `J` (row, joint): a x (tip - p) and a, or a and 0 for a slide."""
    n_tips = links.tip_joint.size
    with_turn = J.shape[0] > 3 * n_tips
    for r in range(J.shape[0]):
        for i in range(J.shape[1]):
            J[r, i] = 0.0
    for e in range(n_tips):
        w = weight[e]
        for i in range(links.parent.size):
            if not links.moves[e, i]:
                continue
            a = pose.axis[i]
            row = 3 * e
            if links.slides[i]:
                for r in range(3):
                    J[row + r, i] = w * a[r]
                continue
            x = pose.tip[e, 0] - pose.centre[i, 0]
            y = pose.tip[e, 1] - pose.centre[i, 1]
            z = pose.tip[e, 2] - pose.centre[i, 2]
            J[row, i] = w * (a[1] * z - a[2] * y)
            J[row + 1, i] = w * (a[2] * x - a[0] * z)
            J[row + 2, i] = w * (a[0] * y - a[1] * x)
            if with_turn:
                for r in range(3):
                    J[3 * (n_tips + e) + r, i] = turn_weight[e] * a[r]


@kernel()
def fill_hessian(links, pose, J, left, H):
    """Second derivative of 1/2 |left|^2 into `H` (joint, joint); `J` and `left` are weighted.

    J'J minus left . d2(tip): the derivative of column j by a hinge i at or above it is
    a_i x J_j. Orientation rows enter by J'J alone.
    """
    n = links.parent.size
    n_rows = J.shape[0]
    for i in range(n):
        for j in range(i, n):
            total = 0.0
            for r in range(n_rows):
                total += J[r, i] * J[r, j]
            H[i, j] = total
    for e in range(links.tip_joint.size):
        x, y, z = left[3 * e], left[3 * e + 1], left[3 * e + 2]
        for i in range(n):
            if links.slides[i] or not links.moves[e, i]:
                continue
            a = pose.axis[i]
            u = y * a[2] - z * a[1]
            v = z * a[0] - x * a[2]
            w = x * a[1] - y * a[0]
            for j in range(i, n):
                # parents come first, so j on the same path is below i
                if links.moves[e, j]:
                    H[i, j] -= J[3 * e, j] * u + J[3 * e + 1, j] * v + J[3 * e + 2, j] * w
    for i in range(n):
        for j in range(i):
            H[i, j] = H[j, i]
