from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from fitpipe.errors import InputError
from fitpipe.io import read_take, read_takes
from fitpipe.io.kinect import JOINTS


@pytest.fixture
def skeleton_m() -> np.ndarray:
    """Positions (6, 25, 3), no coordinate zero, the head above the feet."""
    position = np.random.default_rng(3).uniform(0.1, 0.9, size=(6, 25, 3))
    upper = [i for i, joint in enumerate(JOINTS) if joint.startswith(("Head", "Neck", "Should"))]
    position[:, upper, 1] += 1.2
    return position


def multitrack(path: Path, position_m: np.ndarray) -> Path:
    """Two sensors, alphabetical joints, milliseconds of an absolute clock."""
    order = sorted(JOINTS)
    names = [f"{joint}_{axis}" for joint in order for axis in "XYZ"]
    lines = [
        ", ".join(["Study_Id", "Tracker_Time", "Person_Id", "Skeleton_Id", "Kinect_Id", *names])
    ]
    for i, row in enumerate(position_m):
        for sensor in (0, 1):
            values = (row + sensor)[[JOINTS.index(joint) for joint in order]].ravel()
            cells = ["-9999" if np.isnan(value) else f"{value:.7f}" for value in values]
            lead = [str(7), str(63562189571499 + 33 * i), "0", str(sensor), f"kinect-{sensor}"]
            lines.append(", ".join([*lead, *cells]))
    path.write_text("\n".join(lines) + "\n")
    return path


def test_two_sensors_in_one_table_are_two_takes(tmp_path: Path, skeleton_m: np.ndarray) -> None:
    skeleton_m[2, 4] = np.nan
    first, second = read_takes(multitrack(tmp_path / "both.csv", skeleton_m))
    assert (first.source, second.source) == ("sensor0", "sensor1")
    assert first.labels == JOINTS
    assert np.nanmax(np.abs(first.position_m - skeleton_m)) < 5.1e-8
    assert np.nanmax(np.abs(second.position_m - skeleton_m - 1)) < 5.1e-8
    assert first.time_s == pytest.approx(np.arange(6) * 0.033, abs=1e-12)
    assert np.array_equal(np.argwhere(~first.is_observed), [[2, 4]])
    assert "3 samples" not in str(first.repairs)
    assert "1 samples are the code -9999" in first.repairs[0].what
    assert (first.origin.unit, first.origin.metadata["sensor"]) == ("m", "kinect-0")


def test_tracking_states_become_confidence(tmp_path: Path, skeleton_m: np.ndarray) -> None:
    state = np.random.default_rng(4).integers(0, 3, size=(6, 25))
    lines = []
    for i in range(6):
        cells = np.column_stack([skeleton_m[i], state[i]]).ravel()
        lines.append(f"{89810293609 + 330000 * i}," + ",".join(f"{v:.7g}" for v in cells) + ",")
    path = tmp_path / "walk.csv"
    path.write_text("\n".join(lines))
    take = read_take(path)
    assert take.labels == JOINTS
    assert np.abs(take.position_m - skeleton_m).max() < 1e-6
    assert take.confidence is not None
    assert np.array_equal(take.confidence, np.array([0, 0.2, 1])[state])
    assert take.time_s == pytest.approx(np.arange(6) * 0.033)
    assert take.repairs == ()


@pytest.mark.parametrize(("n_points", "rate", "scale"), [(25, 30.0, 1.0), (17, 60.0, 1000.0)])
def test_poses_without_time_get_the_nominal_rate_and_say_so(
    tmp_path: Path, skeleton_m: np.ndarray, n_points: int, rate: float, scale: float
) -> None:
    position = skeleton_m[:, :n_points]
    lines = [
        " ".join(f"{v:.6f}" for point in row * scale for v in (*point, 0, 0, 0, 1))
        for row in position
    ]
    path = tmp_path / "walk.txt"
    path.write_text("\n".join([*lines[:3], "0.1 0.2", *lines[3:]]))
    take = read_take(path)
    assert (take.n_frames, take.n_points) == (6, n_points)
    assert np.abs(take.position_m - position).max() < 5.1e-7
    assert take.rate_hz == pytest.approx(rate)
    told = [str(finding) for finding in take.repairs]
    assert told[0] == f"1 rows have not {7 * n_points} columns: lines 4: dropped"
    assert "neither time nor rate" in told[1]
    given = read_take(path, rate_hz=15)
    assert given.rate_hz == pytest.approx(15)
    assert not any("rate" in finding.what for finding in given.repairs)


def test_a_table_of_other_numbers_is_not_taken_for_a_skeleton(tmp_path: Path) -> None:
    path = tmp_path / "numbers.txt"
    path.write_text("1 2 3 4\n5 6 7 8\n")
    with pytest.raises(InputError, match="no column holds coordinates"):
        read_take(path)
