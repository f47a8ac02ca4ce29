"""BVH, MVNX, OpenSim and JSON: files of programs that write skeletons."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from fitpipe.errors import InputError
from fitpipe.io import read_take, read_takes

BVH = """HIERARCHY
ROOT Hips
{
  OFFSET 0 0 0
  CHANNELS 6 Xposition Yposition Zposition Zrotation Xrotation Yrotation
  JOINT Chest
  {
    OFFSET 0 50 0
    CHANNELS 3 Yrotation Zrotation Xrotation
    JOINT Head
    {
      OFFSET 0 30 5
      CHANNELS 3 Zrotation Xrotation Yrotation
      End Site
      {
        OFFSET 0 20 0
      }
    }
  }
  JOINT LeftFoot
  {
    OFFSET 10 -90 0
    CHANNELS 3 Xrotation Yrotation Zrotation
    End Site
    {
      OFFSET 0 0 15
    }
  }
}
MOTION
Frames: 3
Frame Time: 0.0333333
"""


def bvh(path: Path, angles: np.ndarray, text: str = BVH) -> Path:
    rows = "\n".join(" ".join(f"{value:.10f}" for value in row) for row in angles)
    path.write_text(text + rows + "\n")
    return path


def planted() -> np.ndarray:
    motion = np.random.default_rng(5).uniform(-60, 60, size=(3, 15))
    motion[:, :3] += [0, 90, 0]
    return motion


def test_bvh_joints_lie_where_rotation_matrices_put_them(tmp_path: Path) -> None:
    motion = planted()
    take = read_take(bvh(tmp_path / "walk.bvh", motion), units="cm")
    assert take.labels == ("Hips", "Chest", "Head", "Head_End", "LeftFoot", "LeftFoot_End")
    assert take.rate_hz == pytest.approx(30, rel=1e-5)

    def turn(axes: str, angles: np.ndarray) -> np.ndarray:
        R = np.eye(3)
        for axis, angle in zip(axes, np.deg2rad(angles), strict=True):
            vector = np.eye(3)["xyz".index(axis)]
            K = np.cross(np.eye(3), -vector).T
            R = R @ (np.eye(3) + np.sin(angle) * K + (1 - np.cos(angle)) * K @ K)
        return R

    for row, came in zip(motion, take.position_m, strict=True):
        hips = turn("zxy", row[3:6])
        chest = hips @ turn("yzx", row[6:9])
        head = chest @ turn("zxy", row[9:12])
        expected = [row[:3]]
        expected.append(expected[0] + hips @ [0, 50, 0])
        expected.append(expected[1] + chest @ [0, 30, 5])
        expected.append(expected[2] + head @ [0, 20, 0])
        expected.append(expected[0] + hips @ [10, -90, 0])
        expected.append(expected[4] + hips @ turn("xyz", row[12:15]) @ [0, 0, 15])
        assert came == pytest.approx(np.array(expected) / 100, abs=1e-9)


def test_a_bvh_tells_its_unit_by_the_body_or_asks(tmp_path: Path) -> None:
    still = np.zeros((3, 15))
    take = read_take(bvh(tmp_path / "cm.bvh", still))
    assert take.origin.unit == "cm"
    assert "read as cm, which is the size of a body (1.80 m)" in take.repairs[0].done
    units_of_cmu = BVH
    for number in ("50", "30", "20", "-90", "15"):
        units_of_cmu = units_of_cmu.replace(f" {number}", f" {float(number) / 5.6444:.6f}")
    units_of_cmu = units_of_cmu.replace(" 5\n", " 0.885836\n").replace("T 10 ", "T 1.77167 ")
    path = bvh(tmp_path / "cmu.bvh", still, units_of_cmu)
    with pytest.raises(InputError, match=r"no length unit.*0.8. m in in"):
        read_take(path)
    scaled = read_take(path, units="0.056444")
    assert np.abs(scaled.position_m - take.position_m).max() < 1e-5


def test_a_cut_or_contradictory_bvh_is_mended_or_refused(tmp_path: Path) -> None:
    path = bvh(tmp_path / "walk.bvh", planted())
    text = path.read_text()
    path.write_text(text.rstrip()[:-30] + "\n")
    take = read_take(path, units="cm")
    assert take.n_frames == 2
    assert "1 rows have not 15 values: dropped" in str(take.repairs[0])
    for cut, message in (
        (text[: text.index("MOTION")], "no line MOTION"),
        (text.replace("}\nMOTION", "MOTION"), "hierarchy is not whole"),
        (text.replace("OFFSET 0 30 5", "OFFSET 0 thirty 5"), "makes no sense at 'OFFSET'"),
        (text[: text.index("Frame Time")], "no frames"),
        (text.replace("CHANNELS 3 X", "CHANNELS 2 X"), "makes no sense|13 channels"),
    ):
        path.write_text(cut)
        with pytest.raises(InputError, match=message):
            read_take(path, units="cm")


def mvnx(position: np.ndarray, wxyz: np.ndarray, *, entity: str = "") -> str:
    def numbers(array: np.ndarray) -> str:
        return " ".join(f"{value:.9f}" for value in array.ravel())

    pose = "<orientation>1 0 0 0 1 0 0 0</orientation><position>9 9 9 9 9 9</position>"
    frames = [f'<frame time="0" index="" type="tpose">{pose}</frame>']
    frames += [
        f'<frame time="{round(1000 * i / 60)}" index="{i}" type="normal">'
        f"<orientation>{numbers(q)}</orientation><position>{numbers(xyz)}</position></frame>"
        for i, (xyz, q) in enumerate(zip(position, wxyz, strict=True))
    ]
    return (
        f'<?xml version="1.0"?>{entity}<mvnx xmlns="http://www.xsens.com/mvn/mvnx">'
        '<subject label="Anna" frameRate="60" segmentCount="2"><segments>'
        '<segment label="Pelvis" id="1"><points><point label="jL5S1"><pos_b>0 0 0.1</pos_b></point>'
        '</points></segment><segment label="Head" id="2"><points><point label="pTopOfHead">'
        "<pos_b>0.01 0.02 0.18</pos_b></point></points></segment></segments>"
        f"<frames>{''.join(frames)}</frames></subject></mvnx>"
    )


def test_mvnx_gives_segments_and_turned_tips_without_calibration_poses(tmp_path: Path) -> None:
    rng = np.random.default_rng(6)
    position = rng.uniform(0, 2, size=(4, 2, 3))
    turns = Rotation.random(8, rng=7)
    wxyz = turns.as_quat()[:, [3, 0, 1, 2]].reshape(4, 2, 4)
    path = tmp_path / "walk.mvnx"
    path.write_text(mvnx(position, wxyz))
    take = read_take(path)
    assert take.labels == ("Pelvis", "Head", "pTopOfHead")
    assert take.position_m[:, :2] == pytest.approx(position, abs=1e-9)
    tip = position[:, 1] + Rotation.concatenate([turns[2 * i + 1] for i in range(4)]).apply(
        [0.01, 0.02, 0.18]
    )
    assert take.position_m[:, 2] == pytest.approx(tip, abs=1e-8)
    assert take.time_s == pytest.approx(np.arange(4) / 60, abs=1e-12)
    assert (take.origin.unit, take.origin.metadata["subject"]) == ("m", "Anna")


def test_mvnx_with_entities_is_refused_and_a_cut_one_read_as_far_as_it_goes(
    tmp_path: Path,
) -> None:
    position, wxyz = np.ones((4, 2, 3)), np.tile([1.0, 0, 0, 0], (4, 2, 1))
    path = tmp_path / "walk.mvnx"
    bomb = '<!DOCTYPE mvnx [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]>'
    path.write_text(mvnx(position, wxyz, entity=bomb))
    with pytest.raises(InputError, match=r"declares XML entities"):
        read_take(path)
    text = mvnx(position, wxyz)
    path.write_text(text[: text.index('index="3"')])
    take = read_take(path)
    assert take.n_frames == 3
    assert "cut or damaged" in take.repairs[0].what
    for name, said in {"VTF-8": "unknown encoding: VTF-8", "utf-7": "multi-byte encodings"}.items():
        path.write_text(f'<?xml version="1.0" encoding="{name}"?>{text[text.index("<mvnx") :]}')
        with pytest.raises(InputError, match=said):
            read_take(path)


def test_opensim_storage_with_triples_and_by_axis(tmp_path: Path, walk_m: np.ndarray) -> None:
    triples = ["DataRate=100", "DataType=Vec3", "version=3", "OpenSimVersion=4.4", "endheader"]
    triples.append("time\tHead\tHip\tLFoot\tRFoot")
    by_axis = ["markers", "version=1", "nRows=20", "nColumns=13", "inDegrees=no", "endheader"]
    names = [f"{label}_t{axis}" for label in ("Head", "Hip", "LFoot", "RFoot") for axis in "xyz"]
    by_axis.append("\t".join(["time", *names]))
    for i, row in enumerate(walk_m):
        triples.append(
            f"{i / 100}\t" + "\t".join(",".join(f"{v:.9f}" for v in point) for point in row)
        )
        by_axis.append(f"{i / 100}\t" + "\t".join(f"{v:.9f}" for v in row.ravel()))
    for lines in (triples, by_axis):
        path = tmp_path / "walk.sto"
        path.write_text("\n".join(lines) + "\n")
        take = read_take(path)
        assert take.labels == ("Head", "Hip", "LFoot", "RFoot")
        assert np.abs(take.position_m - walk_m).max() < 1e-8
        assert take.rate_hz == pytest.approx(100)


def test_opensim_joint_angles_are_refused_with_what_to_export(tmp_path: Path) -> None:
    path = tmp_path / "walk.mot"
    path.write_text(
        "Coordinates\nversion=1\nnRows=1\nnColumns=5\ninDegrees=yes\nendheader\n"
        "time\tpelvis_tx\tpelvis_ty\tpelvis_tz\tknee_angle_r\n0\t0\t1\t0\t30\n"
    )
    with pytest.raises(InputError, match=r"joint angles or forces.*BodyKinematics"):
        read_take(path)


def test_azure_kinect_json_gives_one_take_per_body(tmp_path: Path, walk_m: np.ndarray) -> None:
    frames = [
        {
            "timestamp_usec": 1_000_000 + 33_333 * i,
            "bodies": [
                {"body_id": k, "joint_positions": (1000 * (row + k) * [1, -1, 1]).tolist()}
                for k in (1, 2)
            ],
        }
        for i, row in enumerate(walk_m)
    ]
    path = tmp_path / "walk.json"
    path.write_text(
        json.dumps({"joint_names": ["Head", "Hip", "LFoot", "RFoot"], "frames": frames})
    )
    first, second = read_takes(path)
    assert first.origin.metadata["body"] == "body1"
    assert first.position_m == pytest.approx((walk_m + 1) * [1, -1, 1], abs=1e-9)
    assert second.position_m == pytest.approx((walk_m + 2) * [1, -1, 1], abs=1e-9)
    assert first.time_s == pytest.approx(np.arange(20) * 0.033333, abs=1e-9)
    assert first.origin.up == "-y"


def test_opencap_json_and_other_json(tmp_path: Path, walk_m: np.ndarray) -> None:
    bodies = {
        name: {"translation": walk_m[:, i].tolist()}
        for i, name in enumerate(("head", "pelvis", "talus_l", "talus_r"))
    }
    path = tmp_path / "walk.json"
    path.write_text(json.dumps({"time": (np.arange(20) / 100).tolist(), "bodies": bodies}))
    take = read_take(path)
    assert take.labels == ("head", "pelvis", "talus_l", "talus_r")
    assert np.abs(take.position_m - walk_m).max() < 1e-12
    for text, message in (
        ('{"a": 1}', "JSON of no known layout"),
        ('{"positions": {"1.0": {"Nose": [0.5, 0.5, -0.1]}}}', "landmarks of an image"),
        (path.read_text()[:-40], "no whole JSON file"),
    ):
        path.write_text(text)
        with pytest.raises(InputError, match=message):
            read_take(path)
