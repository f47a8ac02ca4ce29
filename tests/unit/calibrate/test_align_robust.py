"""align_robust recovers planted transforms through outliers and biased joints."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from fitpipe.calibrate import align_rigid, align_robust
from fitpipe.errors import DegenerateCloudError
from fitpipe.simulate import DepthSensor, observe, reach_and_turn, walk

R_TRUE = Rotation.from_rotvec([0.3, 1.0, -0.4]).as_matrix()
T_TRUE = np.array([0.5, 0.1, -2.0])


def angle_deg(R, other):
    return np.degrees(np.linalg.norm(Rotation.from_matrix(R @ other.T).as_rotvec()))


def pairs(n=200, sigma=0.005, seed=0):
    rng = np.random.default_rng(seed)
    source = rng.uniform(-1, 1, (n, 3))
    return source, source @ R_TRUE.T + T_TRUE + rng.normal(0, sigma, (n, 3)), rng


def test_exact_pairs_give_the_transform_exactly():
    source, target, _ = pairs(sigma=0.0)
    found = align_robust(source, target, np.arange(200) % 20)
    np.testing.assert_allclose(found.R_target_source, R_TRUE, atol=1e-9)
    np.testing.assert_allclose(found.t_target_m, T_TRUE, atol=1e-9)
    assert found.inlier_share == 1.0
    assert found.scale == pytest.approx(1.0)


@pytest.mark.parametrize("n_joints", [1, 20, 200])
@pytest.mark.parametrize("share", [0.2, 0.3])
def test_outliers_on_one_side_are_left_out_and_counted(n_joints, share):
    source, target, rng = pairs()
    bad = rng.permutation(200)[: int(200 * share)]
    target[bad] += rng.uniform(0.3, 1.5, (len(bad), 1)) * [[0.8, 0.5, 0.33]]
    joint = np.arange(200) % n_joints
    assert np.linalg.norm(align_rigid(source, target).t_target_m - T_TRUE) > 0.1
    found = align_robust(source, target, joint)
    assert np.radians(angle_deg(found.R_target_source, R_TRUE)) < 0.01
    assert np.linalg.norm(found.t_target_m - T_TRUE) < 0.01
    assert found.inlier_share == pytest.approx(1 - share, abs=0.02)
    assert found.rms_m == pytest.approx(0.005 * np.sqrt(3), rel=0.15)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("place", [(3.4, 1.6, 0.5), (0.3, 1.6, -3.4), (3.0, 1.2, 2.5)])
@pytest.mark.parametrize(
    "motion", [walk(300, 30.0), reach_and_turn(300, 30.0)], ids=["walk", "reach"]
)
def test_two_sensors_that_see_skin_are_registered_within_a_third_of_a_degree(motion, place, seed):
    """Each sees a joint too near by a share of its flesh: hands by 12 mm, the trunk by 48."""
    a = DepthSensor.looking_at("a", [0, 0.9, 0], from_m=[0.3, 1.2, 3.4])
    b = DepthSensor.looking_at("b", [0.1, 0.8, 0], from_m=place)
    seen_a, seen_b = observe(motion, a, seed=2 * seed), observe(motion, b, seed=2 * seed + 1)
    both = seen_a.is_observed & seen_b.is_observed
    weight = (seen_a.confidence * seen_b.confidence)[both]
    found = align_robust(
        seen_b.position_m[both], seen_a.position_m[both], np.nonzero(both)[1], weight=weight
    )
    assert angle_deg(found.R_target_source, b.transform_into(a).R_ref_source) < 0.3


def test_a_joint_seen_apart_all_the_time_does_not_turn_the_rest():
    rng = np.random.default_rng(5)
    place = rng.uniform(-0.8, 0.8, (10, 3))
    source = place + rng.normal(0, 0.2, (300, 10, 3))
    apart = rng.normal(0, 0.01, (10, 3))
    target = source @ R_TRUE.T + T_TRUE + apart + rng.normal(0, 0.003, source.shape)
    joint = np.tile(np.arange(10), 300)
    s, t = source.reshape(-1, 3), target.reshape(-1, 3)
    ours = angle_deg(align_robust(s, t, joint).R_target_source, R_TRUE)
    plain = angle_deg(align_rigid(s, t).R_target_source, R_TRUE)
    assert ours < 0.1 < 0.3 < plain


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 2**31), degrees=st.floats(-180, 180))
def test_moving_the_world_and_exchanging_the_sides_move_the_answer_with_them(seed, degrees):
    source, target, rng = pairs(60, 0.02, seed)
    target[:8] += rng.normal(0, 1, (8, 3))
    joint = np.arange(60) % 6
    world = Rotation.from_rotvec(np.radians(degrees) * np.array([0.6, 0.0, 0.8])).as_matrix()
    found = align_robust(source, target, joint)
    moved = align_robust(source, target @ world.T, joint)
    back = align_robust(target, source, joint)
    np.testing.assert_allclose(moved.R_target_source, world @ found.R_target_source, atol=1e-6)
    np.testing.assert_allclose(back.R_target_source, found.R_target_source.T, atol=1e-6)
    assert moved.inlier_share == found.inlier_share == back.inlier_share


def test_inliers_on_a_line_determine_nothing_though_outliers_do_not_lie_on_it():
    line = np.linspace(-1, 1, 100)[:, None] * [1.0, 2.0, 0.5]
    target = line.copy()
    target[::10] += [[0.0, 0.4, -0.3]]
    with pytest.raises(DegenerateCloudError, match="line"):
        align_robust(line, target, np.zeros(100, np.int64))
