"""The fit record: its checks, its short answers, and its tables."""

from __future__ import annotations

import pickle
import warnings
from dataclasses import replace

import numpy as np
import pytest

from fitpipe.errors import RecordError
from fitpipe.records import (
    BoneLengths,
    Calibration,
    Doubt,
    Fit,
    FrameStatus,
    JointStatus,
    Skeleton,
    SourceTransform,
)

NAN = np.nan


@pytest.fixture
def fit() -> Fit:
    """Three frames of hip and knee, seen by two sources; the last frame is empty."""
    skeleton = Skeleton("leg", ("Hip", "Knee"), (-1, 0), bone_length_m=np.array([0.5]))
    position = np.array(
        [
            [[0.0, 1.0, 2.0], [0.0, 0.5, 2.0]],
            [[0.1, 1.1, 2.1], [0.1, 0.6, 2.1]],
            [[NAN] * 3] * 2,
        ]
    )
    residual = np.full((3, 2, 2), NAN)
    residual[0] = [[0.01, 0.02], [0.03, 0.04]]
    residual[1, 1] = [0.05, NAN]
    return Fit(
        name="kick",
        skeleton=skeleton,
        sources=("a", "b"),
        time_s=np.array([0.0, 0.04, 0.08]),
        position=position,
        status=np.array([[1, 1], [1, 2], [0, 0]]),
        frame_status=np.array([FrameStatus.CERTIFIED, FrameStatus.STALLED, FrameStatus.NO_DATA]),
        objective=np.array([0.003, 0.0025, NAN]),
        objective_start=np.array([0.006, 0.005, NAN]),
        iterations=np.array([2, 9, 0]),
        worst_bone_error=np.array([1e-16, 3e-16, NAN]),
        multiplier=np.array([[0.1], [0.2], [NAN]]),
        weight=np.where(np.isnan(residual), 0.0, 1.0),
        doubt=np.where(np.isnan(residual), Doubt.JUMP, Doubt.NONE),
        noise=np.full((2, 2), 0.01),
        residual=residual,
        disagreement=np.array([[0.02, 0.03], [NAN, NAN], [NAN, NAN]]),
        calibration=Calibration(
            (SourceTransform.identity("a"), SourceTransform.identity("b")),
            BoneLengths.given(np.array([0.5])),
        ),
    )


def test_dataframe_has_a_row_for_every_frame_and_joint(fit):
    table = fit.to_dataframe()
    assert list(table.columns) == [
        *("frame", "time_s", "joint", "x_m", "y_m", "z_m", "status"),
        *("residual_m:a", "residual_m:b"),
    ]
    assert list(table.frame) == [0, 0, 1, 1, 2, 2]
    assert list(table.time_s) == [0.0, 0.0, 0.04, 0.04, 0.08, 0.08]
    assert list(table.joint) == ["Hip", "Knee"] * 3
    expected = ["observed", "observed", "observed", "carried", "absent", "absent"]
    assert list(table.status) == expected
    np.testing.assert_array_equal(table.x_m, [0.0, 0.0, 0.1, 0.1, NAN, NAN])
    np.testing.assert_array_equal(table.y_m, [1.0, 0.5, 1.1, 0.6, NAN, NAN])
    np.testing.assert_array_equal(table.z_m, [2.0, 2.0, 2.1, 2.1, NAN, NAN])
    np.testing.assert_array_equal(table["residual_m:a"], [0.01, 0.02, NAN, NAN, NAN, NAN])
    np.testing.assert_array_equal(table["residual_m:b"], [0.03, 0.04, 0.05, NAN, NAN, NAN])


def test_dataframe_keeps_names_as_categories_in_their_order(fit):
    table = fit.to_dataframe()
    assert list(table.joint.cat.categories) == ["Hip", "Knee"]
    assert list(table.status.cat.categories) == [s.name.lower() for s in JointStatus]


def test_xarray_has_the_shape_that_movement_uses_and_carries_units(fit):
    pytest.importorskip("xarray")
    data = fit.to_xarray()
    assert data.position.dims == ("time", "space", "keypoints", "individuals")
    assert data.confidence.dims == ("time", "keypoints", "individuals")
    assert data.residual.dims == ("time", "source", "keypoints", "individuals")
    assert data.parent.dims == ("keypoints",)
    assert set(data.coords) == {"time", "keypoints", "space", "bone", "source", "individuals"}
    kick = data.sel(individuals="kick")
    np.testing.assert_array_equal(kick.position.sel(keypoints="Knee", space="y"), [0.5, 0.6, NAN])
    np.testing.assert_array_equal(kick.confidence, [[1, 1], [1, 0], [NAN, NAN]])
    np.testing.assert_array_equal(kick.residual.sel(source="b", keypoints="Hip"), [0.03, 0.05, NAN])
    np.testing.assert_array_equal(data.multiplier.sel(bone="Hip-Knee"), [0.1, 0.2, NAN])
    assert data.bone_length.item() == 0.5
    assert data.sel(time=0.04).iterations.item() == 9
    assert data.position.attrs["units"] == "m"
    assert data.time.attrs["units"] == "s"
    assert data.status.attrs["flag_meanings"] == "absent observed carried interpolated"
    assert data.attrs["fps"] == pytest.approx(25)
    assert data.attrs["ds_type"] == "poses"


def test_a_fit_is_a_take_of_its_joints(fit):
    take = fit.to_take()
    assert take.source == "kick"
    assert take.labels == ("Hip", "Knee")
    np.testing.assert_array_equal(take.position_m, fit.position)
    np.testing.assert_array_equal(take.time_s, fit.time_s)


def test_short_answers(fit):
    assert list(fit.is_fitted) == [True, True, False]
    assert list(fit.is_converged) == [True, False, False]
    assert list(fit.is_certified) == [True, False, False]
    assert fit.worst_bone_m == 3e-16
    assert fit.rms_m == pytest.approx(np.sqrt(0.0055 / 5), rel=1e-15)
    assert fit.rms_start_m == pytest.approx(np.sqrt(0.011 / 5), rel=1e-15)
    assert repr(fit) == "<Fit 'kick': 2 of 3 frames fitted, 1 certified, 2 sources>"


def test_answers_of_a_fit_without_data_are_nan_without_a_warning(fit):
    empty = replace(
        fit,
        position=np.full((3, 2, 3), NAN),
        status=np.zeros((3, 2)),
        worst_bone_error=np.full(3, NAN),
        objective=np.full(3, NAN),
        weight=np.zeros((3, 2, 2)),
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert np.isnan(empty.worst_bone_m)
        assert np.isnan(empty.rms_m)


def test_all_wrong_shapes_are_told_at_once(fit):
    with pytest.raises(RecordError) as caught:
        replace(fit, residual=np.zeros((3, 2)), iterations=np.zeros(4))
    assert caught.value.faults == (
        "iterations has shape (4,), expected (3)",
        "residual has shape (3, 2), expected (3, 2, 2)",
    )


def test_a_position_that_contradicts_its_status_is_refused(fit):
    with pytest.raises(RecordError, match="position is NaN elsewhere than where status says"):
        replace(fit, status=np.ones((3, 2)))


def test_what_is_kept_cannot_be_changed(fit):
    with pytest.raises(ValueError, match="read-only"):
        fit.position[0, 0, 0] = 1.0
    with pytest.raises(TypeError):
        fit.provenance["config"] = ""


def test_a_fit_travels_to_another_process_whole(fit):
    there = pickle.loads(pickle.dumps(fit))  # noqa: S301 - what worker pools do, our own bytes
    np.testing.assert_array_equal(there.position, fit.position)
    assert there.provenance == fit.provenance
    assert there.skeleton.joints == fit.skeleton.joints
