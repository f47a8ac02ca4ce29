"""Marker sets on real takes: human bones, left on the person's left, near the vendor's joints."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from fitpipe.io import read_takes
from fitpipe.mapping import map_take, propose_markersets
from fitpipe.records import Skeleton, Take

DATA = Path(__file__).parents[2].parent / "shared" / "data"
SKELETON = Skeleton.preset("kinect20")
PIG_WALK = "btkdata/PiG_Motion-FlatFoot-Full.c3d"
PIG_39 = "pycgm/Movement_trial.c3d"
TAKES = [
    (PIG_WALK, "pig39"),
    (PIG_39, "pig39"),
    ("pycgm/Sample_Static.c3d", "pig39"),
    ("biomechzoo/HC002D06.c3d", "pig39"),  # SACR in place of LPSI and RPSI
    ("nimblephysics/cmu_02_05.c3d", "cmu41"),
    ("nimblephysics/cmu_dribble_shoot_basketball.c3d", "cmu41"),
    ("btkdata/MOTEK_ballet_reduced.trc", "cmu41"),
    ("kinectmultitrack/Study_4_Kinect_0_Time_1_17_51_PM.csv.gz", "kinect25"),
    ("keraal/G3-Kinect-CTK-P1T1-Unknown-C-0.txt", "kinect25"),
    ("labanotation/Ges01_wavehand.csv", "kinect25"),
    ("pose2sim_blender/Pose2Sim_markers.trc", "halpe26"),
]
# metres, wide enough for a child (1.3 m) and a tall adult, with joints on the skin
BONES_M = {
    ("Hip", "Knee"): (0.30, 0.55),
    ("Knee", "Ankle"): (0.28, 0.50),
    ("Ankle", "Foot"): (0.05, 0.25),
    ("Shoulder", "Elbow"): (0.20, 0.42),
    ("Elbow", "Wrist"): (0.17, 0.32),
}
PAIRS = ("Hip", "Knee", "Ankle", "Foot", "Shoulder", "Elbow")


def read(name: str) -> Take:
    path = DATA / name
    if not path.exists():
        pytest.skip(f"recording {name} is not there")
    return read_takes(path)[0]


def at(take: Take, joint: str) -> np.ndarray:
    return take.position_m[:, take.index(joint)]


@pytest.mark.parametrize(("name", "markerset"), TAKES)
def test_every_joint_of_the_marker_set_is_there_and_bones_are_human(
    name: str, markerset: str
) -> None:
    take = read(name)
    mapped = map_take(take, markerset, SKELETON)
    expected = propose_markersets(take.labels)[0]
    assert expected.markerset == markerset
    assert mapped.is_observed.any(axis=0).sum() == expected.n_mapped
    for (upper, lower), (low, high) in BONES_M.items():
        for side in ("Left", "Right"):
            bone = at(mapped, lower + side) - at(mapped, upper + side)
            length = float(np.nanmedian(np.linalg.norm(bone, axis=1)))
            assert low < length < high, f"{upper}{side}-{lower}{side} is {length:.3f} m"


@pytest.mark.parametrize(("name", "markerset"), TAKES)
def test_left_joints_lie_on_the_persons_left(name: str, markerset: str) -> None:
    """Up runs from the ankles to the head and forward from ankle to toe; left is up × forward."""
    mapped = map_take(read(name), markerset, SKELETON)
    ankles = (at(mapped, "AnkleLeft") + at(mapped, "AnkleRight")) / 2
    toes = (at(mapped, "FootLeft") + at(mapped, "FootRight")) / 2
    left = np.cross(at(mapped, "Head") - ankles, toes - ankles)
    for pair in PAIRS:
        across = at(mapped, f"{pair}Left") - at(mapped, f"{pair}Right")
        assert np.nanmedian(np.sum(across * left, axis=1)) > 0, pair


# Medians over the take in millimetres, the worse of the two sides: as placed, and (second) the
# surface points that stand in where no centre can be made. Vicon's hips are a regression of their
# own (Davis et al. 1991), its knees and ankles chords with widths that were measured.
CENTRES_MM = {
    "btkdata/PiG_Motion-FlatFoot-Full.c3d": {
        "Hip": (19, 84), "Knee": (5, 61), "Ankle": (8, 36), "Shoulder": (17, 58)
    },
    "pycgm/Movement_trial.c3d": {
        "Hip": (24, 96), "Knee": (25, 80), "Ankle": (11, 52), "Shoulder": (9, 58)
    },
    "biomechzoo/HC002D06.c3d": {
        "Hip": (27, 77), "Knee": (13, 48), "Ankle": (14, 37), "Shoulder": (12, 51)
    },
    "btkdata/sample09_PlugInC3D.c3d": {"Hip": (39, 118), "Knee": (13, 64), "Ankle": (17, 49)},
}  # fmt: skip
VICON = {"Hip": "FEP", "Knee": "FEO", "Ankle": "TIO", "Shoulder": "CLO"}
SURFACE = {"Knee": "KNE", "Ankle": "ANK", "Shoulder": "SHO"}


@pytest.mark.parametrize("name", CENTRES_MM)
def test_plug_in_gait_joints_lie_near_the_vendors_centres(name: str) -> None:
    take = read(name)
    mapped = map_take(take, "pig16" if "sample09" in name else "pig39", SKELETON)
    for joint, (most_mm, surface_mm) in CENTRES_MM[name].items():
        for side in ("Left", "Right"):
            centre = at(take, side[0] + VICON[joint])
            off = np.linalg.norm(at(mapped, joint + side) - centre, axis=1)
            assert 1000 * np.nanmedian(off) < most_mm, joint + side
            if joint in SURFACE:
                skin = np.linalg.norm(at(take, side[0] + SURFACE[joint]) - centre, axis=1)
                assert 1000 * np.nanmedian(skin) < surface_mm
                assert np.nanmedian(off) < 0.5 * np.nanmedian(skin)


def test_lower_body_plug_in_gait_maps_pelvis_and_legs() -> None:
    mapped = map_take(read("btkdata/sample09_PlugInC3D.c3d"), "pig16", SKELETON)
    seen = {j for j, s in zip(mapped.labels, mapped.is_observed.any(axis=0), strict=True) if s}
    legs = {f"{joint}{side}" for joint in PAIRS[:4] for side in ("Left", "Right")}
    assert seen == {"HipCenter"} | legs


def test_subject_prefix_of_a_real_take_is_removed_and_told() -> None:
    mapped = map_take(read("nimblephysics/cmu_02_05.c3d"), "cmu41", SKELETON)
    assert any("'TakeoMonday:' (41): prefix removed" in str(finding) for finding in mapped.repairs)
