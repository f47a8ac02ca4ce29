"""The example programs run as they are and tell what they are said to tell."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).resolve().parents[3] / "scripts/examples"


def run(name: str, out: Path) -> str:
    command = [sys.executable, str(EXAMPLES / name), str(out)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert out.stat().st_size > 10_000
    return done.stdout


def test_the_planar_arm_is_singular_straight_and_folded(tmp_path):
    told = run("planar_arm.py", tmp_path / "arm.png")
    found = [float(line.split("det J =")[1]) for line in told.splitlines() if "det J" in line]
    assert found == pytest.approx([0.0, 3.0, 0.0], abs=1e-6)


def test_all_six_solvers_agree_on_the_distance_left(tmp_path):
    told = run("six_solvers.py", tmp_path / "six.png")
    for target, status, left in (
        ("in reach", "reached", 0.0),
        ("too far", "closest", 0.146954),
        ("too near for the knee", "at_limit", 0.140237),
    ):
        rows = [line.split() for line in told.splitlines() if target in line]
        assert len(rows) == 6
        assert {row[-3] for row in rows} == {status}
        assert [float(row[-2]) for row in rows] == pytest.approx([left] * 6, abs=2e-6)
