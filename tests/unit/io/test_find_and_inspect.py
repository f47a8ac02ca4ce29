from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from fitpipe.errors import InputError
from fitpipe.io import infer_up, inspect_file, read_take
from fitpipe.io.inspect import longest_runs
from fitpipe.records import Take

from .take_files import LABELS, trc_text, wide_csv


def test_content_decides_where_the_ending_does_not(tmp_path: Path, walk_m: np.ndarray) -> None:
    for name, text in (("a.txt", trc_text(walk_m)), ("b.txt", wide_csv(walk_m)),
                       ("c.dat", trc_text(walk_m)), ("d", wide_csv(walk_m))):  # fmt: skip
        path = tmp_path / name
        path.write_text(text)
        assert np.abs(read_take(path).position_m - walk_m).max() < 5.1e-7


def test_files_that_are_not_there_or_not_known(tmp_path: Path, walk_m: np.ndarray) -> None:
    (tmp_path / "walk.trc").write_text(trc_text(walk_m))
    with pytest.raises(InputError, match=r"wlak.trc: no such file; did you mean 'walk.trc'"):
        read_take(tmp_path / "wlak.trc")
    with pytest.raises(InputError, match="no such file; there is no folder"):
        read_take(tmp_path / "nowhere" / "walk.trc")
    with pytest.raises(InputError, match="is a folder, expected a file"):
        read_take(tmp_path)
    (tmp_path / "empty.csv").touch()
    with pytest.raises(InputError, match=r"empty file \(0 bytes\)"):
        read_take(tmp_path / "empty.csv")
    (tmp_path / "walk.fbx").write_text("Kaydara FBX Binary")
    with pytest.raises(InputError, match=r"ending '.fbx' is not known.*\.c3d, .*\.trc"):
        read_take(tmp_path / "walk.fbx")
    (tmp_path / "noise.bin").write_bytes(bytes(range(256)) * 8)
    with pytest.raises(InputError, match=r"ending '\.bin' is not known"):
        read_take(tmp_path / "noise.bin")


def test_a_report_holds_gaps_size_and_clock(tmp_path: Path, walk_m: np.ndarray) -> None:
    walk_m[2:5, 1] = walk_m[9, 1] = walk_m[19, 3] = np.nan
    path = tmp_path / "walk.trc"
    path.write_text(trc_text(walk_m * 1000, keys={"Units": "mm", "NumFrames": 30}))
    (report,) = inspect_file(path)
    assert (report.format, report.source, report.body) == ("trc", "walk", "")
    assert report.labels == LABELS
    assert [point.gap_share for point in report.points] == pytest.approx([0, 0.2, 0, 0.05])
    assert [point.longest_gap for point in report.points] == [0, 3, 0, 1]
    assert report.gap_share == pytest.approx(5 / 80)
    assert (report.n_frames, report.duration_s) == (20, pytest.approx(0.19))
    assert (report.rate_hz, report.rate_claimed_hz) == (pytest.approx(100), 100)
    assert report.size_m == pytest.approx(np.nanmax(walk_m, (0, 1)) - np.nanmin(walk_m, (0, 1)))
    assert (report.unit, report.up_claimed, report.up_inferred) == ("mm", "", "+y")
    assert ["30 frames" in str(finding) for finding in report.findings] == [True]


def test_longest_runs_at_the_ends_and_between() -> None:
    missing = np.array([[1, 0, 0, 1], [1, 1, 0, 1], [0, 1, 0, 1], [1, 0, 0, 1]], dtype=bool)
    assert longest_runs(missing) == [2, 2, 0, 4]


@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize("sign", [1, -1])
def test_up_goes_from_feet_to_head(walk_m: np.ndarray, axis: int, sign: int) -> None:
    position = np.roll(walk_m, axis - 1, axis=2) * sign
    take = Take("s", ("Sub:Head", "Sub:Hip", "Sub:LFoot", "Sub:RFoot"), position, np.arange(20))
    assert infer_up(take) == f"{'+' if sign > 0 else '-'}{'xyz'[axis]}"


def test_up_comes_from_the_pelvis_or_the_extent_where_there_is_no_head(walk_m: np.ndarray) -> None:
    legs = Take("s", ("Hip", "LFoot", "RFoot"), walk_m[:, 1:], np.arange(20))
    assert infer_up(legs) == "+y"
    unnamed = Take("s", ("a", "b", "c", "d"), walk_m, np.arange(20))
    assert infer_up(unnamed) == "+y"
    cube = np.stack(np.meshgrid([0, 1], [0, 1], [0, 1]), axis=-1).reshape(1, 8, 3)
    assert infer_up(Take("s", tuple("abcdefgh"), cube, [0.0])) == ""


def test_importing_the_readers_is_light() -> None:
    code = (
        "import sys, fitpipe.io; "
        "print([m for m in ('pandas', 'h5py', 'ezc3d', 'numba') if m in sys.modules])"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert shown.stdout.strip() == "[]"
