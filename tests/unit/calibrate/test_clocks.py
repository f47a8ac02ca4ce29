"""estimate_clock recovers planted offsets and drifts, and says when the motion tells none."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.interpolate import CubicSpline
from scipy.spatial.transform import Rotation

from fitpipe.calibrate import NoCommonMotionError, estimate_clock
from fitpipe.records import Skeleton, Take
from fitpipe.simulate import DepthSensor, observe, reach_and_turn, walk

SKELETON = Skeleton.preset("kinect20")
WALK, REACH = walk(3600, 300.0), reach_and_turn(3600, 300.0)  # 12 s at ten times a sensor's rate
SIGMA_M = 0.015


def seen(motion, time_s, *, name="a", sigma_m=SIGMA_M, seed=0, stamps=None):
    """The motion at any instants, with noise; stamped by a clock of its own."""
    position = CubicSpline(motion.time_s, motion.position_m)(time_s)
    position += np.random.default_rng(seed).normal(0, sigma_m, position.shape)
    return Take(name, SKELETON.joints, position, time_s if stamps is None else stamps)


def clock(a, b, **kwargs):
    return estimate_clock(a, b, max_gap_s=0.1, **kwargs)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("offset_s", [0.0, 0.0137, 0.25, -0.4])
@pytest.mark.parametrize("motion", [WALK, REACH], ids=["walk", "reach"])
def test_offsets_are_found_within_5_ms_on_300_noisy_frames(motion, offset_s, seed):
    rng = np.random.default_rng(seed)
    time_a = 0.5 + np.arange(300) / 30
    time_b = time_a + rng.uniform(0, 1 / 30)
    a = seen(motion, time_a, seed=2 * seed)
    b = seen(motion, time_b, name="b", seed=2 * seed + 1, stamps=time_b + offset_s)
    found = clock(a, b)
    assert found.offset_s == pytest.approx(offset_s, abs=0.003)
    assert 1e-4 < found.offset_sd_s < 0.002


def test_the_standard_deviation_is_that_of_the_errors():
    errors = []
    for seed in range(24):
        time_a = 0.5 + np.arange(200) / 30
        a = seen(REACH, time_a, seed=2 * seed)
        b = seen(REACH, time_a + 0.011, name="b", seed=2 * seed + 1)
        found = clock(a, b)
        errors.append(found.offset_s / found.offset_sd_s)
    assert 0.6 < np.sqrt(np.mean(np.square(errors))) < 2.0  # 1 nominal, few movements in a take


@pytest.mark.parametrize("rate_hz", [30, 47.3, 100])
def test_rates_start_times_and_unrelated_zeros_may_differ(rate_hz):
    time_b = np.arange(2.0, 11.5, 1 / rate_hz)
    a = seen(REACH, 0.2 + np.arange(240) / 25, seed=1)
    b = seen(REACH, time_b, name="b", seed=2, stamps=time_b + 987_654.321)
    found = clock(a, b)
    assert found.offset_s == pytest.approx(987_654.321, abs=0.004)
    assert found.overlap_s > 6


def test_offsets_of_seconds_are_found():
    time_a = np.arange(0.0, 6.0, 1 / 30)
    for offset in (-3.0, 2.0, 4.5):
        time_b = np.arange(1.5, 11.0, 1 / 30)
        b = seen(REACH, time_b, name="b", seed=4, stamps=time_b + offset)
        assert clock(seen(REACH, time_a, seed=3), b).offset_s == pytest.approx(offset, abs=0.004)


def test_gaps_and_a_fifth_of_wild_samples_do_no_harm():
    time_a = 0.5 + np.arange(300) / 30
    a, b = seen(WALK, time_a, seed=1), seen(WALK, time_a, name="b", seed=2, stamps=time_a + 0.1)
    rng = np.random.default_rng(3)

    def spoilt(take):
        position = take.position_m.copy()
        wild = rng.random(position.shape[:2]) < 0.2
        position[wild] += rng.normal(0, 0.5, (wild.sum(), 3))
        for _ in range(40):  # bursts of half a second
            joint, start = rng.integers(20), rng.integers(285)
            position[start : start + 15, joint] = np.nan
        return replace(take, position_m=position)

    assert clock(spoilt(a), spoilt(b)).offset_s == pytest.approx(0.1, abs=0.005)


def test_sensors_that_hide_joints_and_see_skin_agree_on_the_time():
    for motion in (walk(300, 30.0), reach_and_turn(300, 30.0)):
        a = DepthSensor.looking_at("a", [0, 0.9, 0], from_m=[0.3, 1.2, 3.4])
        b = DepthSensor.looking_at("b", [0.1, 0.8, 0], from_m=[3.4, 1.6, 0.5])
        found = clock(observe(motion, a, seed=5), observe(motion, b, seed=6))
        assert abs(found.offset_s) < 0.004


@settings(max_examples=10, deadline=None)
@given(
    degrees=st.floats(-180, 180),
    shift_s=st.floats(-1e5, 1e5),
    offset_s=st.sampled_from([-0.31, 0.02, 0.25]),
)
def test_moving_one_source_or_the_time_of_both_changes_nothing(degrees, shift_s, offset_s):
    time_s = 0.5 + np.arange(240) / 30
    a = seen(REACH, time_s, seed=1)
    b = seen(REACH, time_s, name="b", seed=2, stamps=time_s + offset_s)
    R = Rotation.from_rotvec(np.radians(degrees) * np.array([0.48, 0.6, 0.64])).as_matrix()
    turned = replace(b, position_m=b.position_m @ R.T + [1.0, -2.0, 3.0])
    later_a, later_b = (replace(take, time_s=take.time_s + shift_s) for take in (a, turned))
    plain = clock(a, b).offset_s
    assert clock(later_a, later_b).offset_s == pytest.approx(plain, abs=2e-4)
    assert clock(b, a).offset_s == pytest.approx(-plain, abs=1e-3)


@pytest.mark.parametrize(("minutes", "drift"), [(1, 1e-3), (5, -5e-4)])
def test_drift_is_found_along_with_the_offset(minutes, drift):
    motion = reach_and_turn(60 * 60 * minutes, 60.0, period_s=8.13)
    # a motion that never repeats: its pace wanders
    even = np.arange(0, 60 * minutes, 1 / 30)
    pace = 0.8 + 0.2 * np.sin(even / 3.1) * np.sin(even / 17.7)
    warped = np.cumsum(pace) / 30
    spline = CubicSpline(motion.time_s, motion.position_m)

    def at(time_s):
        return spline(np.interp(time_s, even, warped))

    rng = np.random.default_rng(1)
    time_a, time_b = even, even[:-1] + 0.011
    a = Take("a", SKELETON.joints, at(time_a), time_a)
    stamps = time_b + 3.3 + drift * time_b
    b = Take("b", SKELETON.joints, at(time_b), stamps)
    a, b = (
        replace(t, position_m=t.position_m + rng.normal(0, SIGMA_M, t.position_m.shape))
        for t in (a, b)
    )
    found = clock(a, b, with_drift=True)
    assert found.offset_s == pytest.approx(3.3, abs=0.005)
    assert found.drift == pytest.approx(drift, abs=max(5 * found.drift_sd, 2e-6))
    assert found.drift_sd < 3e-5


def test_a_motion_that_repeats_is_told_with_the_other_offset():
    time_s = 0.5 + np.arange(240) / 30
    a = seen(WALK, time_s, seed=1)
    b = seen(WALK, time_s, name="b", seed=2, stamps=time_s + 0.3)
    found = clock(a, b)
    assert found.offset_s == pytest.approx(0.3, abs=0.005)
    assert found.other_offset_s == pytest.approx(-0.7, abs=0.05)  # a gait cycle of 1 s away


def test_clocks_that_agree_stay_so_though_a_cycle_off_fits_better():
    """A sensor that loses the person for a while; the walk before looks just the same."""
    time_s = np.arange(300) / 30
    a, b = seen(WALK, time_s, seed=1), seen(WALK, time_s, name="b", seed=2)
    lost = b.position_m.copy()
    lost[100:160] = lost[100:160][:, ::-1]
    found = clock(a, replace(b, position_m=lost))
    assert abs(found.offset_s) < 0.005


def still(sigma_m=0.01):
    pose = WALK.position_m[:1] + np.zeros((300, 1, 1))
    rng = np.random.default_rng(0)
    time_s = np.arange(300) / 30
    return [
        Take(name, SKELETON.joints, pose + rng.normal(0, sigma_m, pose.shape), time_s)
        for name in "ab"
    ]


def test_a_still_person_tells_no_offset():
    with pytest.raises(NoCommonMotionError, match=r"hardly move .*correlation 0\.\d+") as caught:
        clock(*still())
    assert caught.value.is_still


def test_two_different_motions_tell_no_offset():
    time_s = np.arange(300) / 30
    with pytest.raises(
        NoCommonMotionError, match=r"not show one motion.*over \d.*vary by"
    ) as caught:
        clock(seen(WALK, time_s), seen(REACH, time_s, name="b"))
    assert not caught.value.is_still


def test_takes_that_are_too_short_tell_no_offset():
    time_s = np.arange(20) / 30
    with pytest.raises(NoCommonMotionError, match=r"0\.63 s in common at most, 1 s needed"):
        clock(seen(WALK, time_s), seen(WALK, time_s, name="b"))


def test_sources_without_a_common_joint_tell_no_offset():
    time_s = np.arange(100) / 30
    a, b = seen(WALK, time_s), seen(WALK, time_s, name="b")
    left, right = a.position_m.copy(), b.position_m.copy()
    left[:, :10], right[:, 10:] = np.nan, np.nan
    with pytest.raises(NoCommonMotionError, match="hardly a joint is seen by both"):
        clock(replace(a, position_m=left), replace(b, position_m=right))
