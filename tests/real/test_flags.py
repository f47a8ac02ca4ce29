"""Bad observations of real sensors, against an optical reference and against each other."""

from __future__ import annotations

import runpy
from pathlib import Path

import numpy as np
import pytest

import fitpipe as fp
from fitpipe.calibrate import mend_swaps, screen
from fitpipe.config import WeightsConfig
from fitpipe.mapping import map_take

ROOT = Path(__file__).parents[2]
MARKERS = [
    ("btkdata/PiG_Motion-FlatFoot-Full.c3d", "pig39"),
    ("pycgm/Movement_trial.c3d", "pig39"),
    ("nimblephysics/cmu_02_05.c3d", "cmu41"),
    ("nimblephysics/cmu_dribble_shoot_basketball.c3d", "cmu41"),
    ("btkdata/MOTEK_ballet_reduced.trc", "cmu41"),
]


@pytest.fixture(scope="module")
def bench():
    return runpy.run_path(str(ROOT / "scripts" / "bench_flags.py"))


def test_most_samples_of_a_lost_arm_are_in_doubt_and_few_good_ones(bench, shared_data):
    flags = bench["keraal_flags"](shared_data)
    assert flags["n_bad"] > 500
    assert flags["bad_in_doubt"] >= 0.6
    assert flags["good_in_doubt"] <= 0.05
    assert flags["p90_not_in_doubt_mm"] < 0.7 * flags["p90_all_mm"]


def test_a_kinect_that_takes_the_back_for_the_front_is_left_out(bench, shared_data):
    rows = [bench["flip_frames"](shared_data, name) for name in bench["FLIP_FILES"]]
    opposed = np.array([row["opposed"] for row in rows])
    found = np.array([row["found"] for row in rows])
    assert opposed.sum() > 150
    assert opposed @ found / opposed.sum() >= 0.95
    assert all(row["false_alarms"] <= 0.005 for row in rows)
    # read off the headings: who walks where, and whose shoulder line turns at once
    assert rows[1]["frames_left_out"][0] > 2 * rows[1]["frames_left_out"][1] > 0
    assert min(rows[2]["frames_left_out"]) > 30


@pytest.mark.parametrize(("name", "markerset"), MARKERS)
def test_markers_in_fast_motion_are_believed(shared_data, name, markerset):
    skeleton = fp.Skeleton.preset("kinect20")
    take = map_take(fp.read_take(shared_data / name), markerset, skeleton)
    assert mend_swaps(take, skeleton, swaps="repair") is take
    _, doubt = screen(take, skeleton, WeightsConfig())
    assert not (doubt == fp.Doubt.JUMP).any()
    # a punch draws the shoulder 5 cm towards the neck, which no rigid bone follows
    assert (doubt == fp.Doubt.BONES).mean() < 1e-2
    shoulders = [skeleton.joints.index(f"Shoulder{s}") for s in ("Center", "Left", "Right")]
    assert (np.delete(doubt, shoulders, axis=1) == fp.Doubt.BONES).mean() < 1e-3


@pytest.mark.parametrize("name", ["reach_kinect_a", "reach_kinect_b", "walk_kinect_a"])
def test_nothing_is_exchanged_in_the_demo(name):
    skeleton = fp.Skeleton.preset("kinect20")
    take = map_take(fp.read_take(ROOT / "data" / f"{name}.csv"), None, skeleton)
    assert mend_swaps(take, skeleton, swaps="repair") is take
