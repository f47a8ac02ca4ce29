"""The example programs run as they are, on the demo takes, and tell what they are said to tell."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

import fitpipe as fp

ROOT = Path(__file__).parents[2]


def run(name, *arguments):
    command = [sys.executable, str(ROOT / "scripts" / "examples" / name), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def test_fit_one_take(tmp_path):
    told = run("fit_one_take.py", tmp_path)
    fit = fp.load_fit(tmp_path / "walk.h5")
    assert f"rms distance to the observations: {1e3 * fit.rms_m:.1f} mm" in told
    assert "240 of 240 frames fitted" in told
    # 8 s at 1.2 m/s, and the arm swings
    assert 9 < float(re.search(r"right hand: ([\d.]+) m", told)[1]) < 20
    assert (tmp_path / "walk.html").read_text(encoding="utf-8").startswith("<!doctype html>")
    for figure in ("residuals.png", "bones.png"):
        assert (tmp_path / figure).stat().st_size > 10_000


def test_compare_settings(tmp_path):
    told = run("compare_settings.py", tmp_path / "settings.png")
    assert "best: temporal = 'trajectory'" in told
    rows = [line.split() for line in told.splitlines()[1:13]]
    assert [row[0] for row in rows] == ["none"] * 4 + ["previous"] * 4 + ["trajectory"] * 4
    jitter = {row[0]: float(row[4]) for row in rows}
    assert jitter["none"] > jitter["previous"] > jitter["trajectory"]
    assert (tmp_path / "settings.png").stat().st_size > 10_000


def test_fuse_and_evaluate(tmp_path):
    told = run("fuse_and_evaluate.py", tmp_path / "fused.png")
    rows = re.findall(r"(walk|reach) +(.+?) +([\d.]+) +([\d.]+) +([\d.]+) +([\d.]+)\n", told + "\n")
    error = {(take, result): float(mm) for take, result, mm, *_ in rows}
    bones = {(take, result): float(row[2]) for take, result, *row in rows}
    for take in ("walk", "reach"):
        truth = fp.read_take(ROOT / "data" / "truth" / f"{take}.csv")
        raw = fp.compare(ROOT / "data" / f"{take}_kinect_a.csv", truth)
        assert error[take, "sensor a, raw"] == pytest.approx(1e3 * raw.error.mean_m, abs=1e-3)
        assert error[take, "a and b, fused"] < 0.9 * error[take, "sensor a, raw"]
        assert bones[take, "a and b, fused"] == 0
    assert (tmp_path / "fused.png").stat().st_size > 10_000


def test_gap_statistics(tmp_path):
    told = run("gap_statistics.py", tmp_path / "gaps.png")
    table = pd.read_csv(tmp_path / "gaps.csv")
    takes = [fp.read_take(path) for path in sorted((ROOT / "data").glob("*.csv"))]
    lost = sum(int((~take.is_observed).sum()) for take in takes)
    assert table["frames"].sum() == lost
    assert f"{len(table)} gaps, {lost / (4 * 4800):.1%} of all samples" in told
    assert "left out:" in told  # README.md is no take
    assert (tmp_path / "gaps.png").stat().st_size > 10_000
