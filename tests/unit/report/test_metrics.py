"""Metrics against values worked out by hand."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from fitpipe.errors import DegenerateCloudError
from fitpipe.report import (
    acceleration_jitter,
    bone_spread,
    compare_positions,
    joint_error,
    rigid_alignment,
    summarise,
)

NAN = np.nan
CORNERS = np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]])


def test_distances_of_a_3_4_12_box():
    reference = np.zeros((2, 2, 3))
    position = np.array([[[3.0, 4, 12], [0, 0, 0]], [[NAN, NAN, NAN], [0, -2, 0]]])
    np.testing.assert_array_equal(joint_error(position, reference), [[13, 0], [NAN, 2]])


def test_statistics_of_known_numbers():
    # 0..10: mean 5, median 5, p90 9, mean square 385 / 11 = 35
    summary = summarise(np.array([[3.0, NAN, 1, 0, 2], [4, 5, 6, 7, NAN], [8, 9, 10, NAN, NAN]]))
    assert summary == (5.0, 5.0, 9.0, pytest.approx(np.sqrt(35)), 11)


def test_statistics_of_nothing_are_nan():
    summary = summarise(np.full((2, 2), NAN))
    assert summary.n == 0
    assert all(np.isnan(summary[:4]))


def test_a_bone_of_30_and_50_millimetres_has_sd_10():
    position = np.zeros((3, 2, 3))
    position[:, 1, 0] = [0.03, 0.05, NAN]
    position[2, 1] = NAN
    (spread,) = bone_spread(position, [(0, 1)])
    assert spread == (pytest.approx(0.04), pytest.approx(0.01), 2)


def test_a_falling_joint_accelerates_by_g_on_uneven_ticks_too():
    time_s = np.array([0.0, 0.01, 0.05, 0.06, 0.2])
    position = np.zeros((5, 1, 3))
    position[:, 0, 1] = 0.7 + 3.0 * time_s - 9.81 / 2 * time_s**2
    assert acceleration_jitter(position, time_s) == pytest.approx(9.81)


def test_white_noise_accelerates_by_s_root_18_over_h_squared():
    noise = 0.002 * np.random.default_rng(0).standard_normal((50_000, 2, 3))
    expected = 0.002 * np.sqrt(18) * 30**2
    assert acceleration_jitter(noise, np.arange(50_000) / 30) == pytest.approx(expected, rel=0.01)


@settings(deadline=None, max_examples=30)
@given(turn=st.tuples(*[st.floats(-3, 3)] * 3), shift=st.tuples(*[st.floats(-9, 9)] * 3))
def test_alignment_recovers_a_planted_transform(turn, shift):
    R, t = Rotation.from_rotvec(turn).as_matrix(), np.array(shift)
    position = np.random.default_rng(3).standard_normal((7, 4, 3))
    reference = position @ R.T + t
    reference[2, 1] = NAN
    found_R, found_t = rigid_alignment(position, reference)
    np.testing.assert_allclose(found_R, R, atol=1e-7)
    np.testing.assert_allclose(found_t, t, atol=1e-6)


def test_alignment_does_not_mirror():
    R, _ = rigid_alignment(CORNERS * [-1, 1, 1], CORNERS)
    assert np.linalg.det(R) == pytest.approx(1)


@pytest.mark.parametrize("points", [CORNERS[:1], np.outer(np.arange(5.0), [1, 2, 3])])
def test_points_on_a_line_determine_no_transform(points):
    with pytest.raises(DegenerateCloudError):
        rigid_alignment(points, points)


def test_comparison_of_a_shifted_and_gappy_copy():
    """Shifted by (3, 4, 0) cm: 5 cm off everywhere, nothing left after alignment."""
    time_s = np.arange(6) / 10
    reference = CORNERS + 0.1 * time_s[:, None, None] * [1.0, 0, 0]
    position = reference + np.array([0.03, 0.04, 0.0])
    position[0, :2] = NAN
    reference[5, 3] = NAN
    found = compare_positions(
        position, reference, time_s, joints=["o", "x", "y", "z"], bones=[(0, 1), (0, 3)]
    )
    assert found.error[:4] == pytest.approx((0.05, 0.05, 0.05, 0.05))
    assert found.error.n == 21
    assert found.coverage == pytest.approx(21 / 23)
    assert found.of_result.given == pytest.approx(22 / 24)
    assert found.aligned.rms_m == pytest.approx(0, abs=1e-9)
    assert found.joint["o"].n == 5
    assert found.axis["x"] == pytest.approx((0.03, 0.03))
    assert found.axis["y"] == pytest.approx((0.04, 0.04))
    assert found.axis["z"] == pytest.approx((0.0, 0.0))
    assert found.rotation_deg == pytest.approx(0, abs=1e-5)
    assert found.translation_m == pytest.approx(0.05)
    assert found.of_result.bone["o-x"] == pytest.approx((1.0, 0.0, 5))
    assert found.acceleration_error_m_s2 == pytest.approx(0, abs=1e-9)
    rows = {row[:3]: row[3] for row in found.to_rows()}
    assert rows["error", "", "mean_m"] == found.error.mean_m
    assert rows["joint", "z", "n"] == 5
    assert rows["of_result_bone", "o-x", "n"] == 5
    plain = found.to_dict()
    assert plain["joint"]["o"]["mean_m"] == pytest.approx(0.05)


def test_dicts_hold_none_where_there_is_no_figure():
    reference = np.tile(CORNERS, (4, 1, 1))
    position = reference.copy()
    position[:, 3] = NAN
    found = compare_positions(position, reference, np.arange(4.0), joints="oxyz")
    assert found.to_dict()["joint"]["z"] == {
        "mean_m": None, "median_m": None, "p90_m": None, "rms_m": None, "n": 0,
    }  # fmt: skip
    assert found.coverage == 0.75
