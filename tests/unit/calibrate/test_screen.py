"""Jumps and bones of the wrong length: planted and found, ordinary motion left alone."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

import fitpipe as fp
from fitpipe.calibrate import doubt_at, screen
from fitpipe.config import WeightsConfig
from fitpipe.records import Doubt, Skeleton, Take
from fitpipe.simulate import reach_and_turn, walk

SKELETON = Skeleton.preset("kinect20")
HAND = SKELETON.joint_index("HandRight")
ARM = [SKELETON.joint_index(f"{joint}Left") for joint in ("Elbow", "Wrist", "Hand")]
DEFAULT = WeightsConfig()
MOTION = walk(300, 30.0)


def noisy(noise_m=0.01, seed=0, motion=MOTION):
    rng = np.random.default_rng(seed)
    return motion.position_m + rng.normal(0, noise_m, motion.position_m.shape)


def judged(position, confidence=None, config=DEFAULT, motion=MOTION):
    take = Take("a", SKELETON.joints, position, motion.time_s, confidence=confidence)
    return screen(take, SKELETON, config)


@pytest.mark.parametrize("motion", [MOTION, reach_and_turn(300, 30.0), walk(300, 100.0)])
def test_clean_motion_is_not_in_doubt(motion):
    take = Take("a", SKELETON.joints, motion.position_m, motion.time_s)
    screened, doubt = screen(take, SKELETON, DEFAULT)
    assert screened is take
    assert not doubt.any()


def test_a_spike_is_taken_out_alone_and_named_with_its_frame():
    position = MOTION.position_m.copy()
    position[25, HAND] += [2.0, 0.0, 0.0]
    take, doubt = judged(position)
    assert np.argwhere(doubt).tolist() == [[25, HAND]]
    assert doubt[25, HAND] == Doubt.JUMP
    assert np.argwhere(~take.is_observed).tolist() == [[25, HAND]]
    (finding,) = take.repairs
    assert "1 of 6000 samples" in finding.what
    assert "HandRight (frame 25)" in finding.what


@pytest.mark.parametrize("outlier_m", [0.2, 1.0, 1e12])
def test_planted_outliers_are_found_and_the_rest_is_believed(outlier_m):
    rng = np.random.default_rng(3)
    position = noisy()
    planted = rng.random(position.shape[:2]) < 0.05
    direction = rng.normal(size=position.shape)
    direction /= np.linalg.norm(direction, axis=-1, keepdims=True)
    position[planted] += outlier_m * direction[planted]
    _, doubt = judged(position)
    jumped = doubt == Doubt.JUMP
    assert jumped[planted].mean() > 0.97
    assert jumped[~planted].mean() < 0.02


def test_a_poisoned_frame_is_taken_out_whole():
    position = MOTION.position_m.copy()
    position[50] = 1e12
    _, doubt = judged(position)
    assert (doubt[50] == Doubt.JUMP).all()
    assert not np.delete(doubt, 50, axis=0).any()


def test_low_confidence_widens_the_gate():
    position = noisy(0.01)
    confidence = np.ones(position.shape[:2])
    confidence[::10] = 0.1
    position[::10] += np.random.default_rng(1).normal(0, 0.03, position[::10].shape)
    _, careless = judged(position)
    _, careful = judged(position, confidence)
    assert (careless == Doubt.JUMP)[::10].mean() > 5 * (careful == Doubt.JUMP)[::10].mean()


def test_a_lost_arm_is_doubted_down_to_the_hand_and_keeps_a_share_of_its_weight():
    position = noisy(0.005)
    position[100:140, ARM] += np.linspace(0, 1, 5).repeat(8)[:, None, None] * [0.0, 0.25, 0.1]
    take, doubt = judged(position)
    assert (doubt[130:140][:, ARM] == Doubt.BONES).mean() > 0.9
    rest = np.delete(doubt, ARM, axis=1)
    assert (rest != Doubt.NONE)[:100].mean() < 0.001
    assert take.confidence is not None
    bones = doubt == Doubt.BONES
    np.testing.assert_array_equal(take.confidence[bones], DEFAULT.doubted_share)
    np.testing.assert_array_equal(take.confidence[~bones], 1.0)


def test_a_source_noisy_as_a_whole_is_not_doubted_as_a_whole():
    _, doubt = judged(noisy(0.06))
    assert (doubt == Doubt.BONES).mean() < 0.02


def test_what_is_switched_off_is_not_done():
    position = noisy(0.005)
    position[25, HAND] += 2.0
    position[100:140, ARM] += [0.0, 0.3, 0.0]
    off = DEFAULT.model_copy(update={"jumps": False, "bones": False})
    take, doubt = judged(position, config=off)
    assert not doubt.any()
    np.testing.assert_array_equal(take.position_m, position)


@settings(max_examples=15, deadline=None)
@given(turn=st.tuples(*[st.floats(-3, 3)] * 3), shift=st.floats(-20, 20))
def test_doubt_does_not_depend_on_where_the_world_is(turn, shift):
    position = noisy(0.02, seed=5)
    position[100:140, ARM] += [0.0, 0.3, 0.0]
    R = Rotation.from_rotvec(turn).as_matrix()
    np.testing.assert_array_equal(judged(position @ R.T + shift)[1], judged(position)[1])


def test_doubts_move_to_the_nearest_instant_of_another_clock():
    doubt = np.array([[0], [1], [0], [2]], np.uint8)
    own = np.array([0.0, 0.1, 0.2, 0.3])
    clock = np.array([-1.0, 0.0, 0.04, 0.06, 0.14, 0.16, 0.3, 0.35, 0.5])
    moved = doubt_at(doubt, own, clock)[:, 0]
    assert moved.tolist() == [0, 0, 0, 1, 1, 0, 2, 2, 0]
    np.testing.assert_array_equal(doubt_at(doubt, own, own), doubt)


def test_the_fit_passes_a_spike_by_and_says_so():
    position = MOTION.position_m.copy()
    position[25, HAND] += [2.0, 0.0, 0.0]
    fit = fp.fit(Take("a", SKELETON.joints, position, MOTION.time_s))
    assert fit.weight[25, 0, HAND] == 0
    assert fit.doubt[25, 0, HAND] == Doubt.JUMP
    assert fit.status[25, HAND] == fp.JointStatus.ABSENT
    assert fit.worst_bone_m < 1e-9
    others = np.delete(fit.position, 25, axis=0) - np.delete(MOTION.position_m, 25, axis=0)
    assert np.abs(others).max() < 1e-9
    assert any("HandRight (frame 25)" in finding.what for finding in fit.log)


def test_a_second_source_holds_the_arm_the_first_has_lost():
    a, b = noisy(0.005, 1), noisy(0.005, 2)
    a[100:140, ARM] += [0.0, 0.3, 0.0]
    takes = [Take(name, SKELETON.joints, p, MOTION.time_s) for name, p in (("a", a), ("b", b))]
    blind = {"bones": False, "jumps": False, "robust_scale_m": 0.0}

    def error(config):
        fit = fp.fit(takes, config={"weights": config})
        return np.linalg.norm(fit.position - MOTION.position_m, axis=-1)[100:140, ARM].mean()

    assert error({}) < 0.03
    assert error(blind) > 0.08
    assert error({}) == error({})


def test_the_order_of_the_sources_does_not_matter():
    names = ("a", "b", "c")
    takes = [
        Take(name, SKELETON.joints, noisy(0.01, seed), MOTION.time_s)
        for seed, name in enumerate(names)
    ]
    config = {"calibrate": {"registration": "none"}}
    one, other = fp.fit(takes, config=config), fp.fit(takes[::-1], config=config)
    np.testing.assert_allclose(one.position, other.position, atol=1e-7)
    np.testing.assert_array_equal(one.doubt, other.doubt[:, ::-1])
    np.testing.assert_allclose(one.weight, other.weight[:, ::-1], rtol=1e-5)


def test_findings_of_a_take_stay_with_it():
    take = Take("a", SKELETON.joints, noisy(), MOTION.time_s)
    take = replace(take, position_m=np.where(np.arange(300)[:, None, None] == 9, 7.0, noisy()))
    screened, _ = screen(take, SKELETON, DEFAULT)
    assert screened.repairs[: len(take.repairs)] == take.repairs
    assert any("(frame 9)" in finding.what for finding in screened.repairs)
