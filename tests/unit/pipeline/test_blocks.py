"""A take fitted block by block has the numbers of the whole, seams and all."""

from __future__ import annotations

import itertools
import sys
from dataclasses import fields

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import fitpipe as fp
from fitpipe import pipeline
from fitpipe.calibrate import REACH_FRAMES
from fitpipe.pipeline import stretches
from fitpipe.records import LongTake, Skeleton, Take
from fitpipe.records.long_take import joined
from fitpipe.simulate import reach_and_turn, walk
from fitpipe.solve.trajectory import TrajectoryFitter

SKELETON = Skeleton.preset("kinect20")
MIRROR = np.arange(20)
for _i, _j in SKELETON.mirror:
    MIRROR[[_i, _j]] = _j, _i
LEGS = [12, 13, 14, 15, 16, 17, 18, 19]
BLOCK = 64


def takes_of(n_frames, n_sources, *, seed=1, ahead_s=0.04, confidence=False):
    """Sources with noise, outliers, gaps, exchanged legs and a flip, each in a frame of its own."""
    rng = np.random.default_rng(seed)
    motion = (walk if seed % 2 else reach_and_turn)(n_frames, 30.0)
    takes = []
    for s in range(n_sources):
        position = motion.position_m + rng.normal(0, 0.012, motion.position_m.shape)
        outlier = rng.random(position.shape[:2]) < 0.03
        position[outlier] += rng.normal(0, 0.15, (outlier.sum(), 3))
        position[rng.random(position.shape[:2]) < 0.05] = np.nan
        if s == 0:
            position[50:70, LEGS] = position[50:70, MIRROR[LEGS]]
        if s == 1:
            position[n_frames // 3 : n_frames // 3 + 40] = position[
                n_frames // 3 : n_frames // 3 + 40, MIRROR
            ]
        R = Rotation.from_rotvec([0, 0.8 * s, 0]).as_matrix()
        takes.append(
            Take(
                "abc"[s],
                SKELETON.joints,
                position @ R.T + s,
                motion.time_s + ahead_s * s,
                rng.random(position.shape[:2]) if confidence else None,
            )
        )
    return takes


@pytest.fixture
def in_small_blocks(monkeypatch):
    """Makes fits go block by block, calibrated on the whole take."""
    frames = sys.modules["fitpipe.solve.frames"]  # the package has a function of that name

    def use():
        whole = stretches.blocks
        monkeypatch.setattr(stretches, "blocks", lambda n, _: whole(n, 1))

    monkeypatch.setattr(frames, "BLOCK", BLOCK)
    monkeypatch.setattr(stretches, "BLOCK", BLOCK)
    monkeypatch.setitem(TrajectoryFitter.__init__.__kwdefaults__, "window", BLOCK // 2)
    return use


def assert_same(one, other):
    for field in fields(one):
        a, b = getattr(one, field.name), getattr(other, field.name)
        if isinstance(a, np.ndarray):
            np.testing.assert_array_equal(a, b, err_msg=field.name)
    assert one.log == other.log
    np.testing.assert_array_equal(one.bone_length, other.bone_length)
    for a, b in zip(one.calibration.transforms, other.calibration.transforms, strict=True):
        np.testing.assert_array_equal(a.R_ref_source, b.R_ref_source)
        np.testing.assert_array_equal(a.t_ref_m, b.t_ref_m)


@pytest.mark.parametrize(
    ("n_frames", "n_sources", "options", "config"),
    [
        (400, 1, {}, {}),
        (500, 2, {"seed": 2}, {}),
        (430, 3, {"confidence": True}, {}),
        (300, 2, {"ahead_s": 0.0}, {"weights": {"swaps": "report", "jumps": False}}),
        (300, 2, {}, {"weights": {"swaps": "off", "flips": False, "robust_scale_m": 0.0}}),
        (300, 1, {}, {"solve": {"threads": 1}}),
        (150, 2, {}, {"solve": {"formulation": "aggregate", "max_iterations": 20}}),
        (200, 2, {"seed": 2}, {"solve": {"temporal": "previous"}}),
        (700, 2, {}, {"solve": {"temporal": "trajectory"}}),
        (330, 1, {"seed": 4}, {"solve": {"temporal": "trajectory", "robust": False}}),
    ],
)
def test_blocks_give_the_bits_of_the_whole(n_frames, n_sources, options, config, in_small_blocks):
    takes = takes_of(n_frames, n_sources, **options)
    config = {**config, "calibrate": {"time_offset": options.get("ahead_s", 0.04)}}
    whole = fp.fit(takes, config=config)
    in_small_blocks()
    blocks = list(pipeline.prepare(takes, config=config).blocks())
    assert [b.n_frames for b in blocks][:-1] == [BLOCK] * (len(blocks) - 1)
    assert_same(fp.fit(takes, config=config), whole)


def test_a_source_that_ends_early_and_one_that_has_another_rate(in_small_blocks):
    a, b = takes_of(400, 2, ahead_s=0.0)
    b = Take("b", b.labels, b.position_m[:150:2], b.time_s[:150:2])
    config = {"calibrate": {"time_offset": "none", "max_gap_s": 0.2}}
    whole = fp.fit([a, b], config=config)
    assert not (whole.weight[200:, 1] > 0).any()
    in_small_blocks()
    assert_same(fp.fit([a, b], config=config), whole)


def test_given_weights_and_lengths_go_with_their_frames(in_small_blocks):
    takes = takes_of(300, 2, ahead_s=0.0)
    rng = np.random.default_rng(0)
    given = [rng.random((300, 20)) for _ in takes]
    lengths = dict(zip(SKELETON.bone_names, rng.uniform(0.1, 0.4, 19), strict=True))
    options = {"weight": given, "bone_length_m": lengths}
    config = {"calibrate": {"time_offset": "none"}}
    whole = fp.fit(takes, config=config, **options)
    in_small_blocks()
    assert_same(fp.fit(takes, config=config, **options), whole)


@pytest.mark.usefixtures("in_small_blocks")
def test_a_long_take_is_never_read_at_once_and_gives_the_numbers_of_one_in_memory():
    (take,) = takes_of(1500, 1, ahead_s=0.0)
    asked = []

    def read(begin, end):
        asked.append(end - begin)
        return take.frames(begin, end)

    config = {"calibrate": {"sample_frames": 1024}}
    long = LongTake("a", take.labels, take.time_s, read)
    assert_same(fp.fit(long, config=config), fp.fit(take, config=config))
    assert max(asked) <= 1.5 * BLOCK + 2 * REACH_FRAMES


def test_calibration_from_stretches_is_that_of_the_whole_within_its_error():
    takes = takes_of(6000, 2)
    whole = fp.fit(takes)
    sampled = fp.fit(takes, config={"calibrate": {"sample_frames": 2048}})
    np.testing.assert_allclose(sampled.bone_length, whole.bone_length, atol=0.003)
    np.testing.assert_allclose(sampled.noise, whole.noise, rtol=0.15)
    a, b = (fit.calibration.transforms[1] for fit in (sampled, whole))
    assert abs(a.time_offset_s - b.time_offset_s) < 0.003
    turn = Rotation.from_matrix(a.R_ref_source.T @ b.R_ref_source).magnitude()
    assert np.degrees(turn) < 0.3
    assert np.linalg.norm(a.t_ref_m - b.t_ref_m) < 0.01
    apart = np.linalg.norm(sampled.position - whole.position, axis=-1)
    assert np.nanmedian(apart) < 0.005


def test_a_long_take_is_calibrated_the_same_way_again():
    takes = takes_of(3000, 2)
    config = {"calibrate": {"sample_frames": 1024}}
    assert_same(fp.fit(takes, config=config), fp.fit(takes, config=config))


@pytest.mark.parametrize("n_frames", [1, 1000, 1023, 1024])
def test_a_take_of_few_frames_is_one_block_and_its_own_sample(n_frames):
    assert stretches.blocks(n_frames, 1024) == [(0, n_frames)]
    assert stretches.sampled(n_frames, 1024) == [(0, n_frames)]


@pytest.mark.parametrize("n_frames", [1025, 16_384, 16_385, 24_577, 100_000, 2_000_000])
def test_blocks_cover_a_take_and_samples_are_spread_over_it(n_frames):
    blocks = stretches.blocks(n_frames, 1024)
    assert [begin for begin, _ in blocks] == [0, *(end for _, end in blocks[:-1])]
    assert blocks[-1][1] == n_frames
    assert all(begin % stretches.BLOCK == 0 for begin, _ in blocks)
    assert max(end - begin for begin, end in blocks) < 1.5 * stretches.BLOCK
    parts = stretches.sampled(n_frames, 1024)
    assert sum(end - begin for begin, end in parts) == 1024
    assert parts[0][0] == 0
    assert parts[-1][1] == n_frames
    assert all(a[1] <= b[0] for a, b in itertools.pairwise(parts))


def test_joined_stretches_do_not_touch():
    (take,) = takes_of(100, 1)
    parts = [take.frames(0, 10), take.frames(10, 30), take.frames(60, 100)]
    one = joined(parts)
    np.testing.assert_array_equal(
        np.flatnonzero(np.isnan(one.position_m).all(axis=(1, 2))), [10, 31]
    )
    assert (np.diff(one.time_s) > 0).all()
    np.testing.assert_array_equal(one.position_m[32:], take.position_m[60:])


def test_joined_stretches_have_full_confidence_where_only_others_have_one():
    (take,) = takes_of(20, 1)
    rated = Take("a", take.labels, take.position_m, take.time_s, np.full((20, 20), 0.25))
    one = joined([take.frames(0, 5), rated.frames(10, 20)])
    np.testing.assert_array_equal(one.confidence[:, 0], [1] * 5 + [0] + [0.25] * 10)
