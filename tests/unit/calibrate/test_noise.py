"""The noise of a track: planted and measured; quieter sources and joints count for more."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fitpipe as fp
from fitpipe.calibrate import NoiseCourse, noise_m, noise_weights, slow_error_m
from fitpipe.config import WeightsConfig
from fitpipe.records import Skeleton, Take
from fitpipe.simulate import walk

SKELETON = Skeleton.preset("kinect20")
MOTION = walk(900, 100.0)


def take(noise, name="a", seed=0, outliers=0.0):
    rng = np.random.default_rng(seed)
    position = MOTION.position_m + rng.normal(size=MOTION.position_m.shape) * np.reshape(
        noise, (-1, 1)
    )
    position[rng.random(position.shape[:2]) < outliers] += 0.5
    return Take(name, SKELETON.joints, position, MOTION.time_s)


@pytest.mark.parametrize("outliers", [0.0, 0.05])
def test_the_planted_noise_is_measured_whatever_the_motion_and_the_outliers(outliers):
    planted = np.geomspace(0.002, 0.05, 20)
    measured = noise_m(take(planted, outliers=outliers))
    np.testing.assert_allclose(measured, planted, rtol=0.35 if outliers else 0.1)


def test_a_rigid_motion_without_noise_has_next_to_none():
    assert noise_m(take(np.zeros(20))).max() < 2e-4


def test_joints_hardly_seen_have_unknown_noise_and_typical_weight():
    seen = take(np.full(20, 0.01))
    position = seen.position_m.copy()
    position[5:, 3] = np.nan
    noise = noise_m(Take("a", seen.labels, position, seen.time_s))
    assert np.isnan(noise[3])
    even = np.ones(900)
    assert (noise_weights([noise], WeightsConfig(), course=[even], slow_m=0.01)[:, 0, 3] == 1).all()


def test_weights_are_inverse_variances_around_one():
    noise = [np.array([0.01, 0.02, 0.04]), np.array([0.02, 0.02, 0.08])]
    even: dict[str, Any] = {"course": [np.ones(5)] * 2, "slow_m": 1e-9}
    weight = noise_weights(noise, WeightsConfig(), **even)
    np.testing.assert_allclose(weight[4], [[4.0, 1.0, 0.25], [1.0, 1.0, 1 / 16]])
    np.testing.assert_array_equal(
        weight[:, ::-1], noise_weights(noise[::-1], WeightsConfig(), **even)
    )
    assert (noise_weights(noise, WeightsConfig(noise=False), **even) == 1).all()
    floored = noise_weights(noise, WeightsConfig(noise_floor_m=10.0), **even)
    np.testing.assert_allclose(floored, 1.0, rtol=1e-4)


def test_the_quiet_one_of_two_sources_leads():
    pair = [take(np.full(20, 0.005), "a", 1), take(np.full(20, 0.04), "b", 2)]
    error = {}
    for use in (True, False):
        fit = fp.fit(pair, config={"weights": {"noise": use}, "calibrate": {"symmetric": True}})
        error[use] = np.nanmean(np.linalg.norm(fit.position - MOTION.position_m, axis=-1))
        if use:
            np.testing.assert_allclose(fit.noise[0], 0.005, rtol=0.2)
            assert np.median(fit.weight[:, 0]) > 5 * np.median(fit.weight[:, 1])
    assert error[True] < 0.6 * error[False]


def course_of(seen):
    course = NoiseCourse(seen, SKELETON, seen.time_s)
    return course.factor(seen.position_m, 0, seen.n_frames)


def test_noise_that_rises_over_the_take_is_followed_whatever_the_motion():
    planted = np.linspace(0.5, 2.0, 900)
    rng = np.random.default_rng(3)
    noise = 0.01 * planted[:, None, None] * rng.normal(size=MOTION.position_m.shape)
    seen = Take("a", SKELETON.joints, MOTION.position_m + noise, MOTION.time_s)
    course = course_of(seen)
    # drawn a little toward 1, since a second holds no more than some hundred differences
    np.testing.assert_allclose(course[100:-100], (planted / 1.2)[100:-100], rtol=0.25)
    assert course[-100] / course[100] > 0.75 * planted[-100] / planted[100]
    still = course_of(take(np.full(20, 0.01)))
    np.testing.assert_allclose(still, 1.0, atol=0.1)


def test_bones_that_never_change_have_an_even_course():
    rigid = Take("a", SKELETON.joints, np.zeros((50, 20, 3)), np.arange(50) / 30)
    np.testing.assert_array_equal(course_of(rigid), 1.0)


def test_stretches_have_the_course_of_the_whole():
    rng = np.random.default_rng(5)
    noise = rng.normal(0, 0.01, MOTION.position_m.shape) * np.linspace(1, 3, 900)[:, None, None]
    position = MOTION.position_m + noise
    position[rng.random(position.shape[:2]) < 0.2] = np.nan
    seen = Take("a", SKELETON.joints, position, MOTION.time_s)
    whole, course = course_of(seen), NoiseCourse(seen, SKELETON, seen.time_s)
    for begin, end in ((0, 1), (0, 100), (417, 418), (333, 777), (899, 900), (860, 900)):
        low, high = course.needs(begin, end)
        assert end - begin <= high - low <= end - begin + 100
        part = course.factor(position[low:high], begin, end)
        np.testing.assert_array_equal(part, whole[begin:end])


def test_a_source_loses_weight_while_it_is_noisier():
    noise = [np.full(3, 0.01), np.full(3, 0.01)]
    course = [np.array([1.0, 0.5]), np.array([1.0, 2.0])]
    weight = noise_weights(noise, WeightsConfig(), course=course, slow_m=1e-9)
    np.testing.assert_allclose(weight[0], 1.0)
    np.testing.assert_allclose(weight[1, 0] / weight[1, 1], 16.0)
    # slow errors do not rise with the noise: where they rule, no source leads
    biased = noise_weights(noise, WeightsConfig(), course=course, slow_m=1.0)
    np.testing.assert_allclose(biased[1, 0], biased[1, 1], rtol=1e-3)


def test_slow_errors_show_between_sources_and_noise_does_not():
    rng = np.random.default_rng(5)
    apart = rng.normal(0, 0.03, (1, 2, 20, 3))  # constant: no noise at all
    both = MOTION.position_m[:, None] + rng.normal(0, 0.01, (900, 2, 20, 3))
    noise = [np.full(20, 0.01)] * 2
    assert slow_error_m(both, noise) == 0.003
    assert 0.02 < slow_error_m(both + apart, noise) < 0.04
    assert slow_error_m(both[:, :1], noise[:1]) == 0.01
