"""The merit of the augmented Lagrangian, its gradient and its second derivative, for one frame.

For lengths r_k = |x_a − x_b| − L_k and ρ > 0, with u_k the unit vector of pair k and y = λ + ρ r
the multipliers it stands for,

    φ(x) = J0 + λ·r + ρ/2 |r|² ,        ∇φ = H (x − m) + Λᵀ y ,
    ∇²φ = H + Σ_k y_k ∇²r_k + ρ ΛᵀΛ ,   ∇²r_k = (I − u_k u_kᵀ) / |x_a − x_b| at both ends,

one 3 × 3 block a joint and one a pair: y_k/|x_a − x_b| across the pair's direction, ρ along it.
"""

# mypy: allow-untyped-defs, allow-untyped-calls
# (Numba infers the types of compiled functions; the Python faces are annotated.)

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from fitpipe.kernels._jit import kernel

# Nearer than this share of their length two joints have no direction, and nearer than the other
# their curvature counts as at that distance.
APART_SHARE = 1e-9
CURVED_SHARE = 1e-6

# Levenberg term toward the present pose: as a share of the joint's stiffness (of the largest, where
# it has none), and of ρ, whose rounding it must exceed. It holds joints without curvature and
# leaves the optimum where it is.
DAMPING = 1e-6
DAMPING_RHO = 1e-14


class Frame(NamedTuple):
    """One frame's data; joints that are one point by a bone of length 0 are one joint here."""

    target: Any  # (joint, 3) about a centre near the data
    stiffness: Any  # (joint,)
    active: Any  # (joint,) bool, has a position
    length: Any  # (pair,) metres
    bound: Any  # (pair,) bool, both ends active
    scale: Any  # largest stiffness
    softness: Any  # harmonic mean of the stiffness
    size_m: Any  # mean length of a pair
    reach_m: Any  # largest coordinate or length, whose rounding limits everything


class Work(NamedTuple):
    """State of the search and its workspace."""

    x: Any  # (joint, 3)
    multiplier: Any  # (pair,) of r
    force: Any  # (pair,) multiplier that the curvature of the next step uses
    r: Any  # (pair,)
    u: Any  # (pair, 3) from the first joint to the second
    distance: Any  # (pair,)
    step: Any  # (joint, 3)
    trial: Any  # (joint, 3)
    back: Any  # (joint, 3)
    diagonal: Any  # (joint, 9)
    block: Any  # (slot, 3, 3)
    pivot: Any  # (joint,) of the certificate
    entry: Any  # (slot,)


@kernel()
def unit_noise(seed):
    """Fixed pseudo-random unit vector number `seed` (a golden-ratio sequence on the sphere)."""
    z = 1.0 - 2.0 * ((0.5 + seed * 0.7548776662466927) % 1.0)
    turn = 2.0 * math.pi * ((0.5 + seed * 0.5698402909980532) % 1.0)
    rim = math.sqrt(max(0.0, 1.0 - z * z))
    return rim * math.cos(turn), rim * math.sin(turn), z


@kernel()
def new_work(n_joints, n_pairs, n_slots):
    return Work(
        np.zeros((n_joints, 3)), np.zeros(n_pairs), np.zeros(n_pairs), np.zeros(n_pairs),
        np.zeros((n_pairs, 3)), np.zeros(n_pairs), np.zeros((n_joints, 3)), np.zeros((n_joints, 3)),
        np.zeros((n_joints, 3)), np.zeros((n_joints, 9)), np.zeros((n_slots, 3, 3)),
        np.zeros(n_joints), np.zeros(n_slots),
    )  # fmt: skip


@kernel()
def clear(w):
    """Zero the matrix and the right side."""
    for j in range(w.diagonal.shape[0]):
        for i in range(9):
            w.diagonal[j, i] = 0.0
        for i in range(3):
            w.step[j, i] = 0.0
    for s in range(w.block.shape[0]):
        for i in range(3):
            for j in range(3):
                w.block[s, i, j] = 0.0


@kernel()
def measure(plan, frame, w):
    """Lengths and directions of the bound pairs at w.x; returns the worst length error."""
    worst = 0.0
    for k in range(frame.length.shape[0]):
        w.r[k] = 0.0
        if not frame.bound[k]:
            continue
        a, b = plan.pair[k, 0], plan.pair[k, 1]
        d0 = w.x[b, 0] - w.x[a, 0]
        d1 = w.x[b, 1] - w.x[a, 1]
        d2 = w.x[b, 2] - w.x[a, 2]
        distance = math.sqrt(d0 * d0 + d1 * d1 + d2 * d2)
        w.r[k] = distance - frame.length[k]
        worst = max(worst, abs(w.r[k]))
        if distance > APART_SHARE * frame.length[k]:
            d0 /= distance
            d1 /= distance
            d2 /= distance
        else:  # any direction parts the two joints
            d0, d1, d2 = unit_noise(float(k))
        w.u[k, 0] = d0
        w.u[k, 1] = d1
        w.u[k, 2] = d2
        w.distance[k] = max(distance, CURVED_SHARE * frame.length[k])
    return worst


@kernel()
def merit(plan, frame, w, x, rho):
    """φ at x, and the sum of its terms' sizes, which bounds its rounding."""
    value = size = 0.0
    for j in range(x.shape[0]):
        if frame.stiffness[j] > 0.0:
            e0 = x[j, 0] - frame.target[j, 0]
            e1 = x[j, 1] - frame.target[j, 1]
            e2 = x[j, 2] - frame.target[j, 2]
            value += 0.5 * frame.stiffness[j] * (e0 * e0 + e1 * e1 + e2 * e2)
    size = value
    for k in range(frame.length.shape[0]):
        if frame.bound[k]:
            a, b = plan.pair[k, 0], plan.pair[k, 1]
            d0 = x[b, 0] - x[a, 0]
            d1 = x[b, 1] - x[a, 1]
            d2 = x[b, 2] - x[a, 2]
            r = math.sqrt(d0 * d0 + d1 * d1 + d2 * d2) - frame.length[k]
            term = (w.multiplier[k] + 0.5 * rho * r) * r
            value += term
            # r itself is rounded, by some bits of the largest coordinate
            size += abs(term) + (abs(w.multiplier[k]) + rho * abs(r)) * frame.reach_m
    return value, size


@kernel()
def force(plan, frame, w, x, rho, into):
    """Write −∇φ at x into `into` (joint, 3)."""
    for j in range(x.shape[0]):
        h = frame.stiffness[j]
        for i in range(3):
            into[j, i] = h * (frame.target[j, i] - x[j, i]) if h > 0.0 else 0.0
    for k in range(frame.length.shape[0]):
        if frame.bound[k]:
            a, b = plan.pair[k, 0], plan.pair[k, 1]
            d0 = x[b, 0] - x[a, 0]
            d1 = x[b, 1] - x[a, 1]
            d2 = x[b, 2] - x[a, 2]
            distance = math.sqrt(d0 * d0 + d1 * d1 + d2 * d2)
            y = w.multiplier[k] + rho * (distance - frame.length[k])
            if distance > APART_SHARE * frame.length[k]:
                y /= distance
            else:
                d0, d1, d2 = w.u[k, 0], w.u[k, 1], w.u[k, 2]
            into[a, 0] += y * d0
            into[a, 1] += y * d1
            into[a, 2] += y * d2
            into[b, 0] -= y * d0
            into[b, 1] -= y * d1
            into[b, 2] -= y * d2


@kernel()
def assemble(plan, frame, w, rho, lift, share):
    """Matrix and right side of the Newton step; negative y count by `share` in the curvature.

    y is `w.force`, not λ + ρ r at w.x: while ρ is high, r at a point beside the curved valley of
    the lengths says little of the forces at its floor.
    """
    clear(w)
    force(plan, frame, w, w.x, rho, w.step)
    for j in range(w.x.shape[0]):
        h = frame.stiffness[j]
        own = w.diagonal[j]
        own_scale = h if h > 0.0 else frame.scale
        own[0] = own[3] = own[5] = h + (DAMPING + lift) * own_scale + DAMPING_RHO * rho
    for k in range(frame.length.shape[0]):
        slot = plan.pair_slot[k]
        if slot < 0 or not frame.bound[k]:
            continue
        a, b = plan.pair[k, 0], plan.pair[k, 1]
        u = w.u[k]
        y = w.force[k]
        across = (y if y > 0.0 else share * y) / w.distance[k]
        along = rho - across
        at = 0
        for i in range(3):
            for j in range(i, 3):
                value = along * u[i] * u[j] + (across if i == j else 0.0)
                w.diagonal[a, at] += value
                w.diagonal[b, at] += value
                at += 1
                w.block[slot, i, j] -= value
                if i != j:
                    w.block[slot, j, i] -= value
    for j in range(w.x.shape[0]):
        own = w.diagonal[j]
        own[8] = abs(own[0]) + abs(own[3]) + abs(own[5])
