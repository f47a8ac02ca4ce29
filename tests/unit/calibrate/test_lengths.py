"""Bone lengths: planted lengths recovered, odd bones named, files checked."""

from __future__ import annotations

import numpy as np
import pytest

from fitpipe.calibrate import estimate_lengths, lengths_from_names, read_lengths
from fitpipe.errors import CalibrationError
from fitpipe.records import Skeleton, Take

CHAIN = Skeleton("chain", ("A", "B", "C"), (-1, 0, 1))
TWO_ARMS = Skeleton("arms", ("Root", "L", "R"), (-1, 0, 0), mirror=((1, 2),))


def chain_take(n=200, lengths=(0.4, 0.25), sigma=0.0, seed=0, **kwargs):
    rng = np.random.default_rng(seed)
    position = np.zeros((n, 3, 3))
    for k, length in enumerate(lengths):
        direction = rng.normal(size=(n, 3))
        direction /= np.linalg.norm(direction, axis=1, keepdims=True)
        position[:, k + 1] = position[:, k] + length * direction
    position += rng.normal(0, sigma, position.shape) if sigma else 0
    return Take("a", CHAIN.joints, position, np.arange(n) / 30, **kwargs)


def changed(take, change):
    position = take.position_m.copy()
    change(position)
    return Take(take.source, take.labels, position, take.time_s, take.confidence)


def test_exact_data_give_the_lengths_exactly():
    lengths, findings = estimate_lengths([chain_take()], CHAIN)
    np.testing.assert_allclose(lengths.length_m, [0.4, 0.25], atol=1e-12)
    np.testing.assert_array_equal(lengths.n_samples, [200, 200])
    assert findings == []


def test_a_tenth_of_wild_frames_does_not_move_the_length():
    def wild(position):
        position[::10, 2] += 0.5

    lengths, _ = estimate_lengths([changed(chain_take(), wild)], CHAIN)
    assert lengths.length_m[1] == pytest.approx(0.25, abs=1e-3)


def test_the_interval_holds_the_true_median_in_most_noisy_takes():
    hits = 0
    for seed in range(100):
        take = chain_take(n=151, lengths=(1.0, 1.0), sigma=0.005, seed=seed)
        lengths, _ = estimate_lengths([take], CHAIN)
        # the noise adds sigma^2 / L per transverse axis and end: 2 * 0.005^2 / 1
        hits += lengths.low_m[0] <= 1.0 + 2 * 0.005**2 <= lengths.high_m[0]
    assert 88 <= hits <= 100  # 95 % nominal, six standard errors


def test_sources_are_pooled():
    def blind(position):
        position[:150, 1] = np.nan

    one = changed(chain_take(), blind)
    lengths, _ = estimate_lengths([one, chain_take(seed=5)], CHAIN)
    np.testing.assert_array_equal(lengths.n_samples, [250, 250])


def test_symmetric_pools_left_and_right():
    position = np.zeros((4, 3, 3))
    position[:, 1, 0] = [0.30, 0.31, 0.30, 0.31]
    position[:, 2, 0] = [-0.33, -0.34, -0.33, -0.34]
    take = Take("a", TWO_ARMS.joints, position, np.arange(4))
    apart, _ = estimate_lengths([take], TWO_ARMS)
    pooled, _ = estimate_lengths([take], TWO_ARMS, symmetric=True)
    np.testing.assert_allclose(apart.length_m, [0.305, 0.335])
    np.testing.assert_allclose(pooled.length_m, [0.32, 0.32])


def test_doubtful_samples_are_left_out_where_enough_others_exist():
    take = chain_take()
    position, confidence = take.position_m.copy(), np.ones((200, 3))
    position[:120, 2] += 0.3
    confidence[:120, 2] = 0.2
    doubtful = Take("a", CHAIN.joints, position, take.time_s, confidence)
    lengths, _ = estimate_lengths([doubtful], CHAIN)
    assert lengths.length_m[1] == pytest.approx(0.25, abs=1e-12)
    assert lengths.n_samples[1] == 80


def test_a_bone_never_seen_is_named_and_has_no_length():
    def blind(position):
        position[:, 2] = np.nan

    lengths, findings = estimate_lengths([changed(chain_take(), blind)], CHAIN)
    assert lengths.length_m[0] == pytest.approx(0.4)
    assert np.isnan(lengths.length_m[1])
    assert [f.what for f in findings] == ["bone B-C: no frame shows both ends"]


def test_few_samples_and_zero_length_are_remarked():
    def change(position):
        position[3:, 2] = np.nan
        position[:, 1] = position[:, 0]

    _, findings = estimate_lengths([changed(chain_take(), change)], CHAIN)
    text = " | ".join(map(str, findings))
    assert "A-B: its ends coincide" in text
    assert "B-C: length from few samples (n = 3)" in text


def test_lengths_from_a_file(tmp_path):
    path = tmp_path / "subject.toml"
    path.write_text('[bone_length_m]\n"A-B" = 0.41\n"B-C" = 0.26\n')
    lengths = read_lengths(path, CHAIN)
    np.testing.assert_array_equal(lengths.length_m, [0.41, 0.26])
    np.testing.assert_array_equal(lengths.low_m, lengths.high_m)
    assert lengths.origin == "given"


def test_every_fault_of_given_lengths_is_listed():
    with pytest.raises(CalibrationError) as caught:
        lengths_from_names({"A-D": 0.1, "A-B": -1.0}, CHAIN)
    assert len(caught.value.faults) == 3
    assert "nearest: A-B" in str(caught.value)
    assert "'B-C' is missing" in str(caught.value)
    assert "-1.0" in str(caught.value)


def test_a_file_without_the_table_says_what_to_write(tmp_path):
    path = tmp_path / "subject.toml"
    path.write_text("x = 1\n")
    with pytest.raises(CalibrationError, match=r"no table \[bone_length_m\]"):
        read_lengths(path, CHAIN)
