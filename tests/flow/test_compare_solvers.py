"""``fitpipe compare-solvers``: one table of all solvers, as a user runs it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from fitpipe.solve.compare import solver_settings

ROOT = Path(__file__).parents[2]


def run(*arguments):
    return subprocess.run(
        [sys.executable, "-m", "fitpipe.cli", "compare-solvers", *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


@pytest.fixture(scope="module")
def scores():
    result = run("--frames", 3, "--json")
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout)


def test_every_solver_is_there_with_the_default_first(scores):
    assert [score["settings"] for score in scores] == [s.model_dump() for s in solver_settings()]
    assert len({json.dumps(score["settings"]) for score in scores}) == 3 * 2 * 2 * 2
    assert scores[0]["settings"]["formulation"] == "per_bone"
    assert all(score["frames"] == 6 for score in scores)


def test_the_table_settles_the_source_s_experiment(scores):
    def of(**settings):
        return next(s for s in scores if settings.items() <= s["settings"].items())

    default = scores[0]
    assert default["converged"] == 1.0
    assert default["worst_bone_m"] < 1e-9
    source = of(formulation="aggregate", curvature="none", line_search="halving", reverse=True)
    assert source["settings"]["stop_step_m"] == 1e-4
    assert source["converged"] == 0.0
    assert source["median_bone_m"] > 1e-3
    assert source["objective_ratio"] < 1.0
    same = of(formulation="per_bone", curvature="exact", line_search="golden", reverse=False)
    assert abs(same["objective_ratio"] - 1) < 1e-9
    assert 0.005 < default["error_m"] < 0.1


def test_takes_of_ones_own_need_no_truth():
    files = [ROOT / "data" / f"walk_kinect_{sensor}.csv" for sensor in "ab"]
    result = run(*files, "--frames", 1)
    assert result.returncode == 0, result.stderr
    lines = result.stdout.splitlines()
    assert lines[0].split()[:2] == ["formulation", "curvature"]
    assert sum(line.startswith(("per_bone", "aggregate", "per_axis")) for line in lines) == 24
    assert "n/a" in lines[2]


def test_a_truth_of_other_frames_is_refused(tmp_path):
    files = [ROOT / "data" / f"walk_kinect_{sensor}.csv" for sensor in "ab"]
    lines = (ROOT / "data" / "truth" / "walk.csv").read_text().splitlines()
    short = tmp_path / "short.csv"
    short.write_text("\n".join(lines[:101]) + "\n")
    result = run(*files, "--truth", short)
    assert result.returncode == 2
    assert f"{short}: the truth has 100 frames, the take 240" in result.stderr


def test_options_of_files_without_files_are_refused():
    result = run("--truth", "true.csv", "--units", "mm")
    assert result.returncode == 2
    assert "--units, --truth given without files" in result.stderr
