"""The simulated motions are rigid, smooth, and those of a person."""

import numpy as np
import pytest

from fitpipe.errors import RecordError
from fitpipe.simulate import Motion, reach_and_turn, walk

BOTH = pytest.mark.parametrize("make", [walk, reach_and_turn])


def joint(motion: Motion, name: str) -> np.ndarray:
    return motion.position_m[:, motion.skeleton.joint_index(name)]


def unit(vector: np.ndarray) -> np.ndarray:
    return vector / np.linalg.norm(vector, axis=-1, keepdims=True)


def forward(motion: Motion) -> np.ndarray:
    """Where the pelvis faces, shape (time, 3)."""
    left = joint(motion, "HipLeft") - joint(motion, "HipRight")
    return unit(np.cross(left, [0.0, 1.0, 0.0]))


@BOTH
@pytest.mark.parametrize("stature_m", [1.75, 1.5])
def test_bones_keep_the_skeletons_lengths(make, stature_m):
    motion = make(500, 50.0, stature_m=stature_m)
    parents, children = np.array(motion.skeleton.bones).T
    length = np.linalg.norm(motion.position_m[:, parents] - motion.position_m[:, children], axis=2)
    np.testing.assert_allclose(length, np.tile(motion.skeleton.bone_length_m, (500, 1)), atol=1e-12)


@BOTH
def test_left_and_right_bones_are_alike(make):
    skeleton = make(1, 30.0).skeleton
    left, right = np.array(skeleton.mirrored_bones).T
    np.testing.assert_array_equal(skeleton.bone_length_m[left], skeleton.bone_length_m[right])


def test_standing_person_has_an_adults_proportions():
    standing = reach_and_turn(1, 30.0)
    height = {name: joint(standing, name)[0, 1] for name in standing.skeleton.joints}
    # shares of the stature: Winter (2009), fig. 4.1; the head's centre is some 0.1 m below its top
    assert height["Head"] + 0.1 == pytest.approx(1.75, abs=0.02)
    assert height["ShoulderLeft"] == pytest.approx(0.818 * 1.75, abs=0.05)
    assert height["HipLeft"] == pytest.approx(0.530 * 1.75, abs=0.02)
    assert height["KneeLeft"] == pytest.approx(0.285 * 1.75, abs=0.02)
    assert height["AnkleLeft"] == pytest.approx(0.039 * 1.75, abs=0.02)
    assert height["WristLeft"] == pytest.approx(0.485 * 1.75, abs=0.06)
    assert 0 <= height["FootLeft"] < 0.05


@BOTH
def test_subject_starts_facing_z_with_the_left_side_at_x(make):
    motion = make(1, 30.0)
    across = joint(motion, "ShoulderLeft") - joint(motion, "ShoulderRight")
    assert across[0, 0] > 0.3
    assert forward(motion)[0, 2] > 0.98
    ahead = joint(motion, "FootLeft") - joint(motion, "AnkleLeft")
    assert ahead[0, 2] > 0.1


@BOTH
@pytest.mark.parametrize("side", ["Left", "Right"])
def test_knees_bend_backwards_and_elbows_forwards_only(make, side):
    motion = make(800, 100.0)
    across = unit(joint(motion, "HipLeft") - joint(motion, "HipRight"))
    thigh = unit(joint(motion, f"Knee{side}") - joint(motion, f"Hip{side}"))
    shank = unit(joint(motion, f"Ankle{side}") - joint(motion, f"Knee{side}"))
    knee_rad = np.arcsin(np.sum(np.cross(thigh, shank) * across, axis=1))
    assert knee_rad.min() > np.radians(1)
    assert np.radians(40) < knee_rad.max() < np.radians(75)

    upper = unit(joint(motion, f"Elbow{side}") - joint(motion, f"Shoulder{side}"))
    lower = unit(joint(motion, f"Wrist{side}") - joint(motion, f"Elbow{side}"))
    elbow_rad = np.arccos(np.sum(upper * lower, axis=1))
    assert np.radians(5) < elbow_rad.min()
    assert elbow_rad.max() < np.radians(100)


@BOTH
def test_feet_stay_on_or_above_the_floor_and_one_of_them_on_it(make):
    motion = make(800, 100.0)
    feet = np.stack([joint(motion, f"Foot{side}")[:, 1] for side in ("Left", "Right")])
    ankles = np.stack([joint(motion, f"Ankle{side}")[:, 1] for side in ("Left", "Right")])
    assert feet.min() > 0.0
    assert ankles.min() > 0.05
    assert feet.min(axis=0).max() < 0.06


@BOTH
def test_motion_is_smooth(make):
    rate_hz = 200.0
    motion = make(1700, rate_hz)  # past the end of a cycle and of a period
    velocity = np.diff(motion.position_m, axis=0) * rate_hz
    acceleration = np.linalg.norm(np.diff(velocity, axis=0) * rate_hz, axis=2)
    assert np.linalg.norm(velocity, axis=2).max() < 6.0
    assert acceleration.max() < 45.0  # a foot lands; a jump would give 1 / tick² = 40000 per metre
    # twice the rate shows the same peak: the second derivative exists
    finer = make(3400, 2 * rate_hz).position_m
    peak = np.linalg.norm(np.diff(finer, n=2, axis=0), axis=2).max() * (2 * rate_hz) ** 2
    assert peak == pytest.approx(acceleration.max(), rel=0.02)


def test_walk_has_the_speed_and_turns_with_its_circle():
    motion = walk(1001, 100.0, speed_m_s=1.2, radius_m=1.5)
    pelvis = joint(motion, "HipCenter")
    step = np.linalg.norm(np.diff(pelvis[::100, ::2], axis=0), axis=1)  # once a gait cycle
    np.testing.assert_allclose(step, 2 * 1.5 * np.sin(1.2 / 1.5 / 2), atol=1e-9)
    heading = np.unwrap(np.arctan2(*forward(motion)[::100, ::2].T))
    np.testing.assert_allclose(np.diff(heading), 1.2 / 1.5, atol=1e-9)


def test_walk_straight_ahead_goes_along_z():
    pelvis = joint(walk(301, 100.0, radius_m=np.inf, speed_m_s=1.0), "HipCenter")
    np.testing.assert_allclose(pelvis[-1] - pelvis[0], [0.0, 0.0, 3.0], atol=1e-9)
    assert 0.02 < np.ptp(pelvis[:, 1]) < 0.06  # it bobs
    assert 0.02 < np.ptp(pelvis[:, 0]) < 0.06  # and sways


@pytest.mark.parametrize("side", ["Left", "Right"])
def test_arms_swing_opposite_the_legs(side):
    motion = walk(400, 100.0, radius_m=np.inf)
    hand = (joint(motion, f"Wrist{side}") - joint(motion, f"Shoulder{side}"))[:, 2]
    foot = (joint(motion, f"Ankle{side}") - joint(motion, f"Hip{side}"))[:, 2]
    assert np.corrcoef(hand, foot)[0, 1] < -0.8
    assert np.ptp(hand) > 0.25
    assert 0.5 < np.ptp(foot) < 0.9


def test_reach_raises_each_hand_and_turns_by_120_degrees_and_back():
    motion = reach_and_turn(241, 30.0)
    for side in ("Left", "Right"):
        assert joint(motion, f"Hand{side}")[:, 1].max() > 1.9
    heading = np.degrees(np.unwrap(np.arctan2(*forward(motion)[:, ::2].T)))
    assert heading.max() == pytest.approx(120, abs=1)
    assert heading[[0, -1]] == pytest.approx([0, 0], abs=1e-9)
    trunk = unit(joint(motion, "ShoulderCenter") - joint(motion, "Spine"))
    bend = np.degrees(np.arccos(trunk[:, 1]))
    assert 45 < bend.max() < 80


@BOTH
def test_frames_do_not_depend_on_how_many_are_asked_for(make):
    np.testing.assert_allclose(
        make(100, 30.0).position_m, make(300, 30.0).position_m[:100], rtol=0, atol=1e-12
    )


def test_bad_arguments_are_listed_together():
    with pytest.raises(RecordError) as caught:
        walk(0, 30.0, cycle_s=-1.0)
    assert caught.value.faults == (
        "n_frames is 0, expected 1 or more",
        "cycle_s is -1, expected above 0",
    )
    with pytest.raises(RecordError, match="rate_hz is nan"):
        reach_and_turn(10, float("nan"))


def test_motion_refuses_holes():
    good = walk(5, 30.0)
    holes = good.position_m.copy()
    holes[2, 3] = np.nan
    with pytest.raises(RecordError, match="position_m has 3 values that are not finite"):
        Motion(holes, good.time_s, good.skeleton)
