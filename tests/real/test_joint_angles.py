"""Joint angles of recordings against those that other programs stored, and against what gait is."""

from __future__ import annotations

import xml.etree.ElementTree as ET

import numpy as np
import pandas as pd
import pytest

import fitpipe as fp
from fitpipe.angles import skeleton_angles
from fitpipe.mapping import map_take

KINECT20 = fp.Skeleton.preset("kinect20")
XSENS = "{http://www.xsens.com/mvn/mvnx}"


def measured(path, markerset, **options):
    take = map_take(fp.read_take(path, **options), markerset, KINECT20)
    return skeleton_angles(take.position_m, KINECT20)


def flexion(angles, segment):
    return np.degrees(angles.euler_rad[:, angles.segments.index(segment), 0])


@pytest.mark.parametrize("side", ["Left", "Right"])
def test_knees_of_a_bvh_walk_bend_as_its_channels_say(shared_data, side):
    folder = shared_data / "bvh_amc"
    found = flexion(measured(folder / "walk01.bvh", "bvh", units="cm"), f"Ankle{side}")
    stored = pd.read_csv(folder / "walk01_rot.csv")
    # the knee's other two channels are zero, so x is its flexion
    assert stored[[f"{side}Leg.y", f"{side}Leg.z"]].abs().to_numpy().max() < 0.1
    apart = found - stored[f"{side}Leg.x"].to_numpy()
    # the file's zero pose has shanks that lean back by 6 degrees
    assert 5 < apart.mean() < 7
    assert apart.std() < 0.5


@pytest.mark.parametrize(
    ("name", "units"), [("walk01.bvh", "cm"), ("cmu_12_01_walk.bvh", "0.05644")]
)
def test_legs_of_a_walk_move_as_in_gait(shared_data, name, units):
    angles = measured(shared_data / "bvh_amc" / name, "bvh", units=units)
    for side in ("Left", "Right"):
        knee, hip = flexion(angles, f"Ankle{side}"), flexion(angles, f"Knee{side}")
        assert -5 < knee.min() < 15
        assert 55 < knee.max() < 80
        assert 35 < np.ptp(hip) < 75
    # the first frame of the second file is its zero pose
    assert np.abs(np.diff(angles.euler_rad[1:], axis=0)).max() < np.radians(25)
    np.testing.assert_allclose(np.linalg.norm(angles.world_wxyz, axis=-1), 1, atol=1e-12)


def test_the_elbow_of_an_mvnx_take_bends_as_its_joint_angles_say(shared_data):
    path = shared_data / "mvnx" / "test_mocap.mvnx"
    angles = measured(path, "xsens")
    root = ET.parse(path).getroot()  # noqa: S314 - a file of our own test data
    joints = [joint.get("label") for joint in root.iter(f"{XSENS}joint")]
    frames = [f for f in root.iter(f"{XSENS}frame") if f.get("type") == "normal"]
    rows = [f.find(f"{XSENS}jointAngle").text.split() for f in frames]
    stored = np.array(rows, dtype=float).reshape(len(frames), len(joints), 3)
    # the right arm rests; ZXY: the third number is flexion
    apart = flexion(angles, "WristRight") - stored[:, joints.index("jRightElbow"), 2]
    # a constant: the joints of the skeleton lie elsewhere in the forearm than Xsens' axes
    assert apart.std() < 1.0
    assert 0 < apart.mean() < 15
