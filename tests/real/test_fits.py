"""Real recordings through the whole pipeline: every frame with data fitted, every bone exact."""

from __future__ import annotations

import numpy as np
import pytest

import fitpipe as fp

DUAL_KINECT = [
    # file, median disagreement after a rigid fit as measured in the data's README, metres
    ("kinectmultitrack/Study_4_Kinect_0_Time_1_17_51_PM.csv.gz", 0.020),
    ("kinectmultitrack/Study_4_Kinect_1_Time_1_22_06_PM.csv.gz", 0.027),
    ("kinectmultitrack/Study_1_Kinect_2_Time_12_07_07_PM.csv", 0.050),
    ("kinectmultitrack/Study_13_Kinect_2_Time_5_22_05_PM.csv.gz", 0.054),
]
SINGLE_SOURCE = [
    ("btkdata/PiG_Motion-FlatFoot-Full.c3d", "pig39"),
    ("pycgm/Movement_trial.c3d", "pig39"),
    ("nimblephysics/cmu_02_05.c3d", "cmu41"),
    ("btkdata/MOTEK_ballet_reduced.trc", "cmu41"),
    ("keraal/G3-Kinect-CTK-P1T1-Unknown-C-0.txt", "kinect25"),
    ("labanotation/KinectReader_joints.csv", "kinect25"),
]


def check(fit, takes):
    """What every fit of every recording owes."""
    parent, child = np.array(fit.skeleton.bones).T
    length = np.linalg.norm(fit.position[:, child] - fit.position[:, parent], axis=-1)
    whole = ~np.isnan(length)
    assert whole.any(axis=0).all(), "a bone is in no frame"
    assert np.abs(length - fit.bone_length)[whole].max() < 1e-9
    seen = (fit.weight > 0).any(axis=(1, 2))
    np.testing.assert_array_equal(fit.is_fitted, seen)
    assert fit.is_converged[seen].all()
    assert fit.n_frames == takes[0].n_frames
    assert np.isfinite(fit.position[fit.status != fp.JointStatus.ABSENT]).all()


@pytest.mark.parametrize(("name", "readme_median_m"), DUAL_KINECT)
def test_two_kinects_become_one_rigid_skeleton(shared_data, name, readme_median_m):
    takes = fp.read_takes(shared_data / name)
    fit = fp.fit(takes, markerset="kinect25")
    check(fit, takes)
    assert len(fit.sources) == 2
    # over 20 of the 25 joints, clocks set back by the offset found
    assert np.nanmedian(fit.disagreement) < readme_median_m
    assert np.mean(fit.is_certified) > 0.99
    raw = takes[0].position_m
    thigh = np.linalg.norm(
        raw[:, takes[0].index("KneeLeft")] - raw[:, takes[0].index("HipLeft")], axis=-1
    )
    bone = fit.skeleton.bone_names.index("HipLeft-KneeLeft")
    assert fit.bone_length[bone] == pytest.approx(np.median(thigh), abs=0.04)


@pytest.mark.parametrize(("name", "markerset"), SINGLE_SOURCE)
def test_one_recording_becomes_a_rigid_skeleton(shared_data, name, markerset):
    takes = fp.read_takes(shared_data / name)
    fit = fp.fit(takes, markerset=markerset)
    check(fit, takes)
    assert fit.is_certified.mean() > 0.99
    assert fit.rms_m < 0.02


def test_a_kinect_agrees_with_the_optical_system(shared_data):
    """Hands move alike in both: the Kinect's frames are every second optical frame."""
    kinect = fp.read_take(shared_data / "keraal/G3-Kinect-CTK-P1T1-Unknown-C-0.txt")
    optical = fp.read_take(shared_data / "keraal/G3-Vicon-CTK-P1T1-Unknown-C-0.txt")
    fit = fp.fit(kinect, markerset="kinect25")
    hand = fit.position[:, fit.skeleton.joint_index("HandRight")]
    body = optical.position_m[::2, optical.index("RHand")]
    n = min(len(hand), len(body))
    # height above the pelvis is free of the rigid transform up to the camera's tilt of 12 degrees
    pelvis = fit.position[:, 0]
    hips = optical.position_m[::2, optical.index("Hips")]
    seen = ~np.isnan(hand[:n, 1])  # the hand is left out where it jumps
    ours = (hand - pelvis)[:n, 1][seen]
    theirs = (body - hips)[:n, 2][seen]
    assert seen.mean() > 0.9
    assert np.corrcoef(ours, theirs)[0, 1] > 0.99


def test_the_left_out_sensor_is_predicted(shared_data):
    """Fit on sensor 0 alone, score on sensor 1: about what the sensors differ by."""
    takes = fp.read_takes(shared_data / DUAL_KINECT[0][0])
    both = fp.fit(takes, markerset="kinect25")
    alone = fp.fit(takes[0], markerset="kinect25", bone_length_m=both.bone_length)
    transform = both.calibration.transforms[1]
    from fitpipe.mapping import map_take

    other = map_take(takes[1], "kinect25", both.skeleton)
    common, i, j = np.intersect1d(takes[0].time_s, takes[1].time_s, return_indices=True)
    apart = np.linalg.norm(alone.position[i] - transform.apply(other.position_m[j]), axis=-1)
    assert len(common) > 1000
    assert np.nanmedian(apart) < 1.1 * np.nanmedian(both.disagreement)
