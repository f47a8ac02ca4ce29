"""onto_clock resamples a source without bridging gaps."""

from __future__ import annotations

import numpy as np
import pytest

from fitpipe.calibrate import onto_clock
from fitpipe.errors import CalibrationError
from fitpipe.records import Take


def line(time_s, **kwargs):
    """A take of two points that move evenly, so that interpolation is exact."""
    t = np.asarray(time_s)
    position = np.stack([np.outer(t, [1.0, 2.0, 3.0]), np.outer(t, [-1.0, 0.5, 0.0])], axis=1)
    return Take("b", ["p", "q"], position, t, **kwargs)


def test_a_take_on_the_same_clock_keeps_every_number():
    time_s = np.arange(10) / 30
    take = line(time_s + 1e-5)
    moved = onto_clock(take, time_s, max_gap_s=0.1)
    np.testing.assert_array_equal(moved.position_m, take.position_m)
    np.testing.assert_array_equal(moved.time_s, time_s)


def test_even_motion_is_exact_on_another_clock():
    clock = np.arange(31) / 30
    moved = onto_clock(line(np.arange(101) / 100), clock, max_gap_s=0.1)
    np.testing.assert_allclose(moved.position_m[:, 0], np.outer(clock, [1, 2, 3]), atol=1e-12)
    assert "101 frames at 100 Hz" in moved.repairs[0].what
    assert len(moved.repairs) == 1  # both end at 1 s


def test_instants_outside_the_take_are_missing():
    clock = np.arange(-5, 20) / 10
    moved = onto_clock(line(np.arange(11) / 10), clock, max_gap_s=0.2)
    np.testing.assert_array_equal(moved.is_observed[:, 0], (clock >= -1e-9) & (clock <= 1 + 1e-9))


def test_a_gap_longer_than_the_limit_stays_a_gap():
    time_s = np.arange(101) / 100
    take = line(time_s)
    position = take.position_m.copy()
    position[20:60, 0] = np.nan  # 0.41 s between its neighbours
    position[20:23, 1] = np.nan  # 0.04 s
    take = Take("b", ["p", "q"], position, time_s)
    clock = np.arange(31) / 30
    moved = onto_clock(take, clock, max_gap_s=0.1)
    inside = (clock > 0.191) & (clock < 0.599)
    np.testing.assert_array_equal(moved.is_observed[:, 0], ~inside)
    assert moved.is_observed[:, 1].all()


def test_a_coarse_take_is_bridged_between_its_own_ticks():
    moved = onto_clock(line(np.arange(6) / 5), np.arange(21) / 20, max_gap_s=0.01)
    assert moved.is_observed.all()


def test_confidence_is_the_lower_of_the_two_neighbours():
    take = line([0.0, 0.1, 0.2], confidence=[[1.0, 1.0], [0.2, 1.0], [1.0, 0.5]])
    moved = onto_clock(take, np.array([0.05, 0.1, 0.15]), max_gap_s=0.2)
    np.testing.assert_allclose(moved.confidence, [[0.2, 1.0], [0.2, 1.0], [0.2, 0.5]])


def test_no_overlap_is_an_error_with_both_ranges():
    with pytest.raises(CalibrationError, match=r"5\.000 to 6\.000 s.*do not overlap"):
        onto_clock(line([5.0, 5.5, 6.0]), np.arange(10) / 10, max_gap_s=0.1)


def test_a_single_frame_meets_its_own_instant():
    moved = onto_clock(line([0.5]), np.array([0.0, 0.5, 1.0]), max_gap_s=0.1)
    np.testing.assert_array_equal(moved.is_observed[:, 0], [False, True, False])


def test_frames_beyond_the_end_of_the_other_are_told_by_their_number():
    longer, clock = line(np.arange(503) / 100), np.arange(500) / 100
    moved = onto_clock(longer, clock, max_gap_s=0.1)
    np.testing.assert_array_equal(moved.position_m, longer.position_m[:500])
    assert "3 of its 503 frames lie outside the reference's time: not used" in map(
        str, moved.repairs
    )
    shorter = onto_clock(line(clock), np.arange(503) / 100, max_gap_s=0.1)
    assert "3 of the reference's 503 frames lie outside its time" in shorter.repairs[-1].what
    assert shorter.is_observed[:, 0].sum() == 500
