from __future__ import annotations

import numpy as np
import pytest

from fitpipe.kernels import tree_frames
from fitpipe.kernels.graph_frames import COMPROMISE
from fitpipe.kernels.graph_newton import fit_graph
from fitpipe.kernels.tree_newton import fit_tree

from .graph_examples import lengths_of, random_graph, tree_pairs
from .tree_examples import KINECT20, kinect_frames, random_tree

POSE = kinect_frames(1, noise_m=0.0)[0]
PAIRS = np.concatenate([tree_pairs(KINECT20), [[12, 16], [4, 8]]])
LENGTH_M = lengths_of(POSE, PAIRS)


def fit_pose(seen, pairs=PAIRS, length=LENGTH_M):
    stiffness = np.where(np.isin(np.arange(20), seen), 2.0, 0.0)[None]
    target = np.where(stiffness[..., None] > 0, POSE[None], np.nan)
    return fit_graph(target, stiffness, pairs, length)


def test_joints_held_by_pairs_only_are_carried():
    """HipRight is an end of the tree once its leg is out of sight; the hip width holds it."""
    fit = fit_pose(np.r_[0:16])
    assert np.flatnonzero(fit.active[0]).tolist() == [*range(16), 16]
    assert fit.outcome[0] in (tree_frames.CERTIFIED, tree_frames.STATIONARY)
    assert fit.worst_bone_error[0] < 1e-9
    np.testing.assert_allclose(fit.position[0, :16], POSE[:16], atol=1e-7)
    assert np.isnan(fit.position[0, 17:]).all()
    unbound = np.isnan(fit.multiplier[0])
    assert unbound.tolist() == [bool(max(pair) > 16) for pair in PAIRS]


def test_unobserved_ends_are_absent_one_after_the_other():
    fit = fit_pose([0, 1, 2, 3, 4, 8, 12, 16])
    assert np.flatnonzero(fit.active[0]).tolist() == [0, 1, 2, 3, 4, 8, 12, 16]


def test_a_ring_that_nobody_saw_is_absent():
    pairs = np.array([[0, 1], [1, 2], [2, 0], [3, 4]])
    target = np.zeros((1, 5, 3))
    target[0, 4, 0] = 1.0
    stiffness = np.array([[0, 0, 0, 2.0, 2.0]])
    fit = fit_graph(target, stiffness, pairs, np.ones(4))
    assert fit.active[0].tolist() == [False, False, False, True, True]
    np.testing.assert_allclose(fit.position[0, 3:], target[0, 3:], atol=1e-12)


def test_frames_without_data_are_nan_and_say_so():
    fit = fit_pose([])
    assert fit.outcome[0] == tree_frames.NO_DATA
    for values in (fit.position, fit.objective, fit.multiplier, fit.worst_bone_error):
        assert np.isnan(values).all()


@pytest.mark.parametrize("seed", range(4))
def test_on_trees_the_same_joints_are_present_as_in_the_tree_kernel(seed):
    rng = np.random.default_rng(seed)
    parent = random_tree(rng, 25)
    parent[12] = -1
    stiffness = np.where(rng.random((40, 25)) < 0.4, 2.0, 0.0)
    target = rng.normal(size=(40, 25, 3))
    length = rng.uniform(0.1, 0.5, 25)
    tree = fit_tree(target, stiffness, length, parent, max_iterations=1, restarts=0)
    pairs = tree_pairs(parent)
    graph = fit_graph(target, stiffness, pairs, length[pairs[:, 1]], max_iterations=1, restarts=0)
    np.testing.assert_array_equal(graph.active, tree.active)


def test_exact_data_with_gaps_are_met_exactly():
    outcomes = []
    for seed in range(12):
        rng = np.random.default_rng(seed)
        pairs = random_graph(rng, 15, 10)
        pose = 0.3 * rng.normal(size=(15, 3))
        length = lengths_of(pose, pairs)
        stiffness = np.where(rng.random((10, 15)) < 0.7, 2.0, 0.0)
        stiffness[:, :3] = 2.0
        target = np.where(stiffness[..., None] > 0, pose, np.nan)
        fit = fit_graph(target, stiffness, pairs, length)
        assert fit.worst_bone_error.max() < 1e-9
        certified = fit.outcome == tree_frames.CERTIFIED
        error = np.linalg.norm(fit.position[certified] - pose, axis=-1)
        assert fit.objective[certified].max() < 1e-12
        assert error[stiffness[certified] > 0].max() < 1e-6
        outcomes.append(fit.outcome)
    # unseen joints start anywhere, and a few end folded the other way; their status admits it
    assert (np.concatenate(outcomes) == tree_frames.CERTIFIED).mean() >= 0.98
    assert np.isin(outcomes, [tree_frames.CERTIFIED, tree_frames.STATIONARY]).all()


def test_a_pair_of_unknown_length_does_not_bind():
    length = LENGTH_M.copy()
    length[-1] = np.nan
    noisy = POSE[None] + 0.02 * np.random.default_rng(0).normal(size=(3, 20, 3))
    stiffness = np.full((3, 20), 2.0)
    fit = fit_graph(noisy, stiffness, PAIRS, length)
    without = fit_graph(noisy, stiffness, PAIRS[:-1], LENGTH_M[:-1])
    np.testing.assert_array_equal(fit.position, without.position)
    assert np.isnan(fit.multiplier[:, -1]).all()


def test_bones_of_length_zero_make_one_point_and_carry_a_force():
    """Their multiplier is the size of the force in them: all that pulls beyond the bone."""
    rng = np.random.default_rng(2)
    parent = np.array([-1, 0, 1, 2, 1, 4])
    length = np.array([0, 0.3, 0.0, 0.2, 0.0, 0.25])
    target = 0.3 * rng.normal(size=(20, 6, 3))
    stiffness = rng.uniform(0.5, 4, (20, 6))
    pairs = tree_pairs(parent)
    tree = fit_tree(target, stiffness, length, parent, tolerance_m=1e-9)
    graph = fit_graph(target, stiffness, pairs, length[1:], tolerance_m=1e-9)
    same = (tree.outcome == tree_frames.CERTIFIED) & (graph.outcome == tree_frames.CERTIFIED)
    assert same.sum() > 10
    np.testing.assert_allclose(graph.position[same], tree.position[same], atol=1e-7)
    np.testing.assert_allclose(graph.objective[same], tree.objective[same], rtol=1e-9)
    np.testing.assert_array_equal(graph.position[:, 1], graph.position[:, 2])
    pull = stiffness[..., None] * (graph.position - target)
    for pair, beyond in ((1, [2, 3]), (3, [4, 5])):
        expected = np.linalg.norm(pull[:, beyond].sum(axis=1), axis=-1)
        np.testing.assert_allclose(graph.multiplier[:, pair], expected, atol=1e-6)
    for pair in (0, 2, 4):
        expected = tree.multiplier[same, pair + 1]
        np.testing.assert_allclose(graph.multiplier[same, pair], expected, atol=1e-6)


def test_a_length_between_two_joints_that_are_one_point_is_a_contradiction():
    pairs, length = np.array([[0, 1], [0, 1], [1, 2]]), np.array([0, 0.1, 0.2])
    target = np.array([[[0, 0, 0], [0, 0, 0], [0.2, 0, 0]]])
    fit = fit_graph(target, np.full((1, 3), 2.0), pairs, length)
    assert fit.outcome[0] == COMPROMISE
    assert fit.worst_bone_error[0] == pytest.approx(0.1)
    np.testing.assert_allclose(fit.position, target, atol=1e-7)


def test_two_people_in_one_skeleton_fit_as_if_alone():
    n = len(POSE)
    rng = np.random.default_rng(3)
    people = [POSE + 0.02 * rng.normal(size=(10, n, 3)) + shift for shift in (0.0, 1.5)]
    stiffness = np.full((10, n), 2.0)
    both = fit_graph(
        np.concatenate(people, axis=1),
        np.tile(stiffness, 2),
        np.concatenate([PAIRS, PAIRS + n]),
        np.tile(LENGTH_M, 2),
    )
    for k, person in enumerate(people):
        alone = fit_graph(person, stiffness, PAIRS, LENGTH_M)
        np.testing.assert_allclose(both.position[:, k * n : (k + 1) * n], alone.position, atol=2e-7)
