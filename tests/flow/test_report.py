"""``fitpipe report`` as a user meets it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import fitpipe as fp

ROOT = Path(__file__).parents[2]


def report(*arguments, cwd=None):
    # no display: pages must come from a server without a screen too
    env = {name: value for name, value in os.environ.items() if name != "DISPLAY"}
    return subprocess.run(
        [sys.executable, "-W", "error", "-m", "fitpipe.cli", "report", *map(str, arguments)],
        capture_output=True,
        text=True,
        cwd=cwd,
        env=env,
        timeout=300,
        check=False,
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The output folder of a run of which one take failed."""
    folder = tmp_path_factory.mktemp("report")
    (folder / "takes").mkdir()
    for sensor in "ab":
        text = (ROOT / "data" / f"walk_kinect_{sensor}.csv").read_text(encoding="utf-8")
        short = "".join(text.splitlines(keepends=True)[:40])
        (folder / "takes" / f"walk_{sensor}.csv").write_text(short, encoding="utf-8")
    (folder / "takes" / "cut_a.csv").write_text("time_s,Head_x_m,Head_y_m\n0,1,2\n")
    (folder / "run.toml").write_text(
        "[takes]\npattern = 'takes/{take}_{source}.csv'\n[output]\nfolder = 'out'\n"
        "[report]\nrms_m = [0.001, 0.002]\n"
    )
    run = [sys.executable, "-m", "fitpipe.cli", "run", "run.toml"]
    assert subprocess.run(run, cwd=folder, capture_output=True, check=False).returncode == 1
    return folder


def test_a_fit_gets_a_page_beside_it(folder):
    result = report("out/walk.h5", cwd=folder)
    assert result.returncode == 0, result.stderr
    assert result.stdout.split() == ["wrote", str(Path("out/walk.html"))]
    page = (folder / "out" / "walk.html").read_text(encoding="utf-8")
    assert "<h1>walk</h1>" in page
    assert page == fp.report_page(fp.load_fit(folder / "out" / "walk.h5"))


def test_limits_come_from_a_config_or_the_command_line(folder, tmp_path):
    from_file, from_line = tmp_path / "a.html", tmp_path / "b.html"
    assert (
        report("out/walk.h5", "-o", from_file, "--config", "run.toml", cwd=folder).returncode == 0
    )
    set_ = "report.rms_m=[0.001, 0.002]"
    assert report("out/walk.h5", "-o", from_line, "--set", set_, cwd=folder).returncode == 0
    assert from_file.read_bytes() == from_line.read_bytes()
    assert "good up to 1 mm, poor above 2 mm" in from_file.read_text(encoding="utf-8")


def test_a_folder_gets_a_page_of_all_takes(folder):
    result = report("out", cwd=folder)
    assert result.returncode == 0, result.stderr
    assert "report.html: 2 takes, 1 without a fit" in result.stdout
    page = (folder / "out" / "report.html").read_text(encoding="utf-8")
    assert "cut_a.csv" in page
    assert 'href="walk.html"' in page


@pytest.mark.parametrize(
    ("arguments", "parts"),
    [
        (["nowhere.h5"], ["nowhere.h5", "no such file"]),
        (["run.toml"], ["run.toml", "HDF5"]),
        (["takes"], ["takes", "holds no fits", "output folder of fitpipe run"]),
        (["out/walk.h5", "--set", "report.rms=1"], ["[report] rms", "unknown key"]),
        (["out/walk.h5", "--set", "report.rms_m=[2, 1]"], ["[report] rms_m", "two rising numbers"]),
        (["out/walk.h5", "--config", "none.toml"], ["none.toml", "no such file"]),
        (["out/walk.h5", "-o", "out"], ["out", "is a folder"]),
    ],
)
def test_a_mistake_is_told_in_one_message(folder, arguments, parts):
    result = report(*arguments, cwd=folder)
    assert result.returncode == 2, result.stderr
    assert "Traceback" not in result.stderr
    assert result.stderr.count("error:") == 1
    for part in parts:
        assert part in result.stderr
