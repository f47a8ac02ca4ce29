"""Times the graph kernel: skeletons with rigid pairs, against SLSQP and against their size.

Usage: python scripts/bench_graph.py
"""

from __future__ import annotations

from time import perf_counter

import numpy as np
from scipy.optimize import minimize

from fitpipe.kernels.graph_frames import COMPROMISE
from fitpipe.kernels.graph_newton import fit_graph
from fitpipe.kernels.graph_plan import make_plan
from fitpipe.kernels.tree_frames import CERTIFIED, STATIONARY
from fitpipe.records import Skeleton

NOISE_M = 0.015
N_SLSQP = 20


def main() -> None:
    rng = np.random.default_rng(0)
    girdles = Skeleton.preset("kinect20_girdles")
    pairs = np.array(girdles.links)
    pose = 0.25 * rng.normal(size=(girdles.n_joints, 3))
    length = distances(pose, pairs)
    target = pose + NOISE_M * rng.normal(size=(5000, girdles.n_joints, 3))
    torn = length.copy()
    torn[girdles.n_bones] = 2 * (length[11] + length[15])  # wider than both hip bones together

    print(f"{'kinect20_girdles':28} {'frames/s':>9} {'steps':>6} {'certified':>9} {'converged':>9}")
    line("from the targets", target, pairs, length)
    line("40% missing", gaps(target, rng), pairs, length)
    line("20% outliers of 0.5 m", outliers(target, rng)[:1000], pairs, length)
    line("contradictory hip width", target[:500], pairs, torn)
    fast = fit_graph(target[:N_SLSQP], np.full(target.shape[:2], 2.0)[:N_SLSQP], pairs, length)
    start = perf_counter()
    peer = np.array([slsqp(frame, pairs, length) for frame in target[:N_SLSQP]])
    rate = N_SLSQP / (perf_counter() - start)
    gap = np.max(fast.objective / peer - 1)
    print(
        f"{'SciPy SLSQP (ftol 1e-9)':28} {rate:9,.0f}   largest objective / SLSQP's - 1: {gap:.1e}"
    )

    print(
        f"\n{'chain with cross pairs':28} {'us/frame':>9} {'us/step':>8} {'blocks':>7} {'fill':>5}"
    )
    for n_joints in (20, 60, 120, 250, 500):
        chain = np.stack([np.arange(n_joints - 1), np.arange(1, n_joints)], axis=1)
        cross = np.arange(0, n_joints - 2, 4)
        pairs = np.concatenate([chain, np.stack([cross, cross + 2], axis=1)])
        pose = np.cumsum(0.1 * rng.normal(size=(n_joints, 3)), axis=0)
        target = pose + 0.005 * rng.normal(size=(200, n_joints, 3))
        fit, seconds = timed(target, pairs, distances(pose, pairs))
        plan = make_plan(n_joints, pairs)
        per_frame = 1e6 * seconds / len(target)
        steps = fit.iterations.mean()
        print(
            f"{n_joints:21} joints {per_frame:10,.0f} {per_frame / steps:8.1f} "
            f"{len(plan.row):6} {plan.n_fill:4}"
        )


def line(title: str, target: np.ndarray, pairs: np.ndarray, length: np.ndarray) -> None:
    fit, seconds = timed(target, pairs, length)
    converged = np.isin(fit.outcome, [CERTIFIED, STATIONARY, COMPROMISE]).mean()
    print(
        f"{title:28} {len(target) / seconds:9,.0f} {fit.iterations.mean():6.1f} "
        f"{(fit.outcome == CERTIFIED).mean():9.2%} {converged:9.2%}"
    )


def timed(target, pairs, length):
    """Fit and seconds, on one core, once the kernels are loaded."""
    stiffness = np.where(np.isnan(target[..., 0]), 0.0, 2.0)
    fit_graph(target[:1], stiffness[:1], pairs, length)
    start = perf_counter()
    fit = fit_graph(target, stiffness, pairs, length)
    return fit, perf_counter() - start


def distances(pose, pairs):
    return np.linalg.norm(pose[pairs[:, 1]] - pose[pairs[:, 0]], axis=-1)


def gaps(target, rng):
    return np.where(rng.random(target.shape[:2])[..., None] < 0.4, np.nan, target)


def outliers(target, rng):
    away = rng.normal(size=target.shape)
    away *= 0.5 / np.linalg.norm(away, axis=-1, keepdims=True)
    return target + np.where(rng.random(target.shape[:2])[..., None] < 0.2, away, 0.0)


def slsqp(target, pairs, length):
    """Objective SLSQP ends at, from the targets, with exact derivatives."""
    rows = np.arange(len(pairs))

    def jacobian(x):
        p = x.reshape(-1, 3)
        u = p[pairs[:, 1]] - p[pairs[:, 0]]
        u /= np.linalg.norm(u, axis=1, keepdims=True)
        J = np.zeros((len(pairs), len(p), 3))
        J[rows, pairs[:, 1]], J[rows, pairs[:, 0]] = u, -u
        return J.reshape(len(pairs), -1)

    return minimize(
        lambda x: np.sum((x - target.ravel()) ** 2),
        target.ravel(),
        jac=lambda x: 2 * (x - target.ravel()),
        method="SLSQP",
        constraints={
            "type": "eq",
            "fun": lambda x: distances(x.reshape(-1, 3), pairs) - length,
            "jac": jacobian,
        },
        options={"ftol": 1e-9, "maxiter": 500},
    ).fun


if __name__ == "__main__":
    main()
