"""Labels that change places: planted, found to the frame, and put back; nothing else is touched."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from fitpipe.calibrate import mend_swaps
from fitpipe.records import Skeleton, Take
from fitpipe.simulate import DepthSensor, observe, reach_and_turn, walk

SKELETON = Skeleton.preset("kinect20")
SIDES = list(SKELETON.mirror)
LEGS = [pair for pair in SIDES if "Hip" in SKELETON.joints[pair[0]] or min(pair) > 12]
ARMS = [pair for pair in SIDES if pair not in LEGS]
MOTIONS = {"walk": walk(200, 30.0), "reach": reach_and_turn(200, 30.0)}


def take_of(motion, noise_m=0.0, seed=0):
    rng = np.random.default_rng(seed)
    position = motion.position_m + rng.normal(0, noise_m, motion.position_m.shape)
    return Take("a", SKELETON.joints, position, motion.time_s)


def exchanged(take, pairs, frames):
    position = take.position_m.copy()
    for i, j in pairs:
        position[frames, [i, j]] = position[frames, [j, i]]
    return Take(take.source, take.labels, position, take.time_s)


@pytest.mark.parametrize("motion", MOTIONS)
@pytest.mark.parametrize("noise_m", [0.0, 0.01])
@pytest.mark.parametrize(
    ("pairs", "frames"),
    [
        (LEGS, slice(40, 60)),
        (ARMS, slice(77, 78)),
        (SIDES, slice(100, 130)),
        (LEGS[1:], slice(40, 60)),  # the hips stay
        (LEGS, slice(0, 30)),
        (ARMS, slice(150, 200)),
        ([(5, 6)], slice(40, 60)),  # two labels of one arm
        ([(4, 13)], slice(90, 91)),  # two labels that have nothing to do with each other
    ],
)
def test_an_exchange_is_found_to_the_frame_and_put_back(motion, noise_m, pairs, frames):
    clean = take_of(MOTIONS[motion], noise_m)
    mended = mend_swaps(exchanged(clean, pairs, frames), SKELETON, swaps="repair")
    np.testing.assert_array_equal(mended.position_m, clean.position_m)
    (finding,) = mended.repairs
    first, last, _ = frames.indices(200)
    assert f"frames {first}-{last - 1}: exchanged" in finding.what
    for i, j in pairs:
        assert f"{SKELETON.joints[i]}/{SKELETON.joints[j]}" in finding.what
    assert finding.done == "changed back"


@pytest.mark.parametrize("motion", MOTIONS)
def test_several_exchanges_of_several_limbs(motion):
    clean = take_of(MOTIONS[motion], 0.005)
    spoiled = exchanged(clean, LEGS, slice(20, 45))
    spoiled = exchanged(spoiled, ARMS, slice(40, 60))
    spoiled = exchanged(spoiled, LEGS, slice(100, 101))
    mended = mend_swaps(spoiled, SKELETON, swaps="repair")
    np.testing.assert_array_equal(mended.position_m, clean.position_m)
    assert [f.what.split(":")[0] for f in mended.repairs] == [
        "frames 20-44",
        "frames 40-59",
        "frames 100-100",
    ]


def test_confidence_goes_with_its_sample():
    clean = take_of(MOTIONS["walk"])
    confidence = np.tile(np.linspace(0.1, 1, 20), (200, 1))
    position, moved = clean.position_m.copy(), confidence.copy()
    for i, j in LEGS:
        position[40:60, [i, j]] = position[40:60, [j, i]]
        moved[40:60, [i, j]] = moved[40:60, [j, i]]
    spoiled = Take("a", clean.labels, position, clean.time_s, confidence=moved)
    mended = mend_swaps(spoiled, SKELETON, swaps="repair")
    np.testing.assert_array_equal(mended.confidence, confidence)


def test_a_report_changes_nothing_and_off_says_nothing():
    spoiled = exchanged(take_of(MOTIONS["walk"]), LEGS, slice(40, 60))
    report = mend_swaps(spoiled, SKELETON, swaps="report")
    np.testing.assert_array_equal(report.position_m, spoiled.position_m)
    assert [f.done for f in report.repairs] == ["left as they are"]
    assert mend_swaps(spoiled, SKELETON, swaps="off") is spoiled


@pytest.mark.parametrize("motion", MOTIONS)
@pytest.mark.parametrize("seed", range(3))
def test_a_depth_sensor_with_gaps_and_outliers_is_left_alone_and_its_limbs_mended(motion, seed):
    sensor = DepthSensor.looking_at(
        "a", (0, 1, 0), from_m=(0, 1, 4), outlier_share=0.03, outlier_m=0.15
    )
    take = observe(MOTIONS[motion], sensor, seed=seed)
    assert mend_swaps(take, SKELETON, swaps="repair") is take
    mended = mend_swaps(exchanged(take, LEGS, slice(100, 120)), SKELETON, swaps="repair")
    wrong = np.abs(mended.position_m - take.position_m) > 0
    legs = np.array(LEGS).ravel()
    assert wrong[:, legs].any(axis=2).mean() < 0.01
    assert not np.delete(wrong, legs, axis=1).any()


@settings(max_examples=20, deadline=None)
@given(
    turn=st.tuples(*[st.floats(-3, 3)] * 3),
    first=st.integers(1, 150),
    length=st.integers(1, 40),
    speed=st.floats(0.8, 2.0),
)
def test_walking_at_any_speed_from_anywhere(turn, first, length, speed):
    motion = walk(200, 30.0, speed_m_s=1.2 * speed, cycle_s=1 / speed)
    R = Rotation.from_rotvec(turn).as_matrix()
    clean = Take("a", SKELETON.joints, motion.position_m @ R.T + 5.0, motion.time_s)
    assert mend_swaps(clean, SKELETON, swaps="repair") is clean
    spoiled = exchanged(clean, SIDES, slice(first, first + length))
    mended = mend_swaps(spoiled, SKELETON, swaps="repair")
    np.testing.assert_array_equal(mended.position_m, clean.position_m)


@pytest.mark.parametrize("n", [1, 2, 3])
def test_takes_of_very_few_frames(n):
    motion = MOTIONS["walk"]
    take = Take("a", SKELETON.joints, motion.position_m[:n], motion.time_s[:n])
    assert mend_swaps(take, SKELETON, swaps="repair") is take
