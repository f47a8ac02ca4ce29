"""Derivatives of a pose by its joint angles against finite differences, every kind of segment."""

from __future__ import annotations

import numpy as np
import pytest

from fitpipe.angles import define, measure, pose_skeleton
from fitpipe.angles.limit_starts import Starts
from fitpipe.angles.limited import _body
from fitpipe.kernels import limited_fit, limited_move, limited_pose
from fitpipe.records import Skeleton

LENGTH = np.array([0.08, 0.39, 0.2, *(0.18, 0.31, 0.25, 0.08) * 2, *(0.1, 0.43, 0.43, 0.14) * 2])
SKELETON = Skeleton.preset("kinect20").with_lengths(LENGTH)
N_COLUMNS = 3 * (21 + 1)
STEP = 1e-5


def random_frame(seed, *, skeleton=SKELETON, straight=(), gone=()):
    """A random pose near standing, its frame without boxes, and its state."""
    rng = np.random.default_rng(seed)
    definition = define(skeleton)
    turns = {name: rng.normal(scale=0.4, size=3) for name in definition.segments}
    for name in straight:
        turns[name] = np.zeros(3)
    position = pose_skeleton(skeleton, turns, bone_length_m=LENGTH)
    position[:, [skeleton.joint_index(joint) for joint in gone]] = np.nan
    angles = measure(position, definition, LENGTH)
    body = _body(definition, angles)
    starts = Starts(definition, body, angles, angles, position, np.array([0]), is_held=False)
    target = np.nan_to_num(position[0]) + rng.normal(scale=0.1, size=(20, 3))
    frame, state = starts.of(0, target, rng.uniform(0.1, 2.0, size=20))
    free = np.full((21, 3), np.inf)
    frame = frame._replace(low=-free, high=free)
    return body, frame, state, position[0]


CASES = {
    "all limbs bent": {},
    "limbs straight": {"straight": ["WristLeft", "AnkleLeft", "AnkleRight"]},
    "hips tied together": {"skeleton": Skeleton.preset("kinect20_girdles")},
    "without some joints": {"gone": ["HandLeft", "Head", "HipRight", "KneeRight"]},
    "without the root": {"gone": ["HipCenter"]},
}


def moved(body, frame, state, step):
    out = limited_pose.new_state(21, len(body.anchor), 20)
    limited_move.move(body, frame, state, step, out)
    return out


def n_columns(body):
    return 3 * (21 + len(body.anchor))


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_velocities_are_those_of_finite_differences(case, seed):
    body, frame, state, position = random_frame(seed, **case)
    n = n_columns(body)
    start = moved(body, frame, state, np.zeros(n))
    there = frame.is_placed
    np.testing.assert_allclose(start.joint[there], position[there], atol=1e-12)
    W, V = np.zeros((n, 21, 3)), np.zeros((n, 20, 3))
    limited_pose.fill_rates(body, frame, start, W)
    limited_pose.fill_velocities(body, frame, start, W, V)
    free = np.zeros(n, dtype=bool)
    limited_fit.find_free(body, frame, start, np.zeros(n), free)
    assert free.sum() > 30
    for column in np.flatnonzero(free):
        step = np.zeros(n)
        step[column] = STEP
        ahead, behind = (moved(body, frame, start, s).joint for s in (step, -step))
        numerical = (ahead - behind)[there] / (2 * STEP)
        np.testing.assert_allclose(V[column, there], numerical, atol=1e-8)


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_the_second_derivative_of_the_distance_is_nearly_that_of_finite_differences(case):
    body, frame, state, _ = random_frame(5, **case)
    n = n_columns(body)
    start = moved(body, frame, state, np.zeros(n))

    def gradient(at):
        W, V, found = np.zeros((n, 21, 3)), np.zeros((n, 20, 3)), np.zeros(n)
        limited_pose.fill_rates(body, frame, at, W)
        limited_pose.fill_velocities(body, frame, at, W, V)
        limited_fit.fill_gradient(frame, at, V, found)
        return W, V, found

    W, V, found = gradient(start)
    free = np.zeros(n, dtype=bool)
    limited_fit.find_free(body, frame, start, found, free)
    H = np.zeros((n, n))
    limited_fit.fill_hessian(body, frame, start, W, V, free, H)
    numerical = np.zeros((n, n))
    slope = np.zeros(n)
    for column in np.flatnonzero(free):
        step = np.zeros(n)
        step[column] = STEP
        ahead, behind = (moved(body, frame, start, s) for s in (step, -step))
        numerical[column] = (gradient(ahead)[2] - gradient(behind)[2]) / (2 * STEP)
        rise = limited_pose.objective(frame, ahead) - limited_pose.objective(frame, behind)
        slope[column] = rise / (2 * STEP)
    np.testing.assert_allclose(found[free], slope[free], atol=1e-7)
    kept = np.ix_(free, free)
    # how the tangents of two directions turn along is left out: it only changes the way there
    off = H[kept] - 0.5 * (numerical + numerical.T)[kept]
    assert np.abs(off).max() < 0.05 * np.abs(H[kept]).max()


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_a_step_of_nothing_changes_nothing_and_steps_keep_the_bones(case):
    body, frame, state, _ = random_frame(9, **case)
    n = n_columns(body)
    start = moved(body, frame, state, np.zeros(n))
    again = moved(body, frame, start, np.zeros(n))
    np.testing.assert_allclose(again.joint, start.joint, atol=1e-13)
    rng = np.random.default_rng(1)
    now = start
    for _ in range(50):
        now = moved(body, frame, now, rng.normal(scale=0.2, size=n))
    for k, (a, b) in enumerate(SKELETON.bones):
        if frame.is_placed[a] and frame.is_placed[b]:
            assert np.linalg.norm(now.joint[b] - now.joint[a]) == pytest.approx(
                LENGTH[k], abs=1e-12
            )
    for segment in np.flatnonzero(frame.kind != limited_pose.ABSENT):
        R = now.local[segment]
        np.testing.assert_allclose(R @ R.T, np.eye(3), atol=1e-12)
