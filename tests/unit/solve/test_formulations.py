"""The closed formulas of every formulation against dense systems and finite differences."""

from __future__ import annotations

import numpy as np
import pytest

from fitpipe.solve.formulations import Aggregate, PerAxis, PerBone
from fitpipe.solve.formulations.squared_sum import gradient, squared_sum
from fitpipe.solve.geometry import bones_at, is_definite, objective, pull, stiffness_matrix

from .family_examples import bone_derivatives, random_frames, solve_bordered

DELTA = 1e-6


def numeric(function, x):
    """Central differences of function (frame, ...) by every coordinate: (frame, ..., joint, 3)."""
    steps = np.eye(x[0].size).reshape(-1, *x.shape[1:]) * DELTA
    columns = [(function(x + step) - function(x - step)) / (2 * DELTA) for step in steps]
    return np.stack(columns, axis=-1).reshape(*columns[0].shape, *x.shape[1:])


def bone_slopes(frames, x):
    return frames.incidence[:, :, None] * bones_at(frames, x).unit[:, :, None]


def bone_bends(frames, x):
    bones = bones_at(frames, x)
    across = np.eye(3) - bones.unit[..., :, None] * bones.unit[..., None, :]
    S = frames.incidence
    return np.einsum("ki,kj,fk,fkcd->fkicjd", S, S, bones.curvature, across)


DERIVATIVES = {
    "J0": (objective, lambda f, x: -pull(f, x)),
    "J0'": (lambda f, x: -pull(f, x), lambda f, _: _diagonal(f.stiffness)),
    "r": (lambda f, x: bones_at(f, x).residual, bone_slopes),
    "r'": (bone_slopes, bone_bends),
    "M": (
        lambda f, x: squared_sum(bones_at(f, x))[:, 0],
        lambda f, x: gradient(f, bones_at(f, x)),
    ),
    "M'": (
        lambda f, x: gradient(f, bones_at(f, x)),
        lambda f, x: np.array(
            [_second_derivative(f, x, t).reshape(2 * x.shape[1:]) for t in range(len(x))]
        ),
    ),
}


def _diagonal(stiffness):
    return np.einsum("fi,ij,cd->ficjd", stiffness, np.eye(stiffness.shape[1]), np.eye(3))


def _second_derivative(frames, x, t):
    first, second = bone_derivatives(frames, x[t])
    r = bones_at(frames, x).residual[t]
    return 2 * first.T @ first + 2 * np.einsum("k,kij->ij", r, second)


@pytest.mark.parametrize("name", DERIVATIVES)
def test_derivatives_are_those_of_finite_differences(name):
    frames, x = random_frames()
    value, derivative = DERIVATIVES[name]
    by_steps = numeric(lambda at: value(frames, at), x)
    np.testing.assert_allclose(derivative(frames, x), by_steps, atol=3e-8)


def dense_stiffness(frames, t):
    return np.diag(np.repeat(frames.stiffness[t], 3))


@pytest.mark.parametrize("curvature", ["none", "exact"])
def test_per_bone_solves_the_bordered_system(curvature):
    frames, x = random_frames()
    old = np.random.default_rng(1).uniform(-0.1, 2, (len(x), 1, len(frames.pairs)))
    step = PerBone(curvature).step(frames, x, old)
    for t in range(len(x)):
        L, bend = bone_derivatives(frames, x[t])
        W = dense_stiffness(frames, t)
        if curvature == "exact":
            W = W + np.einsum("k,kij->ij", old[t, 0], bend)
        d, multiplier = solve_bordered(
            W, L, pull(frames, x)[t].ravel(), -bones_at(frames, x).residual[t]
        )
        np.testing.assert_allclose(step.direction[t, 0].ravel(), d, atol=1e-12)
        np.testing.assert_allclose(step.multiplier[t, 0], multiplier, rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(step.change[t, 0], L @ d, atol=1e-12)


@pytest.mark.parametrize("curvature", ["none", "exact"])
def test_aggregate_solves_the_bordered_system(curvature):
    frames, x = random_frames()
    old = np.random.default_rng(1).uniform(0, 0.3, (len(x), 1, 1))
    step = Aggregate(curvature).step(frames, x, old)
    M = squared_sum(bones_at(frames, x))
    for t in range(len(x)):
        first, _ = bone_derivatives(frames, x[t])
        L = 2 * bones_at(frames, x).residual[t][None] @ first
        W = dense_stiffness(frames, t)
        if curvature == "exact":
            W = W + old[t, 0, 0] * _second_derivative(frames, x, t)
        d, multiplier = solve_bordered(W, L, pull(frames, x)[t].ravel(), -M[t])
        np.testing.assert_allclose(step.direction[t, 0].ravel(), d, atol=1e-12)
        np.testing.assert_allclose(step.multiplier[t, 0], multiplier, rtol=1e-12)
        np.testing.assert_allclose(step.change[t, 0], -M[t], atol=1e-12)


@pytest.mark.parametrize("curvature", ["none", "exact"])
def test_per_axis_solves_a_bordered_system_for_each_coordinate(curvature):
    frames, x = random_frames()
    old = np.random.default_rng(1).uniform(0, 0.3, (len(x), 3, 1))
    step = PerAxis(curvature).step(frames, x, old)
    np.testing.assert_allclose(
        step.change.sum(axis=1), -squared_sum(bones_at(frames, x)), rtol=1e-12
    )
    for t in range(len(x)):
        first, _ = bone_derivatives(frames, x[t])
        L = (2 * bones_at(frames, x).residual[t] @ first).reshape(-1, 3)
        for c in range(3):
            W = np.diag(frames.stiffness[t])
            if curvature == "exact":
                W = W + old[t, c, 0] * _second_derivative(frames, x, t)[c::3, c::3]
            d, multiplier = solve_bordered(
                W, L[None, :, c], pull(frames, x)[t, :, c], step.change[t, c]
            )
            np.testing.assert_allclose(step.direction[t, c, :, c], d, atol=1e-12)
            np.testing.assert_allclose(step.multiplier[t, c], multiplier, rtol=1e-11)
            others = np.delete(step.direction[t, c], c, axis=1)
            np.testing.assert_array_equal(others, 0.0)


def test_aggregate_is_the_corrected_finite_difference_form():
    """formulation.md section 1 item 7, with differences by a step delta in place of derivatives."""
    frames, x = random_frames()
    step = Aggregate("none").step(frames, x, np.zeros((len(x), 1, 1)))
    delta = 1e-4

    def cost(at):
        return objective(frames, at)

    def error(at):
        return squared_sum(bones_at(frames, at))[:, 0]

    moves = np.eye(x[0].size).reshape(-1, *x.shape[1:]) * delta
    dJ = np.stack([(cost(x + m) - cost(x - m)) / 2 for m in moves], axis=1)
    dM = np.stack([(error(x + m) - error(x - m)) / 2 for m in moves], axis=1)
    d2J = np.stack([cost(x + m) - 2 * cost(x) + cost(x - m) for m in moves], axis=1)
    multiplier = (error(x) - (dM * dJ / d2J).sum(axis=1)) / (dM**2 / d2J).sum(axis=1)
    d = -delta * (dJ + multiplier[:, None] * dM) / d2J
    np.testing.assert_allclose(step.multiplier[:, 0, 0], multiplier, rtol=1e-5)
    np.testing.assert_allclose(step.direction[:, 0].reshape(len(x), -1), d, atol=1e-5)


def test_three_coordinates_asked_for_the_whole_overshoot_three_times():
    """Item 4 of the source page's errors: why PerAxis asks each for its share."""
    frames, x = random_frames()
    slope = gradient(frames, bones_at(frames, x))
    M = squared_sum(bones_at(frames, x))
    b_p, h = pull(frames, x), frames.stiffness[..., None]
    multiplier = ((slope * b_p / h).sum(axis=1) + M) / (slope**2 / h).sum(axis=1)
    d = (b_p - multiplier[:, None] * slope) / h
    np.testing.assert_allclose((slope * d).sum(axis=(1, 2)), -3 * M[:, 0], rtol=1e-12)


@pytest.mark.parametrize("formulation", [Aggregate, PerAxis])
@pytest.mark.parametrize("curvature", ["none", "exact"])
def test_at_exact_bones_there_is_no_multiplier_and_no_nan(formulation, curvature):
    frames, x = random_frames()
    exact = frames._replace(length=bones_at(frames, x[:1]).residual[0] + frames.length).at([0])
    n_parts = formulation.n_parts
    step = formulation(curvature).step(exact, x[:1], np.ones((1, n_parts, 1)))
    assert not step.is_defined.any()
    assert np.isfinite(step.direction).all()
    np.testing.assert_array_equal(step.multiplier, 0.0)


def test_a_bone_whose_ends_coincide_keeps_the_direction_it_started_with():
    frames, x = random_frames()
    a, b = frames.pairs[2]
    x[:, b] = x[:, a]
    bones = bones_at(frames, x)
    np.testing.assert_array_equal(bones.unit[:, 2], frames.direction[:, 2])
    np.testing.assert_allclose(bones.residual[:, 2], -frames.length[2])


def test_definite_is_what_eigenvalues_say():
    rng = np.random.default_rng(0)
    frames, _ = random_frames(n_frames=200)
    tension = rng.normal(0, 1.0, (200, len(frames.pairs)))
    K = stiffness_matrix(frames.stiffness, tension, frames.incidence)
    by_eigenvalues = np.linalg.eigvalsh(K)[:, 0] > 0
    assert 20 < by_eigenvalues.sum() < 180
    np.testing.assert_array_equal(is_definite(K), by_eigenvalues)
