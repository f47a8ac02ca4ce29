"""A subject's lengths: pooled over takes, written, read back and used."""

from __future__ import annotations

import numpy as np
import pytest

import fitpipe as fp
from fitpipe.calibrate import estimate_lengths, read_lengths, subject_toml
from fitpipe.errors import CalibrationError, RecordError
from fitpipe.pipeline import measure_lengths
from fitpipe.records import Origin, Take
from fitpipe.simulate import DepthSensor, observe, reach_and_turn, walk

SENSORS = [
    DepthSensor.looking_at("a", [0, 0.9, 0], from_m=[0.3, 1.2, 3.4]),
    DepthSensor.looking_at("b", [0.1, 0.8, 0], from_m=[3.4, 1.6, 0.5]),
]


@pytest.fixture(scope="module")
def takes():
    motions = (walk(120, 30.0), reach_and_turn(120, 30.0))
    return [
        observe(motion, sensor, seed=10 * i + j)
        for i, motion in enumerate(motions)
        for j, sensor in enumerate(SENSORS)
    ]


@pytest.fixture(scope="module")
def skeleton():
    return fp.Skeleton.preset("kinect20")


def test_a_file_holds_what_was_measured(takes, skeleton, tmp_path):
    lengths, _ = estimate_lengths(takes, skeleton)
    path = tmp_path / "subject.toml"
    path.write_text(subject_toml(lengths, skeleton, comment="Anna\n2024"))
    again = read_lengths(path, skeleton)
    for name in ("length_m", "low_m", "high_m"):
        np.testing.assert_allclose(getattr(again, name), getattr(lengths, name), atol=1e-6)
    np.testing.assert_array_equal(again.n_samples, lengths.n_samples)
    assert again.origin == "given"
    assert path.read_text().startswith("# Anna\n# 2024\n")


def test_a_bone_never_seen_stays_unknown_in_the_file(takes, skeleton, tmp_path):
    position = takes[0].position_m.copy()
    position[:, skeleton.joint_index("FootLeft")] = np.nan
    lengths, _ = estimate_lengths([Take("a", skeleton.joints, position, takes[0].time_s)], skeleton)
    path = tmp_path / "subject.toml"
    path.write_text(subject_toml(lengths, skeleton))
    again = read_lengths(path, skeleton)
    np.testing.assert_array_equal(np.isnan(again.length_m), np.isnan(lengths.length_m))
    assert np.isnan(again.length_m).sum() == 1
    fit = fp.fit(takes[0], config={"calibrate": {"bone_lengths": str(path)}})
    assert fit.is_converged.all()


def test_lengths_outside_their_interval_are_refused(takes, skeleton, tmp_path):
    lengths, _ = estimate_lengths(takes, skeleton)
    text = subject_toml(lengths, skeleton)
    name = skeleton.bone_names[4]
    old = f'"{name}" = {lengths.length_m[4]:.6f}'
    assert old in text
    path = tmp_path / "subject.toml"
    path.write_text(text.replace(old, f'"{name}" = 0.9', 1))
    with pytest.raises(CalibrationError, match=f"does not hold the length of {name}"):
        read_lengths(path, skeleton)


def test_faults_of_every_table_name_it(takes, skeleton, tmp_path):
    lengths, _ = estimate_lengths(takes, skeleton)
    path = tmp_path / "subject.toml"
    path.write_text(
        subject_toml(lengths, skeleton).split("[bone_length_high_m]")[0] + '"X-Y" = 1\n'
    )
    with pytest.raises(CalibrationError, match=r"\[bone_length_low_m\].*\n.*'X-Y' is no bone"):
        read_lengths(path, skeleton)


def test_takes_of_a_subject_are_pooled(takes, skeleton):
    pooled, bones, _ = measure_lengths(takes)
    alone, _, _ = measure_lengths(takes[:1])
    assert bones.bone_names == skeleton.bone_names
    assert (pooled.n_samples > 2 * alone.n_samples).all()
    true = walk(1, 30.0).skeleton.bone_length_m
    assert np.abs(pooled.length_m - true).max() < 0.012
    assert np.abs(pooled.length_m - true).mean() < np.abs(alone.length_m - true).mean()


def test_takes_of_two_people_are_not_pooled(takes):
    anna, ben = (
        Take(t.source, t.labels, t.position_m, t.time_s, origin=Origin(metadata={"body": body}))
        for t, body in zip(takes, ("anna", "ben"), strict=False)
    )
    with pytest.raises(RecordError, match="2 people"):
        measure_lengths([anna, ben])


def test_a_fit_with_a_subject_file_has_its_lengths(takes, skeleton, tmp_path):
    lengths, _, _ = measure_lengths(takes, config={"calibrate": {"symmetric": True}})
    path = tmp_path / "subject.toml"
    path.write_text(subject_toml(lengths, skeleton))
    fit = fp.fit(takes[:2], config={"calibrate": {"bone_lengths": str(path)}})
    np.testing.assert_allclose(fit.bone_length, lengths.length_m, atol=1e-6)
    np.testing.assert_allclose(fit.calibration.bone_lengths.low_m, lengths.low_m, atol=1e-6)
    left, right = (fit.bone_length[k] for k in skeleton.mirrored_bones[0])
    assert left == right
