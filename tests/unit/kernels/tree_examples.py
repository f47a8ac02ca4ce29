"""Frames with a known pose, a dense certificate and an independent optimiser for the tree tests."""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize

KINECT20 = np.array([-1, 0, 1, 2, 2, 4, 5, 6, 2, 8, 9, 10, 0, 12, 13, 14, 0, 16, 17, 18])
KINECT20_LENGTH_M = np.array(
    [0, 0.33, 0.25, 0.2]
    + 2 * [0.18, 0.28, 0.25, 0.08]
    + 2 * [0.1, 0.42, 0.4, 0.12]
)  # fmt: skip


def place(direction, length, parent, root_m=0.0):
    """Positions (frame, joint, 3) from unit directions of the bones."""
    position = np.zeros(direction.shape) + root_m
    for i, p in enumerate(parent):
        if p >= 0:
            position[:, i] = position[:, p] + length[i] * direction[:, i]
    return position


def unit(vector):
    return vector / np.linalg.norm(vector, axis=-1, keepdims=True)


def kinect_frames(n_frames, seed=0, *, noise_m=0.015):
    """Noisy targets around poses with exact bones."""
    rng = np.random.default_rng(seed)
    pose = rng.normal(size=(1, 20, 3)) + 0.3 * rng.normal(size=(n_frames, 20, 3))
    truth = place(unit(pose), KINECT20_LENGTH_M, KINECT20)
    return truth + noise_m * rng.normal(size=truth.shape)


def random_tree(rng, n_joints):
    return np.array([-1] + [int(rng.integers(0, i)) for i in range(1, n_joints)])


def hard_sets(n_frames=60, seed=1):
    """Name -> (target, stiffness, length) on the Kinect tree."""
    rng = np.random.default_rng(seed)
    length = KINECT20_LENGTH_M
    shape = (n_frames, 20, 3)
    m = kinect_frames(n_frames, seed)
    h = np.full((n_frames, 20), 4.0)
    rows = np.arange(n_frames)
    away = unit(rng.normal(size=shape))
    outliers = np.where(rng.random((n_frames, 20, 1)) < 0.2, m + 0.5 * away, m)
    coincident, far, folded = m.copy(), m.copy(), m.copy()
    one, other = rng.integers(0, 20, (2, n_frames))
    coincident[rows, one] = coincident[rows, other]
    folded[:, 6], folded[:, 14] = folded[:, 4], folded[:, 12]
    joint = rng.integers(1, 20, n_frames)
    reach = 10 * length[joint, None] * away[rows, joint]
    far[rows, joint] = m[rows, KINECT20[joint]] + reach
    seen = np.where(rng.random((n_frames, 20)) > 0.4, h, 0.0)
    short = length.copy()
    short[[2, 9, 13, 19]] = 0.0
    return {
        "20% outliers of 0.5 m": (outliers, h, length),
        "coincident joints": (coincident, h, length),
        "folded limbs": (folded, h, length),
        "one target 10 bones away": (far, h, length),
        "all targets 10 times too far": (m[:, :1] + 10 * (m - m[:, :1]), h, length),
        "40% missing": (np.where(seen[..., None] > 0, m, np.nan), seen, length),
        "zero-length bones": (m, h, short),
        "all targets at one point": (np.full(shape, 0.3), h, length),
        "targets at 1e6 m": (m + 1e6, h, length),
        "a cloud without a pose": (0.3 * rng.normal(size=shape), h, length),
    }


def objective(position, target, stiffness):
    seen = stiffness > 0
    return 0.5 * np.sum(stiffness[seen] * np.sum((position[seen] - target[seen]) ** 2, axis=-1))


def slsqp(target, stiffness, length, parent, start):
    """Objective SciPy's SLSQP reaches from `start`, or inf if its bones are off."""
    child = np.flatnonzero((parent >= 0) & (length > 0))
    up = parent[child]
    n = len(parent)

    def bones(x):
        p = x.reshape(n, 3)
        return np.linalg.norm(p[child] - p[up], axis=1) - length[child]

    def bones_jac(x):
        p = x.reshape(n, 3)
        u = unit(p[child] - p[up])
        jac = np.zeros((len(child), n, 3))
        jac[np.arange(len(child)), child] = u
        jac[np.arange(len(child)), up] = -u
        return jac.reshape(len(child), -1)

    def gradient(x):
        return (stiffness[:, None] * (x.reshape(n, 3) - target)).ravel()

    result = minimize(
        lambda x: objective(x.reshape(n, 3), target, stiffness),
        start.ravel(),
        jac=gradient,
        method="SLSQP",
        constraints={"type": "eq", "fun": bones, "jac": bones_jac},
        options={"ftol": 1e-13, "maxiter": 500},
    )
    return result.fun if np.abs(bones(result.x)).max() < 1e-7 else np.inf


def dense_certificate(stiffness, multiplier, length, parent):
    """Lowest eigenvalue of K(lambda) over the largest stiffness (formulation, section 4)."""
    K = np.diag(stiffness)
    for i, p in enumerate(parent):
        if p >= 0:
            e = np.zeros(len(parent))
            e[i], e[p] = 1.0, -1.0
            K += multiplier[i] / length[i] * np.outer(e, e)
    return np.linalg.eigvalsh(K)[0] / stiffness.max()
