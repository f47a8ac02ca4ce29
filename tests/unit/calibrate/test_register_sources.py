"""register on whole takes: mirrored sources, sources that share little, many sources."""

from __future__ import annotations

from dataclasses import replace
from itertools import permutations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from fitpipe.calibrate import register
from fitpipe.calibrate.registration import registered_as_given
from fitpipe.errors import CalibrationError
from fitpipe.records import SourceTransform, Take
from fitpipe.simulate import DepthSensor, observe, reach_and_turn, walk

MOTION = walk(120, 30.0)
MIRROR = MOTION.skeleton.mirror
PLACES = {"a": (0.3, 1.2, 3.4), "b": (3.4, 1.6, 0.5), "c": (-3.0, 1.3, 1.0)}
SENSORS = {
    name: DepthSensor.looking_at(name, [0, 0.9, 0], from_m=place) for name, place in PLACES.items()
}


def takes(names="abc", motion=MOTION):
    return [observe(motion, SENSORS[name], seed=ord(name)) for name in names]


def with_sides_exchanged(take):
    order = np.arange(take.n_points)
    for left, right in MIRROR:
        order[[left, right]] = right, left
    return replace(take, position_m=take.position_m[:, order], confidence=take.confidence[:, order])


def angle_deg(R, other):
    return np.degrees(np.linalg.norm(Rotation.from_matrix(R @ other.T).as_rotvec()))


@pytest.mark.parametrize("motion", [MOTION, reach_and_turn(120, 30.0)], ids=["walk", "reach"])
def test_a_source_with_left_and_right_exchanged_is_refused_with_the_evidence(motion):
    a, b = takes("ab", motion)
    with pytest.raises(CalibrationError, match="with left and right exchanged it leaves") as caught:
        register([a, with_sides_exchanged(b)], mirror=MIRROR)
    assert "marker set" in caught.value.hint
    assert "'b' to 'a'" in caught.value.problem


@pytest.mark.parametrize("axis", range(3))
def test_a_source_with_a_mirrored_axis_is_refused(axis):
    a, b = takes("ab")
    mirrored = replace(b, position_m=b.position_m * np.where(np.arange(3) == axis, -1, 1))
    with pytest.raises(CalibrationError, match="with mirrored axes it leaves") as caught:
        register([a, mirrored], mirror=MIRROR)
    assert "axis" in caught.value.hint


def test_right_sources_are_not_taken_for_mirrored_ones():
    transforms, findings = register(takes(), mirror=MIRROR)
    assert findings == []
    for transform in transforms[1:]:
        true = SENSORS[transform.source].transform_into(SENSORS["a"])
        assert angle_deg(transform.R_ref_source, true.R_ref_source) < 0.3
        assert 0.85 < transform.inlier_share < 1


def test_flat_points_are_no_mirror_image():
    rng = np.random.default_rng(0)
    flat = rng.normal(size=(40, 6, 3)) * [1, 1, 0]
    noise = rng.normal(0, 0.02, flat.shape)
    a = Take("a", list("uvwxyz"), flat, np.arange(40) / 30)
    b = replace(a, source="b", position_m=flat[..., [1, 0, 2]] * [1, -1, 1] + noise)
    (_, found), _ = register([a, b], mirror=[(0, 1)])
    assert np.linalg.det(found.R_ref_source) == pytest.approx(1.0)


def test_a_source_that_shares_little_with_the_first_goes_through_another():
    a, b, c = takes()
    seen = a.position_m.copy()
    seen[20:, :] = np.nan  # a sees 20 frames, c comes later
    late = c.position_m.copy()
    late[:19] = np.nan
    a, c = replace(a, position_m=seen), replace(c, position_m=late)
    transforms, findings = register([a, b, c], mirror=MIRROR)
    (finding,) = findings
    assert "registered through 'b'" in str(finding)
    true = SENSORS["c"].transform_into(SENSORS["a"])
    assert angle_deg(transforms[2].R_ref_source, true.R_ref_source) < 1.5
    assert transforms[2].n_points > 1500


def test_the_order_of_the_other_sources_does_not_matter():
    by_source = dict(zip("abc", takes(), strict=True))
    results = []
    for order in permutations("bc"):
        transforms, _ = register([by_source["a"], *(by_source[name] for name in order)])
        results.append({t.source: t for t in transforms})
    for name in "bc":
        one, two = (result[name] for result in results)
        np.testing.assert_array_equal(one.R_ref_source, two.R_ref_source)
        assert one.rms_m == two.rms_m


def test_many_outliers_are_told():
    a, b = takes("ab")
    rng = np.random.default_rng(2)
    wild = rng.random(b.is_observed.shape) < 0.35
    b = replace(b, position_m=b.position_m + wild[..., None] * rng.normal(0, 1, (*wild.shape, 3)))
    (_, found), findings = register([a, b], mirror=MIRROR)
    true = SENSORS["b"].transform_into(SENSORS["a"])
    assert angle_deg(found.R_ref_source, true.R_ref_source) < 0.5
    assert found.inlier_share < 0.7
    assert "disagree with the others" in findings[0].what


def test_given_transforms_are_kept_and_measured():
    a, b = takes("ab")
    true = SENSORS["b"].transform_into(SENSORS["a"])
    identity = SourceTransform.identity("a")
    transforms, findings = registered_as_given([a, b], [identity, true])
    assert findings == []
    np.testing.assert_array_equal(transforms[1].R_ref_source, true.R_ref_source)
    assert 0.02 < transforms[1].rms_m < 0.08
    assert transforms[1].n_points > 2000
    assert transforms[1].scale == pytest.approx(1, abs=0.02)


def test_a_given_transform_that_is_far_off_is_told():
    a, b = takes("ab")
    true = SENSORS["b"].transform_into(SENSORS["a"])
    off = replace(true, t_ref_m=true.t_ref_m + np.array([0.3, 0, 0]))
    transforms, (finding,) = registered_as_given([a, b], [SourceTransform.identity("a"), off])
    assert "used as given" in str(finding)
    np.testing.assert_array_equal(transforms[1].t_ref_m, off.t_ref_m)


def test_a_given_transform_of_sources_that_share_nothing_is_kept():
    a, b = takes("ab")
    nothing = replace(b, position_m=np.full_like(b.position_m, np.nan))
    true = SENSORS["b"].transform_into(SENSORS["a"])
    transforms, findings = registered_as_given([a, nothing], [SourceTransform.identity("a"), true])
    assert transforms[1] is true
    assert findings == []


def test_long_takes_are_registered_from_part_of_their_samples_the_same_way_every_time():
    long = walk(1200, 30.0)
    pair = takes("ab", long)
    ((_, first), _), ((_, again), _) = register(pair), register(pair)
    np.testing.assert_array_equal(first.R_ref_source, again.R_ref_source)
    both = pair[0].is_observed & pair[1].is_observed
    assert first.n_points == both.sum() > 20_000
    true = SENSORS["b"].transform_into(SENSORS["a"])
    assert angle_deg(first.R_ref_source, true.R_ref_source) < 0.2
