"""The lights of a fit, and how numbers are told."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from fitpipe.config import ReportConfig, load_report_config
from fitpipe.errors import ConfigError
from fitpipe.records import BoneLengths, Calibration, Doubt, FrameStatus, JointStatus
from fitpipe.report.numbers import mm, percent, tick_texts, ticks
from fitpipe.report.verdict import Level, judge, measures, overall

from .fits import planted, remade


def light(fit, key, limits=None):
    return {check.key: check for check in judge(fit, limits or ReportConfig())}[key]


def test_every_limit_of_the_config_has_a_measure():
    assert list(measures(planted())) == list(ReportConfig.model_fields)


@pytest.mark.parametrize(
    ("n_empty", "level"), [(0, Level.GOOD), (1, Level.GOOD), (5, Level.CHECK), (21, Level.POOR)]
)
def test_frames_fitted(n_empty, level):
    fit = planted(100)
    frame_status = np.array(fit.frame_status)
    frame_status[:n_empty] = FrameStatus.NO_DATA
    check = light(remade(fit, frame_status=frame_status), "fitted_share")
    assert check.level == level
    assert check.number == pytest.approx(1 - n_empty / 100)


def test_measures_are_the_planted_numbers():
    fit = planted(50)
    observation, weight, doubt = map(np.array, (fit.observation, fit.weight, fit.doubt))
    status = np.array(fit.status)
    doubt[:5, 0, :] = Doubt.BONES  # 15 of 300
    status[:30, 2] = JointStatus.CARRIED  # of 150 samples
    observation[...] = fit.position[:, None] + [0.0, 0.0, 0.03]
    observation[:, 1] += np.float32([0.0, 0.04, 0.0])
    fit = remade(fit, observation=observation, weight=weight, doubt=doubt, status=status)
    a, b = fit.calibration.transforms
    b = dataclasses.replace(b, rms_m=0.07, time_offset_sd_s=0.2)
    fit = dataclasses.replace(fit, calibration=Calibration((a, b), fit.calibration.bone_lengths))
    found = measures(fit)
    assert found["doubted_share"] == pytest.approx(0.05)
    assert found["seen_share"] == pytest.approx(0.8)
    assert found["disagreement_m"] == pytest.approx(0.04, rel=1e-5)
    assert found["rms_m"] == pytest.approx(np.sqrt((0.03**2 + 0.05**2) / 2), rel=1e-5)
    assert found["registration_rms_m"] == 0.07
    assert found["length_interval_share"] == pytest.approx(0.015 / 0.4)
    assert light(fit, "registration_rms_m").level == Level.CHECK
    assert light(fit, "time_offset_sd_s").level == Level.POOR
    assert overall(judge(fit, ReportConfig())) == Level.POOR


def test_limits_come_from_the_config():
    fit = planted()
    strict = ReportConfig(rms_m=(1e-6, 2e-6))
    assert light(fit, "rms_m").level == Level.GOOD
    assert light(fit, "rms_m", strict).level == Level.POOR
    assert "good up to 0.001 mm" in light(fit, "rms_m", strict).limits


def test_what_a_fit_does_not_tell_is_not_judged():
    fit = planted(1, sources=("a",))
    length = np.full(2, 0.4)
    one = Calibration(
        fit.calibration.transforms, BoneLengths(length, length, length, [1, 1], "estimated")
    )
    fit = dataclasses.replace(fit, calibration=one, disagreement=np.full((1, 3), np.nan))
    unknown = {c.key for c in judge(fit, ReportConfig()) if c.level == Level.UNKNOWN}
    assert unknown == {
        "registration_rms_m", "time_offset_sd_s", "disagreement_m", "length_interval_share",
    }  # fmt: skip
    assert light(fit, "disagreement_m").value == "n/a"
    assert overall(judge(fit, ReportConfig())) == Level.GOOD


def test_given_lengths_are_known_exactly():
    fit = planted()
    given = Calibration(fit.calibration.transforms, BoneLengths.given(np.full(2, 0.4)))
    assert light(dataclasses.replace(fit, calibration=given), "length_interval_share").number == 0


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"report.rms_m": [0.2, 0.1]}, "two rising numbers"),
        ({"report.seen_share": [0.5, 0.9]}, "two shares from 1 to 0"),
        ({"report.rsm_m": [0.1, 0.2]}, "did you mean 'rms_m'"),
        ({"solve.max_iterations": 3}, "[solve]"),
    ],
)
def test_limits_that_make_no_sense_are_refused(settings, words):
    with pytest.raises(ConfigError, match=r"report|solve") as caught:
        load_report_config(None, settings)
    assert words in str(caught.value)


def test_limits_of_a_run_s_config_are_read_without_the_rest(tmp_path):
    path = tmp_path / "run.toml"
    path.write_text("[takes]\npattern = 'x'\n[report]\nrms_m = [0.1, 0.2]\n")
    assert load_report_config(path).rms_m == (0.1, 0.2)
    assert load_report_config(path, {"report.rms_m": [0.3, 0.4]}).rms_m == (0.3, 0.4)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (percent(0.9999), "> 99.9 %"),
        (percent(1.0), "100 %"),
        (percent(0.0002), "< 0.1 %"),
        (percent(0.0), "0 %"),
        (percent(0.25), "25 %"),
        (percent(float("nan")), "n/a"),
        (mm(0.0123), "12.3 mm"),
        (mm(1e-6), "0.001 mm"),
        (mm(8e-16), "8e-16 m"),
        (mm(float("nan")), "n/a"),
    ],
)
def test_numbers_are_told_without_rounding_to_all_or_nothing(text, expected):
    assert text == expected


def test_ticks_are_round_and_inside():
    assert ticks(0, 73, 4) == [0, 20, 40, 60]
    assert tick_texts(ticks(-1.3, 1.2, 4)) == ["-1", "0", "1"]
    assert tick_texts(ticks(0, 0.031, 4)) == ["0.00", "0.01", "0.02", "0.03"]
    assert ticks(3.0, 3.0) == [3.0]
