"""The fit over time against dense algebra and a general-purpose solver."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize

from fitpipe.kernels import banded, tree_time
from fitpipe.kernels import tree_bones as bones
from fitpipe.kernels.tree_newton import fit_tree

PARENT = np.array([-1, 0, 1, 0, 0, 4, 4])  # a chain, and two branches that fork again
LENGTH = np.array([0.0, 0.4, 0.3, 0.25, 0.35, 0.2, 0.15])


def problem(n_time, *, noise_m=0.02, seed=0):
    """Noisy targets about a tree whose bones turn slowly; uneven ticks."""
    rng = np.random.default_rng(seed)
    time_s = np.cumsum(rng.uniform(0.02, 0.05, n_time))
    truth = np.zeros((n_time, len(PARENT), 3))
    truth[:, 0] = 0.3 * np.stack([np.sin(time_s), np.cos(2 * time_s), time_s], axis=1)
    for j, p in enumerate(PARENT):
        if p >= 0:
            a, b = rng.uniform(0, 6, (2, 1)) + rng.uniform(-2, 2, (2, 1)) * time_s
            n = np.stack([np.sin(a) * np.cos(b), np.sin(a) * np.sin(b), np.cos(a)], axis=1)
            truth[:, j] = truth[:, p] + LENGTH[j] * n
    target = truth + noise_m * rng.normal(size=truth.shape)
    stiffness = rng.uniform(1, 3, truth.shape[:2])
    return time_s, truth, target, stiffness


def fitted(time_s, target, stiffness, smoothness, *, order=2, is_held=None, start=None, **options):
    is_held = np.ones(stiffness.shape, np.bool_) if is_held is None else is_held
    if start is None:
        start = fit_tree(target, stiffness, LENGTH, PARENT).position
    return tree_time.fit_tree_over_time(
        target,
        stiffness,
        is_held,
        LENGTH,
        PARENT,
        rows=banded.difference_rows(time_s, order),
        smoothness=np.broadcast_to(smoothness, (len(PARENT),)).astype(float),
        start=start,
        **options,
    )


def objective(x, time_s, target, stiffness, smoothness, order=2):
    rows = banded.difference_rows(time_s, order)
    wiggle = sum(row[:, None, None] * x[k : len(x) - order + k] for k, row in enumerate(rows.T))
    return 0.5 * (stiffness[..., None] * (x - target) ** 2).sum() + smoothness * (wiggle**2).sum()


def bone_errors(x):
    return np.linalg.norm(x[:, 1:] - x[:, PARENT[1:]], axis=-1) - LENGTH[1:]


@pytest.mark.parametrize("smoothness", [1e-6, 1e-4, 1e-2])
def test_it_finds_what_slsqp_finds(smoothness):
    time_s, _, target, stiffness = problem(5)
    fit = fitted(time_s, target, stiffness, smoothness, tolerance_m=1e-10)
    assert fit.outcome == tree_time.ARRIVED
    shape = target.shape
    n_bones = len(PARENT) - 1

    def gradient(v):
        x = v.reshape(shape)
        rows = banded.difference_rows(time_s, 2)
        out = stiffness[..., None] * (x - target)
        wiggle = sum(row[:, None, None] * x[k : len(x) - 2 + k] for k, row in enumerate(rows.T))
        for k, row in enumerate(rows.T):
            out[k : len(x) - 2 + k] += 2 * smoothness * row[:, None, None] * wiggle
        return out.ravel()

    def bone_gradient(v):
        x = v.reshape(shape)
        out = np.zeros((len(x), n_bones, *shape))
        for t, j in np.ndindex(len(x), n_bones):
            along = x[t, j + 1] - x[t, PARENT[j + 1]]
            out[t, j, t, j + 1] = along / np.linalg.norm(along)
            out[t, j, t, PARENT[j + 1]] = -along / np.linalg.norm(along)
        return out.reshape(len(x) * n_bones, -1)

    slow = minimize(
        lambda v: objective(v.reshape(shape), time_s, target, stiffness, smoothness),
        fit_tree(target, stiffness, LENGTH, PARENT).position.ravel(),
        jac=gradient,
        constraints={
            "type": "eq",
            "fun": lambda v: bone_errors(v.reshape(shape)).ravel(),
            "jac": bone_gradient,
        },
        method="SLSQP",
        options={"ftol": 1e-15, "maxiter": 2000},
    )
    assert slow.success
    here = objective(fit.position, time_s, target, stiffness, smoothness)
    assert here <= slow.fun * (1 + 1e-9)
    np.testing.assert_allclose(fit.position, slow.x.reshape(shape), atol=1e-5)


def test_bones_are_exact_and_no_force_is_left_along_the_surface():
    time_s, _, target, stiffness = problem(200)
    fit = fitted(time_s, target, stiffness, 1e-6, order=3, tolerance_m=1e-11)
    assert np.abs(bone_errors(fit.position)).max() < 1e-14
    # every force is a sum of pulls along bones: none turns a subtree, none moves the whole
    force = fit.force.copy()
    for j in range(len(PARENT) - 1, 0, -1):
        along = (fit.position[:, j] - fit.position[:, PARENT[j]]) / LENGTH[j]
        across = force[:, j] - np.einsum("tx,tx->t", force[:, j], along)[:, None] * along
        assert np.abs(across).max() < 1e-7
        force[:, PARENT[j]] += force[:, j]
    assert np.abs(force[:, 0]).max() < 1e-7


def test_the_force_is_the_gradient_of_the_objective():
    time_s, truth, target, stiffness = problem(12)
    fit = fitted(time_s, target, stiffness, 1e-3)
    rng = np.random.default_rng(1)
    for _ in range(5):
        d = rng.normal(size=truth.shape)
        ends = [
            objective(fit.position + e * d, time_s, target, stiffness, 1e-3) for e in (1e-5, -1e-5)
        ]
        assert (ends[0] - ends[1]) / 2e-5 == pytest.approx((fit.force * d).sum(), rel=1e-6)


def test_without_smoothness_every_frame_is_fitted_by_itself():
    time_s, _, target, stiffness = problem(40)
    alone = fit_tree(target, stiffness, LENGTH, PARENT, tolerance_m=1e-10)
    fit = fitted(time_s, target, stiffness, 1e-30, tolerance_m=1e-10, start=alone.position)
    np.testing.assert_allclose(fit.position, alone.position, atol=1e-8)


def test_from_a_wrong_start_it_descends_to_the_same_optimum():
    time_s, truth, target, stiffness = problem(40)
    one = fitted(time_s, target, stiffness, 1e-4, tolerance_m=1e-10)
    other = fitted(time_s, target, stiffness, 1e-4, tolerance_m=1e-10, start=truth)
    np.testing.assert_allclose(one.position, other.position, atol=1e-8)


def test_an_iteration_limit_is_told():
    time_s, _, target, stiffness = problem(40)
    fit = fitted(time_s, target, stiffness, 1e-2, max_iterations=1)
    assert fit.outcome == tree_time.LIMIT
    assert fit.iterations == 1
    assert np.abs(bone_errors(fit.position)).max() < 1e-14


def test_what_is_not_held_has_no_position_and_no_pull():
    time_s, _, target, stiffness = problem(60)
    is_held = np.ones(stiffness.shape, np.bool_)
    is_held[20:35, 6] = False  # a leaf is gone for a while
    wild = target.copy()
    wild[20:35, 6] = np.nan
    h = np.where(is_held, stiffness, 0.0)
    start = fit_tree(np.nan_to_num(wild), h, LENGTH, PARENT).position
    fit = fitted(time_s, wild, h, 1e-4, is_held=is_held, start=start, tolerance_m=1e-10)
    assert fit.outcome == tree_time.ARRIVED
    assert np.array_equal(np.isnan(fit.position[..., 0]), ~is_held)
    # the other joints' optimum is that of the tree without the leaf
    assert np.nanmax(np.abs(bone_errors(fit.position))) < 1e-14


def test_elimination_from_leaf_to_root_solves_the_bones_couplings():
    _, truth, _, _ = problem(3)
    pattern = bones.make_pattern(PARENT, LENGTH)
    is_bone = np.ones(truth.shape[:2], np.bool_) & (PARENT >= 0)
    is_bone[1, 4] = False
    x = np.ascontiguousarray(truth.transpose(0, 2, 1))
    n = np.empty_like(x)
    bones.point(x, is_bone, pattern, n)
    pivot, entry = np.empty(truth.shape[:2]), np.empty((3, len(pattern.neighbour)))
    bones.factor_gram(n, is_bone, pattern, pivot, entry)
    right = np.random.default_rng(0).normal(size=pivot.shape) * is_bone
    solved = right.copy()
    bones.solve_gram(pivot, entry, pattern, solved)
    for t in range(3):
        N = np.zeros((len(PARENT), *truth.shape[1:]))
        for k in np.flatnonzero(is_bone[t]):
            N[k, k] = n[t, :, k]
            N[k, PARENT[k]] = -n[t, :, k]
        N = N.reshape(len(PARENT), -1)
        on = is_bone[t]
        np.testing.assert_allclose(
            (N @ N.T)[np.ix_(on, on)] @ solved[t, on], right[t, on], atol=1e-12
        )
        image, back = np.empty_like(pivot), np.empty_like(x)
        bones.stretch(x, n, pattern, image)
        bones.pull(right, n, pattern, back)
        np.testing.assert_allclose(image[t], N @ truth[t].ravel(), atol=1e-12)
        np.testing.assert_allclose(back[t].T.ravel(), N.T @ right[t], atol=1e-12)
