"""align_rigid and register recover planted transforms and refuse what determines none."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from fitpipe.calibrate import align_rigid, register
from fitpipe.errors import CalibrationError, DegenerateCloudError
from fitpipe.records import Take

AXES = [(0, 1, 0), (1, 1, 0), (0, 0, 1), (1, -2, 0.5)]


def cloud(n=20, seed=0):
    return np.random.default_rng(seed).normal(size=(n, 3))


def turn(axis, degrees):
    axis = np.array(axis) / np.linalg.norm(axis)
    return Rotation.from_rotvec(np.radians(degrees) * axis).as_matrix()


def take(source, position, confidence=None):
    labels = [f"p{i}" for i in range(position.shape[1])]
    return Take(source, labels, position, np.arange(len(position)) / 30, confidence)


@pytest.mark.parametrize("axis", AXES)
@pytest.mark.parametrize("degrees", [0, 37, 179.999, 180])
def test_planted_transform_is_recovered(axis, degrees):
    R, t, source = turn(axis, degrees), np.array([0.3, -2.0, 1.1]), cloud()
    found = align_rigid(source, source @ R.T + t)
    np.testing.assert_allclose(found.R_target_source, R, atol=1e-9)
    np.testing.assert_allclose(found.t_target_m, t, atol=1e-9)
    assert found.rms_m < 1e-9
    assert found.scale == pytest.approx(1.0, abs=1e-12)


def test_flat_cloud_gives_the_rotation_and_not_its_mirror():
    source = cloud(12) * [1, 1, 0]
    R = turn((1, 2, 3), 70)
    found = align_rigid(source, source @ R.T)
    np.testing.assert_allclose(found.R_target_source, R, atol=1e-9)
    assert np.linalg.det(found.R_target_source) == pytest.approx(1.0)


def test_noisy_flat_cloud_stays_a_rotation_within_its_noise():
    rng = np.random.default_rng(3)
    source = cloud(12) * [1, 1, 0] + rng.normal(0, 0.002, (12, 3))
    R = turn((1, 2, 3), 70)
    found = align_rigid(source, source @ R.T + rng.normal(0, 0.002, (12, 3)))
    assert np.linalg.det(found.R_target_source) == pytest.approx(1.0)
    angle = np.linalg.norm(Rotation.from_matrix(found.R_target_source @ R.T).as_rotvec())
    assert angle < 0.02


def test_points_of_weight_zero_have_no_say():
    R, source = turn((0, 1, 0), 20), cloud()
    target = source @ R.T
    target[3] += 5.0
    weight = np.ones(20)
    weight[3] = 0
    np.testing.assert_allclose(
        align_rigid(source, target, weight=weight).R_target_source, R, atol=1e-9
    )


def test_weights_act_as_repetition():
    rng = np.random.default_rng(1)
    source, target = cloud(8), cloud(8) + rng.normal(0, 0.1, (8, 3))
    weight = np.array([1, 1, 3, 1, 2, 1, 1, 1.0])
    repeated = np.repeat(np.arange(8), weight.astype(int))
    a = align_rigid(source, target, weight=weight)
    b = align_rigid(source[repeated], target[repeated])
    np.testing.assert_allclose(a.R_target_source, b.R_target_source, atol=1e-12)
    assert a.rms_m == pytest.approx(b.rms_m)


def test_scale_is_reported_and_not_applied():
    source = cloud()
    found = align_rigid(source, 1.3 * source)
    assert found.scale == pytest.approx(1.3)
    np.testing.assert_allclose(found.R_target_source, np.eye(3), atol=1e-12)


def test_points_on_a_line_are_refused():
    line = np.linspace(0, 1, 10)[:, None] * [1.0, 2.0, 3.0]
    with pytest.raises(DegenerateCloudError, match="line"):
        align_rigid(line, line)


def test_coincident_points_are_refused():
    with pytest.raises(DegenerateCloudError, match="coincide"):
        align_rigid(np.ones((5, 3)), cloud(5))


@given(seed=st.integers(0, 2**31), degrees=st.floats(-180, 180))
def test_moving_both_clouds_moves_the_answer_with_them(seed, degrees):
    source, target = cloud(7, seed), cloud(7, seed) + 0.01 * cloud(7, seed + 1)
    world = turn((1, 1, 1), degrees)
    before = align_rigid(source, target)
    after = align_rigid(source, target @ world.T)
    np.testing.assert_allclose(after.R_target_source, world @ before.R_target_source, atol=1e-7)
    assert after.rms_m == pytest.approx(before.rms_m, abs=1e-9)


def test_register_uses_samples_both_saw_and_counts_them():
    R, t = turn((0, 1, 0), 60), np.array([1.0, 0, 2.0])
    reference = cloud(60).reshape(6, 10, 3)
    other = (reference - t) @ R
    other[0, :4] = np.nan
    reference = reference.copy()
    reference[5, 9] = np.nan
    (first, second), findings = register([take("a", reference), take("b", other)])
    np.testing.assert_array_equal(first.R_ref_source, np.eye(3))
    np.testing.assert_allclose(second.R_ref_source, R, atol=1e-9)
    np.testing.assert_allclose(second.t_ref_m, t, atol=1e-9)
    assert second.n_points == 55
    assert findings == []
    np.testing.assert_allclose(second.apply(other[1]), reference[1], atol=1e-9)


def test_register_gives_doubtful_samples_their_confidence_as_weight():
    R = turn((0, 1, 0), 10)
    reference = cloud(40).reshape(4, 10, 3)
    other = reference @ R
    wrong = other.copy()
    wrong[2, 3] += 1.0
    confidence = np.ones((4, 10))
    confidence[2, 3] = 0
    (_, found), _ = register([take("a", reference), take("b", wrong, confidence)])
    np.testing.assert_allclose(found.R_ref_source, R, atol=1e-9)


def test_sources_in_different_units_are_refused_with_the_scale():
    reference = cloud(60).reshape(6, 10, 3)
    with pytest.raises(CalibrationError, match=r"scaled by 0\.001.*unit"):
        register([take("a", reference), take("b", 1000 * reference)])


def test_a_scale_somewhat_off_is_reported_as_a_finding():
    reference = cloud(60).reshape(6, 10, 3)
    _, findings = register([take("a", reference), take("b", reference / 1.1)])
    assert "1.100" in findings[0].what


def test_sources_without_a_common_sample_are_named_with_what_they_see():
    position = cloud(20).reshape(2, 10, 3)
    left, right = position.copy(), position.copy()
    left[:, 5:] = np.nan
    right[:, :5] = np.nan
    with pytest.raises(CalibrationError, match=r"'b' to 'a': no joint.*a sees p0.*b sees p5"):
        register([take("a", left), take("b", right)])


def test_the_order_of_time_does_not_matter():
    reference, noise = cloud(60).reshape(6, 10, 3), cloud(60, 9).reshape(6, 10, 3) * 0.01
    a, b = take("a", reference), take("b", reference @ turn((1, 0, 0), 30) + noise)
    flipped = [replace(x, position_m=x.position_m[::-1]) for x in (a, b)]
    (_, one), _ = register([a, b])
    (_, two), _ = register(flipped)
    np.testing.assert_allclose(one.R_ref_source, two.R_ref_source, atol=1e-12)
