"""Take: what it accepts, what it repairs and says so, and what it refuses all at once."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from fitpipe.errors import RecordError
from fitpipe.records import Origin, Take


def make(**changes):
    fields = {
        "source": "a",
        "labels": ["p", "q"],
        "position_m": np.arange(18.0).reshape(3, 2, 3),
        "time_s": [0.0, 0.1, 0.2],
    }
    return Take(**{**fields, **changes})


def test_lists_become_read_only_arrays():
    take = make(position_m=np.ones((3, 2, 3)).tolist())
    assert take.labels == ("p", "q")
    with pytest.raises(ValueError, match="read-only"):
        take.position_m[0, 0, 0] = 5


def test_half_missing_samples_are_missing_as_a_whole_and_told():
    position = np.ones((3, 2, 3))
    position[0, 0, 1] = np.nan
    position[1, 1, 2] = np.inf
    position[2, 0] = np.nan
    take = make(position_m=position)
    np.testing.assert_array_equal(take.is_observed, [[False, True], [True, False], [False, True]])
    assert [str(f) for f in take.repairs] == [
        "2 samples have some coordinates that are infinite or NaN: taken as missing"
    ]


def test_every_fault_is_listed_at_once():
    with pytest.raises(RecordError) as caught:
        make(labels=["p", "p"], time_s=[0.0, 0.2, 0.1], confidence=np.full((3, 2), 1.5))
    text = str(caught.value)
    assert "'p' more than once" in text
    assert "index 2 (0.2 to 0.1 s)" in text
    assert "6 values outside 0 to 1" in text


def test_a_wrong_shape_names_both_shapes():
    with pytest.raises(
        RecordError, match=r"position_m has shape \(3, 3, 3\), expected \(3, 2, 3\)"
    ):
        make(position_m=np.ones((3, 3, 3)))


def test_no_frames_is_refused():
    with pytest.raises(RecordError, match="one or more frames"):
        make(position_m=np.ones((0, 2, 3)), time_s=[])


def test_rate_of_even_stamps_is_not_rounded():
    n = 3000
    take = make(position_m=np.ones((n, 2, 3)), time_s=np.arange(n) / 150.001)
    assert take.is_uniform
    assert take.rate_hz == pytest.approx(150.001, rel=1e-9)
    assert take.duration_s == pytest.approx(2999 / 150.001)


def test_stamps_rounded_to_milliseconds_count_as_even():
    n = 240
    take = make(position_m=np.ones((n, 2, 3)), time_s=np.round(np.arange(n) / 120, 3))
    assert take.is_uniform
    assert take.rate_hz == pytest.approx(120, rel=1e-3)


def test_uneven_stamps_give_the_median_rate():
    time_s = np.cumsum([0, 1, 1, 1, 5, 1, 1]) / 30
    take = make(position_m=np.ones((7, 2, 3)), time_s=time_s)
    assert not take.is_uniform
    assert take.rate_hz == pytest.approx(30)


def test_one_frame_has_no_rate():
    take = make(position_m=np.ones((1, 2, 3)), time_s=[0.5])
    assert np.isnan(take.rate_hz)
    assert take.duration_s == 0


def test_a_take_travels_to_another_process_whole():
    take = make(origin=Origin(path="x.c3d", metadata={"subject": "S1"}))
    there = pickle.loads(pickle.dumps(take))  # noqa: S301 - what worker pools do, our own bytes
    np.testing.assert_array_equal(there.position_m, take.position_m)
    assert there.origin == take.origin
