"""The takes in data/ are what scripts/make_demo_data.py makes, and lead back to their truth."""

import importlib.util
import shutil
import tomllib
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

ROOT = Path(__file__).resolve().parents[3]
DATA = ROOT / "data"


@pytest.fixture(scope="module")
def script():
    spec = importlib.util.spec_from_file_location(
        "make_demo_data", ROOT / "scripts" / "make_demo_data.py"
    )
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def positions(path: Path) -> np.ndarray:
    table = pd.read_csv(path)
    columns = [name for name in table.columns if name.endswith("_m")]
    return table[columns].to_numpy().reshape(len(table), 20, 3)


def test_files_are_what_the_script_makes(script):
    assert script.differing_files(DATA) == []


def test_check_notices_a_changed_and_a_missing_file(script, tmp_path):
    shutil.copytree(DATA, tmp_path / "data")
    (tmp_path / "data" / "truth" / "reach.csv").unlink()
    take = tmp_path / "data" / "walk_kinect_b.csv"
    text = take.read_text(encoding="utf-8")
    last = text.rstrip("\n")[-1]
    take.write_text(text.rstrip("\n")[:-1] + str((int(last) + 1) % 10) + "\n", encoding="utf-8")
    assert script.differing_files(tmp_path / "data") == ["walk_kinect_b.csv", "truth/reach.csv"]


def test_last_digit_may_differ_but_not_more(script):
    assert script.is_same("a,1.0000,,-0.5001\n", "a,1.0001,,-0.5000\n")
    assert not script.is_same("a,1.0000\n", "a,1.0002\n")
    assert not script.is_same("a,1.0000,\n", "a,,1.0000\n")
    assert not script.is_same("a,0.0000\n", "b,0.0000\n")


def test_all_files_together_stay_below_one_megabyte():
    assert sum(path.stat().st_size for path in DATA.rglob("*.*") if path.is_file()) < 1_000_000


@pytest.mark.parametrize("name", ["walk", "reach"])
def test_takes_agree_with_their_truth_and_transform(name):
    truth = positions(DATA / "truth" / f"{name}.csv")
    transform = tomllib.loads((DATA / "truth" / "transforms.toml").read_text(encoding="utf-8"))
    R, t = (np.array(transform["kinect_b"][key]) for key in ("R_ref_source", "t_ref_m"))
    np.testing.assert_allclose(R @ R.T, np.eye(3), atol=1e-8)
    a = positions(DATA / f"{name}_kinect_a.csv")
    b = positions(DATA / f"{name}_kinect_b.csv") @ R.T + t
    for seen in (a, b):
        off_m = np.linalg.norm(seen - truth, axis=2)
        assert 0.015 < np.nanmedian(off_m) < 0.05
        assert 0.02 < np.isnan(off_m).mean() < 0.08
        # noise is not shared by the frames, bias is: no joint is off by more than its flesh
        assert np.linalg.norm(np.nanmean(seen - truth, axis=0), axis=1).max() < 0.08


@pytest.mark.parametrize("name", ["walk", "reach"])
def test_true_bones_have_the_stated_lengths(name):
    truth = positions(DATA / "truth" / f"{name}.csv")
    joints = [
        column.removesuffix("_x_m")
        for column in pd.read_csv(DATA / "truth" / f"{name}.csv", nrows=0).columns
        if column.endswith("_x_m")
    ]
    text = (DATA / "truth" / "bone_lengths.toml").read_text(encoding="utf-8")
    lengths = tomllib.loads(text)["bone_length_m"]
    assert len(lengths) == 19
    for bone, length_m in lengths.items():
        a, b = (joints.index(joint) for joint in bone.split("-"))
        measured = np.linalg.norm(truth[:, a] - truth[:, b], axis=1)
        np.testing.assert_allclose(measured, length_m, atol=1.8e-4)  # both ends rounded to 0.1 mm
