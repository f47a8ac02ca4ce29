"""Two Kinects of one person: clocks, agreement after registration, and what must not get worse."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import fitpipe as fp
from fitpipe.calibrate import align_rigid, align_robust, estimate_clock
from fitpipe.mapping import map_take

# file, median distance after a rigid fit of all 25 joints as measured in the data's README, metres
DUAL_KINECT = [
    ("kinectmultitrack/Study_4_Kinect_0_Time_1_17_51_PM.csv.gz", 0.020),
    ("kinectmultitrack/Study_4_Kinect_1_Time_1_22_06_PM.csv.gz", 0.027),
    ("kinectmultitrack/Study_1_Kinect_2_Time_12_07_07_PM.csv", 0.050),
    ("kinectmultitrack/Study_13_Kinect_2_Time_5_22_05_PM.csv.gz", 0.054),
]
SKELETON = fp.Skeleton.preset("kinect20")


def pairs_of(takes):
    """All 25 joints of the frames that both sensors have under one stamp."""
    _, i, j = np.intersect1d(takes[0].time_s, takes[1].time_s, return_indices=True)
    target, source = takes[0].position_m[i], takes[1].position_m[j]
    joint = np.tile(np.arange(source.shape[1]), len(source))
    return source.reshape(-1, 3), target.reshape(-1, 3), joint


@pytest.mark.parametrize(("name", "readme_median_m"), DUAL_KINECT)
def test_robust_registration_agrees_as_well_as_the_readme_and_better_than_least_squares(
    shared_data, name, readme_median_m
):
    source, target, joint = pairs_of(fp.read_takes(shared_data / name))
    robust = align_robust(source, target, joint).distance(source, target)
    plain = align_rigid(source, target).distance(source, target)
    assert np.median(robust) < readme_median_m + 0.001  # the README rounds to millimetres
    assert np.median(robust) < np.median(plain)


@pytest.mark.parametrize(("name", "readme_median_m"), DUAL_KINECT)
def test_setting_the_clocks_brings_the_sensors_together(shared_data, name, readme_median_m):
    takes = fp.read_takes(shared_data / name)
    fits = {
        offset: fp.fit(takes, markerset="kinect25", config={"calibrate": {"time_offset": offset}})
        for offset in ("estimate", "none")
    }
    apart = {offset: np.nanmedian(fit.disagreement) for offset, fit in fits.items()}
    assert apart["estimate"] < apart["none"]
    assert apart["estimate"] < readme_median_m
    found = fits["estimate"].calibration.transforms[1]
    # up to a tick of 33 ms: each tick of the tracker takes the latest frame of either sensor
    assert abs(found.time_offset_s) < 0.04
    assert found.time_offset_sd_s < 0.01


@pytest.mark.parametrize("name", [name for name, _ in DUAL_KINECT])
def test_an_unrelated_zero_of_the_clock_does_not_change_the_offset(shared_data, name):
    a, b = (map_take(t, "kinect25", SKELETON) for t in fp.read_takes(shared_data / name))
    near = estimate_clock(a, b, max_gap_s=0.1)
    far = estimate_clock(a, replace(b, time_s=b.time_s + 86_400.0), max_gap_s=0.1)
    assert far.offset_s - 86_400.0 == pytest.approx(near.offset_s, abs=0.002)
