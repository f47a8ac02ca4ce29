"""What must hold for fits over time as users make them, from takes to the file."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import fitpipe as fp
from fitpipe.errors import ConfigError, SolveError
from fitpipe.records import JointStatus
from fitpipe.simulate import DepthSensor, observe, walk


@pytest.fixture(scope="module")
def motion():
    return walk(90, 30.0)


@pytest.fixture(scope="module")
def takes(motion):
    sensors = [
        DepthSensor.looking_at("a", (0, 1, 0), from_m=(0, 1, 4)),
        DepthSensor.looking_at("b", (0, 1, 0), from_m=(4, 1.2, 0)),
    ]
    return [observe(motion, sensor, seed=i) for i, sensor in enumerate(sensors)]


@pytest.fixture(scope="module", params=["previous", "trajectory"])
def config(request):
    return {"solve": {"temporal": request.param}}


@pytest.fixture(scope="module")
def fit(takes, config):
    return fp.fit(takes, config=config)


def test_bones_are_exact_and_every_frame_converged(fit):
    assert fit.worst_bone_m < 1e-9
    assert fit.is_converged.all()


def test_the_objective_is_the_weighted_sum_of_squared_residuals(fit):
    direct = np.nansum(fit.weight * np.nan_to_num(fit.residual) ** 2, axis=(1, 2))
    np.testing.assert_allclose(fit.objective, direct, rtol=1e-9)


def test_what_is_observed_was_used(fit):
    used = (fit.weight > 0).any(axis=1)
    np.testing.assert_array_equal(fit.status == JointStatus.OBSERVED, used)


def test_a_fit_over_time_jitters_less_than_one_of_single_frames(takes, fit):
    alone = fp.fit(takes)

    def jitter(position):
        return np.nanmean(np.linalg.norm(np.diff(position, 3, axis=0), axis=-1))

    assert jitter(fit.position) < 0.8 * jitter(alone.position)


def test_moving_the_world_moves_the_fit(takes, fit, config):
    R = Rotation.from_rotvec([0.3, 1.0, -0.2]).as_matrix()
    t = np.array([2.0, -1.0, 4.0])
    elsewhere = [replace(take, position_m=take.position_m @ R.T + t) for take in takes]
    other = fp.fit(elsewhere, config=config)
    # a joint that bones alone hold in the first frame swings freely about them; where it starts
    # is the rest pose, which does not turn with the world
    is_told = fit.status == JointStatus.OBSERVED
    is_told[1:] = True
    moved = fit.position @ R.T + t
    np.testing.assert_allclose(other.position[is_told], moved[is_told], atol=2e-6)


def test_the_file_keeps_every_status(fit, tmp_path):
    again = fp.load_fit(fit.save(tmp_path / "fit.h5"))
    np.testing.assert_array_equal(again.status, fit.status)
    np.testing.assert_array_equal(again.position, fit.position)
    statuses = set(fit.to_dataframe()["status"].unique())
    assert statuses <= {"absent", "observed", "carried", "interpolated"}


def test_progress_ends_with_all_frames(takes, config):
    calls = []
    fp.fit(takes[0], config=config, progress=lambda done, of: calls.append((done, of)))
    assert calls[-1] == (90, 90)


def test_an_unknown_way_is_refused(takes):
    with pytest.raises(ConfigError, match="'none', 'previous' or 'trajectory'"):
        fp.fit(takes, config={"solve": {"temporal": "smooth"}})


def test_a_formulation_that_knows_no_time_is_refused(takes):
    solve = {"temporal": "trajectory", "formulation": "aggregate"}
    with pytest.raises(ConfigError, match="'trajectory' knows no formulation = 'aggregate'"):
        fp.fit(takes, config={"solve": solve})


def test_rigid_pairs_are_refused(takes, config):
    with pytest.raises(SolveError, match="has rigid pairs: "):
        fp.fit(takes, skeleton="kinect20_girdles", config=config)
