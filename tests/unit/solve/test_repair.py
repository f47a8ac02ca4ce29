"""Frames with unseen joints between seen ones: where they start decides on the side they end."""

from __future__ import annotations

import numpy as np
import pytest

from fitpipe.config import SolveConfig
from fitpipe.records import JointStatus
from fitpipe.simulate import walk
from fitpipe.solve import fit_frames, frames, pose_problem

GAPS = {"ElbowLeft": (20, 35), "KneeRight": (40, 60), "ShoulderCenter": (10, 18)}


@pytest.fixture(scope="module")
def dropouts():
    """A walk with noise, and joints that are lost for a while: the problem, truth, where lost."""
    motion = walk(90, 30.0)
    bones = motion.skeleton.bones
    lengths = [np.linalg.norm(motion.position_m[0, c] - motion.position_m[0, p]) for p, c in bones]
    skeleton = motion.skeleton.with_lengths(np.array(lengths))
    noise = np.random.default_rng(4).normal(size=motion.position_m.shape)
    lost = np.zeros(motion.position_m.shape[:2], bool)
    for joint, (first, end) in GAPS.items():
        lost[first:end, skeleton.joint_index(joint)] = True
    for joint in ("ElbowRight", "WristRight"):
        lost[50:65, skeleton.joint_index(joint)] = True
    observed = motion.position_m + 0.01 * noise
    observed[lost] = np.nan
    problem = pose_problem(observed[:, None], (~lost)[:, None].astype(float), skeleton)
    return problem, motion.position_m, lost


def without_repair(monkeypatch):
    monkeypatch.setattr(frames, "repaired_start", lambda *_, **__: None)


def error_m(fits, truth, lost):
    return np.linalg.norm(fits.position - truth, axis=-1)[lost]


def test_unseen_joints_end_nearer_to_the_truth_after_fewer_steps(dropouts, monkeypatch):
    problem, truth, lost = dropouts
    helped = fit_frames(problem, SolveConfig())
    without_repair(monkeypatch)
    alone = fit_frames(problem, SolveConfig())
    rows = lost.any(axis=1)
    assert error_m(helped, truth, lost).mean() < 0.75 * error_m(alone, truth, lost).mean()
    assert helped.iterations[rows].sum() < 0.85 * alone.iterations[rows].sum()
    assert (helped.objective[rows] <= alone.objective[rows] * (1 + 1e-6)).all()
    np.testing.assert_array_equal(helped.position[~rows], alone.position[~rows])


def test_the_status_stays_carried(dropouts):
    problem, _, lost = dropouts
    fits = fit_frames(problem, SolveConfig())
    np.testing.assert_array_equal(fits.status == JointStatus.CARRIED, lost)


def test_blocks_and_threads_change_no_bit(dropouts, monkeypatch):
    problem, _, _ = dropouts
    whole = fit_frames(problem, SolveConfig(threads=1))
    monkeypatch.setattr(frames, "BLOCK", 25)  # through the middle of gaps
    parts = fit_frames(problem, SolveConfig(threads=2))
    for name, found, expected in zip(whole._fields, parts, whole, strict=True):
        np.testing.assert_array_equal(found, expected, err_msg=name)


def test_the_other_formulations_start_there_too(dropouts, monkeypatch):
    problem, truth, lost = dropouts
    settings = SolveConfig(line_search="golden")
    helped = fit_frames(problem, settings)
    without_repair(monkeypatch)
    alone = fit_frames(problem, settings)
    assert error_m(helped, truth, lost).mean() < error_m(alone, truth, lost).mean()
    assert helped.iterations.sum() < alone.iterations.sum()
