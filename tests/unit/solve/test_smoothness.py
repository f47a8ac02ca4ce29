"""The choice of the smoothness from held-out observations."""

from __future__ import annotations

import numpy as np
import pytest

from fitpipe.config import SolveConfig
from fitpipe.kernels.banded import difference_rows
from fitpipe.simulate import reach_and_turn, walk
from fitpipe.solve import fit_take
from fitpipe.solve.smoothness import _Block, smooth, to_cutoff, to_smoothness, tune


def observed(motion, noise_m, *, outlier_share=0.0, seed=0):
    rng = np.random.default_rng(seed)
    shape = (len(motion.time_s), 2, motion.position_m.shape[1])
    y = motion.position_m[:, None] + noise_m * rng.normal(size=(*shape, 3))
    y += 0.15 * (rng.random(shape) < outlier_share)[..., None] * rng.choice([-1, 1], (*shape, 1))
    return y, np.ones(shape)


def test_a_run_is_predicted_from_all_other_frames():
    motion = walk(60, 30.0)
    y, w = observed(motion, 0.01)
    held = np.ones((60, 20), np.bool_)
    s = np.full(20, 1e-6)
    block = _Block(y, w, held, motion.time_s, 3)
    error = block.left_out(s)
    assert np.isnan(error[:4]).all()
    assert np.isnan(error[-4:]).all()
    fold = block.folds[1]
    h = block.diagonal.copy()
    h[fold] = 0.0
    rows = difference_rows(motion.time_s, 3)
    D = np.zeros((len(rows), 60))
    for r, row in enumerate(rows):
        D[r, r : r + 4] = row
    for joint in (0, 11):
        A = np.diag(h[:, joint]) + 2e-6 * D.T @ D
        predicted = np.linalg.solve(A, h[:, [joint]] * block.target[:, joint])
        apart = predicted[fold] - block.target[fold, joint]
        np.testing.assert_allclose(error[fold, joint], (apart**2).sum(axis=1), rtol=1e-4)


@pytest.mark.parametrize("make", [walk, reach_and_turn])
def test_noise_that_lasts_for_some_frames_is_not_taken_for_motion(make):
    motion = make(600, 30.0)
    rng = np.random.default_rng(0)
    noise = 0.015 * rng.normal(size=(600, 2, 20, 3))
    for t in range(1, 600):
        noise[t] = 0.5 * noise[t - 1] + np.sqrt(0.75) * noise[t]
    y, w = motion.position_m[:, None] + noise, np.ones((600, 2, 20))

    def error(**solve):
        settings = SolveConfig(temporal="trajectory", **solve)
        fit = fit_take(y, w, motion.skeleton, motion.time_s, settings).frames
        return np.linalg.norm(fit.position - motion.position_m, axis=-1).mean()

    assert error() < 1.1 * min(error(smoothness=s) for s in 10.0 ** np.arange(-8, -3))


def test_a_frequency_at_the_cutoff_is_halved():
    time_s = np.arange(2000) / 100
    x = np.sin(2 * np.pi * 4.0 * time_s)[:, None, None] * np.ones((1, 1, 3))
    for order in (2, 3):
        h = np.array([3.0])
        s = to_smoothness(np.array([4.0]), h, 100.0, order)
        assert to_cutoff(s, h, 100.0, order) == pytest.approx(4.0)
        rows = difference_rows(time_s, order)
        held = np.ones((2000, 1), np.bool_)
        position = smooth(x, np.full((2000, 1), 3.0), held, rows, s)
        assert np.abs(position[500:1500]).max() == pytest.approx(0.5, abs=0.01)


@pytest.mark.parametrize("make", [walk, reach_and_turn])
@pytest.mark.parametrize("noise_m", [0.005, 0.02])
def test_the_chosen_smoothness_is_within_five_per_cent_of_the_best_on_a_grid(make, noise_m):
    motion = make(400, 30.0)
    y, w = observed(motion, noise_m, outlier_share=0.02)

    def error(**solve):
        settings = SolveConfig(temporal="trajectory", **solve)
        fit = fit_take(y, w, motion.skeleton, motion.time_s, settings).frames
        return np.linalg.norm(fit.position - motion.position_m, axis=-1).mean()

    grid = [error(smoothness=s) for s in 10.0 ** np.arange(-9, -3)]
    assert 0 < np.argmin(grid) < len(grid) - 1
    assert error() < 1.05 * min(grid)


def test_noise_levels_are_recovered_for_every_source():
    motion = reach_and_turn(400, 30.0)
    rng = np.random.default_rng(0)
    sigma = np.array([0.004, 0.02])
    y = motion.position_m[:, None] + sigma[:, None, None] * rng.normal(size=(400, 2, 20, 3))
    w = np.ones((400, 2, 20)) * np.array([25.0, 1.0])[:, None]
    held = np.ones((400, 20), np.bool_)
    tuning = tune([(y, w, held, motion.time_s)], 30.0, order=3, robust=True, smoothness=None)
    np.testing.assert_allclose(tuning.noise_m.mean(axis=1), sigma, rtol=0.15)


def test_fast_joints_are_smoothed_less():
    motion = walk(400, 30.0)
    y, w = observed(motion, 0.01)
    held = np.ones((400, 20), np.bool_)
    tuning = tune([(y, w, held, motion.time_s)], 30.0, order=3, robust=True, smoothness=None)
    cutoff = tuning.cutoff_hz
    joint = motion.skeleton.joint_index
    assert cutoff[joint("AnkleLeft")] > 1.3 * cutoff[joint("HipCenter")]


def test_gross_errors_do_not_make_a_joint_look_slow():
    motion = walk(3000, 30.0)
    held = np.ones((3000, 20), np.bool_)
    cutoffs = []
    for share in (0.0, 0.1):
        y, w = observed(motion, 0.015, outlier_share=share)
        tuning = tune([(y, w, held, motion.time_s)], 30.0, order=3, robust=True, smoothness=None)
        cutoffs.append(tuning.cutoff_hz)
    np.testing.assert_allclose(cutoffs[1], cutoffs[0], rtol=0.2)
