"""The command as a user meets it: real processes, real files, exit codes and messages."""

from __future__ import annotations

import csv
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import fitpipe as fp
from fitpipe.simulate import DepthSensor, observe, walk

ROOT = Path(__file__).parents[2]


def fitpipe(*arguments, cwd=None, env=None):
    return subprocess.run(
        [sys.executable, "-m", "fitpipe.cli", *map(str, arguments)],
        capture_output=True,
        text=True,
        cwd=cwd,
        env={**os.environ, **(env or {})},
        timeout=300,
        check=False,
    )


def refused(result, *parts):
    """Exit code 2, one message that holds all parts, no traceback."""
    assert result.returncode == 2, result.stderr
    assert "Traceback" not in result.stderr + result.stdout
    assert result.stderr.count("error:") == 1
    for part in parts:
        assert part in result.stderr


def write_csv(path, take):
    header = ["time_s"] + [f"{label}_{axis}_m" for label in take.labels for axis in "xyz"]
    flat = take.position_m.reshape(take.n_frames, -1)
    with path.open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(header)
        for time_s, row in zip(take.time_s, flat, strict=True):
            rows.writerow([f"{time_s:.6f}", *("" if np.isnan(v) else f"{v:.5f}" for v in row)])
    return path


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Two sensors' files of a short walk."""
    folder = tmp_path_factory.mktemp("takes")
    motion = walk(30, 30.0)
    for name, place in (("a", (0, 1, 4)), ("b", (4, 1.2, 0))):
        sensor = DepthSensor.looking_at(name, (0, 1, 0), from_m=place)
        write_csv(folder / f"walk_{name}.csv", observe(motion, sensor, seed=1))
    return folder


def config(path, pattern, **sections):
    lines = [f'[takes]\npattern = "{pattern}"\n', '[output]\nfolder = "out"\n']
    lines += [f"[{name}]\n{text}\n" for name, text in sections.items()]
    path.write_text("".join(lines))
    return path


def test_fit_writes_a_file_that_loads_with_exact_bones(folder, tmp_path):
    out = tmp_path / "deep" / "walk.h5"
    result = fitpipe("fit", folder / "walk_a.csv", folder / "walk_b.csv", "-o", out)
    assert result.returncode == 0, result.stderr
    fit = fp.load_fit(out)
    assert fit.sources == ("walk_a", "walk_b")
    assert fit.name == "walk"
    assert fit.is_fitted.all()
    assert fit.worst_bone_m < 1e-9
    assert "30 of 30 frames fitted" in result.stdout
    assert len(fit.provenance["inputs"][0]["sha256"]) == 64


def test_what_the_command_writes_is_what_python_gives(folder, tmp_path):
    out = tmp_path / "walk.h5"
    fitpipe(
        "fit", folder / "walk_a.csv", folder / "walk_b.csv", "-o", out, "--set",
        "calibrate.symmetric=true",
    )  # fmt: skip
    takes = [fp.read_take(folder / f"walk_{s}.csv") for s in "ab"]
    fit = fp.fit(takes, config={"calibrate": {"symmetric": True}})
    np.testing.assert_array_equal(fp.load_fit(out).position, fit.position)


def test_run_fits_every_take_and_one_bad_take_does_not_stop_the_rest(folder, tmp_path):
    for name in ("walk_a", "walk_b"):
        (tmp_path / f"{name}.csv").write_bytes((folder / f"{name}.csv").read_bytes())
    (tmp_path / "cut_a.csv").write_text("time_s,Head_x_m,Head_y_m\n0,1,2\n")
    (tmp_path / "empty_a.csv").touch()
    result = fitpipe("run", config(tmp_path / "run.toml", "{take}_{source}.csv"))
    assert result.returncode == 1
    assert "1 takes fitted, 2 failed" in result.stdout
    assert "failed: take cut:" in result.stderr
    assert "failed: take empty:" in result.stderr
    assert "Traceback" not in result.stderr
    with (tmp_path / "out" / "summary.csv").open() as file:
        rows = {row["take"]: row for row in csv.DictReader(file)}
    assert rows["walk"]["status"] == "fitted"
    assert rows["empty"]["status"] == "failed"
    assert "empty" in rows["empty"]["error"]
    assert float(rows["walk"]["worst_bone_error_m"]) < 1e-9
    names = sorted(p.name for p in (tmp_path / "out").iterdir())
    assert names == [".fitpipe", "summary.csv", "summary.jsonl", "walk.h5"]


def test_nothing_but_text_goes_to_a_file_even_on_an_old_code_page(folder, tmp_path):
    result = fitpipe(
        "fit", folder / "walk_a.csv", "-o", tmp_path / "a.h5",
        env={"PYTHONIOENCODING": "cp1252"},
    )  # fmt: skip
    assert result.returncode == 0, result.stderr
    assert "\r" not in result.stdout + result.stderr


def test_inspect_tells_what_is_in_files_and_goes_on_after_a_bad_one(folder, tmp_path):
    result = fitpipe("inspect", folder / "walk_a.csv", tmp_path / "nowhere.csv")
    refused(result, "nowhere.csv", "no such file")
    for part in ("30 frames", "30 Hz", "HipCenter", "maps to   kinect20: 20 of 20 joints"):
        assert part in result.stdout


def test_demo_fits_the_takes_that_come_with_it(tmp_path):
    result = fitpipe("demo", "-o", tmp_path / "results", cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    assert "2 takes fitted, 0 failed" in result.stdout
    for take in ("walk", "reach"):
        fit = fp.load_fit(tmp_path / "results" / f"{take}.h5")
        truth = fp.read_take(ROOT / "data" / "truth" / f"{take}.csv").position_m
        error = np.nanmean(np.linalg.norm(fit.position - truth, axis=-1))
        rows = re.findall(rf"^{take}: (.+?) +([\d.]+) mm", result.stdout, flags=re.MULTILINE)
        printed = {name: float(error_mm) for name, error_mm in rows}
        assert set(printed) == {"sensor a", "sensor b", "mean of both", "fit"}
        assert printed["fit"] == pytest.approx(error * 1e3, abs=0.06)
        assert printed["fit"] < min(v for k, v in printed.items() if k != "fit")


def test_no_such_file(tmp_path):
    refused(fitpipe("fit", "nowhere.c3d", "-o", tmp_path / "x.h5"), "nowhere.c3d", "no such file")


def test_an_empty_file(tmp_path):
    (tmp_path / "take.c3d").touch()
    refused(fitpipe("fit", tmp_path / "take.c3d", "-o", tmp_path / "x.h5"), "take.c3d", "empty")


def test_a_trc_whose_header_lies(tmp_path):
    path = tmp_path / "take.trc"
    path.write_text(
        "PathFileType\t4\t(X/Y/Z)\ttake.trc\nDataRate\tCameraRate\tNumFrames\tNumMarkers\tUnits\n"
        "100\t100\t2\tmany\tmm\nFrame#\tTime\n"
    )
    refused(fitpipe("fit", path, "-o", tmp_path / "x.h5"), "take.trc")


def test_a_csv_without_coordinates(tmp_path):
    path = tmp_path / "take.csv"
    path.write_text("time,heart_rate,mood\n0,60,good\n1,61,good\n")
    refused(fitpipe("fit", path, "-o", tmp_path / "x.h5"), "take.csv", "heart_rate")


def test_a_config_with_a_misspelt_key(tmp_path):
    path = config(tmp_path / "run.toml", "x_{source}.csv", solve="max_iteration = 3")
    refused(fitpipe("run", path), "run.toml", "max_iteration", "did you mean 'max_iterations'")


def test_a_misspelt_setting_on_the_command_line(folder, tmp_path):
    result = fitpipe(
        "fit", folder / "walk_a.csv", "-o", tmp_path / "x.h5", "--set", "solve.max_iteration=3"
    )
    refused(result, "[solve] max_iteration", "did you mean 'max_iterations'")


def test_unknown_labels_list_what_is_there(tmp_path):
    take = fp.Take("a", ["Nose", "Tail"], np.ones((3, 2, 3)) * [1, 2, 3], [0.0, 0.1, 0.2])
    path = write_csv(tmp_path / "dog.csv", take)
    refused(fitpipe("fit", path, "-o", tmp_path / "x.h5"), "Nose", "Tail")


def test_sources_without_a_common_joint(folder, tmp_path):
    take = fp.read_take(folder / "walk_a.csv")
    upper, lower = list(range(12)), list(range(12, 20))
    paths = []
    for name, part in (("upper", upper), ("lower", lower)):
        half = fp.Take(name, [take.labels[i] for i in part], take.position_m[:, part], take.time_s)
        paths.append(write_csv(tmp_path / f"{name}.csv", half))
    refused(
        fitpipe("fit", *paths, "-o", tmp_path / "x.h5"),
        "no joint is seen by both", "upper sees HipCenter", "lower sees HipLeft",
    )  # fmt: skip


def test_an_output_that_cannot_be_written_is_refused_before_any_reading(folder, tmp_path):
    (tmp_path / "plain").write_text("a file, not a folder")
    result = fitpipe("fit", folder / "walk_a.csv", "-o", tmp_path / "plain" / "x.h5")
    refused(result, "plain")
    path = config(tmp_path / "run.toml", f"{folder.as_posix()}/{{take}}_{{source}}.csv")
    path.write_text(path.read_text().replace('"out"', '"plain"'))
    refused(fitpipe("run", path), "plain")


def test_a_pattern_that_matches_nothing(tmp_path):
    refused(fitpipe("run", config(tmp_path / "run.toml", "nothing_*.trc")), "no files match")


def test_a_file_of_several_people_asks_which(tmp_path):
    rows = ["time,body,label,x,y,z"]
    for frame in range(3):
        for body in ("anna", "ben"):
            rows += [
                f"{frame / 30:.3f},{body},{joint},{i * 0.1 + frame},{i * 0.2},{i % 3}"
                for i, joint in enumerate(fp.Skeleton.preset("kinect20").joints)
            ]
    path = tmp_path / "two.csv"
    path.write_text("\n".join(rows))
    refused(fitpipe("fit", path, "-o", tmp_path / "x.h5"), "'anna', 'ben'", "--body")
    result = fitpipe("fit", path, "-o", tmp_path / "x.h5", "--body", "ben")
    assert result.returncode == 0, result.stderr


def test_control_characters_in_names_do_not_reach_the_terminal(tmp_path):
    path = tmp_path / "take\x1b[31m.csv"
    path.write_text("time,heart\x1b[2Jrate\n0,60\n")
    result = fitpipe("fit", path, "-o", tmp_path / "x.h5")
    refused(result, r"take\x1b[31m.csv")
    assert "\x1b" not in result.stdout + result.stderr


@pytest.mark.parametrize(
    "arguments",
    [
        ("fit", "a.csv", "-o", "a.csv"),
        ("fit", "a.csv", "-o", "notes.txt"),
        ("calibrate", "a.csv", "-o", "a.csv"),
        ("compare", "a.csv", "a.csv", "--json", "a.csv"),
        ("compare", "a.csv", "a.csv", "--csv", "a.csv"),
    ],
    ids=" ".join,
)
def test_nothing_is_written_over_a_recording_or_a_file_of_others(folder, tmp_path, arguments):
    (tmp_path / "a.csv").write_bytes((folder / "walk_a.csv").read_bytes())
    (tmp_path / "notes.txt").write_text("mine")
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    result = fitpipe(*arguments, cwd=tmp_path)
    refused(result, "choose another name")
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before
