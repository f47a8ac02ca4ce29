"""One weighted target of any number of sources: the square is completed, nothing is lost."""

from __future__ import annotations

import numpy as np
import pytest

from fitpipe.errors import SolveError
from fitpipe.records import Skeleton, Take
from fitpipe.solve import (
    check_weights,
    disagreement,
    pose_problem,
    residuals,
    weights,
    worst_bone_error,
)

PAIR = Skeleton("pair", ("A", "B"), (-1, 0), bone_length_m=[1.0])


def observations(n_time=5, n_sources=3, n_joints=2, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.normal(size=(n_time, n_sources, n_joints, 3))
    w = rng.uniform(0.1, 2, size=(n_time, n_sources, n_joints))
    missing = rng.random(w.shape) < 0.3
    y[missing], w[missing] = np.nan, 0.0
    return y, w


def test_target_stiffness_and_constant_give_back_the_weighted_sum_of_squares():
    y, w = observations()
    problem = pose_problem(y, w, PAIR)
    x = np.random.default_rng(9).normal(size=(5, 2, 3))
    direct = np.nansum(w[..., None] * (x[:, None] - np.nan_to_num(y)) ** 2, axis=(1, 2, 3))
    half_h = 0.5 * problem.stiffness[..., None]
    completed = (half_h * (x - problem.target) ** 2).sum(axis=(1, 2)) + problem.constant
    np.testing.assert_allclose(completed, direct, rtol=1e-12)


def test_the_order_of_sources_does_not_matter():
    y, w = observations()
    one, two = pose_problem(y, w, PAIR), pose_problem(y[:, ::-1], w[:, ::-1], PAIR)
    np.testing.assert_allclose(one.target, two.target, atol=1e-12)
    np.testing.assert_allclose(one.constant, two.constant, atol=1e-12)


def take(position, confidence=None, source="a"):
    return Take(source, PAIR.joints, position, np.arange(len(position)), confidence)


def test_weights_are_confidence_times_the_given_weight_and_zero_where_missing():
    position = np.ones((2, 2, 3))
    position[0, 1] = np.nan
    a, b = take(position, [[1.0, 1.0], [0.2, 0.5]]), take(np.ones((2, 2, 3)), source="b")
    given = [np.full((2, 2), 2.0), np.array([[1.0, 0.0], [3.0, 1.0]])]
    np.testing.assert_allclose(
        weights([a, b], given), [[[2.0, 0.0], [1.0, 0.0]], [[0.4, 1.0], [3.0, 1.0]]]
    )


def test_weights_that_do_not_fit_are_all_listed():
    with pytest.raises(SolveError) as caught:
        check_weights([np.ones((3, 2)), -np.ones((2, 2))], ["a", "b"], (2, 2))
    assert "'a': shape (3, 2), expected (2, 2)" in str(caught.value)
    assert "'b': values that are negative" in str(caught.value)


def test_disagreement_is_the_largest_distance_and_missing_below_two():
    y = np.full((1, 3, 2, 3), np.nan)
    y[0, :, 0] = [[0, 0, 0], [0.3, 0, 0], [0, 0.4, 0]]
    y[0, 1, 1] = 1.0
    np.testing.assert_allclose(disagreement(y), [[0.5, np.nan]])


def test_residuals_are_distances_to_each_source():
    y = np.zeros((1, 2, 2, 3))
    y[0, 1, 0] = [3, 4, 0]
    np.testing.assert_allclose(residuals(np.zeros((1, 2, 3)), y), [[[0, 0], [5, 0]]])


def test_worst_bone_error_skips_what_has_no_ends():
    position = np.zeros((3, 2, 3))
    position[0, 1] = [1.25, 0, 0]
    position[1, 1] = np.nan
    position[2] = np.nan
    np.testing.assert_allclose(
        worst_bone_error(position, PAIR.bones, np.array([1.0])), [0.25, 0.0, np.nan]
    )
