"""Simulated depth sensors err as recorded ones do: one estimator on both, side by side."""

from __future__ import annotations

import numpy as np
import pytest

import fitpipe as fp
from fitpipe.config import SimulateConfig, make_config
from fitpipe.simulate import simulate

from .sensor_statistics import statistics_of

RECORDED = [  # one person, two Kinect v2: side by side, at 45 degrees, at 90 degrees
    "Study_4_Kinect_0_Time_1_17_51_PM.csv.gz",
    "Study_4_Kinect_1_Time_1_22_06_PM.csv.gz",
    "Study_13_Kinect_2_Time_5_22_05_PM.csv.gz",
    "Study_1_Kinect_2_Time_12_07_07_PM.csv",
    "Study_10_Kinect_2_Time_4_17_12_PM.csv",
    "Study_0_Kinect_2_Time_11_45_58_AM.csv",
]
SIMULATED = [  # motion, angle between the sensors, rotation error of the crude registration
    ("still", 20.0, 6.0),
    ("walk", 45.0, 11.0),
    ("walk", 90.0, 18.0),
    ("reach", 76.0, 14.0),
    ("reach", 90.0, 30.0),
    ("punch", 45.0, 8.0),
]


@pytest.fixture(scope="module")
def recorded(shared_data):
    folder = shared_data / "kinectmultitrack"
    return pooled([statistics_of(fp.read_takes(folder / name)) for name in RECORDED])


@pytest.fixture(scope="module")
def simulated():
    found = []
    for seed, (motion, spread_deg, rotation_deg) in enumerate(SIMULATED):
        sensors = {
            "frame": "shared", "spread_deg": spread_deg, "shared_rotation_deg": rotation_deg,
        }  # fmt: skip
        table = {"seed": seed, "motion": {"name": motion, "seconds": 30}, "sensors": sensors}
        found.append(statistics_of(list(simulate(make_config(SimulateConfig, table)).takes)))
    return pooled(found)


def pooled(found):
    return {name: np.concatenate([each[name] for each in found]) for name in found[0]}


def test_the_estimator_gives_the_figures_in_the_readme_of_the_recordings(shared_data):
    found = statistics_of(fp.read_takes(shared_data / "kinectmultitrack" / RECORDED[0]))
    assert found["thigh_sd_m"] == pytest.approx([0.026, 0.014], abs=0.0006)
    assert found["opposed"] == pytest.approx([0.005], abs=0.0006)
    assert found["jump_m"] == pytest.approx([0.198, 0.198], abs=0.15)
    assert found["disagreement_m"] == pytest.approx([0.020], abs=0.003)
    assert found["rotation_deg"] == pytest.approx([6], abs=2)


@pytest.mark.parametrize(
    "name",
    [
        "thigh_sd_m", "thigh_memory", "repeated", "tick_ms", "tick_p1_ms", "tick_p99_ms", "jump_m",
        "opposed", "disagreement_m", "rotation_deg",
    ],
)  # fmt: skip
def test_simulated_sensors_err_as_recorded_ones(recorded, simulated, name):
    real, made = recorded[name], simulated[name]
    report = (
        f"{name}: recorded {np.round(np.sort(real), 4)}, simulated {np.round(np.sort(made), 4)}"
    )
    assert real.min() <= np.median(made) <= real.max(), report
    # and the recorded median is one that simulated sensors come near
    assert np.median(real) > 0.5 * made.min(), report
    assert np.median(real) < 2 * made.max(), report
