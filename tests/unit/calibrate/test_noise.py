"""The noise of a track: planted and measured; quieter sources and joints count for more."""

from __future__ import annotations

import numpy as np
import pytest

import fitpipe as fp
from fitpipe.calibrate import noise_m, noise_weights
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
    assert noise_weights([noise], WeightsConfig())[0, 3] == 1.0


def test_weights_are_inverse_variances_around_one():
    noise = [np.array([0.01, 0.02, 0.04]), np.array([0.02, 0.02, 0.08])]
    config = WeightsConfig(noise_floor_m=1e-9)
    weight = noise_weights(noise, config)
    np.testing.assert_allclose(weight, [[4.0, 1.0, 0.25], [1.0, 1.0, 1 / 16]])
    np.testing.assert_array_equal(weight[::-1], noise_weights(noise[::-1], config))
    assert (noise_weights(noise, WeightsConfig(noise=False)) == 1).all()
    floored = noise_weights(noise, WeightsConfig(noise_floor_m=10.0))
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
