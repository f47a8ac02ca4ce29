"""What must hold for every fit: rigidity, honesty of NaN, and what may not change the result."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

import fitpipe as fp
from fitpipe.simulate import DepthSensor, observe, walk

N_FRAMES = 24


@pytest.fixture(scope="module")
def motion():
    return walk(N_FRAMES, 30.0)


@pytest.fixture(scope="module")
def takes(motion):
    sensors = [
        DepthSensor.looking_at("a", (0, 1, 0), from_m=(0, 1, 4)),
        DepthSensor.looking_at("b", (0, 1, 0), from_m=(4, 1.2, 0)),
    ]
    return [observe(motion, sensor, seed=i) for i, sensor in enumerate(sensors)]


def lengths_of(fit):
    parent, child = np.array(fit.skeleton.bones).T
    return np.linalg.norm(fit.position[:, child] - fit.position[:, parent], axis=-1)


def moved(take, R, t):
    return replace(take, position_m=take.position_m @ R.T + t)


def test_every_bone_has_its_length_in_every_frame(takes):
    fit = fp.fit(takes)
    deviation = np.abs(lengths_of(fit) - fit.bone_length)
    assert np.nanmax(deviation) < 1e-9
    np.testing.assert_allclose(np.nanmax(deviation, axis=1), fit.worst_bone_error, atol=1e-15)
    assert fit.is_converged.all()


def test_the_objective_is_the_weighted_sum_of_squared_residuals(takes):
    fit = fp.fit(takes)
    direct = np.nansum(fit.weight * np.nan_to_num(fit.residual) ** 2, axis=(1, 2))
    np.testing.assert_allclose(fit.objective, direct, rtol=1e-9)
    assert (fit.objective <= fit.objective_start * (1 + 1e-12)).all()
    assert fit.rms_m < fit.rms_start_m


def test_no_small_rigid_turn_or_bend_improves_a_certified_frame(takes):
    """Stationarity seen from outside: rotate any subtree about its joint, J0 does not fall."""
    fit = fp.fit(takes)
    skeleton, rng = fit.skeleton, np.random.default_rng(0)
    observed = [
        t.apply(k.position_m) for t, k in zip(fit.calibration.transforms, takes, strict=True)
    ]

    def objective(position, frame):
        apart = np.stack([o[frame] for o in observed]) - position
        return np.nansum(fit.weight[frame] * np.nan_to_num((apart**2).sum(-1)))

    below = [{j} for j in range(skeleton.n_joints)]
    for joint in reversed(skeleton.topological_order):
        if skeleton.parents[joint] >= 0:
            below[skeleton.parents[joint]] |= below[joint]
    for frame in np.flatnonzero(fit.is_certified)[::6]:
        at_fit = objective(fit.position[frame], frame)
        for parent, child in skeleton.bones:
            R = Rotation.from_rotvec(1e-4 * rng.normal(size=3)).as_matrix()
            bent = fit.position[frame].copy()
            part = sorted(below[child])
            bent[part] = (bent[part] - bent[parent]) @ R.T + bent[parent]
            assert objective(bent, frame) >= at_fit - 1e-12


@settings(max_examples=15, deadline=None)
@given(
    turn=st.tuples(*[st.floats(-3, 3)] * 3),
    shift=st.tuples(*[st.floats(-50, 50)] * 3),
)
def test_moving_the_world_moves_the_fit_with_it(takes, turn, shift):
    R, t = Rotation.from_rotvec(turn).as_matrix(), np.array(shift)
    settings = {"calibrate": {"bone_lengths": "estimate"}}
    plain = fp.fit(takes, config=settings)
    turned = fp.fit([moved(takes[0], R, t), takes[1]], config=settings)
    np.testing.assert_allclose(turned.position, plain.position @ R.T + t, atol=1e-6)
    np.testing.assert_allclose(turned.objective, plain.objective, rtol=1e-7)


def test_the_order_of_labels_does_not_matter(takes):
    order = np.random.default_rng(1).permutation(20)
    shuffled = [
        replace(
            take,
            labels=tuple(take.labels[i] for i in order),
            position_m=take.position_m[:, order],
            confidence=take.confidence[:, order],
        )
        for take in takes
    ]
    np.testing.assert_array_equal(fp.fit(shuffled).position, fp.fit(takes).position)


def test_the_order_of_joints_in_the_skeleton_does_not_matter(takes):
    plain = fp.Skeleton.preset("kinect20")
    order = np.random.default_rng(2).permutation(20)
    where = np.argsort(order)
    shuffled = fp.Skeleton(
        "shuffled",
        tuple(plain.joints[i] for i in order),
        tuple(-1 if plain.parents[i] < 0 else int(where[plain.parents[i]]) for i in order),
        rest_direction=plain.rest_direction[order],
    )
    a, b = fp.fit(takes, skeleton=plain), fp.fit(takes, skeleton=shuffled)
    np.testing.assert_allclose(b.position[:, where], a.position, atol=1e-7)


def test_the_order_of_the_other_sources_does_not_matter(motion, takes):
    third = DepthSensor.looking_at("c", (0, 1, 0), from_m=(-3, 1, 2))
    third_take = observe(motion, third, seed=9)
    a = fp.fit([takes[0], takes[1], third_take])
    b = fp.fit([takes[0], third_take, takes[1]])
    np.testing.assert_allclose(a.position, b.position, atol=1e-7)


def test_scaling_all_weights_scales_the_objective_alone(takes):
    plain = fp.fit(takes)
    double = fp.fit(takes, weight=[np.full((N_FRAMES, 20), 2.0)] * 2)
    np.testing.assert_allclose(double.position, plain.position, atol=1e-7)
    np.testing.assert_allclose(double.objective, 2 * plain.objective, rtol=1e-9)


def test_the_same_fit_twice_has_the_same_bits(takes):
    a, b = fp.fit(takes), fp.fit(takes)
    for name in ("position", "objective", "multiplier", "residual", "iterations"):
        np.testing.assert_array_equal(getattr(a, name), getattr(b, name))


def test_a_rigid_take_with_its_own_lengths_is_left_where_it_is(motion):
    take = fp.Take("truth", motion.skeleton.joints, motion.position_m, motion.time_s)
    fit = fp.fit(take, bone_length_m=motion.skeleton.bone_length_m)
    np.testing.assert_allclose(fit.position, motion.position_m, atol=1e-9)
    assert fit.is_certified.all()


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 10_000), share=st.floats(0.0, 0.9))
def test_whatever_is_missing_the_rest_is_finite_and_rigid(motion, seed, share):
    rng = np.random.default_rng(seed)
    position = motion.position_m + rng.normal(0, 0.02, motion.position_m.shape)
    position[rng.random(position.shape[:2]) < share] = np.nan
    take = fp.Take("a", motion.skeleton.joints, position, motion.time_s)
    if not take.is_observed.any():
        return
    fit = fp.fit(take, bone_length_m=motion.skeleton.bone_length_m)
    absent = fit.status == fp.JointStatus.ABSENT
    observed = fit.status == fp.JointStatus.OBSERVED
    used = (fit.weight > 0)[:, 0]
    np.testing.assert_array_equal(observed, used)
    # nothing is left out without a reason
    np.testing.assert_array_equal(take.is_observed & ~used, fit.doubt[:, 0] == fp.Doubt.JUMP)
    np.testing.assert_array_equal(np.isnan(fit.position).any(axis=-1), absent)
    assert np.nanmax(np.abs(lengths_of(fit) - fit.bone_length), initial=0) < 1e-9
    assert fit.is_converged[fit.is_fitted].all()
    np.testing.assert_array_equal(fit.is_fitted, used.any(axis=1))
