from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest

from fitpipe.errors import InputError
from fitpipe.io import read_take

from .take_files import LABELS, trc_text


def write(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def told(path: Path, **options: float) -> list[str]:
    return [str(finding) for finding in read_take(path, **options).repairs]


def test_a_plain_file_is_read_to_the_last_digit(tmp_path: Path, walk_m: np.ndarray) -> None:
    take = read_take(write(tmp_path / "walk.trc", trc_text(walk_m)))
    assert take.labels == LABELS
    assert np.abs(take.position_m - walk_m).max() < 5.1e-7
    assert take.time_s == pytest.approx(np.arange(20) / 100)
    assert take.origin.rate_claimed_hz == 100
    assert take.origin.up == "+y"
    assert take.repairs == ()


@pytest.mark.parametrize(
    "dialect",
    [
        {"name_tabs": 1},
        {"name_tabs": 2},
        {"row_end": "\t"},
        {"row_end": "\t\t\t"},
        {"keys": {"NumFrames": "        20"}},
        {"drop": ("OrigNumFrames",)},
        {"cell": lambda value: f"{value:.8E}"},
    ],
    ids=["one tab", "two tabs", "trailing tab", "trailing tabs", "padded", "no key", "exponent"],
)
def test_dialects_give_the_same_take_in_silence(
    tmp_path: Path, walk_m: np.ndarray, dialect: dict[str, object]
) -> None:
    take = read_take(write(tmp_path / "walk.trc", trc_text(walk_m, **dialect)))  # type: ignore[arg-type]
    assert take.labels == LABELS
    assert np.abs(take.position_m - walk_m).max() < 5.1e-7
    assert take.repairs == ()


def test_header_values_may_be_padded_with_empty_fields(tmp_path: Path, walk_m: np.ndarray) -> None:
    lines = trc_text(walk_m * 1000, keys={"Units": "mm"}).split("\n")
    lines[2] = lines[2].replace("\t", "\t\t  ")
    take = read_take(write(tmp_path / "walk.trc", "\n".join(lines)))
    assert take.origin.unit == "mm"
    assert np.abs(take.position_m - walk_m).max() < 1e-6


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_a_byte_order_mark_and_windows_line_ends_change_nothing(
    tmp_path: Path, walk_m: np.ndarray, encoding: str
) -> None:
    path = tmp_path / "walk.trc"
    path.write_bytes(trc_text(walk_m).replace("\n", "\r\n").encode(encoding))
    take = read_take(path)
    assert take.labels == LABELS
    assert np.abs(take.position_m - walk_m).max() < 5.1e-7


def test_a_gzipped_file_is_read_by_the_ending_under_gz(tmp_path: Path, walk_m: np.ndarray) -> None:
    path = tmp_path / "walk.trc.gz"
    path.write_bytes(gzip.compress(trc_text(walk_m).encode()))
    take = read_take(path)
    assert (take.source, take.n_frames) == ("walk", 20)
    path.write_bytes(path.read_bytes()[:200])
    with pytest.raises(InputError, match="gzip stream is truncated"):
        read_take(path)


@pytest.mark.parametrize("word", ["", "nan", "NaN", "NAN", "NA", "-nan(ind)", "1.#QNAN", "-1.#IND"])
def test_words_for_missing_are_gaps(tmp_path: Path, walk_m: np.ndarray, word: str) -> None:
    walk_m[3:6, 1] = walk_m[8, 3] = np.nan
    text = trc_text(walk_m, cell=lambda value: word if np.isnan(value) else f"{value:.6f}")
    take = read_take(write(tmp_path / "walk.trc", text))
    assert np.array_equal(np.argwhere(~take.is_observed), [[3, 1], [4, 1], [5, 1], [8, 3]])
    assert np.nanmax(np.abs(take.position_m - walk_m)) < 5.1e-7
    assert take.repairs == ()


def test_a_cell_of_rubbish_is_a_gap_and_is_shown(tmp_path: Path, walk_m: np.ndarray) -> None:
    lines = trc_text(walk_m).split("\n")
    fields = lines[10].split("\t")
    fields[5] = "1.7O2"
    lines[10] = "\t".join(fields)
    path = write(tmp_path / "walk.trc", "\n".join(lines))
    assert np.array_equal(np.argwhere(~read_take(path).is_observed), [[4, 1]])
    assert told(path)[0].startswith("1 cells are not numbers: '1.7O2' (row 11, column 6)")


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"NumFrames": 100}, "the header says 100 frames, the file has 20"),
        ({"NumFrames": 12}, "the header says 12 frames, the file has 20"),
        ({"NumMarkers": 5}, "the header says 5 markers, the file has 4"),
    ],
)
def test_counts_that_lie_are_told_and_the_rows_used(
    tmp_path: Path, walk_m: np.ndarray, keys: dict[str, object], message: str
) -> None:
    path = write(tmp_path / "walk.trc", trc_text(walk_m, keys=keys))
    take = read_take(path)
    assert (take.n_frames, take.labels) == (20, LABELS)
    assert np.abs(take.position_m - walk_m).max() < 5.1e-7
    assert told(path) == [f"{message}: used those"]


def test_one_column_more_is_told_with_both_counts(tmp_path: Path, walk_m: np.ndarray) -> None:
    path = write(tmp_path / "walk.trc", trc_text(walk_m, row_end="\t7.5"))
    assert np.abs(read_take(path).position_m - walk_m).max() < 5.1e-7
    assert told(path)[0].startswith("rows have 15 columns, 14 expected for 4 markers")


def test_names_and_columns_that_cannot_be_paired_are_an_error(
    tmp_path: Path, walk_m: np.ndarray
) -> None:
    text = trc_text(walk_m).replace("\tHip\t\t\t", "\t").replace("NumMarkers\t4", "NumMarkers\t3")
    with pytest.raises(InputError, match="11 columns expected for 3 marker names, 14 columns came"):
        read_take(write(tmp_path / "walk.trc", text))


def test_columns_after_the_last_axis_name_are_unlabelled_points(
    tmp_path: Path, walk_m: np.ndarray
) -> None:
    path = write(tmp_path / "walk.trc", trc_text(walk_m, row_end="\t1\t2\t3\t4\t5\t6"))
    assert read_take(path).labels == LABELS
    assert "the last 6, without a name, left out" in told(path)[0]


def test_a_cut_last_row_is_dropped_and_told(tmp_path: Path, walk_m: np.ndarray) -> None:
    text = trc_text(walk_m)
    path = write(tmp_path / "walk.trc", text[: text.rindex("20\t0.19") + 40])
    assert read_take(path).n_frames == 19
    assert told(path)[0] == "the last row is cut: dropped"
    assert "20 frames, the file has 19" in told(path)[1]


def test_no_unit_asks_for_one(tmp_path: Path, walk_m: np.ndarray) -> None:
    path = write(tmp_path / "walk.trc", trc_text(walk_m, drop=("Units",)))
    with pytest.raises(InputError, match=r"claims no length unit; say which with units="):
        read_take(path)
    assert np.abs(read_take(path, units="metres").position_m - walk_m).max() < 5.1e-7


def test_stamps_rounded_to_milliseconds_give_way_to_the_rate_they_follow(
    tmp_path: Path, walk_m: np.ndarray
) -> None:
    lines = trc_text(walk_m, rate=120).split("\n")
    for i in range(20):
        fields = lines[6 + i].split("\t")
        fields[1] = f"{i / 120:.3f}"
        lines[6 + i] = "\t".join(fields)
    take = read_take(write(tmp_path / "walk.trc", "\n".join(lines)))
    assert take.time_s == pytest.approx(np.arange(20) / 120, abs=1e-12)
    assert take.rate_hz == pytest.approx(120, rel=1e-12)
    assert "rounded, by up to 0.33 ms" in take.repairs[0].what
    assert take.origin.rate_claimed_hz == 120


def test_a_dead_time_column_is_replaced_by_the_rate(tmp_path: Path, walk_m: np.ndarray) -> None:
    lines = trc_text(walk_m).split("\n")
    for i in range(20):
        fields = lines[6 + i].split("\t")
        fields[1] = "0.000"
        lines[6 + i] = "\t".join(fields)
    path = write(tmp_path / "walk.trc", "\n".join(lines))
    assert read_take(path).time_s == pytest.approx(np.arange(20) / 100)
    assert told(path) == ["the time column never changes: frames counted at 100 Hz"]
    path = write(path, "\n".join(lines).replace("\n100.0\t", "\n0\t"))
    with pytest.raises(
        InputError, match=r"rate of 0 and a time column that never changes.*rate_hz"
    ):
        read_take(path)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("PathFileType\t4\t(X/Y/Z)\tx.trc\nDataRate\tCameraRate\n", "line 2: is not a whole TRC"),
        ("PathFileType\t4\n", "line 1: is not a whole TRC"),
        (trc_text(np.zeros((0, 4, 3))), "no frames"),
        (trc_text(np.full((5, 4, 3), np.nan)), "no valid sample: all 5 frames of all 4 points"),
        (trc_text(np.zeros((5, 4, 3))), "no valid sample.*20 samples are exactly"),
        (trc_text(np.zeros((5, 0, 3)), ()), "no 3D points: the file names no markers"),
        ("", "empty file"),
    ],
)
def test_files_without_a_take_are_one_clear_error(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read_take(write(tmp_path / "walk.trc", text))
