"""``fitpipe angles`` as a user meets it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import h5py
import numpy as np
import pandas as pd
import pytest

import fitpipe as fp
from fitpipe.angles import pose_skeleton
from fitpipe.batch.verify import verify
from fitpipe.simulate import walk

DATA = Path(__file__).parents[2] / "data"


def run(*arguments, cwd):
    return subprocess.run(
        [sys.executable, "-m", "fitpipe.cli", *map(str, arguments)],
        capture_output=True,
        text=True,
        cwd=cwd,
        env=os.environ,
        timeout=600,
        check=False,
    )


@pytest.fixture
def folder(tmp_path):
    """A fit without angles: an elbow bends from 0 to 90 degrees, a knee from 60 to 5."""
    skeleton = walk(1, 30.0).skeleton
    bend = np.zeros((45, 3))
    bend[:, 0] = np.linspace(0, 90, 45)
    turns = {"WristRight": np.radians(bend), "AnkleLeft": np.radians([60, 0, 0] - bend * 55 / 90)}
    position = pose_skeleton(skeleton, turns, root_position_m=(0, 1, 0))
    take = fp.Take("truth", skeleton.joints, position, np.arange(45) / 30)
    config = {"angles": {"compute": False}, "weights": {"jumps": False}}
    fit = fp.fit(take, config=config, bone_length_m=skeleton.bone_length_m)
    assert fit.angles is None
    fit.save(tmp_path / "bend.h5")
    return tmp_path


def test_angles_are_put_into_the_fit_and_their_ranges_told(folder):
    before = fp.load_fit(folder / "bend.h5")
    result = run("angles", "bend.h5", "--csv", "out/bend.csv", cwd=folder)
    assert result.returncode == 0, result.stderr
    rows = {line[:31].strip(): line[31:].split() for line in result.stdout.splitlines()}
    cells = {name: values for name, values in rows.items() if "flexion" in name}
    assert cells["right elbow flexion"][:3] == ["0.0", "90.0", "90.0"]
    assert cells["left knee flexion"][:3] == ["5.0", "60.0", "55.0"]
    assert cells["right elbow flexion"][4] == "6"  # straight
    assert "bend.h5: 45 frames, preset kinect20" in result.stdout
    after = fp.load_fit(folder / "bend.h5")
    np.testing.assert_array_equal(after.position, before.position)
    np.testing.assert_allclose(after.angles.forward(), after.position, atol=1e-12)
    table = pd.read_csv(folder / "out" / "bend.csv")
    np.testing.assert_allclose(table["right_elbow_flexion_deg"], np.linspace(0, 90, 45), atol=1e-6)
    np.testing.assert_allclose(table["time_s"], after.time_s, rtol=1e-14)
    with h5py.File(folder / "bend.h5") as file:
        assert file["angles/euler"].attrs["units"] == "rad"
        segment = list(file["angles/segment"].asstr()).index("WristRight")
        np.testing.assert_allclose(file["angles/euler"][-1, segment, 0], np.pi / 2, atol=1e-9)


def test_all_shows_every_angle_and_another_preset_replaces_them(folder):
    short = run("angles", "bend.h5", cwd=folder)
    everything = run("angles", "bend.h5", "--all", "--preset", "general", cwd=folder)
    assert everything.returncode == 0, everything.stderr
    assert "preset general" in everything.stdout
    assert len(everything.stdout.splitlines()) > 60 > len(short.stdout.splitlines())
    angles = fp.load_fit(folder / "bend.h5").angles
    assert angles.preset == "general"
    assert angles.segments[0] == "HipCenter"


def test_a_fit_with_its_angles_put_in_later_can_be_made_again(tmp_path):
    files = [DATA / "walk_kinect_a.csv", DATA / "walk_kinect_b.csv"]
    result = run("fit", *files, "-o", "walk.h5", "--set", "angles.compute=false", cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    assert run("angles", "walk.h5", cwd=tmp_path).returncode == 0
    found = verify(tmp_path / "walk.h5")
    assert found.verdict == "bit-equal", found.differences


def test_mistakes_end_with_one_message_and_leave_the_fit_as_it_was(folder):
    before = (folder / "bend.h5").read_bytes()
    (folder / "own.toml").write_text('name = "own"\nbone = [{ joint = "Kneeleft" }]\n')
    for arguments, told in (
        (["none.h5"], "none.h5: no such file"),
        (["bend.h5", "--preset", "kinect2"], "did you mean 'kinect20'?"),
        (["bend.h5", "--preset", "own.toml"], "'Kneeleft'; did you mean 'KneeLeft'?"),
        (["bend.h5", "bend.h5", "--csv", "a.csv"], "--csv is for one fit, 2 were given"),
    ):
        result = run("angles", *arguments, cwd=folder)
        assert result.returncode == 2
        assert told in result.stderr
        assert "Traceback" not in result.stderr
    assert (folder / "bend.h5").read_bytes() == before
