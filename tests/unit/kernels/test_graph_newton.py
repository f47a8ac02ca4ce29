from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import approx_fprime
from scipy.spatial.transform import Rotation

from fitpipe.kernels import tree_frames
from fitpipe.kernels.graph_frames import COMPROMISE
from fitpipe.kernels.graph_newton import fit_graph
from fitpipe.kernels.tree_newton import fit_tree

from .graph_examples import (
    dense_certificate,
    deviation,
    jacobian,
    least_violation,
    lengths_of,
    random_graph,
    slsqp,
    spread,
    tree_pairs,
)
from .tree_examples import (
    KINECT20,
    KINECT20_LENGTH_M,
    hard_sets,
    kinect_frames,
    objective,
    place,
    random_tree,
    unit,
)

TRIANGLE = np.array([[0, 1], [1, 2], [0, 2]])
WIDTHS = np.array([[12, 16], [4, 8], [6, 2]])
KINECT_PAIRS = np.concatenate([tree_pairs(KINECT20), WIDTHS])
POSE = kinect_frames(1, noise_m=0.0)[0]
KINECT_LENGTH_M = lengths_of(POSE, KINECT_PAIRS)
CONVERGED = [tree_frames.CERTIFIED, tree_frames.STATIONARY]
HARD = {name: rows for name, rows in hard_sets().items() if name != "zero-length bones"}


def line(*x):
    return np.array([[[value, 0.0, 0.0] for value in x]])


def noisy_pose(n_frames, seed=0, noise_m=0.015):
    rng = np.random.default_rng(seed)
    turn = Rotation.random(n_frames, random_state=seed).as_matrix()
    return POSE @ turn + noise_m * rng.normal(size=(n_frames, 20, 3))


@pytest.mark.parametrize(
    ("weight", "expected"), [((1, 1), (0.1, 1.1)), ((1, 3), (0.15, 1.15))], ids=["1:1", "1:3"]
)
@pytest.mark.parametrize("pairs", [[[0, 1]], [[0, 1], [0, 1]], [[0, 1], [1, 0], [0, 1]]])
def test_a_bone_listed_several_times_is_as_one(pairs, weight, expected):
    fit = fit_graph(line(0, 1.2), 2.0 * np.array([weight]), np.array(pairs), np.ones(len(pairs)))
    np.testing.assert_allclose(fit.position[0, :, 0], expected, atol=1e-8)
    np.testing.assert_allclose(fit.position[0, :, 1:], 0, atol=1e-12)
    assert fit.outcome[0] == tree_frames.CERTIFIED
    # together they carry what one bone carries: 2 w |x - m|
    assert fit.multiplier[0].sum() == pytest.approx(2 * weight[0] * expected[0], abs=1e-8)


@pytest.mark.parametrize(
    ("target", "length"),
    [
        ([[0, 0, 0], [0.08, 0.06, 0], [0.16, 0, 0]], [0.10, 0.10, 0.16]),
        ([[0, 0, 0], [0.09, 0, 0], [0.18, 0, 0]], [0.09, 0.09, 0.18]),
    ],
    ids=["open", "collinear"],
)
def test_joints_of_a_closed_triangle_stay_where_they_were_measured(target, length):
    target = np.array([target]) + 0.7
    fit = fit_graph(target, np.full((1, 3), 2.0), TRIANGLE, np.array(length))
    np.testing.assert_allclose(fit.position, target, atol=1e-6)
    assert fit.outcome[0] == tree_frames.CERTIFIED


def test_a_collinear_triangle_is_straightened_though_it_has_no_multipliers():
    target = np.array([[[0, 0, 0], [0.09, 0.03, 0], [0.18, 0, 0]]])
    fit = fit_graph(target, np.full((1, 3), 2.0), TRIANGLE, np.array([0.09, 0.09, 0.18]))
    expected = [[0, 0.01, 0], [0.09, 0.01, 0], [0.18, 0.01, 0]]
    np.testing.assert_allclose(fit.position[0], expected, atol=1e-5)
    assert fit.worst_bone_error[0] < 1e-9
    assert fit.outcome[0] in CONVERGED


def test_a_triangle_that_cannot_close_is_a_compromise_of_least_squares():
    target = np.array([[[0, 0, 0], [0.09, 0.02, 0], [0.18, 0, 0]]])
    length = np.array([0.1, 0.1, 0.3])
    fit = fit_graph(target, np.full((1, 3), 2.0), TRIANGLE, length)
    assert fit.outcome[0] == COMPROMISE
    # the 0.1 m missing are shared by the three sides; the joints lie on a line about the centroid
    apart = deviation(fit.position[0], TRIANGLE, length)
    np.testing.assert_allclose(apart, [0.1 / 3, 0.1 / 3, -0.1 / 3], atol=1e-8)
    np.testing.assert_allclose(fit.position[0].mean(axis=0), target[0].mean(axis=0), atol=1e-9)
    np.testing.assert_allclose(fit.position[0, :, 1:], [[0.02 / 3, 0]] * 3, atol=1e-7)
    assert fit.worst_bone_error[0] == pytest.approx(0.1 / 3, abs=1e-8)
    assert np.isfinite(fit.multiplier).all()


def test_two_lengths_for_one_bone_meet_in_the_middle():
    fit = fit_graph(
        line(0, 1), np.full((1, 2), 2.0), np.array([[0, 1], [0, 1]]), np.array([1, 2.0])
    )
    assert fit.outcome[0] == COMPROMISE
    np.testing.assert_allclose(fit.position[0, :, 0], [-0.25, 1.25], atol=1e-8)


@pytest.mark.parametrize("seed", range(10))
def test_contradictory_lengths_are_violated_as_little_as_least_squares_can(seed):
    rng = np.random.default_rng(seed)
    n_joints = int(rng.integers(4, 9))
    pairs = random_graph(rng, n_joints, 2 * n_joints)
    pose = 0.3 * rng.normal(size=(n_joints, 3))
    length = lengths_of(pose, pairs) * rng.uniform(0.6, 1.6, len(pairs))
    target = pose + 0.02 * rng.normal(size=pose.shape)
    fit = fit_graph(target[None], rng.uniform(0.5, 4, (1, n_joints)), pairs, length)
    assert fit.outcome[0] == COMPROMISE
    violation = 0.5 * np.sum(deviation(fit.position[0], pairs, length) ** 2)
    assert violation <= least_violation(target, pairs, length) * (1 + 1e-7)


def test_a_contradiction_in_the_pelvis_leaves_the_arms_exact():
    length = KINECT_LENGTH_M.copy()
    hips = len(tree_pairs(KINECT20))
    length[hips] = 0.5
    fit = fit_graph(noisy_pose(5), np.full((5, 20), 2.0), KINECT_PAIRS, length)
    assert (fit.outcome == COMPROMISE).all()
    arms = [k for k, pair in enumerate(KINECT_PAIRS) if pair.min() >= 4 and pair.max() <= 11]
    off = np.abs(lengths_of(fit.position, KINECT_PAIRS) - length)
    assert off[:, arms].max() < 1e-8
    assert off[:, hips].min() > 0.05


@pytest.mark.parametrize("seed", range(12))
def test_optimum_equals_slsqp_on_random_graphs(seed):
    rng = np.random.default_rng(seed)
    n_joints = int(rng.integers(3, 12))
    pairs = random_graph(rng, n_joints, int(rng.integers(1, n_joints)))
    pose = 0.3 * rng.normal(size=(n_joints, 3))
    length = lengths_of(pose, pairs)
    target = pose + (0.02, 0.2)[seed % 2] * rng.normal(size=pose.shape)
    stiffness = rng.uniform(0.5, 4, n_joints)
    fit = fit_graph(target[None], stiffness[None], pairs, length)
    assert fit.outcome[0] in CONVERGED
    assert fit.worst_bone_error[0] < 1e-9
    starts = [target] + [target + 0.3 * rng.normal(size=pose.shape) for _ in range(2)]
    peers = [slsqp(target, stiffness, pairs, length, start) for start in starts]
    assert fit.objective[0] <= min(peers) * (1 + 1e-7) + 1e-15
    if fit.outcome[0] == tree_frames.CERTIFIED:
        assert fit.objective[0] == pytest.approx(min(peers), rel=1e-6, abs=1e-12)


@pytest.mark.parametrize("name", ["ordinary", *HARD])
def test_on_a_tree_it_agrees_with_the_tree_kernel(name):
    n = 30
    target, stiffness, length = (
        (kinect_frames(n), np.random.default_rng(1).uniform(0.5, 4, (n, 20)), KINECT20_LENGTH_M)
        if name == "ordinary"
        else HARD[name]
    )
    pairs = tree_pairs(KINECT20)
    tree = fit_tree(target[:n], stiffness[:n], length, KINECT20, tolerance_m=1e-9)
    graph = fit_graph(target[:n], stiffness[:n], pairs, length[pairs[:, 1]], tolerance_m=1e-9)
    np.testing.assert_array_equal(graph.active, tree.active)
    both = (tree.outcome == tree_frames.CERTIFIED) & (graph.outcome == tree_frames.CERTIFIED)
    # the start is another one, so a few frames in hundred may end at another optimum
    assert both.sum() >= 0.9 * (tree.outcome == tree_frames.CERTIFIED).sum()
    np.testing.assert_allclose(graph.objective[both], tree.objective[both], rtol=1e-7)


def test_the_tree_kernels_solution_is_accepted_where_there_are_no_loops():
    target = kinect_frames(50)
    stiffness = np.full((50, 20), 2.0)
    pairs = tree_pairs(KINECT20)
    tree = fit_tree(target, stiffness, KINECT20_LENGTH_M, KINECT20)
    graph = fit_graph(
        target,
        stiffness,
        pairs,
        KINECT20_LENGTH_M[pairs[:, 1]],
        start_position=tree.position,
        start_multiplier=tree.multiplier[:, pairs[:, 1]],
    )
    assert graph.iterations.max() == 0
    np.testing.assert_allclose(graph.position, tree.position, atol=1e-7)
    np.testing.assert_allclose(graph.multiplier, tree.multiplier[:, pairs[:, 1]], atol=1e-6)
    np.testing.assert_allclose(graph.objective_start, tree.objective, rtol=1e-10)


def test_multipliers_balance_the_gradient_by_finite_differences():
    target, stiffness = noisy_pose(3), np.random.default_rng(3).uniform(0.5, 4, (3, 20))
    fit = fit_graph(target, stiffness, KINECT_PAIRS, KINECT_LENGTH_M, tolerance_m=1e-9)
    for t in range(3):

        def lagrangian(x, t=t):
            off = deviation(x, KINECT_PAIRS, KINECT_LENGTH_M)
            x = x.reshape(20, 3)
            return objective(x, target[t], stiffness[t]) + fit.multiplier[t] @ off

        at = fit.position[t].ravel()
        slope = 0.5 * (approx_fprime(at, lagrangian, 1e-6) + approx_fprime(at, lagrangian, -1e-6))
        np.testing.assert_allclose(slope, 0, atol=1e-7)


def test_certificate_agrees_with_the_dense_eigenvalues():
    cloud = HARD["a cloud without a pose"][0]
    target = np.concatenate([noisy_pose(60), cloud])
    stiffness = np.random.default_rng(4).uniform(0.5, 4, target.shape[:2])
    fit = fit_graph(target, stiffness, KINECT_PAIRS, KINECT_LENGTH_M, restarts=0)
    lowest = np.array(
        [
            dense_certificate(*row, KINECT_LENGTH_M, KINECT_PAIRS)
            for row in zip(stiffness, fit.multiplier, strict=True)
        ]
    )
    assert (lowest[fit.outcome == tree_frames.CERTIFIED] > -2e-9).all()
    assert (lowest[fit.outcome == tree_frames.STATIONARY] < -0.5e-9).all()
    assert (fit.outcome == tree_frames.STATIONARY).any()
    assert (fit.outcome[:60] == tree_frames.CERTIFIED).mean() > 0.9


def test_weights_may_differ_by_four_orders_of_magnitude():
    target = noisy_pose(100)
    stiffness = 10.0 ** np.random.default_rng(11).uniform(-4, 0, (100, 20))
    fit = fit_graph(target, stiffness, KINECT_PAIRS, KINECT_LENGTH_M)
    assert np.isin(fit.outcome, CONVERGED).all()
    assert fit.worst_bone_error.max() < 1e-9
    for t in range(3):
        peer = slsqp(target[t], stiffness[t], KINECT_PAIRS, KINECT_LENGTH_M, fit.position[t])
        assert fit.objective[t] <= peer * (1 + 1e-6)


@pytest.mark.parametrize("name", HARD)
def test_hard_frames_with_loops_converge(name):
    target, stiffness, _ = HARD[name]
    fit = fit_graph(target, stiffness, KINECT_PAIRS, KINECT_LENGTH_M)
    seen = stiffness.any(axis=1)
    assert np.isin(fit.outcome[seen], CONVERGED).all()
    assert fit.worst_bone_error[seen].max() < 1e-9
    assert np.isfinite(fit.position[fit.active]).all()
    assert (fit.active | (stiffness == 0)).all()


@pytest.mark.parametrize("name", ["20% outliers of 0.5 m", "a cloud without a pose"])
def test_hard_frames_with_loops_are_never_worse_than_slsqp(name):
    target, stiffness, _ = HARD[name]
    fit = fit_graph(target[:6], stiffness[:6], KINECT_PAIRS, KINECT_LENGTH_M)
    for t in range(6):
        peer = slsqp(target[t], stiffness[t], KINECT_PAIRS, KINECT_LENGTH_M, target[t])
        assert fit.objective[t] <= peer * (1 + 1e-7)


def test_results_are_the_same_bits_for_any_split_order_and_thread_count():
    target = np.concatenate([noisy_pose(560), *(HARD[k][0] for k in list(HARD)[:2])])
    target[7, 3] = np.nan
    stiffness = np.full(target.shape[:2], 4.0)
    stiffness[7, 3] = 0.0
    stiffness[11] = 0.0
    start = target + 0.01
    args = (KINECT_PAIRS, KINECT_LENGTH_M)
    whole = fit_graph(target, stiffness, *args, start_position=start)
    threaded = fit_graph(target, stiffness, *args, start_position=start, n_threads=3)
    order = np.random.default_rng(8).permutation(len(target))
    shuffled = fit_graph(target[order], stiffness[order], *args, start_position=start[order])
    cuts = np.split(np.arange(len(target)), [1, 18, 300])
    blocks = [fit_graph(target[c], stiffness[c], *args, start_position=start[c]) for c in cuts]
    for i, expected in enumerate(whole):
        assert threaded[i].tobytes() == expected.tobytes()
        assert shuffled[i].tobytes() == expected[order].tobytes()
        assert np.concatenate([b[i] for b in blocks]).tobytes() == expected.tobytes()


@settings(max_examples=20, deadline=None)
@given(
    seed=st.integers(0, 2**31),
    turn=st.tuples(*3 * [st.floats(-3, 3)]),
    shift=st.tuples(*3 * [st.floats(-50, 50)]),
)
def test_a_rigid_motion_of_the_targets_moves_the_fit_along(seed, turn, shift):
    target = noisy_pose(2, seed % 2**32)
    R = Rotation.from_rotvec(turn).as_matrix()
    stiffness = np.full((2, 20), 4.0)
    fit = fit_graph(target, stiffness, KINECT_PAIRS, KINECT_LENGTH_M)
    moved = fit_graph(target @ R.T + shift, stiffness, KINECT_PAIRS, KINECT_LENGTH_M)
    certified = (fit.outcome == 1) & (moved.outcome == 1)
    np.testing.assert_allclose(moved.objective[certified], fit.objective[certified], rtol=1e-8)
    there = fit.position[certified] @ R.T + shift
    np.testing.assert_allclose(moved.position[certified], there, atol=2e-7)


def test_the_order_of_joints_and_pairs_does_not_matter():
    target, stiffness = noisy_pose(20), np.random.default_rng(5).uniform(0.5, 4, (20, 20))
    fit = fit_graph(target, stiffness, KINECT_PAIRS, KINECT_LENGTH_M)
    rng = np.random.default_rng(6)
    order, of_pair = rng.permutation(20), rng.permutation(len(KINECT_PAIRS))
    place_of = np.argsort(order)
    pairs = place_of[KINECT_PAIRS[of_pair]][:, ::-1]
    again = fit_graph(target[:, order], stiffness[:, order], pairs, KINECT_LENGTH_M[of_pair])
    np.testing.assert_allclose(again.objective, fit.objective, rtol=1e-8)
    np.testing.assert_allclose(again.position, fit.position[:, order], atol=2e-7)
    np.testing.assert_allclose(again.multiplier, fit.multiplier[:, of_pair], atol=2e-6)


def test_five_hundred_and_twelve_joints_with_loops_fit():
    rng = np.random.default_rng(9)
    pairs = random_graph(rng, 512, 60)
    pose = 0.3 * rng.normal(size=(512, 3))
    length = lengths_of(pose, pairs)
    target = pose + 0.01 * rng.normal(size=(2, 512, 3))
    fit = fit_graph(target, np.full((2, 512), 2.0), pairs, length)
    assert np.isin(fit.outcome, CONVERGED).all()
    assert fit.worst_bone_error.max() < 1e-9
    for t in range(2):
        # no SciPy solver is fast enough here: the gradient lies in the span of the pairs' normals
        gradient = 2.0 * (fit.position[t] - target[t]).ravel()
        normals = jacobian(fit.position[t].ravel(), pairs)
        np.testing.assert_allclose(gradient + normals.T @ fit.multiplier[t], 0, atol=1e-7)


def test_work_grows_linearly_along_a_long_body():
    steps = []
    for n_joints in (64, 512):
        rng = np.random.default_rng(n_joints)
        pairs = spread(n_joints, rng, n_joints // 2)
        pose = np.cumsum(0.1 * unit(rng.normal(size=(n_joints, 3))), axis=0)
        fit = fit_graph(
            (pose + 0.005 * rng.normal(size=(5, n_joints, 3))),
            np.full((5, n_joints), 2.0),
            pairs,
            lengths_of(pose, pairs),
            restarts=0,
        )
        assert np.isin(fit.outcome, CONVERGED).all()
        steps.append(fit.iterations.mean())
    # a step is linear by the fill pattern, so the number of steps must not grow
    assert steps[1] < 2 * steps[0]


def test_random_trees_of_any_size_agree_with_the_tree_kernel():
    rng = np.random.default_rng(10)
    for n_joints in (1, 2, 5, 60):
        parent = random_tree(rng, n_joints)
        length = rng.uniform(0.1, 0.5, n_joints)
        truth = place(unit(rng.normal(size=(4, n_joints, 3))), length, parent)
        target = truth + 0.02 * rng.normal(size=truth.shape)
        stiffness = rng.uniform(0.5, 4, (4, n_joints))
        tree = fit_tree(target, stiffness, length, parent)
        pairs = tree_pairs(parent)
        graph = fit_graph(target, stiffness, pairs, length[pairs[:, 1]])
        np.testing.assert_allclose(graph.objective, tree.objective, rtol=1e-7, atol=1e-20)
