"""Random graphs with loops, and independent optimisers, for the graph tests."""

from __future__ import annotations

import numpy as np
from scipy.optimize import least_squares, minimize

from .tree_examples import random_tree


def tree_pairs(parent):
    child = np.flatnonzero(parent >= 0)
    return np.stack([parent[child], child], axis=1)


def random_graph(rng, n_joints, n_loops):
    """A random tree with `n_loops` more pairs, which may repeat a pair."""
    extra = [rng.choice(n_joints, 2, replace=False) for _ in range(n_loops)]
    return np.concatenate([tree_pairs(random_tree(rng, n_joints)), *(e[None] for e in extra)])


def lengths_of(position, pairs):
    return np.linalg.norm(position[..., pairs[:, 1], :] - position[..., pairs[:, 0], :], axis=-1)


def deviation(x, pairs, length):
    return lengths_of(x.reshape(-1, 3), pairs) - length


def jacobian(x, pairs):
    p = x.reshape(-1, 3)
    u = p[pairs[:, 1]] - p[pairs[:, 0]]
    u /= np.linalg.norm(u, axis=1, keepdims=True)
    rows = np.zeros((len(pairs), len(p), 3))
    np.add.at(rows, (np.arange(len(pairs)), pairs[:, 1]), u)
    np.add.at(rows, (np.arange(len(pairs)), pairs[:, 0]), -u)
    return rows.reshape(len(pairs), -1)


def slsqp(target, stiffness, pairs, length, start):
    """Objective SciPy's SLSQP reaches from `start`, or inf if its lengths are off.

    It is given each pair once, because dependent constraints stop it.
    """
    _, once = np.unique(np.sort(pairs, axis=1), axis=0, return_index=True)
    pairs, length = pairs[once], length[once]
    h = np.repeat(stiffness, 3)
    result = minimize(
        lambda x: 0.5 * np.sum(h * (x - target.ravel()) ** 2),
        start.ravel(),
        jac=lambda x: h * (x - target.ravel()),
        method="SLSQP",
        constraints={
            "type": "eq",
            "fun": lambda x: deviation(x, pairs, length),
            "jac": lambda x: jacobian(x, pairs),
        },
        options={"ftol": 1e-14, "maxiter": 1000},
    )
    return result.fun if np.abs(deviation(result.x, pairs, length)).max() < 1e-8 else np.inf


def least_violation(target, pairs, length, n_starts=4):
    """Least ½ Σ r² SciPy finds from the targets and from places around them."""
    rng = np.random.default_rng(0)
    starts = [target] + [target + 0.3 * rng.normal(size=target.shape) for _ in range(n_starts - 1)]
    return min(
        least_squares(
            deviation,
            start.ravel(),
            lambda x, pairs, _: jacobian(x, pairs),
            args=(pairs, length),
            xtol=1e-15,
            ftol=1e-15,
            gtol=1e-15,
        ).cost
        for start in starts
    )


def dense_certificate(stiffness, multiplier, length, pairs):
    """Lowest eigenvalue of K(λ) over the largest stiffness (formulation, section 4)."""
    K = np.diag(stiffness)
    for (a, b), kappa in zip(pairs, multiplier / length, strict=True):
        e = np.zeros(len(stiffness))
        e[a], e[b] = 1.0, -1.0
        K += kappa * np.outer(e, e)
    return np.linalg.eigvalsh(K)[0] / stiffness.max()


def assemble_dense(plan, pair_block, diagonal):
    """Dense matrix with `diagonal` (joint, 3, 3), minus `pair_block` (pair, 3, 3) off it."""
    n = len(diagonal)
    dense = np.zeros((n, 3, n, 3))
    dense[np.arange(n), :, np.arange(n)] = diagonal
    for (a, b), block in zip(plan.pair, pair_block, strict=True):
        dense[a, :, b] -= block
        dense[b, :, a] -= block.T
    return dense.reshape(3 * n, 3 * n)


def spread(n_joints, rng, n_loops):
    """A graph like a long body: a chain with pairs between joints close along it."""
    chain = np.stack([np.arange(n_joints - 1), np.arange(1, n_joints)], axis=1)
    at = rng.integers(0, n_joints - 3, n_loops)
    return np.concatenate([chain, np.stack([at, at + 2], axis=1)])
