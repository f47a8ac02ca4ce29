"""Bone lengths: planted lengths recovered, odd bones named, files checked."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from fitpipe.calibrate import estimate_lengths, lengths_from_names, read_lengths
from fitpipe.errors import CalibrationError
from fitpipe.records import Skeleton, Take
from fitpipe.simulate import reach_and_turn, walk

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


@pytest.mark.parametrize(
    "motion", [walk(240, 30.0), reach_and_turn(240, 30.0)], ids=["walk", "reach"]
)
def test_noise_makes_no_bone_longer_and_the_interval_holds_the_truth(motion):
    skeleton, true = motion.skeleton, motion.skeleton.bone_length_m
    errors, plain, hits = [], [], []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        takes = [
            Take(
                name,
                skeleton.joints,
                motion.position_m + rng.normal(0, 0.015, motion.position_m.shape),
                motion.time_s,
            )
            for name in "ab"
        ]
        lengths, _ = estimate_lengths(takes, skeleton)
        errors.append(lengths.length_m - true)
        hits.append((lengths.low_m <= true) & (true <= lengths.high_m))
        parent, child = np.array(skeleton.bones).T
        both = np.concatenate([t.position_m for t in takes])
        plain.append(np.median(np.linalg.norm(both[:, child] - both[:, parent], axis=2), axis=0))
    # sigma^2 / L per end and axis: 5.6 mm for a bone of 80 mm
    assert np.abs(np.mean(plain, axis=0) - true).max() > 0.005
    assert np.abs(np.mean(errors, axis=0)).max() < 0.0015
    assert np.abs(np.mean(errors)) < 0.0005
    assert 0.90 <= np.mean(hits) <= 0.985  # 0.95 nominal, 380 intervals


def test_noise_that_grows_over_the_take_and_away_from_the_sensor_makes_no_bone_longer():
    motion = walk(600, 30.0)
    skeleton, true = motion.skeleton, motion.skeleton.bone_length_m
    spread_m = np.linspace(0.006, 0.024, 600)[:, None, None] * [0.7, 0.7, 1.6]
    errors = []
    for seed in range(12):
        noise = spread_m * np.random.default_rng(seed).normal(size=motion.position_m.shape)
        take = Take("a", skeleton.joints, motion.position_m + noise, motion.time_s)
        errors.append(estimate_lengths([take], skeleton)[0].length_m - true)
    # the medians of third differences along or across, whichever is less, would leave 1.4 mm
    assert np.abs(np.mean(errors)) < 0.0006


def test_bones_that_change_length_are_not_taken_for_noise_across_them():
    rng = np.random.default_rng(0)
    stretch = rng.normal(1, 0.05, (200, 1))
    position = np.zeros((200, 3, 3))
    position[:, 1] = 0.4 * stretch * [0.0, 1.0, 0.0]
    position[:, 2] = position[:, 1] + 0.25 * stretch * [1.0, 0.0, 0.0]
    lengths, _ = estimate_lengths([Take("a", CHAIN.joints, position, np.arange(200))], CHAIN)
    np.testing.assert_allclose(lengths.length_m, [0.4, 0.25], rtol=0.015)


def test_sources_that_disagree_widen_the_interval():
    one, two = chain_take(sigma=0.003), chain_take(lengths=(0.42, 0.25), sigma=0.003, seed=3)
    lengths, _ = estimate_lengths([one, two], CHAIN)
    assert lengths.length_m[0] == pytest.approx(0.41, abs=0.001)
    assert lengths.low_m[0] < 0.4
    assert lengths.high_m[0] > 0.42
    assert lengths.high_m[1] - lengths.low_m[1] < 0.003


def test_samples_that_hang_together_widen_the_interval():
    rng = np.random.default_rng(1)
    wander = np.convolve(rng.normal(0, 0.01, 1050), np.ones(50) / 7, "valid")[:1000]
    independent = wander[rng.permutation(1000)]

    def width(error):
        position = np.zeros((1000, 3, 3))
        position[:, 1, 1] = 0.4 + error
        position[:, 2, 1] = 0.65 + error
        take = Take("a", CHAIN.joints, position, np.arange(1000) / 30)
        lengths, _ = estimate_lengths([take], CHAIN)
        return lengths.high_m[0] - lengths.low_m[0]

    assert width(wander) > 3 * width(independent)


def test_one_wild_sample_does_not_move_a_length():
    def wild(position):
        position[25, 2] += 2.0

    plain, _ = estimate_lengths([chain_take(100, sigma=0.002)], CHAIN)
    spiked, _ = estimate_lengths([changed(chain_take(100, sigma=0.002), wild)], CHAIN)
    np.testing.assert_allclose(spiked.length_m, plain.length_m, atol=2e-4)


def test_the_order_of_the_takes_and_rigid_motion_change_nothing():
    takes = [chain_take(sigma=0.01, seed=seed) for seed in range(3)]
    R = Rotation.from_rotvec([0.4, -1.0, 0.7]).as_matrix()
    moved = [replace(take, position_m=take.position_m @ R.T + [1.0, 2.0, 3.0]) for take in takes]
    one, _ = estimate_lengths(takes, CHAIN)
    two, _ = estimate_lengths(moved[::-1], CHAIN)
    np.testing.assert_allclose(one.length_m, two.length_m, atol=1e-10)
    np.testing.assert_allclose(one.low_m, two.low_m, atol=1e-10)


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
