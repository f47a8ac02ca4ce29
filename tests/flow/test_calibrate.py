"""``fitpipe calibrate`` and the clocks and transforms of ``fit``, as a user meets them."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import fitpipe as fp
from fitpipe.config.toml import read_toml
from fitpipe.simulate.files import take_csv

ROOT = Path(__file__).parents[2]
DATA = ROOT / "data"
FILES = [DATA / f"{take}_kinect_{s}.csv" for take in ("walk", "reach") for s in "ab"]


def fitpipe(*arguments):
    return subprocess.run(
        [sys.executable, "-m", "fitpipe.cli", *map(str, arguments)],
        capture_output=True,
        text=True,
        env=dict(os.environ),
        timeout=300,
        check=False,
    )


def test_a_subject_is_measured_once_and_used_by_other_takes(tmp_path):
    subject = tmp_path / "out" / "anna.toml"
    result = fitpipe("calibrate", *FILES, "--symmetric", "-o", subject)
    assert result.returncode == 0, result.stderr
    assert re.search(r"ElbowLeft-WristLeft +25\d\.\d mm", result.stdout)
    true = read_toml(DATA / "truth" / "bone_lengths.toml")["bone_length_m"]
    measured = read_toml(subject)["bone_length_m"]
    assert measured.keys() == true.keys()
    for bone, length in true.items():
        assert measured[bone] == pytest.approx(length, abs=0.005), bone
    assert measured["HipLeft-KneeLeft"] == measured["HipRight-KneeRight"]

    fit = tmp_path / "walk.h5"
    setting = f"calibrate.bone_lengths={subject}"
    result = fitpipe("fit", *FILES[:2], "-o", fit, "--set", setting)
    assert result.returncode == 0, result.stderr
    np.testing.assert_allclose(fp.load_fit(fit).bone_length, list(measured.values()), atol=1e-9)


def test_takes_that_do_not_fit_the_skeleton_are_refused(tmp_path):
    result = fitpipe("calibrate", *FILES[:1], "--skeleton", "hand21", "-o", tmp_path / "x.toml")
    assert result.returncode == 2
    assert result.stderr.count("error:") == 1
    assert "Traceback" not in result.stderr
    assert not (tmp_path / "x.toml").exists()


@pytest.mark.parametrize("ahead_s", [0.25, 5000.0])
def test_a_clock_that_is_ahead_is_set_back_and_told(tmp_path, ahead_s):
    take = fp.read_take(FILES[3])
    late = tmp_path / "late.csv"
    late.write_text(take_csv(replace(take, time_s=take.time_s + ahead_s), time_digits=6, digits=5))
    output = tmp_path / "reach.h5"
    result = fitpipe("fit", FILES[2], late, "-o", output)
    assert result.returncode == 0, result.stderr
    assert "source 'late': its clock is" in result.stdout
    found = fp.load_fit(output).calibration.transforms[1]
    assert found.time_offset_s == pytest.approx(ahead_s, abs=0.005)
    assert 0 < found.time_offset_sd_s < 0.003

    result = fitpipe(
        "fit", FILES[2], late, "-o", output, "--set", f"calibrate.time_offset={ahead_s}"
    )
    assert result.returncode == 0, result.stderr
    given = fp.load_fit(output)
    at_once = fp.fit([fp.read_take(path) for path in FILES[2:]])
    np.testing.assert_allclose(given.position, at_once.position, atol=1e-5)


def test_takes_of_two_motions_on_unrelated_clocks_are_refused_with_the_evidence(tmp_path):
    take = fp.read_take(FILES[1])
    other = tmp_path / "other.csv"
    other.write_text(take_csv(replace(take, time_s=take.time_s + 77.0), time_digits=6, digits=5))
    result = fitpipe("fit", FILES[2], other, "-o", tmp_path / "x.h5")
    assert result.returncode == 2
    assert "correlation" in result.stderr
    assert "77.000 to" in result.stderr
    assert "Traceback" not in result.stderr


def test_a_demo_take_is_fitted_with_the_true_transforms(tmp_path):
    given = (DATA / "truth" / "transforms.toml").read_text().replace("kinect_b", "walk_kinect_b")
    path = tmp_path / "rig.toml"
    path.write_text(given)
    output = tmp_path / "walk.h5"
    result = fitpipe("fit", *FILES[:2], "-o", output, "--set", f"calibrate.registration={path}")
    assert result.returncode == 0, result.stderr
    used = fp.load_fit(output).calibration.transforms[1]
    np.testing.assert_allclose(used.t_ref_m, read_toml(path)["walk_kinect_b"]["t_ref_m"])
