"""The fit of a whole take: what it recovers, what it flags, and what may not change it."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from fitpipe import solve
from fitpipe.config import SolveConfig
from fitpipe.records import FrameStatus, JointStatus, Skeleton
from fitpipe.simulate import reach_and_turn, walk
from fitpipe.solve import Stretch, fit_take
from fitpipe.solve.trajectory import TrajectoryFitter

NOISE_M = 0.01
TRAJECTORY = SolveConfig(temporal="trajectory")


def observed(motion, *, noise_m=NOISE_M, outlier_share=0.0, n_sources=2, seed=0):
    rng = np.random.default_rng(seed)
    n_time, n_joints = motion.position_m.shape[:2]
    shape = (n_time, n_sources, n_joints)
    y = motion.position_m[:, None] + noise_m * rng.normal(size=(*shape, 3))
    away = rng.normal(size=(*shape, 3))
    away *= 0.15 / np.linalg.norm(away, axis=-1, keepdims=True)
    y += away * (rng.random(shape) < outlier_share)[..., None]
    return y, np.ones(shape)


def mean_error(position, motion):
    return np.linalg.norm(position - motion.position_m, axis=-1).mean()


def hide(y, weight, frames, joints):
    for joint in joints:
        y[frames, :, joint] = np.nan
        weight[frames, :, joint] = 0.0


@pytest.fixture(scope="module")
def motion():
    return walk(300, 30.0)


@pytest.fixture(scope="module")
def plain(motion):
    y, w = observed(motion)
    return y, w, fit_take(y, w, motion.skeleton, motion.time_s, TRAJECTORY)


def test_noise_falls_far_below_that_of_single_frames(motion, plain):
    y, w, fit = plain
    alone = solve.fit_frames(solve.pose_problem(y, w, motion.skeleton), SolveConfig())
    assert mean_error(fit.frames.position, motion) < 0.55 * mean_error(alone.position, motion)
    assert (fit.frames.frame_status == FrameStatus.STATIONARY).all()
    assert (fit.frames.status == JointStatus.OBSERVED).all()


def test_bones_are_exact_in_every_frame(motion, plain):
    _, _, fit = plain
    skeleton = motion.skeleton
    worst = solve.worst_bone_error(fit.frames.position, skeleton.bones, skeleton.bone_length_m)
    assert worst.max() < 1e-9


def test_the_objective_is_that_of_the_weights_it_reports(plain):
    y, _, fit = plain
    squared = ((y - fit.frames.position[:, None]) ** 2).sum(-1)
    np.testing.assert_allclose(fit.frames.objective, (fit.weight * squared).sum((1, 2)), rtol=1e-9)


def test_the_same_take_gives_the_same_bits(motion, plain):
    y, w, fit = plain
    again = fit_take(y, w, motion.skeleton, motion.time_s, TRAJECTORY)
    for name in ("position", "objective", "multiplier"):
        np.testing.assert_array_equal(getattr(again.frames, name), getattr(fit.frames, name))


def test_noise_free_motion_is_reproduced():
    motion = reach_and_turn(200, 60.0)
    y, w = observed(motion, noise_m=0.0)
    fit = fit_take(y, w, motion.skeleton, motion.time_s, TRAJECTORY)
    assert np.abs(fit.frames.position - motion.position_m).max() < 1e-4


@pytest.mark.parametrize("order", [2, 3])
def test_turning_and_moving_the_world_turns_and_moves_the_fit(motion, order):
    y, w = observed(motion, outlier_share=0.03)
    settings = SolveConfig(temporal="trajectory", smoothness_order=order)
    R = Rotation.from_rotvec([0.4, -1.1, 0.7]).as_matrix()
    t = np.array([3.0, -2.0, 5.0])
    one = fit_take(y, w, motion.skeleton, motion.time_s, settings)
    other = fit_take(y @ R.T + t, w, motion.skeleton, motion.time_s, settings)
    np.testing.assert_allclose(other.frames.position, one.frames.position @ R.T + t, atol=1e-6)
    np.testing.assert_allclose(other.weight, one.weight, atol=1e-5)


def test_time_may_run_backward_or_start_elsewhere(motion, plain):
    y, w, fit = plain
    time_s = 100.0 - motion.time_s[::-1]
    back = fit_take(y[::-1], w[::-1], motion.skeleton, time_s, TRAJECTORY)
    np.testing.assert_allclose(back.frames.position[::-1], fit.frames.position, atol=1e-6)


def test_the_order_of_sources_and_joints_does_not_matter(motion, plain):
    y, w, fit = plain
    turned = fit_take(y[:, ::-1], w, motion.skeleton, motion.time_s, TRAJECTORY)
    np.testing.assert_allclose(turned.frames.position, fit.frames.position, atol=1e-6)


def test_outliers_are_set_aside_and_cost_little(motion, plain):
    y, w = observed(motion, outlier_share=0.1)
    fit = fit_take(y, w, motion.skeleton, motion.time_s, TRAJECTORY)
    far = np.linalg.norm(y - motion.position_m[:, None], axis=-1) > 0.1
    assert (fit.weight[far] < 0.1).mean() > 0.99
    assert (fit.weight[~far] > 0.3).mean() > 0.99
    assert mean_error(fit.frames.position, motion) < 1.15 * mean_error(
        plain[2].frames.position, motion
    )


def test_without_robust_every_weight_stays(motion):
    y, w = observed(motion, outlier_share=0.1)
    settings = SolveConfig(temporal="trajectory", robust=False)
    fit = fit_take(y, w, motion.skeleton, motion.time_s, settings)
    np.testing.assert_array_equal(fit.weight, w)


def test_next_to_no_smoothness_is_the_fit_of_single_frames(motion):
    y, w = observed(motion)
    settings = SolveConfig(temporal="trajectory", smoothness=1e-25, robust=False)
    fit = fit_take(y, w, motion.skeleton, motion.time_s, settings)
    alone = solve.fit_frames(solve.pose_problem(y, w, motion.skeleton), SolveConfig())
    np.testing.assert_allclose(fit.frames.position, alone.position, atol=1e-6)
    np.testing.assert_allclose(fit.frames.multiplier, alone.multiplier, atol=1e-5)


def test_under_great_smoothness_a_free_point_moves_on_a_parabola():
    skeleton = Skeleton("point", ("p",), (-1,), bone_length_m=np.zeros(0))
    time_s = np.cumsum(np.random.default_rng(0).uniform(0.02, 0.05, 80))
    y = np.random.default_rng(1).normal(size=(80, 1, 1, 3))
    settings = SolveConfig(temporal="trajectory", smoothness=1e4, smoothness_order=3, robust=False)
    fit = fit_take(y, np.ones((80, 1, 1)), skeleton, time_s, settings)
    powers = np.vander(time_s, 3)
    parabola = powers @ np.linalg.lstsq(powers, y[:, 0, 0], rcond=None)[0]
    np.testing.assert_allclose(fit.frames.position[:, 0], parabola, atol=1e-4)


def test_uneven_ticks_are_taken_as_they_are(motion):
    """The same motion seen at uneven times: the error is that of even ticks, not more."""
    rng = np.random.default_rng(3)
    dense = walk(3000, 300.0)
    at = np.sort(rng.choice(3000, 300, replace=False))
    y = dense.position_m[at][:, None] + NOISE_M * rng.normal(size=(300, 2, 20, 3))
    fit = fit_take(y, np.ones(y.shape[:3]), dense.skeleton, dense.time_s[at], TRAJECTORY)
    error = np.linalg.norm(fit.frames.position - dense.position_m[at], axis=-1).mean()
    even = fit_take(*observed(motion), motion.skeleton, motion.time_s, TRAJECTORY)
    assert error < 1.4 * mean_error(even.frames.position, motion)


def test_gaps_are_bridged_flagged_and_limited(motion):
    y, w = observed(motion)
    joint = motion.skeleton.joint_index
    hide(y, w, slice(50, 60), [joint("HandLeft"), joint("WristLeft")])  # 11 ticks: 0.37 s
    hide(y, w, slice(100, 130), [joint("FootRight")])  # 1.03 s, nothing holds it
    hide(y, w, slice(150, 190), [joint("ElbowRight")])  # long, between shoulder and wrist
    hide(y, w, slice(200, 206), range(20))  # nobody sees anything
    hide(y, w, slice(0, 20), [joint("Head")])  # the take begins without it
    hide(y, w, slice(296, 300), [joint("FootLeft")])  # and ends: 4 ticks, less than 0.5 s / 3
    hide(y, w, slice(290, 300), [joint("HandRight")])  # 10 ticks
    fit = fit_take(y, w, motion.skeleton, motion.time_s, TRAJECTORY).frames
    expected = np.full(fit.status.shape, JointStatus.OBSERVED)
    expected[50:60, [joint("HandLeft"), joint("WristLeft")]] = JointStatus.INTERPOLATED
    expected[100:130, joint("FootRight")] = JointStatus.ABSENT
    expected[150:190, joint("ElbowRight")] = JointStatus.CARRIED
    expected[200:206] = JointStatus.INTERPOLATED
    expected[:20, joint("Head")] = JointStatus.ABSENT
    expected[296:, joint("FootLeft")] = JointStatus.INTERPOLATED
    expected[290:, joint("HandRight")] = JointStatus.ABSENT
    np.testing.assert_array_equal(fit.status, expected)
    np.testing.assert_array_equal(np.isnan(fit.position[..., 0]), expected == JointStatus.ABSENT)
    error = np.linalg.norm(fit.position - motion.position_m, axis=-1)
    assert error[200:206].max() < 0.06
    assert error[50:60, joint("HandLeft")].max() < 0.1
    assert error[150:190, joint("ElbowRight")].mean() < 0.06


def test_a_longer_gap_is_bridged_if_asked(motion):
    y, w = observed(motion)
    foot = motion.skeleton.joint_index("FootRight")
    hide(y, w, slice(100, 130), [foot])
    settings = SolveConfig(temporal="trajectory", max_gap_s=1.1)
    fit = fit_take(y, w, motion.skeleton, motion.time_s, settings)
    assert (fit.frames.status[100:130, foot] == JointStatus.INTERPOLATED).all()
    assert any("gaps of at most 1.1 s" in finding.what for finding in fit.findings)


def test_a_joint_no_source_knows_is_carried_smoothly_by_bones(motion):
    y, w = observed(motion)
    spine = motion.skeleton.joint_index("Spine")
    hide(y, w, slice(None), [spine])
    fit = fit_take(y, w, motion.skeleton, motion.time_s, TRAJECTORY).frames
    assert (fit.status[:, spine] == JointStatus.CARRIED).all()
    jumps = np.linalg.norm(np.diff(fit.position[:, spine], axis=0), axis=-1)
    assert jumps.max() < 0.1


def test_frames_before_a_long_break_do_not_touch_those_after(motion):
    y, w = observed(motion)
    hide(y, w, slice(100, 140), range(20))
    settings = SolveConfig(temporal="trajectory", smoothness=1e-6, robust=False)
    whole = fit_take(y, w, motion.skeleton, motion.time_s, settings).frames
    assert (whole.frame_status[100:140] == FrameStatus.NO_DATA).all()
    after = slice(140, 300)
    alone = fit_take(y[after], w[after], motion.skeleton, motion.time_s[after], settings)
    np.testing.assert_allclose(whole.position[after], alone.frames.position, atol=1e-6)


def test_windows_leave_no_seam():
    motion = reach_and_turn(1500, 30.0)
    y, w = observed(motion, outlier_share=0.03)
    hide(y, w, slice(497, 505), [7, 11])

    def fitted(window):
        fitter = TrajectoryFitter(
            motion.skeleton,
            motion.time_s,
            TRAJECTORY,
            lambda a, b: Stretch(a, y[a:b], w[a:b]),
            window=window,
        )
        return fitter.fit(Stretch(0, y, w), 0, len(y), None).frames

    whole, parts = fitted(10_000), fitted(250)
    assert np.abs(whole.position - parts.position).max() < 1e-6
    np.testing.assert_array_equal(whole.status, parts.status)


@pytest.mark.parametrize("n_frames", [1, 2, 3])
def test_a_take_too_short_is_fitted_frame_by_frame_and_says_so(n_frames):
    motion = walk(n_frames, 30.0)
    y, w = observed(motion)
    fit = fit_take(y, w, motion.skeleton, motion.time_s, TRAJECTORY)
    alone = solve.fit_frames(solve.pose_problem(y, w, motion.skeleton), TRAJECTORY)
    np.testing.assert_array_equal(fit.frames.position, alone.position)
    assert "too few" in fit.findings[0].what


def test_a_bone_of_length_zero_makes_one_point_of_two_joints():
    motion = walk(60, 30.0)
    skeleton = motion.skeleton
    hand = skeleton.joint_index("HandLeft")
    wrist = skeleton.parents[hand]
    length = np.array(skeleton.bone_length_m)
    k = skeleton.bones.index((wrist, hand))
    length[k] = 0.0
    y, w = observed(motion)
    settings = SolveConfig(temporal="trajectory", smoothness=1e-25, robust=False)
    bones = skeleton.with_lengths(length)
    fit = fit_take(y, w, bones, motion.time_s, settings).frames
    np.testing.assert_array_equal(fit.position[:, hand], fit.position[:, wrist])
    alone = solve.fit_frames(solve.pose_problem(y, w, bones), SolveConfig())
    np.testing.assert_allclose(fit.position, alone.position, atol=1e-6)
    np.testing.assert_allclose(fit.multiplier[:, k], alone.multiplier[:, k], atol=1e-5)


def test_a_bone_of_unknown_length_binds_nothing():
    motion = walk(60, 30.0)
    length = np.array(motion.skeleton.bone_length_m)
    length[5] = np.nan
    y, w = observed(motion)
    skeleton = motion.skeleton.with_lengths(length)
    fit = fit_take(y, w, skeleton, motion.time_s, TRAJECTORY).frames
    assert np.isfinite(fit.position).all()
    assert np.isnan(fit.multiplier[:, 5]).all()
