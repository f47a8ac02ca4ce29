"""The peers and the readers of scripts/bench_accuracy.py do what they are said to do."""

import importlib.util
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from fitpipe.simulate import walk

SCRIPTS = Path(__file__).resolve().parents[2] / "scripts"
RNG = np.random.default_rng(0)
TIME_S = np.cumsum(np.clip(RNG.normal(1 / 30, 0.005, 300), 0.01, None))


def script(name):
    spec = importlib.util.spec_from_file_location(name, SCRIPTS / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def peers():
    return script("accuracy_peers")


def slow(time_s):
    """A smooth course of two joints, (time, 2, 3): 0.5 and 0.3 Hz."""
    wave = 0.2 * np.sin(2 * np.pi * time_s[:, None] * [0.5, 0.3])
    return wave[..., None] * [1.0, -0.5, 0.3]


def test_the_mean_counts_each_source_by_its_confidence(peers):
    observed = np.array([[[[0.0, 0, 0]], [[4.0, 8, 0]]], [[[np.nan] * 3], [[1.0, 1, 1]]]])
    confidence = np.array([[[1.0], [0.25]], [[1.0], [0.25]]])
    mean = peers.mean_of_sources(observed, confidence)
    np.testing.assert_allclose(mean[:, 0], [[0.8, 1.6, 0], [1, 1, 1]])


@pytest.mark.parametrize("name", ["butterworth", "kalman"])
def test_smoothers_keep_slow_motion_and_halve_noise_on_uneven_ticks(peers, name):
    truth = slow(TIME_S)
    smooth = getattr(peers, name)
    noisy = truth + 0.015 * RNG.standard_normal(truth.shape)
    sure = np.ones((300, 1, 2))
    clean_error = np.linalg.norm(smooth(truth[:, None], sure, TIME_S) - truth, axis=-1)
    # ends apart, where a filter has half of its neighbours
    assert clean_error[15:-15].max() < 2e-3
    left = np.linalg.norm(smooth(noisy[:, None], sure, TIME_S) - truth, axis=-1)
    before = np.linalg.norm(noisy - truth, axis=-1)
    assert left[15:-15].mean() < (0.75 if name == "butterworth" else 0.5) * before.mean()


@pytest.mark.parametrize("name", ["butterworth", "kalman"])
def test_short_gaps_are_closed_and_long_ones_left_open(peers, name):
    truth = slow(TIME_S)
    observed = truth[:, None].copy()
    observed[100:106, 0, 0] = np.nan
    observed[200:240, 0, 0] = np.nan
    found = getattr(peers, name)(observed, np.ones((300, 1, 2)), TIME_S)
    assert np.linalg.norm(found[100:106, 0] - truth[100:106, 0], axis=-1).max() < 5e-3
    assert np.isnan(found[200:240, 0]).all()
    assert not np.isnan(found[:, 1]).any()


def test_snapping_gives_exact_bones_and_keeps_their_directions(peers):
    motion = walk(5, 30.0)
    skeleton = motion.skeleton
    length_m = np.full(20, np.nan)
    length_m[[child for _, child in skeleton.bones]] = skeleton.bone_length_m
    stretched = motion.position_m * 1.3
    snapped = peers.snap_bones(stretched, skeleton.parents, skeleton.topological_order, length_m)
    moved = snapped - snapped[:, :1]
    np.testing.assert_allclose(moved, motion.position_m - motion.position_m[:, :1], atol=1e-12)


def test_bvh_forward_kinematics_of_a_small_file(tmp_path):
    path = tmp_path / "arm.bvh"
    path.write_text(
        "HIERARCHY\nROOT A\n{\nOFFSET 0 0 0\nCHANNELS 6 Xposition Yposition Zposition Zrotation "
        "Xrotation Yrotation\nJOINT B\n{\nOFFSET 10 0 0\nCHANNELS 3 Zrotation Xrotation Yrotation\n"
        "End Site\n{\nOFFSET 5 0 0\n}\n}\n}\nMOTION\nFrames: 2\nFrame Time: 0.1\n"
        "1 2 3 90 0 0 0 0 0\n1 2 3 90 0 0 -90 0 0\n"
    )
    motion = script("accuracy_sets").read_bvh(path, metres_per_unit=0.1)
    # A turned by 90 degrees about Z points B up; turned back, the end goes along X again
    expected = [[[1, 2, 3], [1, 12, 3], [1, 17, 3]], [[1, 2, 3], [1, 12, 3], [6, 12, 3]]]
    np.testing.assert_allclose(motion.position_m, 0.1 * np.array(expected), atol=1e-12)
    np.testing.assert_allclose(motion.skeleton.bone_length_m, [1.0, 0.5])


def test_the_benchmark_runs(tmp_path):
    result = subprocess.run(
        [
            sys.executable, str(SCRIPTS / "bench_accuracy.py"), "--frames", "60", "--only",
            "noise: reach", "--data", str(tmp_path / "none"), "--json", str(tmp_path / "a.json"),
        ],
        capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert result.returncode == 0, result.stderr
    for part in ("(a) best sensor", "(f) per frame", "(g) trajectory", "recorded sets left out"):
        assert part in result.stdout
    assert (tmp_path / "a.json").stat().st_size > 500
