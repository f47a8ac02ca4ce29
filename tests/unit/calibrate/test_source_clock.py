"""find_clocks: which offsets are applied, kept at zero, given, or refused."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest

import fitpipe as fp
from fitpipe.calibrate import Clock, NoCommonMotionError, find_clocks
from fitpipe.config import CalibrateConfig
from fitpipe.errors import CalibrationError, ConfigError
from fitpipe.records import SourceTransform
from fitpipe.simulate import DepthSensor, observe, reach_and_turn, walk

MOTION = reach_and_turn(240, 30.0)
SENSORS = [
    DepthSensor.looking_at("a", [0, 0.9, 0], from_m=[0.3, 1.2, 3.4]),
    DepthSensor.looking_at("b", [0.1, 0.8, 0], from_m=[3.4, 1.6, 0.5]),
]


@pytest.fixture(scope="module")
def takes():
    return [observe(MOTION, sensor, seed=i) for i, sensor in enumerate(SENSORS)]


def ahead(take, seconds):
    return replace(take, time_s=take.time_s + seconds)


def clocks(takes, **settings):
    return find_clocks(takes, CalibrateConfig(**settings))


def test_clocks_that_agree_are_left_alone(takes):
    (first, second), findings = clocks(takes)
    assert findings == []
    assert (first.offset_s, first.offset_sd_s) == (0.0, 0.0)
    assert second.offset_s == 0.0
    assert 0 < second.offset_sd_s < 0.003
    assert second.set_back(takes[1]) is takes[1]


def test_an_offset_is_found_and_told(takes):
    a, b = takes
    (_, clock), (finding,) = clocks([a, ahead(b, 0.25)])
    assert clock.offset_s == pytest.approx(0.25, abs=0.005)
    assert "source 'b': its clock is 0.2" in finding.what
    assert finding.severity == "warning"
    np.testing.assert_allclose(clock.set_back(ahead(b, 0.25)).time_s, b.time_s, atol=0.005)


def test_a_small_offset_is_a_note(takes):
    a, b = takes
    (_, clock), (finding,) = clocks([a, ahead(b, 0.03)])
    assert clock.offset_s == pytest.approx(0.03, abs=0.005)
    assert finding.severity == "note"


def test_the_other_offset_of_a_motion_that_repeats_is_told():
    motion = walk(300, 30.0)
    a, b = (observe(motion, sensor, seed=i) for i, sensor in enumerate(SENSORS))
    _, told = clocks([a, ahead(b, 0.3)])
    assert re.search(r"an offset of (-0\.7|1\.3)", told[1].what)  # a gait cycle of 1 s away
    assert told[1].severity == "warning"
    _, told = clocks([a, ahead(b, 0.03)])
    assert [finding.severity for finding in told] == ["note", "note"]


@pytest.mark.parametrize("offset", ["none", 0.0])
def test_clocks_are_taken_as_they_are_if_wanted(takes, offset):
    a, b = takes
    (_, clock), findings = clocks([a, ahead(b, 0.25)], time_offset=offset)
    assert (clock.offset_s, clock.offset_sd_s) == (0.0, 0.0)
    assert findings == []


@pytest.mark.parametrize("offset", [0.25, {"b": 0.25}, {"a": 0, "b": 0.25}])
def test_a_given_offset_is_applied_exactly(takes, offset):
    a, b = takes
    (_, clock), _ = clocks([a, ahead(b, 0.25)], time_offset=offset)
    np.testing.assert_allclose(clock.set_back(ahead(b, 0.25)).time_s, b.time_s, atol=1e-12)


def test_sources_left_out_of_the_table_are_not_moved(takes):
    a, b = takes
    c = replace(b, source="c")
    result, _ = clocks([a, b, c], time_offset={"c": -1.0})
    assert [clock.offset_s for clock in result] == [0.0, 0.0, -1.0]


def test_every_wrong_source_of_the_table_is_named(takes):
    with pytest.raises(CalibrationError) as caught:
        clocks(takes, time_offset={"B2": 1.0, "a": 0.5})
    assert len(caught.value.faults) == 2
    assert "'B2' is no source" in str(caught.value)
    assert "'a' is the reference" in str(caught.value)


@pytest.mark.parametrize("value", ["guess", True, float("nan"), {"b": "x"}, [1.0]])
def test_a_setting_that_is_no_offset_is_refused(value):
    with pytest.raises(ConfigError, match="expected 'estimate', 'none', seconds"):
        fp.fit([], config={"calibrate": {"time_offset": value}})


def test_a_still_take_keeps_its_clock_with_a_note_if_clocks_overlap(takes):
    a, b = (replace(t, position_m=t.position_m[:1] + 0 * t.position_m) for t in takes)
    (_, clock), (finding,) = clocks([a, b])
    assert clock.offset_s == 0.0
    assert np.isnan(clock.offset_sd_s)
    assert finding.severity == "note"
    assert "hardly move" in finding.what


def test_a_still_take_is_refused_if_clocks_do_not_overlap(takes):
    a, b = (replace(t, position_m=t.position_m[:1] + 0 * t.position_m) for t in takes)
    with pytest.raises(NoCommonMotionError, match=r"hardly move.*100\.000 to 107\.967 s") as caught:
        clocks([a, ahead(b, 100.0)])
    assert "time_offset" in caught.value.hint


def test_two_motions_on_overlapping_clocks_are_a_warning(takes):
    a, b = takes
    other = replace(b, position_m=b.position_m[::-1])
    _, (finding,) = clocks([a, other])
    assert finding.severity == "warning"
    assert "correlation" in finding.what


def test_a_clock_is_written_into_the_transform():
    clock = Clock(5.0, 0.25, 0.002, 1e-4)
    transform = clock.written_into(SourceTransform.identity("b"))
    assert transform.time_offset_s == 0.25
    assert transform.time_offset_sd_s == 0.002
    assert transform.clock_drift == 1e-4


def test_drift_runs_from_the_first_instant_of_the_reference(takes):
    clock = Clock(t0_s=5.0, offset_s=0.25, drift=1e-3)
    true = np.linspace(5.0, 12.0, takes[1].n_frames)
    stamped = replace(takes[1], time_s=true + 0.25 + 1e-3 * (true - 5.0))
    np.testing.assert_allclose(clock.set_back(stamped).time_s, true, atol=1e-12)


def test_shifting_a_source_in_time_does_not_change_the_fit(takes):
    a, b = takes
    at_once = fp.fit(takes)
    later = fp.fit([a, ahead(b, 1000.0)])
    assert later.calibration.transforms[1].time_offset_s == pytest.approx(1000.0, abs=0.003)
    apart = np.linalg.norm(later.position - at_once.position, axis=-1)
    assert np.nanmedian(apart) < 0.004  # resampling between frames, no more
    given = fp.fit([a, ahead(b, 1000.0)], config={"calibrate": {"time_offset": 1000.0}})
    np.testing.assert_allclose(given.position, at_once.position, atol=1e-9)
