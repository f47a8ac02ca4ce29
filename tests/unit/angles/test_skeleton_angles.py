"""Angles of poses that were built from known angles, and of motions that pass awkward poses."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from fitpipe.angles import define, pose_skeleton, skeleton_angles
from fitpipe.angles.euler import rotation_from_euler
from fitpipe.errors import SolveError
from fitpipe.records import Skeleton, TwistStatus
from fitpipe.simulate.motion import _GAIT_KNEE, _periodic, punch, reach_and_turn, walk

KINECT20 = Skeleton.preset("kinect20")
LENGTH = np.array([0.08, 0.39, 0.2, *(0.18, 0.31, 0.25, 0.08) * 2, *(0.1, 0.43, 0.43, 0.14) * 2])


def posed(angles_deg):
    """Joint positions for angles in degrees, by segment."""
    euler = {name: np.radians(values) for name, values in angles_deg.items()}
    return pose_skeleton(KINECT20, euler, bone_length_m=LENGTH)


def measured(position):
    return skeleton_angles(position, KINECT20, LENGTH)


def degrees(angles, segment):
    return np.degrees(angles.euler_rad[:, angles.segments.index(segment)])


def twist(angles, segment):
    return angles.twist_status[:, angles.segments.index(segment)]


# what bends, in degrees; the angles named in the preset, one after the other
POSES = {
    "elbow bent by 30": {"WristLeft": (30, 0, 0)},
    "right elbow folded": {"WristRight": (150, 0, 0)},
    "knee bent by 60": {"AnkleRight": (60, 0, 0)},
    "sitting": {
        side: angles
        for leg in ("Left", "Right")
        for side, angles in ((f"Knee{leg}", (90, 10, 0)), (f"Ankle{leg}", (90, 0, 0)))
    },
    "arm to the side, elbow bent": {"ElbowLeft": (0, 85, 0), "WristLeft": (45, 0, 0)},
    "right arm beyond the side": {"ElbowRight": (10, 120, 30), "WristRight": (45, 0, 0)},
    "turned by 77 and bowed": {"pelvis": (77, 35, -10), "thorax": (30, 15, -40)},
    "head down": {"Head": (40, 0, 0)},
    "wrist and foot": {"HandLeft": (25, 0, 0), "FootRight": (-30, 0, 0)},
    "leg behind, turned in": {"KneeLeft": (-20, 15, 25), "AnkleLeft": (100, 0, 0)},
}


@pytest.mark.parametrize("pose", POSES.values(), ids=POSES)
def test_planted_angles_come_back(pose):
    position = posed(pose)
    angles = measured(position)
    for segment in angles.segments:
        np.testing.assert_allclose(
            degrees(angles, segment)[0], pose.get(segment, (0, 0, 0)), atol=1e-9, err_msg=segment
        )
    np.testing.assert_allclose(angles.forward(), position, atol=1e-14)


def test_signs_are_those_of_the_words():
    # +x to the person's left, +y up, +z forward
    def joint(pose, name, other):
        position = posed(pose)[0]
        return position[KINECT20.joint_index(name)] - position[KINECT20.joint_index(other)]

    assert joint({"WristLeft": (90, 0, 0)}, "WristLeft", "ElbowLeft")[2] > 0.24
    assert joint({"AnkleLeft": (90, 0, 0)}, "AnkleLeft", "KneeLeft")[2] < -0.42
    assert joint({"KneeRight": (30, 0, 0)}, "KneeRight", "HipRight")[2] > 0.2
    assert joint({"ElbowRight": (0, 90, 0)}, "ElbowRight", "ShoulderRight")[0] < -0.3
    assert joint({"ElbowLeft": (0, 90, 0)}, "ElbowLeft", "ShoulderLeft")[0] > 0.3
    assert joint({"FootLeft": (30, 0, 0)}, "FootLeft", "AnkleLeft")[1] > 0.02
    assert joint({"thorax": (45, 0, 0)}, "Head", "ShoulderCenter")[2] > 0.1
    assert joint({"pelvis": (90, 0, 0)}, "HipLeft", "HipCenter")[2] < -0.07  # faces +x
    inward = {"KneeLeft": (0, 0, 40), "AnkleLeft": (90, 0, 0)}  # the ankle swings out
    assert joint(inward, "AnkleLeft", "KneeLeft")[0] > 0.25
    inward = {"ElbowRight": (0, 0, 40), "WristRight": (90, 0, 0)}  # the wrist swings in
    assert joint(inward, "WristRight", "ElbowRight")[0] > 0.15


def test_turning_the_whole_person_changes_only_the_pelvis():
    position = np.array(reach_and_turn(40, 10).position_m)
    turn = Rotation.from_rotvec([0.3, 2.0, -0.4])
    shift = np.array([1.0, -2.0, 0.5])
    before = skeleton_angles(position, KINECT20)
    after = skeleton_angles(
        turn.apply(position.reshape(-1, 3)).reshape(position.shape) + shift, KINECT20
    )
    np.testing.assert_allclose(after.euler_rad[:, 1:], before.euler_rad[:, 1:], atol=1e-12)
    turned = turn * Rotation.from_quat(before.world_wxyz[:, 0], scalar_first=True)
    found = Rotation.from_quat(after.world_wxyz[:, 0], scalar_first=True)
    assert np.max((turned.inv() * found).magnitude()) < 1e-12


def test_the_knees_of_the_simulated_walk_bend_as_they_were_made_to():
    motion = walk(120, 60)
    angles = skeleton_angles(motion.position_m, motion.skeleton)
    for side, start in (("Left", 0.0), ("Right", 0.5)):
        planted = np.degrees(_periodic((motion.time_s + start) % 1.0, _GAIT_KNEE))
        np.testing.assert_allclose(degrees(angles, f"Ankle{side}")[:, 0], planted, atol=1e-9)


def test_a_bent_limb_tells_its_twist_and_a_straight_one_carries_it():
    flexion = np.concatenate([np.linspace(61, 1, 31), np.linspace(1, 61, 31)])
    pose = {"ElbowLeft": np.tile([20, 30, 40], (62, 1)), "WristLeft": np.outer(flexion, [1, 0, 0])}
    angles = measured(posed(pose))
    np.testing.assert_allclose(degrees(angles, "ElbowLeft"), pose["ElbowLeft"], atol=1e-6)
    np.testing.assert_allclose(degrees(angles, "WristLeft"), pose["WristLeft"], atol=1e-6)
    expected = np.where(flexion > 12, TwistStatus.MEASURED, TwistStatus.CARRIED)
    np.testing.assert_array_equal(twist(angles, "ElbowLeft"), expected)
    np.testing.assert_array_equal(twist(angles, "WristLeft"), expected)


def test_a_limb_straight_at_first_takes_its_twist_from_the_first_bent_frame():
    flexion = np.concatenate([np.zeros(20), np.linspace(0, 80, 20)])
    pose = {"KneeRight": np.tile([10, 5, 30], (40, 1)), "AnkleRight": np.outer(flexion, [1, 0, 0])}
    angles = measured(posed(pose))
    np.testing.assert_allclose(degrees(angles, "KneeRight"), pose["KneeRight"], atol=1e-6)
    assert twist(angles, "KneeRight")[0] == TwistStatus.CARRIED


def test_a_limb_that_is_always_straight_has_no_twist_of_its_own():
    angles = measured(posed({"ElbowLeft": (30, 0, 50)}))
    np.testing.assert_allclose(degrees(angles, "ElbowLeft")[0], [30, 0, 0], atol=1e-9)
    assert twist(angles, "ElbowLeft")[0] == TwistStatus.TRANSPORTED


def test_a_carried_twist_leads_evenly_to_the_next_measured_one():
    # straight for frames 3 to 6, while the arm turns about itself from 0 to 50 degrees unseen
    rotation = np.array([0, 0, 0, 20, 20, 20, 20, 50, 50.0])
    flexion = np.array([40, 40, 40, 0, 0, 0, 0, 40, 40.0])
    turns = np.stack([0 * rotation, 0 * rotation, rotation], axis=1)
    angles = measured(posed({"ElbowRight": turns, "WristRight": np.outer(flexion, [1, 0, 0])}))
    found = degrees(angles, "ElbowRight")[:, 2]
    np.testing.assert_allclose(found, [0, 0, 0, 10, 20, 30, 40, 50, 50], atol=1e-6)


@pytest.mark.parametrize(
    ("upper", "lower"), [("ElbowLeft", "WristLeft"), ("KneeLeft", "AnkleLeft")]
)
def test_the_axis_does_not_flip_when_a_limb_bends_past_straight(upper, lower):
    flexion = 30 * np.sin(np.linspace(0, 4 * np.pi, 60)) + 5
    turns = np.tile([30, 10, 15.0], (60, 1))
    angles = measured(posed({upper: turns, lower: np.outer(flexion, [1, 0, 0])}))
    np.testing.assert_allclose(degrees(angles, lower)[:, 0], flexion, atol=1e-6)
    np.testing.assert_allclose(degrees(angles, upper), turns, atol=1e-6)


def test_one_frame_bent_backwards_is_negative_flexion():
    flexion = np.full(21, 40.0)
    flexion[10] = -50
    angles = measured(posed({"WristRight": np.outer(flexion, [1, 0, 0])}))
    np.testing.assert_allclose(degrees(angles, "WristRight")[:, 0], flexion, atol=1e-9)


def test_an_elbow_is_not_bent_backwards_for_long():
    # an arm that was straight for a while and then bends shows its true side, whatever was carried
    flexion = np.concatenate([np.full(30, 60.0), np.zeros(20), np.full(30, 100.0)])
    turns = np.zeros((80, 3))
    turns[50:, 2] = 100.0  # turned about itself unseen, by more than a quarter turn
    angles = measured(posed({"ElbowLeft": turns, "WristLeft": np.outer(flexion, [1, 0, 0])}))
    np.testing.assert_allclose(degrees(angles, "WristLeft")[:, 0], flexion, atol=1e-9)
    np.testing.assert_allclose(degrees(angles, "ElbowLeft")[50:, 2], 100, atol=1e-9)


def test_a_knee_is_bent_backwards_even_if_no_frame_says_otherwise():
    angles = measured(posed({"AnkleLeft": (-40, 0, 0)}))
    np.testing.assert_allclose(degrees(angles, "AnkleLeft")[0], [-40, 0, 0], atol=1e-9)
    np.testing.assert_allclose(degrees(angles, "KneeLeft")[0], 0, atol=1e-9)


def test_the_heading_counts_full_turns_and_quaternions_do_not_jump():
    heading = np.linspace(0, 720, 145)
    angles = measured(posed({"pelvis": np.outer(heading, [1, 0, 0])}))
    np.testing.assert_allclose(degrees(angles, "pelvis")[:, 0], heading, atol=1e-9)
    steps = np.linalg.norm(np.diff(angles.world_wxyz, axis=0), axis=-1)
    assert steps.max() < 0.05
    np.testing.assert_allclose(np.linalg.norm(angles.world_wxyz, axis=-1), 1, atol=1e-15)


@pytest.mark.parametrize("make", [walk, reach_and_turn, punch])
def test_nothing_jumps_in_a_smooth_motion(make):
    motion = make(600, 120.0)
    angles = skeleton_angles(motion.position_m, motion.skeleton)
    assert np.abs(np.diff(angles.euler_rad, axis=0)).max() < np.radians(15)
    for quaternions in (angles.world_wxyz, angles.local_wxyz):
        assert np.linalg.norm(np.diff(quaternions, axis=0), axis=-1).max() < 0.13


def test_a_straight_arm_may_circle_overhead_without_a_jump():
    # past the direction opposite to the zero pose, where the smallest turn swings about
    at = np.linspace(0, 4 * np.pi, 400)
    axis = np.stack([np.sin(at) * 0.3, np.cos(at) * 0.3, np.ones_like(at)], axis=1)
    raise_by = np.radians(180) * (1 - np.cos(at)) / 2
    arm = -np.array([0, 1.0, 0])
    turned = Rotation.from_rotvec(axis / np.linalg.norm(axis, axis=1)[:, None] * raise_by[:, None])
    position = np.repeat(posed({}), 400, axis=0)
    shoulder = KINECT20.joint_index("ShoulderLeft")
    for joint, far in (("ElbowLeft", 0.31), ("WristLeft", 0.56), ("HandLeft", 0.64)):
        position[:, KINECT20.joint_index(joint)] = position[:, shoulder] + far * turned.apply(arm)
    angles = measured(position)
    arm_wxyz = angles.world_wxyz[:, angles.segments.index("ElbowLeft")]
    step = Rotation.from_quat(arm_wxyz[:-1], scalar_first=True).inv() * Rotation.from_quat(
        arm_wxyz[1:], scalar_first=True
    )
    assert np.degrees(step.magnitude()).max() < 40
    np.testing.assert_allclose(angles.forward(), position, atol=1e-14)


def test_euler_angles_and_quaternions_are_the_same_turns():
    motion = reach_and_turn(300, 30)
    angles = skeleton_angles(motion.position_m, motion.skeleton)
    for s, sequence in enumerate(angles.sequence):
        basis = angles.basis[s]
        R = basis @ rotation_from_euler(angles.euler_rad[:, s], sequence) @ basis.T
        found = Rotation.from_quat(angles.local_wxyz[:, s], scalar_first=True).as_matrix()
        np.testing.assert_allclose(found, R, atol=1e-14)
        up = angles.segment_parent[s]
        if up >= 0:
            above = Rotation.from_quat(angles.world_wxyz[:, up], scalar_first=True).as_matrix()
            world = Rotation.from_quat(angles.world_wxyz[:, s], scalar_first=True).as_matrix()
            np.testing.assert_allclose(above @ R, world, atol=1e-14)


def test_gimbal_lock_is_flagged_and_passed_without_a_jump():
    abduction = np.linspace(0.5, 170.5, 171)
    turns = np.stack([0 * abduction, abduction, 0 * abduction], axis=1)
    bent = np.tile([40, 0, 0.0], (171, 1))
    angles = measured(posed({"ElbowLeft": turns, "WristLeft": bent}))
    np.testing.assert_allclose(degrees(angles, "ElbowLeft"), turns, atol=1e-5)
    flagged = angles.is_gimbal[:, angles.segments.index("ElbowLeft")]
    np.testing.assert_array_equal(flagged, np.abs(abduction - 90) < 10)
    assert not angles.is_gimbal[:, 0].any()


def test_frames_without_a_joint_have_no_angle_and_disturb_no_other():
    motion = walk(90, 30)
    position = np.array(motion.position_m)
    whole = skeleton_angles(position, motion.skeleton)
    ankle = KINECT20.joint_index("AnkleLeft")
    position[30:50, ankle] = np.nan
    holed = skeleton_angles(position, motion.skeleton)
    knee, foot = (holed.segments.index(s) for s in ("AnkleLeft", "FootLeft"))
    gone = np.isnan(holed.euler_rad[..., 0])
    assert gone[30:50, [knee, foot]].all()
    assert np.count_nonzero(gone) == 40
    assert (holed.twist_status[30:50, [knee, foot]] == TwistStatus.ABSENT).all()
    hip = holed.segments.index("KneeLeft")
    assert (holed.twist_status[30:50, hip] == TwistStatus.CARRIED).all()
    # flexion and abduction need no ankle; the turn about itself is bridged
    np.testing.assert_allclose(
        holed.euler_rad[30:50, hip, :2], whole.euler_rad[30:50, hip, :2], atol=1e-12
    )
    others = [s for s in range(len(holed.segments)) if s not in (knee, foot, hip)]
    np.testing.assert_array_equal(holed.euler_rad[:, others], whole.euler_rad[:, others])
    np.testing.assert_array_equal(np.isnan(holed.forward()), np.isnan(position))
    np.testing.assert_allclose(holed.forward(), position, atol=1e-14)


def test_a_pelvis_without_a_hip_is_carried_on_from_the_frames_before():
    motion = walk(60, 30)
    position = np.array(motion.position_m)
    whole = skeleton_angles(position, motion.skeleton)
    position[20, KINECT20.joint_index("HipLeft")] = np.nan
    position[40, [KINECT20.joint_index(f"Hip{side}") for side in ("Left", "Right")]] = np.nan
    holed = skeleton_angles(position, motion.skeleton)
    expected = np.full(60, TwistStatus.MEASURED)
    expected[[20, 40]] = TwistStatus.CARRIED
    np.testing.assert_array_equal(twist(holed, "pelvis"), expected)
    off = np.abs(holed.euler_rad[:, 0] - whole.euler_rad[:, 0]).max(axis=1)
    assert off[[20, 40]].max() < np.radians(6)
    assert np.delete(off, [20, 40]).max() == 0


def test_shoulders_of_any_height_leave_the_trunk_upright():
    # where a sensor or a marker set puts the shoulders against their middle is its own affair
    position = posed({})
    for height in (-0.1, 0.0, 0.15):
        for side in ("Left", "Right"):
            position[:, KINECT20.joint_index(f"Shoulder{side}"), 1] = height + 0.4
            position[:, KINECT20.joint_index(f"Shoulder{side}"), 2] = -0.05
        angles = skeleton_angles(position, KINECT20)
        np.testing.assert_allclose(degrees(angles, "thorax"), 0, atol=1e-9)


def test_without_the_root_each_part_stands_by_itself():
    motion = walk(30, 30)
    position = np.array(motion.position_m)
    legs = [i for i, name in enumerate(KINECT20.joints) if name[:3] in ("Hip", "Kne", "Ank", "Foo")]
    position[:, legs] = np.nan  # a seated person
    angles = skeleton_angles(position, motion.skeleton)
    assert [KINECT20.joints[joint] for joint in angles.anchor] == ["HipCenter", "Spine"]
    assert np.isnan(angles.root_position_m).all()
    np.testing.assert_allclose(angles.forward(), position, atol=1e-14)
    whole = skeleton_angles(motion.position_m, motion.skeleton)
    elbow = angles.segments.index("WristLeft")
    np.testing.assert_allclose(angles.euler_rad[:, elbow], whole.euler_rad[:, elbow], atol=1e-12)


def test_lengths_may_come_from_the_skeleton_the_call_or_the_positions():
    position = posed(POSES["sitting"])
    for skeleton, length in (
        (KINECT20, None),
        (KINECT20, LENGTH),
        (KINECT20.with_lengths(LENGTH), None),
    ):
        angles = skeleton_angles(position, skeleton, length)
        np.testing.assert_allclose(angles.bone_length_m, LENGTH, atol=1e-15)


def test_skeletons_find_their_preset():
    assert define(KINECT20).preset.name == "kinect20"
    assert define(Skeleton.preset("kinect20_girdles")).preset.name == "kinect20"
    assert define(replace(KINECT20, parents=(-1, *[0] * 19))).preset.name == "general"
    chain = Skeleton("chain", ("a", "b", "c"), (-1, 0, 1))
    assert define(chain).segments == ("a", "b", "c")
    assert define(Skeleton("dot", ("a",), (-1,))).segments == ()


def test_a_joint_alone_has_no_angles():
    angles = skeleton_angles(np.ones((4, 1, 3)), Skeleton("dot", ("a",), (-1,)))
    assert angles.euler_rad.shape == (4, 0, 3)
    np.testing.assert_array_equal(angles.forward(), np.ones((4, 1, 3)))


def test_a_bone_of_length_zero_turns_with_its_parent():
    length = np.array(LENGTH)
    length[6] = 0.0  # WristLeft to HandLeft
    position = pose_skeleton(KINECT20, {"WristLeft": np.radians([50, 0, 0])}, bone_length_m=length)
    angles = skeleton_angles(position, KINECT20, length)
    np.testing.assert_allclose(degrees(angles, "HandLeft"), 0, atol=1e-12)
    np.testing.assert_allclose(angles.forward(), position, atol=1e-14)


def test_the_bones_at_the_end_tell_the_twist_of_a_bone_that_forks():
    skeleton = Skeleton(
        "fork",
        ("root", "base", "trunk", "left", "right"),
        (-1, 0, 1, 2, 2),
        np.array([0.3, 0.5, 0.2, 0.2]),
        rest_direction=np.array([[0, 1, 0], [0, 1, 0], [0, 1, 0], [1, 0, 0], [-1, 0, 0.0]]),
    )
    turn = np.radians([20, 55, -30])
    position = pose_skeleton(skeleton, {"trunk": turn, "base": np.radians([10, 20, 30])})
    angles = skeleton_angles(position, skeleton)
    assert angles.preset == "general"
    world = Rotation.from_quat(angles.world_wxyz[0], scalar_first=True).as_matrix()
    trunk = angles.segments.index("trunk")
    for bone, child in enumerate((1, 2, 3, 4)):
        direction = position[0, child] - position[0, skeleton.parents[child]]
        turned = world[trunk] @ skeleton.rest_direction[child] * skeleton.bone_length_m[bone]
        if child > 1:
            np.testing.assert_allclose(turned, direction, atol=1e-12)
    assert twist(angles, "trunk")[0] == TwistStatus.MEASURED


def test_the_table_has_a_column_for_every_angle():
    motion = walk(5, 30)
    angles = skeleton_angles(motion.position_m, motion.skeleton)
    table = angles.to_dataframe(motion.time_s)
    assert len(set(table.columns)) == 2 + 3 * len(angles.segments)
    np.testing.assert_array_equal(
        table["left_knee_flexion_deg"], degrees(angles, "AnkleLeft")[:, 0]
    )
    np.testing.assert_array_equal(table["time_s"], motion.time_s)


def test_odd_arrays_are_told():
    with pytest.raises(SolveError, match=r"shape \(5, 19, 3\), expected \(time, 20, 3\)"):
        skeleton_angles(np.zeros((5, 19, 3)), KINECT20)
    with pytest.raises(SolveError, match="one length per bone"):
        skeleton_angles(np.zeros((5, 20, 3)), KINECT20, np.ones(7))
    with pytest.raises(SolveError) as error:
        pose_skeleton(KINECT20, {"KneeLef": (1, 0, 0), "Head": np.zeros((2, 4))})
    assert len(error.value.faults) == 3
    assert "did you mean 'KneeLeft'?" in str(error.value)
