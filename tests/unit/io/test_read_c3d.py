from __future__ import annotations

import gzip
import struct
from pathlib import Path

import numpy as np
import pytest

from fitpipe.errors import InputError
from fitpipe.io import read_take

from .take_files import LABELS, c3d_bytes, write_c3d


def test_millimetres_and_metres_give_the_same_take(tmp_path: Path, walk_m: np.ndarray) -> None:
    mm = read_take(write_c3d(tmp_path / "mm.c3d", walk_m * 1000, unit="mm"))
    m = read_take(write_c3d(tmp_path / "m.c3d", walk_m, unit="m"))
    assert (mm.origin.unit, m.origin.unit) == ("mm", "m")
    # C3D keeps 32-bit floats: 1e-7 of 4 m
    assert np.abs(mm.position_m - m.position_m).max() < 1e-6
    assert np.abs(mm.position_m - walk_m).max() < 1e-6
    assert mm.labels == LABELS
    assert mm.source == "mm"
    assert mm.repairs == ()


def test_units_given_override_the_file_and_say_so(tmp_path: Path, walk_m: np.ndarray) -> None:
    path = write_c3d(tmp_path / "walk.c3d", walk_m * 100, unit="mm")
    take = read_take(path, units="cm")
    assert np.abs(take.position_m - walk_m).max() < 1e-6
    assert "claims mm, units=cm was given" in str(take.repairs[0])


def test_no_unit_is_an_error_that_names_the_option(tmp_path: Path, walk_m: np.ndarray) -> None:
    path = write_c3d(tmp_path / "walk.c3d", walk_m, unit=None)
    with pytest.raises(InputError, match=r"no length unit.*units= \(--units\)"):
        read_take(path)


def test_negative_residuals_are_gaps_whatever_the_coordinates(
    tmp_path: Path, walk_m: np.ndarray
) -> None:
    missing = np.zeros((20, 4), dtype=bool)
    missing[5:9, 1] = missing[0, 3] = True
    position = walk_m * 1000
    position[5:9, 1] = 9999
    take = read_take(write_c3d(tmp_path / "walk.c3d", position, missing=missing))
    assert np.array_equal(take.is_observed, ~missing)


def test_exact_zeros_are_gaps_and_a_point_near_the_origin_is_not(
    tmp_path: Path, walk_m: np.ndarray
) -> None:
    walk_m[5:8, 2] = 0
    walk_m[12, 0] = [0.0004, 0, 0]
    take = read_take(write_c3d(tmp_path / "walk.c3d", walk_m * 1000))
    assert np.array_equal(np.argwhere(~take.is_observed), [[5, 2], [6, 2], [7, 2]])
    (finding,) = take.repairs
    assert finding.what == "3 samples are exactly (0, 0, 0): LFoot"
    assert finding.severity == "warning"
    kept = read_take(tmp_path / "walk.c3d", keep_zeros=True)
    assert np.abs(kept.position_m - walk_m).max() < 1e-6
    assert kept.repairs == ()


def test_a_point_that_passes_the_origin_keeps_its_zero(tmp_path: Path, walk_m: np.ndarray) -> None:
    walk_m[:, 2] = np.linspace(-0.010, 0.009, 20)[:, None] * [1, 0, 0]
    assert np.abs(walk_m[10, 2]).max() < 1e-12
    walk_m[10, 2] = 0
    take = read_take(write_c3d(tmp_path / "walk.c3d", walk_m, unit="m"))
    assert take.is_observed.all()
    assert take.repairs == ()


def test_model_outputs_and_unlabelled_points_are_left_out_and_counted(
    tmp_path: Path, walk_m: np.ndarray
) -> None:
    position = np.concatenate([walk_m, walk_m + 30, walk_m + 40], axis=1) * 1000
    labels = ["Head", "*1", "LKneeAngles", "LKneePower", "LFoot", "LFEP", "*22", "RKneeAngles",
              "Hip", "Unlabeled 1034", "RFoot", "CentreOfMass"]  # fmt: skip
    groups = {
        "TYPE_GROUPS": ["ANGLES", "ANGLE", "POWERS", "POWER", "MODELED_MARKERS", "MODELED_MARKER"],
        "ANGLES": ["LKneeAngles", "RKneeAngles"],
        "POWERS": ["LKneePower"],
        "MODELED_MARKERS": ["CentreOfMass"],
    }
    take = read_take(write_c3d(tmp_path / "walk.c3d", position, labels, groups=groups))
    assert take.labels == ("Head", "LFoot", "LFEP", "Hip", "RFoot", "CentreOfMass")
    assert np.abs(take.position_m[:, 3] - position[:, 8] / 1000).max() < 1e-5
    told = [str(finding) for finding in take.repairs]
    assert told[0].startswith("3 trajectories are model outputs (2 angles, 1 powers)")
    assert told[1].startswith("3 unlabelled points (*1, *22, Unlabeled 1034)")


def test_repeated_labels_get_numbers(tmp_path: Path, walk_m: np.ndarray) -> None:
    position = np.concatenate([walk_m, walk_m + 0.3], axis=1) * 1000
    labels = ["RTHI", "RTHI", "Hip", "RTHI_2", "RTHI", "A", "B", "C"]
    take = read_take(write_c3d(tmp_path / "walk.c3d", position, labels))
    assert take.labels == ("RTHI_1", "RTHI_3", "Hip", "RTHI_2", "RTHI_4", "A", "B", "C")
    assert "RTHI" in take.repairs[0].what
    assert "RTHI_1, RTHI_3, RTHI_4" in take.repairs[0].done
    assert take.origin.metadata["repeated_labels"] == "RTHI"


def test_a_column_that_repeats_name_and_numbers_of_another_is_left_out(
    tmp_path: Path, walk_m: np.ndarray
) -> None:
    position = np.concatenate([walk_m, walk_m[:, 1:2]], axis=1) * 1000
    labels = ["Head", "Hip", "LFoot", "RFoot", "Hip"]
    take = read_take(write_c3d(tmp_path / "walk.c3d", position, labels))
    assert take.labels == ("Head", "Hip", "LFoot", "RFoot")
    assert take.repairs[0].what == "1 columns repeat another one: Hip"


def test_time_starts_at_the_first_frame_of_the_file(tmp_path: Path, walk_m: np.ndarray) -> None:
    path = write_c3d(tmp_path / "walk.c3d", walk_m * 1000, first_frame=100)
    take = read_take(path)
    assert take.time_s[0] == 1.0
    assert take.time_s[-1] == 1.19
    assert read_take(path, rate_hz=50).time_s[0] == 2.0


def test_a_fractional_rate_does_not_drift(tmp_path: Path) -> None:
    rate = float(np.float32(150.001))
    position = np.full((3000, 2, 3), 500.0) + np.arange(3000)[:, None, None]
    take = read_take(write_c3d(tmp_path / "long.c3d", position, ["A", "B"], rate=rate))
    assert take.duration_s == pytest.approx(2999 / rate, abs=1e-9)


def test_a_rate_of_zero_or_nan_asks_for_it_and_reads_once_given(
    tmp_path: Path, walk_m: np.ndarray
) -> None:
    path = write_c3d(tmp_path / "walk.c3d", walk_m * 1000, rate=123.0)
    good = path.read_bytes()
    for bad in (0.0, float("nan")):
        path.write_bytes(good.replace(struct.pack("<f", 123.0), struct.pack("<f", bad)))
        with pytest.raises(InputError, match=r"rate.*rate_hz="):
            read_take(path)
        take = read_take(path, rate_hz=100)
        assert take.time_s[-1] == pytest.approx(0.19, abs=1e-12)
        assert np.abs(take.position_m - walk_m).max() < 1e-6


@pytest.mark.parametrize("rate_hz", [0.0, -30.0, float("inf"), float("nan")])
def test_an_impossible_rate_option_is_refused(
    tmp_path: Path, walk_m: np.ndarray, rate_hz: float
) -> None:
    with pytest.raises(InputError, match=r"expected frames per second above 0"):
        read_take(write_c3d(tmp_path / "walk.c3d", walk_m * 1000), rate_hz=rate_hz)


@pytest.mark.parametrize("share", [0.0005, 0.005, 0.01])
def test_a_file_cut_before_its_frames_is_one_clear_error(
    tmp_path: Path, walk_m: np.ndarray, share: float
) -> None:
    path = write_c3d(tmp_path / "walk.c3d", np.tile(walk_m, (100, 1, 1)) * 1000)
    content = path.read_bytes()
    path.write_bytes(content[: int(len(content) * share)])
    with pytest.raises(InputError, match=r"truncated C3D|damaged C3D|empty file") as caught:
        read_take(path)
    assert caught.value.path == path


def test_a_cut_file_gives_its_whole_frames_and_both_counts(
    tmp_path: Path, walk_m: np.ndarray
) -> None:
    path = write_c3d(tmp_path / "walk.c3d", walk_m * 1000)
    content = path.read_bytes()
    at = content.find(struct.pack("<f", float(np.float32(walk_m[13, 0, 0] * 1000))))
    path.write_bytes(content[: at + 4])
    take = read_take(path)
    assert np.abs(take.position_m - walk_m[:13]).max() < 1e-6
    assert "announces 20 frames, the file holds 13 whole" in take.repairs[0].what
    assert take.repairs[0].severity == "warning"


def test_a_header_that_announces_gigabytes_takes_no_memory(
    tmp_path: Path, walk_m: np.ndarray
) -> None:
    path = write_c3d(tmp_path / "walk.c3d", walk_m * 1000)
    content = bytearray(path.read_bytes())
    content[6:10] = struct.pack("<HH", 1, 65000)
    path.write_bytes(bytes(content))
    with pytest.raises(InputError, match=r"announces 65000 frames, the file holds 2"):
        read_take(path)


def test_analogue_channels_without_their_parameters_leave_the_points(
    tmp_path: Path, walk_m: np.ndarray
) -> None:
    path = write_c3d(tmp_path / "walk.c3d", walk_m * 1000, n_analog=2)
    content = bytearray(path.read_bytes())
    group = 256 - content[content.find(b"ANALOG") - 1]
    for name in (b"OFFSET", b"SCALE"):
        at = content.find(bytes([len(name), group]) + name) + 2
        content[at - 1] = 100  # moves the parameter to a group that is not there
    path.write_bytes(bytes(content))
    assert np.abs(read_take(path).position_m - walk_m).max() < 1e-6


@pytest.mark.parametrize("processor", ["Intel", "DEC", "SGI/MIPS"])
@pytest.mark.parametrize("kind", ["int", "float"])
def test_every_processor_and_number_type_gives_the_same_points(
    tmp_path: Path, walk_m: np.ndarray, processor: str, kind: str
) -> None:
    missing = np.zeros((20, 4), dtype=bool)
    missing[3:6, 2] = True
    path = tmp_path / "walk.c3d"
    path.write_bytes(c3d_bytes(walk_m * 1000, LABELS, processor, kind, missing=missing))
    take = read_take(path)
    assert np.array_equal(take.is_observed, ~missing)
    # integers count 0.1 mm
    allowed = 5.1e-5 if kind == "int" else 1e-6
    assert (
        np.nanmax(np.abs(take.position_m - np.where(missing[..., None], np.nan, walk_m))) < allowed
    )
    assert (take.rate_hz, take.origin.metadata["processor"]) == (pytest.approx(100), processor)


def test_a_gzipped_file_is_read_too(tmp_path: Path, walk_m: np.ndarray) -> None:
    path = write_c3d(tmp_path / "walk.c3d", walk_m * 1000)
    packed = tmp_path / "walk.c3d.gz"
    packed.write_bytes(gzip.compress(path.read_bytes()))
    assert np.array_equal(read_take(packed).position_m, read_take(path).position_m)


def test_another_file_under_the_ending_is_told(tmp_path: Path) -> None:
    path = tmp_path / "walk.c3d"
    path.write_text("this is no C3D file at all\n" * 100)
    with pytest.raises(InputError, match=r"is not a C3D file: its second byte is 0x68"):
        read_take(path)


def test_up_turns_the_take_and_a_wrong_one_is_told(tmp_path: Path, walk_m: np.ndarray) -> None:
    z_up = walk_m @ np.array([[1, 0, 0], [0, 0, 1], [0, -1, 0]], dtype=float)
    path = write_c3d(tmp_path / "walk.c3d", z_up * 1000)
    assert read_take(path).origin.up == "+z"
    turned = read_take(path, up="z")
    assert np.abs(turned.position_m - walk_m).max() < 1e-6
    assert turned.origin.up == "+y"
    assert turned.repairs == ()
    wrong = read_take(path, up="+y")
    assert "up=+y was given, head and feet say +z" in wrong.repairs[0].what
    with pytest.raises(InputError, match=r"up axis 'w' is not known"):
        read_take(path, up="w")
