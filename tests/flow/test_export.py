"""``fitpipe export`` as a user meets it."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

import fitpipe as fp
from fitpipe.simulate import walk

FORMATS = ("bvh", "mot", "sto", "trc", "csv", "c3d", "parquet", "npz", "glb")


def export(*arguments, cwd):
    return subprocess.run(
        [sys.executable, "-m", "fitpipe.cli", "export", *map(str, arguments)],
        capture_output=True,
        text=True,
        cwd=cwd,
        env=os.environ,
        timeout=300,
        check=False,
    )


@pytest.fixture
def folder(tmp_path):
    """Two saved fits."""
    motion = walk(12, 30.0)
    position = motion.position_m.copy()
    position[3, 3] = float("nan")
    take = fp.Take("truth", motion.skeleton.joints, position, motion.time_s)
    fit = fp.fit(take)
    for name in ("walk", "again"):
        fit.save(tmp_path / f"{name}.h5")
    return tmp_path


def test_every_format_is_written_beside_the_fit_and_tells_what_is_lost(folder):
    for name in FORMATS:
        result = export("walk.h5", "--to", name, cwd=folder)
        assert result.returncode == 0, result.stderr
        assert result.stdout.startswith(f"walk.{name}: written\n  note: not kept in {name}: ")
        assert (folder / f"walk.{name}").stat().st_size > 1000
        assert "Head" in result.stdout  # absent in one frame


def test_the_ending_of_o_tells_the_format_and_several_go_into_a_folder(folder):
    result = export("walk.h5", "-o", "deep/motion.bvh", "--units", "m", "--up", "+y", cwd=folder)
    assert result.returncode == 0, result.stderr
    assert (folder / "deep" / "motion.bvh").is_file()
    result = export("walk.h5", "again.h5", "--to", "trc", "-o", "out", cwd=folder)
    assert result.returncode == 0, result.stderr
    assert sorted(p.name for p in (folder / "out").iterdir()) == ["again.trc", "walk.trc"]
    result = export("walk.h5", "--to", "csv", "-o", "tables/", cwd=folder)
    assert result.returncode == 0, result.stderr
    assert (folder / "tables" / "walk.csv").is_file()


def test_files_that_o_does_not_name_are_kept_unless_told_otherwise(folder):
    (folder / "walk.csv").write_text("mine")
    result = export("walk.h5", "again.h5", "--to", "csv", cwd=folder)
    assert result.returncode == 2
    assert "walk.csv: is there already; --overwrite replaces it" in result.stderr
    assert (folder / "walk.csv").read_text() == "mine"
    assert (folder / "again.csv").is_file()
    assert export("walk.h5", "--to", "csv", "--overwrite", cwd=folder).returncode == 0
    assert fp.read_take(folder / "walk.csv").n_frames == 12
    assert export("walk.h5", "-o", "walk.csv", cwd=folder).returncode == 0


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["walk.h5"], "no format to export to; give --to trc"),
        (["walk.h5", "--to", "xls"], "no format 'xls' to export to"),
        (["walk.h5", "-o", "walk.h5"], "the ending '.h5' tells no format"),
        (["walk.h5", "-o", "walk.h5", "--to", "csv"], "the name ends in '.h5'"),
        (["nowhere.h5", "--to", "csv"], "nowhere.h5: no such file"),
        (["text.h5", "--to", "csv"], "truncated or damaged, or no HDF5 file"),
        (["walk.h5", "deep/walk.h5", "--to", "csv", "-o", "out"], "several fits would be written"),
        (["walk.h5", "--to", "npz", "--units", "mm"], "format npz cannot be in 'mm'"),
    ],
)
def test_a_mistake_ends_in_one_message(folder, arguments, said):
    (folder / "text.h5").write_text("no HDF5")
    before = sorted(p.name for p in folder.rglob("*"))
    result = export(*arguments, cwd=folder)
    assert result.returncode == 2
    assert said in result.stderr
    assert result.stderr.count("error:") == 1
    assert "Traceback" not in result.stderr
    assert sorted(p.name for p in folder.rglob("*")) == before
    assert fp.load_fit(folder / "walk.h5").n_frames == 12
