"""Every real C3D, TRC and Kinect table is read with the figures its README states."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from fitpipe.errors import InputError
from fitpipe.io import infer_up, inspect_file, read_take, read_takes
from fitpipe.records import Take

from .stated import C3D, KINECT, TRC, Stated

# The README counts the points a model wrote beside the markers as outputs: Plug-in Gait segment
# axes (origin, anterior, lateral, proximal), hip centres and centres of mass. They are positions,
# so the reader keeps them; they are left out here to compare with the README.
_MODEL_POINT = re.compile(
    r"^((HED|PEL|TRX|[LR](CL|FE|FO|HN|HU|RA|TI|TO))[OALP]|[LR]HJC\w*|CentreOfMass(Floor)?)$"
)


@pytest.mark.parametrize("stated", [*C3D, *TRC, *KINECT], ids=lambda stated: stated.file)
def test_a_recording_has_the_frames_rate_labels_and_gaps_its_readme_states(
    shared_data: Path, stated: Stated
) -> None:
    (report,) = inspect_file(shared_data / stated.file)
    take = report.take
    markers = [point for point in report.points if not _is_model_point(report.format, point.label)]

    assert take.n_frames == stated.frames
    assert len(markers) == stated.markers
    assert report.unit == stated.unit
    if stated.frames > 1:
        # the README rounds; stamps rounded to milliseconds move the mean rate by up to 0.2 %
        assert take.rate_hz == pytest.approx(stated.rate_hz, rel=0.011)
    assert report.rate_claimed_hz is None or report.rate_claimed_hz == pytest.approx(
        stated.rate_hz, rel=1e-4
    )
    gaps = 100 * np.mean([point.gap_share for point in markers])
    assert gaps == pytest.approx(stated.gaps_percent, abs=0.0051)
    if stated.longest_gap is not None:
        assert max(point.longest_gap for point in markers) == stated.longest_gap
    if stated.up:
        assert infer_up(take) == stated.up
        assert take.origin.up == stated.up


def _is_model_point(file_format: str, label: str) -> bool:
    # a repeated label carries a number
    return file_format == "c3d" and bool(_MODEL_POINT.match(re.sub(r"_\d$", "", label)))


def test_stamps_give_the_rate_where_the_header_claims_none(shared_data: Path) -> None:
    # The README calls the time step uneven; the stamps are 0.01102664 s apart to 1e-8 s.
    take = read_take(shared_data / "pose2sim_blender/Moco_markers.trc")
    assert (take.n_frames, take.n_points, take.origin.unit) == (200, 47, "m")
    assert take.origin.rate_claimed_hz == 0
    assert take.rate_hz == pytest.approx(1 / 0.01102664, rel=1e-6)


def test_a_file_without_a_unit_is_read_once_the_unit_is_given(shared_data: Path) -> None:
    path = shared_data / "btkdata/sample28_dynamic.C3D"
    with pytest.raises(InputError, match=r"claims no length unit.*--units"):
        read_take(path)
    take = read_take(path, units="mm")
    assert (take.n_frames, take.n_points, take.rate_hz) == (296, 31, pytest.approx(100))
    # The README's gaps are those of a reader that leaves the six analogue values a frame out of
    # the frame's size; with them the frames fill the file to the last byte, and 3572 samples are
    # coded -1, all of them at the origin: 888 in three columns that repeat another one.
    assert (~take.is_observed).sum() == 3572 - 888
    step = np.linalg.norm(np.diff(take.position_m, axis=0), axis=-1)
    assert np.nanmax(step) < 0.11


@pytest.mark.parametrize(
    ("file", "frames", "points", "rate_hz", "told"),
    [
        ("badParameterOffset.c3d", 111, 41, 250, ""),
        ("mocap36.c3d", 1380, 36, 100, ""),
        ("sample06_MACsample.c3d", 180, 29, 60, "4 columns repeat another one"),
        ("sample18_bad_parameter_section.c3d", 332, 45, 120, "no sense from byte 5771 on"),
        ("sample20_phasespace_sample.c3d", 701, 40, 30, "no group POINT"),
    ],
)
def test_damaged_files_that_hold_whole_frames_are_mended_and_told(
    shared_data: Path, file: str, frames: int, points: int, rate_hz: float, told: str
) -> None:
    units = "mm" if "sample20" in file else None
    take = read_take(shared_data / "btkdata" / file, units=units)
    assert (take.n_frames, take.n_points, take.rate_hz) == (frames, points, pytest.approx(rate_hz))
    assert told in "; ".join(str(finding) for finding in take.repairs)
    # a person's size and no jump from frame to frame: misread numbers would have neither
    assert 0.4 < np.nanmedian(np.ptp(take.position_m[take.is_observed], axis=0)) < 4
    step = np.linalg.norm(np.diff(take.position_m, axis=0), axis=-1)
    assert np.nanpercentile(step, 99) < 0.13


@pytest.mark.parametrize(
    ("file", "message"),
    [
        ("btkdata/sample20_phasespace_sample.c3d", "claims no length unit"),
        ("btkdata/Empty.c3d", "empty file"),
        ("btkdata/Analysis.c3d", "no 3D points: all trajectories are model outputs"),
        ("btkdata/1123x01EMG.c3d", "no 3D points"),
        ("btkdata/parameterOverflow.c3d", "no valid sample.*8282 samples are exactly"),
        ("btkdata/10002-20130626160334-Unnamed.trc", "no 3D points.*882 rows"),
        ("btkdata/Empty.trc", "empty file"),
        ("btkdata/Truncated.trc", "line 2: is not a whole TRC"),
        ("nimblephysics/MarkerCrash_P04_1.5mps_05.c3d", "no 3D points"),
        ("kinectmultitrack/Study_2_Kinect_2_Time_12_30_00_PM.csv", "no frames"),
    ],
)
def test_an_unreadable_file_ends_in_one_clear_error(
    shared_data: Path, file: str, message: str
) -> None:
    with pytest.raises(InputError, match=message) as caught:
        read_takes(shared_data / file)
    assert caught.value.path == shared_data / file


# file, rows, ticks, rows seen by both sensors, seconds, longest tick ms, people
MULTITRACK = [
    ("Study_4_Kinect_0_Time_1_17_51_PM.csv.gz", 3518, 1759, 1759, 138, 52721, 1),
    ("Study_4_Kinect_1_Time_1_22_06_PM.csv.gz", 2736, 1368, 1368, 63, 11953, 1),
    ("Study_13_Kinect_2_Time_5_22_05_PM.csv.gz", 3192, 1596, 1596, 72, 11787, 1),
    ("Study_1_Kinect_2_Time_12_07_07_PM.csv", 724, 362, 362, 13, 89, 1),
    ("Study_10_Kinect_2_Time_4_17_12_PM.csv", 300, 150, 150, 5, 74, 1),
    ("Study_0_Kinect_2_Time_11_45_58_AM.csv", 274, 137, 137, 5, 75, 1),
    ("Study_24_Kinect_1_Time_2_49_46_PM.csv.gz", 1891, 533, 862, 37, 8913, 2),
    ("Study_23_Kinect_1_Time_2_37_08_PM.csv", 627, 170, 287, 6, 68, 2),
    ("Study_26_Kinect_1_Time_3_20_47_PM.csv", 913, 252, 409, 9, 94, 2),
]


@pytest.mark.parametrize(
    ("file", "rows", "ticks", "both", "seconds", "longest_ms", "people"), MULTITRACK
)
def test_two_kinects_give_one_take_per_sensor_and_person_on_one_clock(
    shared_data: Path,
    file: str,
    rows: int,
    ticks: int,
    both: int,
    seconds: int,
    longest_ms: int,
    people: int,
) -> None:
    takes = read_takes(shared_data / "kinectmultitrack" / file)
    by_body: dict[str, list[Take]] = {}
    for take in takes:
        by_body.setdefault(take.origin.metadata["body"], []).append(take)

    assert len(by_body) == people
    assert {take.source for take in takes} == {"sensor0", "sensor1"}
    assert sum(take.n_frames for take in takes) == rows
    clock = np.unique(np.concatenate([take.time_s for take in takes]))
    assert len(clock) == ticks
    assert clock[0] == 0
    assert clock[-1] == pytest.approx(seconds, abs=0.51)
    assert 1000 * np.diff(clock).max() == pytest.approx(longest_ms, abs=0.5)
    shared = sum(len(np.intersect1d(*(take.time_s for take in pair))) for pair in by_body.values())
    assert shared == both
    assert all(take.n_points == 25 and take.labels[0] == "SpineBase" for take in takes)


def test_a_file_of_two_sensors_is_refused_as_one_take_unless_one_is_picked(
    shared_data: Path,
) -> None:
    path = shared_data / "kinectmultitrack/Study_0_Kinect_2_Time_11_45_58_AM.csv"
    with pytest.raises(InputError, match=r"holds 2 takes.*'sensor0'.*'sensor1'.*source="):
        read_take(path)
    take = read_take(path, source="sensor1")
    # first row of Skeleton_Id 1, as written in the file
    assert take.position_m[0, take.index("AnkleLeft")] == pytest.approx(
        [0.3914902, -0.9116729, 2.525097], abs=1e-12
    )
    assert read_take(path, source="1").source == "sensor1"


@pytest.mark.parametrize(
    ("file", "inferred_percent", "tracked_percent"),
    [
        ("KinectReader_joints.csv", 31.8, 68.2),
        ("Ges01_wavehand.csv", 0.3, 99.7),
        ("Ges03_drawlines.csv", 0.3, 99.7),
        ("Ges06_chickenwing.csv", 7.6, 92.4),
    ],
)
def test_tracking_states_become_confidence(
    shared_data: Path, file: str, inferred_percent: float, tracked_percent: float
) -> None:
    confidence = read_take(shared_data / "labanotation" / file).confidence
    assert confidence is not None
    assert 100 * np.mean(confidence == 0.2) == pytest.approx(inferred_percent, abs=0.051)
    assert 100 * np.mean(confidence == 1.0) == pytest.approx(tracked_percent, abs=0.051)


def test_one_take_in_c3d_and_trc_is_the_same_in_metres(shared_data: Path) -> None:
    from_c3d = read_take(shared_data / "biobuddy/static.c3d")
    from_trc = read_take(shared_data / "biobuddy/static.trc")
    assert from_c3d.labels == from_trc.labels
    # README: max difference 5e-6 m (the TRC has five decimals)
    assert np.abs(from_c3d.position_m - from_trc.position_m).max() < 5.1e-6


def test_turned_takes_agree_once_their_up_axes_are_given(shared_data: Path) -> None:
    z_up = read_take(shared_data / "biobuddy/static.c3d", up="+z")
    y_up = read_take(shared_data / "biobuddy/static_rotated.c3d", up="+y")
    assert z_up.origin.up == y_up.origin.up == "+y"
    height = np.sort(z_up.position_m[0, :, 1])
    assert height == pytest.approx(np.sort(y_up.position_m[0, :, 1]), abs=1e-5)


def test_byte_orders_and_number_types_of_one_c3d_agree(shared_data: Path) -> None:
    takes = [
        read_take(shared_data / f"btkdata/sample01_Eb015{kind}.c3d")
        for kind in ("pi", "pr", "vi", "vr", "si", "sr")
    ]
    for take in takes[1:]:
        assert np.array_equal(take.is_observed, takes[0].is_observed)
        # README: 1.0e-4 mm
        assert np.nanmax(np.abs(take.position_m - takes[0].position_m)) < 1.1e-7
