"""Every recording reads or is refused kindly, and readers agree with other programs."""

from __future__ import annotations

from pathlib import Path

import ezc3d
import numpy as np
import pytest

from fitpipe.calibrate import align_rigid
from fitpipe.errors import InputError
from fitpipe.io import read_take, read_takes
from fitpipe.io.axes import body_height
from fitpipe.units import METRES_PER

from .stated import C3D, KINECT, TRC


def test_segments_of_theia_are_read_from_their_matrices(shared_data: Path) -> None:
    path = shared_data / "ezc3d_testfiles/C3DRotationExample.c3d"
    take = read_take(path)
    assert (take.n_frames, take.n_points, take.rate_hz) == (340, 20, pytest.approx(85))
    matrices = ezc3d.c3d(str(path))["data"]["rotations"]
    expected = np.moveaxis(matrices[:3, 3, 1:], (0, 1, 2), (2, 1, 0)) / 1000
    np.testing.assert_allclose(take.position_m, expected, rtol=1e-15)


def test_points_are_those_of_ezc3d_to_the_last_bit(shared_data: Path) -> None:
    compared = 0
    for stated in C3D:
        if "sample13" in stated.file:
            continue  # ezc3d refuses its analogue offsets
        take = read_take(shared_data / stated.file)
        c3d = ezc3d.c3d(str(shared_data / stated.file))
        labels = [str(label).strip() for label in c3d["parameters"]["POINT"]["LABELS"]["value"]]
        points = np.moveaxis(c3d["data"]["points"][:3], (0, 1, 2), (2, 1, 0))
        residual = c3d["data"]["meta_points"]["residuals"][0].T
        seen = (residual >= 0) & (points != 0).any(axis=-1) & np.isfinite(points).all(axis=-1)
        scale = METRES_PER[take.origin.unit]
        for column, label in enumerate(take.labels):
            if labels.count(label) == 1:
                own = labels.index(label)
                both = seen[:, own] & take.is_observed[:, column]
                assert np.array_equal(both, seen[:, own])
                expected = points[both, own].astype(np.float64) * scale
                assert np.array_equal(take.position_m[both, column], expected)
                compared += 1
    assert compared > 1500


# files of the recordings that hold no takes of points, and what is said of them
REFUSED = {
    "bvh_amc/11.asf": "Acclaim file that holds a skeleton",
    "bvh_amc/11_01.amc": "Acclaim file that holds joint angles",
    "bvh_amc/walk01_hierarchy.csv": "no frame rate",
    "keraal/G3-BP-CTK-P1T1-Unknown-C-0.json": "landmarks of an image",
    "keraal/G3-BP-ELK-P1T1-Unknown-C-0.json": "landmarks of an image",
    "opencap_visualizer/squat_param.json": "JSON of no known layout",
    "opencap_visualizer/walk_param.json": "JSON of no known layout",
    "opensim_core/std_subject01_walk1_ik.mot": "joint angles or forces",
}
# files that read once something is said, and what; without it they ask for it
ASKED = {
    "bvh_amc/01_01.bvh": ({"units": "0.056444"}, 2752, 38),
    "bvh_amc/cmu_12_01_walk.bvh": ({"units": "0.056444"}, 524, 38),
    "bvh_amc/pybvh_full_precision_frame_time.bvh": ({"units": "cm"}, 3, 3),
    "bvh_amc/pybvh_rotation_first_root.bvh": ({"units": "cm"}, 4, 6),
    "bvh_amc/sinusoidal.bvh": ({"units": "cm"}, 120, 4),
    "bvh_amc/walk01_pos.csv": ({"units": "cm"}, 101, 24),
}
READ = {
    "bvh_amc/pybvh_bvh_test2.bvh": (61, 28, "cm", "+y"),
    "bvh_amc/pybvh_bvh_test3.bvh": (100, 73, "in", "+z"),
    "bvh_amc/test_mocapbank.bvh": (455, 24, "cm", "+y"),
    "bvh_amc/walk01.bvh": (101, 24, "cm", "+y"),
    "gaittoolbox/S02-Trial-Walk-1_xsens.bvh": (2503, 32, "mm", "+y"),
    "mvnx/test_mocap.bvh": (112, 28, "cm", "+y"),
    "mvnx/test_mocap.mvnx": (112, 28, "m", "+z"),
    "opencap_visualizer/squat_mocap.json.gz": (1346, 22, "m", "+y"),
    "opencap_visualizer/squat_mono.json.gz": (1346, 20, "m", "+y"),
    "opencap_visualizer/walk_mocap.json": (125, 22, "m", "+y"),
    "opencap_visualizer/walk_mono.json": (125, 20, "m", "+y"),
    "opencap_visualizer/walk_wham.json": (125, 20, "m", "+y"),
}


@pytest.mark.parametrize("file", READ)
def test_skeleton_files_have_the_joints_unit_and_axes_of_their_readme(
    shared_data: Path, file: str
) -> None:
    take = read_take(shared_data / file)
    assert (take.n_frames, take.n_points, take.origin.unit, take.origin.up) == READ[file]
    assert 0.75 < body_height(take.labels, take.position_m) < 2.1


@pytest.mark.parametrize("file", ASKED)
def test_a_file_that_does_not_say_its_unit_asks_for_it(shared_data: Path, file: str) -> None:
    options, frames, points = ASKED[file]
    with pytest.raises(InputError, match=r"claims no length unit.*units="):
        read_take(shared_data / file)
    take = read_take(shared_data / file, **options)
    assert (take.n_frames, take.n_points) == (frames, points)


@pytest.mark.parametrize("file", REFUSED)
def test_a_file_without_points_is_refused_kindly(shared_data: Path, file: str) -> None:
    with pytest.raises(InputError, match=REFUSED[file]) as caught:
        read_takes(shared_data / file)
    assert caught.value.hint


def test_forward_kinematics_agree_with_another_program(shared_data: Path) -> None:
    own = read_take(shared_data / "bvh_amc/walk01.bvh", units="cm")
    other = read_take(shared_data / "bvh_amc/walk01_pos.csv", units="cm")
    for label in other.labels:
        off = own.position_m[:, own.index(label)] - other.position_m[:, other.index(label)]
        assert np.abs(off).max() < 5.1e-8  # the table has five decimals of a centimetre


def test_mvnx_and_bvh_of_one_take_agree(shared_data: Path) -> None:
    mvnx = read_take(shared_data / "mvnx/test_mocap.mvnx")
    bvh = read_take(shared_data / "mvnx/test_mocap.bvh")
    pairs = {
        "Pelvis": "Hips", "Head": "Head", "LeftUpperArm": "LeftShoulder",
        "LeftForeArm": "LeftElbow", "LeftHand": "LeftWrist", "RightUpperLeg": "RightHip",
        "RightLowerLeg": "RightKnee", "RightFoot": "RightAnkle",
    }  # fmt: skip
    # the first frame of the BVH is a T-pose
    a = np.concatenate([mvnx.position_m[1:, mvnx.index(label)] for label in pairs])
    b = np.concatenate([bvh.position_m[1:, bvh.index(label)] for label in pairs.values()])
    found = align_rigid(a, b)
    assert found.distance(a, b).max() < 0.0015


def test_every_recording_is_looked_at(shared_data: Path) -> None:
    """Whatever lies in the folder reads, or is refused by fitpipe's own error."""
    known = {s.file for s in (*C3D, *TRC, *KINECT)} | {*READ, *ASKED, *REFUSED}
    strangers, refused = [], {}
    for path in sorted(shared_data.glob("*/*")):
        name = path.relative_to(shared_data).as_posix()
        if "LICENSE" in name or name in known:
            continue
        strangers.append(name)
        try:
            takes = read_takes(path)
        except InputError as error:
            refused[name] = error
        else:
            assert all(take.is_observed.any() for take in takes)
    assert all(error.path == shared_data / name for name, error in refused.items())
    assert len(strangers) < 40
