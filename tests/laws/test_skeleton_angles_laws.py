"""What holds for the angles of every skeleton in every pose."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from fitpipe import pipeline
from fitpipe.angles import skeleton_angles
from fitpipe.angles.euler import rotation_from_euler
from fitpipe.records import Skeleton, Take, TwistStatus
from fitpipe.simulate.motion import reach_and_turn

PRESETS = [Skeleton.preset(name) for name in ("kinect20", "kinect20_girdles", "hand21")]


@st.composite
def moving_skeletons(draw):
    """Any tree or forest with constant bones that turn at random, some joints absent."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    skeleton = draw(st.sampled_from([None, *PRESETS]))
    if skeleton is None:
        n = draw(st.integers(1, 14))
        order = rng.permutation(n)
        parents = np.full(n, -1)
        for i in range(1, n):
            if rng.random() > 0.1:
                parents[order[i]] = order[rng.integers(0, i)]
        names = tuple(f"joint {i}" for i in range(n))
        rest = rng.normal(size=(n, 3))
        skeleton = Skeleton("any", names, tuple(parents.tolist()), rest_direction=rest)
    n_time = draw(st.integers(1, 12))
    length = rng.uniform(0.01, 1.0, size=skeleton.n_bones)
    length[rng.random(skeleton.n_bones) < 0.05] = 0.0
    swing = draw(st.sampled_from([0.05, 0.5, 3.0]))
    turn = rng.normal(size=(skeleton.n_bones, 3))
    turn = turn + np.cumsum(rng.normal(scale=swing, size=(n_time, *turn.shape)), axis=0)
    turn /= np.linalg.norm(turn, axis=-1, keepdims=True)
    position = rng.normal(size=(n_time, skeleton.n_joints, 3))
    bone_of = {child: k for k, (_, child) in enumerate(skeleton.bones)}
    for joint in skeleton.topological_order.tolist():
        if joint in bone_of:
            k = bone_of[joint]
            position[:, joint] = position[:, skeleton.parents[joint]] + length[k] * turn[:, k]
    absent = draw(st.sampled_from([0.0, 0.1, 0.5]))
    position[rng.random(position.shape[:2]) < absent] = np.nan
    return skeleton, position, length, rng


@given(moving_skeletons())
def test_the_turns_give_back_the_positions(case):
    skeleton, position, length, _ = case
    angles = skeleton_angles(position, skeleton, length)
    found = angles.forward()
    np.testing.assert_array_equal(np.isnan(found), np.isnan(position))
    np.testing.assert_allclose(found, position, atol=1e-9)
    there = ~np.isnan(angles.world_wxyz[..., 0])
    np.testing.assert_array_equal(there, angles.twist_status != TwistStatus.ABSENT)
    np.testing.assert_allclose(np.linalg.norm(angles.world_wxyz[there], axis=-1), 1, atol=1e-12)


@given(moving_skeletons())
def test_euler_angles_make_up_the_local_turns(case):
    skeleton, position, length, _ = case
    angles = skeleton_angles(position, skeleton, length)
    for s, sequence in enumerate(angles.sequence):
        there = ~np.isnan(angles.euler_rad[:, s, 0])
        np.testing.assert_array_equal(there, ~np.isnan(angles.local_wxyz[:, s, 0]))
        basis = angles.basis[s]
        made = basis @ rotation_from_euler(angles.euler_rad[there, s], sequence) @ basis.T
        wxyz = angles.local_wxyz[there, s]
        if there.any():
            found = Rotation.from_quat(wxyz, scalar_first=True).as_matrix()
            np.testing.assert_allclose(made, found, atol=1e-7)  # less near gimbal lock


@given(moving_skeletons())
def test_moving_the_whole_person_leaves_the_joints_as_they_are(case):
    skeleton, position, length, rng = case
    turn, shift = Rotation.random(rng=rng), rng.normal(size=3)
    moved = turn.apply(position.reshape(-1, 3)).reshape(position.shape) + shift
    before = skeleton_angles(position, skeleton, length)
    after = skeleton_angles(moved, skeleton, length)
    np.testing.assert_array_equal(before.twist_status, after.twist_status)
    # a frame that nothing shows is guessed from the world's axes, and what hangs on it with it
    told = before.twist_status == TwistStatus.MEASURED
    for s, up in enumerate(before.segment_parent):
        own = told[:, s] & (up >= 0)
        above = up
        while above >= 0:
            own = own & told[:, above].all()
            above = before.segment_parent[above]
        same = np.abs(np.sum(before.local_wxyz[own, s] * after.local_wxyz[own, s], axis=-1))
        np.testing.assert_allclose(same, 1, atol=1e-9)


def test_fitted_takes_come_back_from_their_turns():
    motion = reach_and_turn(90, 30.0)
    rng = np.random.default_rng(5)
    takes = []
    for source in "ab":
        position = motion.position_m + rng.normal(scale=0.02, size=motion.position_m.shape)
        position[rng.random(position.shape[:2]) < 0.1] = np.nan
        takes.append(Take(source, motion.skeleton.joints, position, motion.time_s))
    for config in ({}, {"solve": {"temporal": "trajectory"}}):
        fit = pipeline.fit(takes, config=config)
        np.testing.assert_allclose(fit.angles.forward(), fit.position, atol=1e-9)
