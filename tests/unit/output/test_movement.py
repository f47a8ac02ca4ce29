"""The functions of the package movement run on `Fit.to_xarray` and give what they should."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

xr = pytest.importorskip("xarray")
with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # of its many dependencies
    pytest.importorskip("movement", reason="movement is not installed (extra: movement)")
    from movement.filtering import filter_by_confidence, interpolate_over_time
    from movement.kinematics import compute_pairwise_distances, compute_velocity
    from movement.validators.datasets import ValidPosesInputs


@pytest.fixture
def data(small_fit):
    return small_fit.to_xarray()


def test_movement_takes_it_for_one_of_its_own(data):
    ValidPosesInputs.validate(data)


def test_movement_measures_speed_in_metres_per_second(data):
    # planted: every coordinate grows by 6 joints x 3 axes / 3 = 6 m a frame, at 30 Hz
    velocity = compute_velocity(data.position).sel(keypoints="Hip").values[3:5]
    np.testing.assert_allclose(velocity, 180.0)


def test_movement_keeps_what_was_seen_and_fills_the_rest(data, small_fit):
    seen = filter_by_confidence(data.position, data.confidence, threshold=0.5)
    is_there = seen.notnull().all("space").squeeze().transpose("time", "keypoints").values
    np.testing.assert_array_equal(is_there, small_fit.status == 1)
    filled = interpolate_over_time(seen.sel(keypoints="Head2"), fill_value="extrapolate")
    assert filled.notnull().all()


def test_movement_measures_distances_between_joints(data, small_fit):
    found = compute_pairwise_distances(data.position, "keypoints", {"Hip": "Head"})
    apart = np.linalg.norm(small_fit.position[:, 2] - small_fit.position[:, 0], axis=-1)
    np.testing.assert_allclose(found.values.squeeze(), apart)
