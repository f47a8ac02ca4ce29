"""``fitpipe simulate`` and ``fitpipe compare`` as a user meets them: processes, files, messages."""

from __future__ import annotations

import csv
import json
import subprocess
import sys
import tomllib

import numpy as np
import pytest

import fitpipe as fp
from fitpipe.simulate import walk


def fitpipe(*arguments):
    return subprocess.run(
        [sys.executable, "-m", "fitpipe.cli", *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


def refused(result, *parts):
    """Exit code 2, one message that holds all parts, no traceback."""
    assert result.returncode == 2, result.stdout + result.stderr
    assert "Traceback" not in result.stderr + result.stdout
    assert result.stderr.count("error:") == 1
    for part in parts:
        assert part in result.stderr


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A simulated take of two sensors, and its fit."""
    folder = tmp_path_factory.mktemp("simulated")
    result = fitpipe("simulate", "-o", folder, "--seconds", 3, "--set", "noise.flip_share=0.0")
    assert result.returncode == 0, result.stderr
    result = fitpipe(
        "fit", folder / "walk_kinect_a.csv", folder / "walk_kinect_b.csv", "-o", folder / "walk.h5"
    )
    assert result.returncode == 0, result.stderr
    return folder


def test_simulate_writes_readable_takes_and_their_truth(folder):
    names = sorted(p.relative_to(folder).as_posix() for p in folder.rglob("*") if p.is_file())
    assert names == [
        "truth/walk.csv", "truth/walk_bones.toml", "truth/walk_config.toml",
        "truth/walk_events.csv", "truth/walk_sources.toml", "walk.h5",
        "walk_kinect_a.csv", "walk_kinect_b.csv",
    ]  # fmt: skip
    take = fp.read_take(folder / "walk_kinect_a.csv")
    truth = fp.read_take(folder / "truth" / "walk.csv")
    np.testing.assert_array_equal(take.time_s, truth.time_s)
    assert take.confidence is not None
    assert 0.01 < np.nanmedian(np.linalg.norm(take.position_m - truth.position_m, axis=-1)) < 0.06


def test_the_settings_it_writes_make_the_same_files_again(folder, tmp_path):
    result = fitpipe("simulate", "-o", tmp_path, "--config", folder / "truth" / "walk_config.toml")
    assert result.returncode == 0, result.stderr
    for name in ("walk_kinect_b.csv", "truth/walk_events.csv", "truth/walk_config.toml"):
        assert (tmp_path / name).read_bytes() == (folder / name).read_bytes()


def test_simulate_replaces_its_own_files_and_no_others(tmp_path):
    (tmp_path / "walk_kinect_b.csv").write_text("a recording")
    result = fitpipe("simulate", "-o", tmp_path, "--seconds", 1)
    refused(result, "no simulation made: walk_kinect_b.csv", "--name")
    assert [p.name for p in tmp_path.iterdir()] == ["walk_kinect_b.csv"]
    (tmp_path / "walk_kinect_b.csv").unlink()
    sizes = []
    for seconds in (1, 2):
        assert fitpipe("simulate", "-o", tmp_path, "--seconds", seconds).returncode == 0
        sizes.append((tmp_path / "walk_kinect_b.csv").stat().st_size)
    assert sizes[1] > 1.5 * sizes[0]


def test_options_go_over_set_and_set_over_the_config(tmp_path):
    (tmp_path / "sim.toml").write_text("seed = 3\n[sensors]\ncount = 3\ntick_jitter_s = 0.0\n")
    result = fitpipe(
        "simulate", "-o", tmp_path, "--config", tmp_path / "sim.toml", "--motion", "still",
        "--seconds", 1, "--set", "sensors.count=2", "--set", "seed=8", "--seed", 9,
        "--clock-offset-s", 0.25, "--rate-hz", 50, "--outliers", 0.1, "--dropouts", 0.02,
        "--name", "anna",
    )  # fmt: skip
    assert result.returncode == 0, result.stderr
    written = tomllib.loads((tmp_path / "truth" / "anna_config.toml").read_text())
    assert written["seed"] == 9
    assert written["sensors"]["count"] == 2
    assert written["noise"]["outlier_share"] == 0.1
    assert written["noise"]["dropout_share"] == 0.02
    b = fp.read_take(tmp_path / "anna_kinect_b.csv")
    assert b.rate_hz == pytest.approx(50)
    assert 0.25 <= b.time_s[0] < 0.27
    assert not (tmp_path / "anna_kinect_c.csv").exists()


def test_a_fit_can_be_followed_by_sensors_again(folder, tmp_path):
    result = fitpipe("simulate", "-o", tmp_path, "--motion", folder / "walk.h5")
    assert result.returncode == 0, result.stderr
    fit = fp.load_fit(folder / "walk.h5")
    truth = fp.read_take(tmp_path / "truth" / "walk.csv").position_m
    bones = np.array(fit.skeleton.bones)
    length = np.linalg.norm(truth[:, bones[:, 0]] - truth[:, bones[:, 1]], axis=-1)
    np.testing.assert_allclose(length, np.tile(fit.bone_length, (len(truth), 1)), atol=3e-5)


@pytest.mark.parametrize(
    ("arguments", "parts"),
    [
        (["--motion", "wallk"], ["no motion 'wallk'", "did you mean 'walk'"]),
        (["--motion", "nowhere.h5"], ["nowhere.h5", "no such file"]),
        (["--set", "noise.flips=0.1"], ["[noise] flips", "unknown key"]),
        (["--sensors", 0, "--outliers", 2], ["[sensors] count", "[noise] outlier_share"]),
        (["--seconds", -1], ["[motion] seconds", "greater than 0"]),
        (["--config", "nowhere.toml"], ["nowhere.toml", "no such file"]),
        (["--set", "sensors.rate_hz=[30.0]"], ["rate_hz has 1 entries for 2 sensors"]),
    ],
)
def test_what_cannot_be_simulated_is_said(tmp_path, arguments, parts):
    refused(fitpipe("simulate", "-o", tmp_path / "out", *arguments), *parts)


def test_compare_prints_and_writes_what_python_measures(folder, tmp_path):
    truth = folder / "truth" / "walk.csv"
    result = fitpipe(
        "compare", folder / "walk.h5", truth, "--json", tmp_path / "new" / "c.json",
        "--csv", tmp_path / "c.csv",
    )  # fmt: skip
    assert result.returncode == 0, result.stderr
    found = fp.compare(folder / "walk.h5", truth)
    fit, true_m = fp.load_fit(folder / "walk.h5"), fp.read_take(truth).position_m
    error = np.linalg.norm(fit.position - true_m, axis=-1)
    assert found.error.mean_m == pytest.approx(np.nanmean(error))
    assert f"{np.nanmean(error) * 1e3:.1f} mm" in result.stdout.splitlines()[4]
    plain = json.loads((tmp_path / "new" / "c.json").read_text())
    assert plain == json.loads(json.dumps(found.to_dict()))
    with (tmp_path / "c.csv").open() as file:
        rows = {
            (r["quantity"], r["part"], r["statistic"]): r["value"] for r in csv.DictReader(file)
        }
    assert float(rows["error", "", "p90_m"]) == found.error.p90_m
    assert float(rows["joint", "Head", "mean_m"]) == found.joint["Head"].mean_m
    assert found.of_result.rms_bone_spread_m < 1e-9
    assert found.of_reference.rms_bone_spread_m < 2e-5


def test_compare_takes_a_marker_set_for_the_reference(folder, tmp_path):
    motion = walk(30, 30.0)
    new = {"HipCenter": "SpineBase", "Spine": "SpineMid", "ShoulderCenter": "SpineShoulder"}
    lines = ["time_s," + ",".join(
        f"{new.get(j, j)}_{axis}_m" for j in motion.skeleton.joints for axis in "xyz"
    )]  # fmt: skip
    lines += [
        ",".join(f"{v:.6f}" for v in (time_s, *points.ravel()))
        for time_s, points in zip(motion.time_s, motion.position_m, strict=True)
    ]
    (tmp_path / "other.csv").write_text("\n".join(lines))
    arguments = ("compare", folder / "truth" / "walk.csv", tmp_path / "other.csv")
    result = fitpipe(*arguments, "--markerset", "kinect25")
    assert result.returncode == 0, result.stderr
    assert "20 joints" in result.stdout
    assert "17 joints" in fitpipe(*arguments).stdout  # by name, the spine's joints are not found


def test_compare_says_what_it_cannot_compare(folder, tmp_path):
    fit, truth = folder / "walk.h5", folder / "truth" / "walk.csv"
    refused(fitpipe("compare", fit, tmp_path / "no.csv"), "no.csv", "no such file")
    damaged = tmp_path / "damaged.h5"
    damaged.write_bytes(fit.read_bytes()[:-500])
    refused(fitpipe("compare", damaged, truth), "damaged.h5")
    (tmp_path / "dog.csv").write_text(
        "time,Nose_x,Nose_y,Nose_z,Tail_x,Tail_y,Tail_z\n0,1,2,3,4,5,6\n"
    )
    refused(fitpipe("compare", fit, tmp_path / "dog.csv"), "Nose, Tail")
    late = truth.read_text().splitlines()
    shifted = [late[0]] + [
        f"{float(t) + 100:.3f},{rest}" for t, rest in (line.split(",", 1) for line in late[1:])
    ]
    (tmp_path / "late.csv").write_text("\n".join(shifted))
    refused(fitpipe("compare", fit, tmp_path / "late.csv"), "no instant in common", "100.")
    (tmp_path / "plain").write_text("a file, not a folder")
    refused(fitpipe("compare", fit, truth, "--json", tmp_path / "plain" / "c.json"), "plain")
