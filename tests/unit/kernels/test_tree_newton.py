from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from fitpipe.kernels import tree_frames as frames
from fitpipe.kernels.tree_newton import fit_tree, run

from .tree_examples import (
    KINECT20,
    KINECT20_LENGTH_M,
    dense_certificate,
    hard_sets,
    kinect_frames,
    objective,
    place,
    random_tree,
    slsqp,
    unit,
)

HARD = hard_sets()
CHAIN2 = np.array([-1, 0])


def line(*x):
    return np.array([[[value, 0.0, 0.0] for value in x]])


def bone_lengths(position, parent):
    child = np.flatnonzero(parent >= 0)
    return child, np.linalg.norm(position[:, child] - position[:, parent[child]], axis=-1)


@pytest.mark.parametrize(
    ("weight", "expected"), [((1, 1), (0.1, 1.1)), ((1, 3), (0.15, 1.15))], ids=["1:1", "1:3"]
)
def test_one_bone_shares_the_excess_by_weight(weight, expected):
    fit = fit_tree(line(0, 1.2), 2.0 * np.array([weight]), np.array([0, 1.0]), CHAIN2)
    np.testing.assert_allclose(fit.position[0, :, 0], expected, atol=1e-8)
    assert fit.outcome[0] == frames.CERTIFIED


def test_three_joints_on_a_line_share_the_excess():
    fit = fit_tree(
        line(0, 0.55, 1.30), np.full((1, 3), 2.0), np.array([0, 0.5, 0.5]), np.array([-1, 0, 1])
    )
    np.testing.assert_allclose(fit.position[0, :, 0], [0.116667, 0.616667, 1.116667], atol=1e-6)


def test_two_joints_at_one_point_part_by_the_bone():
    fit = fit_tree(np.zeros((1, 2, 3)), np.full((1, 2), 2.0), np.array([0, 1.0]), CHAIN2)
    assert np.linalg.norm(fit.position[0, 1] - fit.position[0, 0]) == pytest.approx(1, abs=1e-8)
    assert np.linalg.norm(fit.position[0], axis=-1) == pytest.approx([0.5, 0.5], abs=1e-8)
    assert fit.objective[0] == pytest.approx(0.5, abs=1e-12)
    assert fit.outcome[0] == frames.CERTIFIED


def test_exact_targets_are_returned_unchanged():
    target = kinect_frames(50, noise_m=0.0)
    fit = fit_tree(target, np.full((50, 20), 2.0), KINECT20_LENGTH_M, KINECT20)
    np.testing.assert_allclose(fit.position, target, atol=1e-9)
    assert (fit.outcome == frames.CERTIFIED).all()
    assert fit.objective.max() < 1e-18


def test_bones_are_exact_and_the_objective_is_of_the_returned_pose():
    target = kinect_frames(200)
    stiffness = np.random.default_rng(2).uniform(0.5, 4, (200, 20))
    fit = fit_tree(target, stiffness, KINECT20_LENGTH_M, KINECT20)
    child, length = bone_lengths(fit.position, KINECT20)
    np.testing.assert_allclose(length, np.tile(KINECT20_LENGTH_M[child], (200, 1)), atol=1e-9)
    assert fit.worst_bone_error.max() < 1e-12
    recomputed = [objective(*row) for row in zip(fit.position, target, stiffness, strict=True)]
    np.testing.assert_allclose(fit.objective, recomputed, rtol=1e-12)


def test_multipliers_balance_the_gradient_by_finite_differences():
    target = kinect_frames(5)
    stiffness = np.random.default_rng(3).uniform(0.5, 4, (5, 20))
    fit = fit_tree(target, stiffness, KINECT20_LENGTH_M, KINECT20, tolerance_m=1e-10)
    child = np.flatnonzero(KINECT20 >= 0)

    def lagrangian(x, t):
        bone = np.linalg.norm(x[child] - x[KINECT20[child]], axis=-1) - KINECT20_LENGTH_M[child]
        return objective(x, target[t], stiffness[t]) + fit.multiplier[t, child] @ bone

    delta = 1e-5
    for t in range(5):
        for at in np.ndindex(20, 3):
            step = np.zeros((20, 3))
            step[at] = delta
            up, down = (lagrangian(fit.position[t] + sign * step, t) for sign in (1, -1))
            assert abs(up - down) / (2 * delta) < 1e-8


@pytest.mark.parametrize("seed", range(6))
def test_optimum_equals_slsqp_on_random_trees(seed):
    rng = np.random.default_rng(seed)
    n_joints = int(rng.integers(2, 9))
    parent = random_tree(rng, n_joints)
    length = rng.uniform(0.1, 0.5, n_joints)
    truth = place(unit(rng.normal(size=(4, n_joints, 3))), length, parent)
    target = truth + 0.03 * rng.normal(size=truth.shape)
    stiffness = rng.uniform(0.5, 4, (4, n_joints))
    fit = fit_tree(target, stiffness, length, parent, tolerance_m=1e-9)
    for t in range(4):
        peer = slsqp(target[t], stiffness[t], length, parent, target[t])
        assert fit.objective[t] <= peer * (1 + 1e-9)
        if fit.outcome[t] == frames.CERTIFIED and np.isfinite(peer):
            assert fit.objective[t] == pytest.approx(peer, rel=1e-6)


def test_certificate_agrees_with_the_dense_eigenvalues():
    target = np.concatenate([kinect_frames(100), HARD["a cloud without a pose"][0]])
    stiffness = np.random.default_rng(4).uniform(0.5, 4, target.shape[:2])
    fit = fit_tree(target, stiffness, KINECT20_LENGTH_M, KINECT20)
    lowest = np.array(
        [
            dense_certificate(*row, KINECT20_LENGTH_M, KINECT20)
            for row in zip(stiffness, fit.multiplier, strict=True)
        ]
    )
    assert (lowest[fit.outcome == frames.CERTIFIED] > -2e-9).all()
    assert (lowest[fit.outcome == frames.STATIONARY] < -0.5e-9).all()
    assert (fit.outcome[:100] == frames.CERTIFIED).all()


@pytest.mark.parametrize("name", HARD)
def test_hard_frames_converge_and_no_other_start_does_better(name):
    target, stiffness, length = HARD[name]
    fit = fit_tree(target, stiffness, length, KINECT20)
    seen = stiffness.any(axis=1)
    assert np.isin(fit.outcome[seen], [frames.CERTIFIED, frames.STATIONARY]).all()
    assert np.isfinite(fit.position[fit.active]).all()
    assert (fit.active | (stiffness == 0)).all()
    assert fit.worst_bone_error[seen].max() < 1e-9
    rng = np.random.default_rng(6)
    for _ in range(15):
        start = unit(rng.normal(size=target.shape))
        other = fit_tree(target, stiffness, length, KINECT20, start=start, restarts=0)
        slack = 1e-7 * fit.objective[seen] + 1e-12
        assert (fit.objective[seen] <= other.objective[seen] + slack).all()


def test_hard_frames_are_never_worse_than_slsqp():
    for name in ("20% outliers of 0.5 m", "a cloud without a pose"):
        target, stiffness, length = HARD[name]
        fit = fit_tree(target[:5], stiffness[:5], length, KINECT20)
        for t in range(5):
            peer = slsqp(target[t], stiffness[t], length, KINECT20, target[t])
            assert fit.objective[t] <= peer * (1 + 1e-7)


def test_results_are_the_same_bits_for_any_split_order_and_thread_count():
    target = np.concatenate([kinect_frames(3000), *(HARD[k][0] for k in list(HARD)[:4])])
    target[7, 3] = np.nan
    stiffness = np.full(target.shape[:2], 4.0)
    stiffness[7, 3] = 0.0
    stiffness[11] = 0.0
    start = unit(np.random.default_rng(7).normal(size=target.shape) * 0.1 + [0, 0, 1.0])
    args = (KINECT20_LENGTH_M, KINECT20)
    whole = fit_tree(target, stiffness, *args, start=start)
    threaded = fit_tree(target, stiffness, *args, start=start, n_threads=3)
    order = np.random.default_rng(8).permutation(len(target))
    shuffled = fit_tree(target[order], stiffness[order], *args, start=start[order])
    cuts = np.split(np.arange(len(target)), [1, 18, 700, 2101])
    blocks = [fit_tree(target[c], stiffness[c], *args, start=start[c]) for c in cuts]
    for i, expected in enumerate(whole):
        assert threaded[i].tobytes() == expected.tobytes()
        assert shuffled[i].tobytes() == expected[order].tobytes()
        assert np.concatenate([b[i] for b in blocks]).tobytes() == expected.tobytes()


@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 2**31),
    turn=st.tuples(*3 * [st.floats(-3, 3)]),
    shift=st.tuples(*3 * [st.floats(-50, 50)]),
)
def test_a_rigid_motion_of_the_targets_moves_the_fit_along(seed, turn, shift):
    target = kinect_frames(3, seed)
    R = Rotation.from_rotvec(turn).as_matrix()
    stiffness = np.full((3, 20), 4.0)
    fit = fit_tree(target, stiffness, KINECT20_LENGTH_M, KINECT20)
    moved = fit_tree(target @ R.T + shift, stiffness, KINECT20_LENGTH_M, KINECT20)
    np.testing.assert_allclose(moved.objective, fit.objective, rtol=1e-9)
    np.testing.assert_allclose(moved.position, fit.position @ R.T + shift, atol=2e-7)


def test_a_forest_fits_each_tree_as_if_alone():
    target = kinect_frames(20)
    parent = KINECT20.copy()
    parent[12] = -1  # the left leg becomes a tree of its own
    leg = np.arange(12, 16)
    fit = fit_tree(target, np.full((20, 20), 4.0), KINECT20_LENGTH_M, parent)
    alone = fit_tree(
        target[:, leg], np.full((20, 4), 4.0), KINECT20_LENGTH_M[leg], np.array([-1, 0, 1, 2])
    )
    np.testing.assert_allclose(fit.position[:, leg], alone.position, atol=1e-8)


def test_single_joints_stay_at_their_targets():
    target = np.array([[[1.0, 2, 3], [4, 5, 6]]])
    fit = fit_tree(target, np.array([[2.0, 0.5]]), np.zeros(2), np.array([-1, -1]))
    np.testing.assert_allclose(fit.position, target, atol=1e-12)


def test_a_broken_frame_leaves_the_frames_after_it_alone():
    target = kinect_frames(60)
    stiffness = np.full((60, 20), 4.0)
    start = unit(np.random.default_rng(9).normal(size=target.shape))
    sound = fit_tree(target, stiffness, KINECT20_LENGTH_M, KINECT20, start=start)
    target[:20, 5] = np.inf
    broken = fit_tree(target, stiffness, KINECT20_LENGTH_M, KINECT20, start=start)
    assert broken.position[20:].tobytes() == sound.position[20:].tobytes()


def test_other_starts_lead_out_of_a_saddle():
    target, stiffness, length = HARD["all targets at one point"]
    once = fit_tree(target, stiffness, length, KINECT20, restarts=0)
    again = fit_tree(target, stiffness, length, KINECT20)
    assert (once.outcome == frames.STATIONARY).all()
    assert (again.outcome == frames.CERTIFIED).all()
    assert (again.objective < 0.9 * once.objective).all()


def test_read_only_and_strided_input_needs_no_second_compilation():
    target = kinect_frames(8)
    stiffness, rest = np.full((8, 20), 4.0), np.tile([0.0, 0.0, 1.0], (20, 1))
    expected = fit_tree(target, stiffness, KINECT20_LENGTH_M, KINECT20, rest=rest)
    n_before = len(run.signatures)
    for array in (target, stiffness, rest):
        array.flags.writeable = False
    strided = np.asfortranarray(target)
    fit = fit_tree(strided, stiffness, KINECT20_LENGTH_M.tolist(), KINECT20.tolist(), rest=rest)
    fit_tree(target, stiffness, KINECT20_LENGTH_M, KINECT20.astype(np.int32), start=fit.position)
    np.testing.assert_array_equal(fit.position, expected.position)
    assert len(run.signatures) == n_before == 1


def test_no_frames_give_no_rows():
    fit = fit_tree(np.empty((0, 20, 3)), np.empty((0, 20)), KINECT20_LENGTH_M, KINECT20)
    assert fit.position.shape == (0, 20, 3)


def test_the_iteration_limit_is_reported():
    target, stiffness, length = HARD["20% outliers of 0.5 m"]
    fit = fit_tree(target, stiffness, length, KINECT20, max_iterations=1, restarts=0)
    assert (fit.outcome == frames.ITERATION_LIMIT).any()
    assert fit.iterations.max() == 1
    assert fit.worst_bone_error.max() < 1e-12


def test_the_multiplier_of_a_bone_without_length_is_the_force_it_carries():
    target = np.array([[[0.0, 0, 0], [0.3, 0, 0], [0, 0.5, 0]]])
    fit = fit_tree(target, np.full((1, 3), 2.0), np.zeros(3), np.array([-1, 0, 0]))
    meeting = target[0].mean(axis=0)
    force = np.linalg.norm(2.0 * (meeting - target[0, 1:]), axis=-1)
    np.testing.assert_allclose(fit.position[0], [meeting] * 3, atol=1e-12)
    np.testing.assert_allclose(fit.multiplier[0, 1:], force, rtol=1e-9)
