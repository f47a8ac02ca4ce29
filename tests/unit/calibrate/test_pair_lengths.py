"""Rigid pairs are measured as bones are."""

from __future__ import annotations

import numpy as np
import pytest

from fitpipe.calibrate import estimate_lengths, lengths_from_names
from fitpipe.errors import CalibrationError
from fitpipe.records import Skeleton, Take

TRIANGLE = Skeleton("hips", ("Hip", "L", "R"), (-1, 0, 0), mirror=((1, 2),), rigid_pairs=((1, 2),))


def take(n=200, seed=0):
    rng = np.random.default_rng(seed)
    pose = np.array([[0, 0, 0], [0.1, -0.02, 0], [-0.1, -0.02, 0]])
    position = pose + 0.002 * rng.normal(size=(n, 3, 3))
    return Take("a", TRIANGLE.joints, position, np.arange(n) / 30)


def test_a_pair_is_measured_between_its_joints():
    lengths, findings = estimate_lengths([take()], TRIANGLE)
    assert lengths.length_m.shape == (3,)
    assert lengths.length_m[2] == pytest.approx(0.2, abs=1e-3)
    assert lengths.low_m[2] < lengths.length_m[2] < lengths.high_m[2]
    assert findings == []


def test_symmetric_lengths_leave_a_pair_that_is_its_own_mirror_image_alone():
    lengths, _ = estimate_lengths([take()], TRIANGLE, symmetric=True)
    assert lengths.length_m[0] == lengths.length_m[1]
    assert lengths.n_samples.tolist() == [400, 400, 200]


def test_an_unseen_pair_is_named():
    short = take(3)
    position = short.position_m.copy()
    position[:, 2] = np.nan
    blind = Take("a", TRIANGLE.joints, position, short.time_s)
    lengths, findings = estimate_lengths([blind], TRIANGLE)
    assert np.isnan(lengths.length_m[2])
    assert any("L~R: no frame shows both ends" in finding.what for finding in findings)


def test_lengths_by_name_must_name_the_pairs_too():
    table = {"Hip-L": 0.1, "Hip-R": 0.1, "L~R": 0.2}
    np.testing.assert_array_equal(lengths_from_names(table, TRIANGLE), [0.1, 0.1, 0.2])
    del table["L~R"]
    with pytest.raises(CalibrationError, match="'L~R' is missing"):
        lengths_from_names(table, TRIANGLE)
