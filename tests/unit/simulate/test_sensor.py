"""What the simulated sensor reports has the errors its parameters promise."""

from dataclasses import replace

import numpy as np
import pytest

from fitpipe.errors import RecordError
from fitpipe.records import Skeleton
from fitpipe.simulate import DepthSensor, Motion, observe, walk
from fitpipe.simulate.sensor import hidden_joints

ORIGIN = [0.0, 0.0, 0.0]


def plain(**settings: float) -> DepthSensor:
    """Sensor at the world's origin that looks along +Z, perfect but for ``settings``."""
    return replace(DepthSensor.perfect("s", [0.0, 0.0, 1.0], from_m=ORIGIN), **settings)


def still_points(depth_m: float, *, n_frames: int = 4000, n_points: int = 10) -> Motion:
    """Points without bones that rest 0.2 m apart at one depth; nothing hides them."""
    x = (np.arange(n_points) - n_points / 2) * 0.2
    points = np.stack([x, np.full(n_points, 0.1), np.full(n_points, depth_m)], axis=1)
    skeleton = Skeleton("points", tuple(f"p{i}" for i in range(n_points)), (-1,) * n_points)
    return Motion(np.tile(points, (n_frames, 1, 1)), np.arange(n_frames) / 30, skeleton)


def split(motion: Motion, sensor: DepthSensor, error_m: np.ndarray):
    """Errors along the line of sight and in the two directions across it."""
    ray = sensor.to_sensor(motion.position_m)
    ray = ray / np.linalg.norm(ray, axis=2, keepdims=True)
    along = np.sum(error_m * ray, axis=2)
    return along, error_m - along[..., None] * ray


def test_perfect_sensors_give_back_the_planted_transform():
    motion = walk(60, 30.0)
    a = DepthSensor.perfect("a", [0, 1, 0], from_m=[0.3, 1.2, 3.4])
    b = DepthSensor.perfect("b", [0, 1, 0], from_m=[3.4, 1.6, 0.5])
    seen_a, seen_b = observe(motion, a, seed=1), observe(motion, b, seed=2)
    points_a, points_b = seen_a.position_m.reshape(-1, 3), seen_b.position_m.reshape(-1, 3)
    # Kabsch, written out here so that the test leans on no other room
    mid_a, mid_b = points_a.mean(axis=0), points_b.mean(axis=0)
    U, _, Vt = np.linalg.svd((points_a - mid_a).T @ (points_b - mid_b))
    R = U @ np.diag([1, 1, np.linalg.det(U @ Vt)]) @ Vt
    truth = b.transform_into(a)
    np.testing.assert_allclose(R, truth.R_ref_source, atol=1e-12)
    np.testing.assert_allclose(mid_a - R @ mid_b, truth.t_ref_m, atol=1e-12)
    np.testing.assert_allclose(truth.apply(seen_b.position_m), seen_a.position_m, atol=1e-12)
    assert seen_a.labels == motion.skeleton.joints
    assert seen_a.source == "a"


def test_sensor_frame_is_y_up_z_away_x_to_its_left():
    sensor = DepthSensor.perfect("s", [0, 1, 0], from_m=[0, 1, 3])  # looks along world -Z
    seen = sensor.to_sensor(np.array([[0.0, 1.0, 0.0], [0.0, 1.5, 0.0], [-0.5, 1.0, 0.0]]))
    np.testing.assert_allclose(seen, [[0, 0, 3], [0, 0.5, 3], [0.5, 0, 3]], atol=1e-12)
    assert np.linalg.det(sensor.R_world_sensor) == pytest.approx(1)


@pytest.mark.parametrize(("depth_m", "along_m", "across_m"), [(2, 0.010, 0.004), (4, 0.040, 0.008)])
def test_noise_grows_with_depth_squared_along_the_ray_and_with_depth_across(
    depth_m, along_m, across_m
):
    sensor = plain(noise_along_at_2m_m=0.010, noise_across_at_2m_m=0.004)
    motion = still_points(depth_m)
    along, across = split(
        motion, sensor, observe(motion, sensor, seed=5).position_m - motion.position_m
    )
    distance = np.linalg.norm(motion.position_m, axis=2)
    # 40,000 samples: the spread of a standard deviation is 0.35 %
    assert (along / (distance / depth_m) ** 2).std() == pytest.approx(along_m, rel=0.02)
    per_axis = np.sqrt(np.mean(np.sum((across / (distance / depth_m)[..., None]) ** 2, axis=2)) / 2)
    assert per_axis == pytest.approx(across_m, rel=0.02)
    assert abs(along.mean()) < 4 * along_m / np.sqrt(along.size)


def test_surface_bias_brings_joints_nearer_along_the_ray():
    sensor = plain(surface_share=0.4)
    motion = still_points(3.0, n_frames=2)
    along, across = split(
        motion, sensor, observe(motion, sensor, seed=5).position_m - motion.position_m
    )
    np.testing.assert_allclose(along, -0.4 * 0.05, atol=1e-12)
    np.testing.assert_allclose(across, 0.0, atol=1e-12)


def test_dropouts_have_the_share_and_the_length_asked_for():
    take = observe(
        still_points(2.0, n_frames=20000), plain(dropout_share=0.05, dropout_mean_s=0.2), seed=3
    )
    lost = ~take.is_observed
    n_bursts = np.count_nonzero(lost[1:] & ~lost[:-1]) + np.count_nonzero(lost[0])
    assert lost.mean() == pytest.approx(0.05, rel=0.1)
    assert lost.sum() / n_bursts == pytest.approx(0.2 * 30, rel=0.1)
    np.testing.assert_array_equal(take.confidence, np.where(lost, 0.0, 1.0))


def test_outliers_have_the_share_and_the_size_asked_for():
    motion = still_points(2.0)
    take = observe(motion, plain(outlier_share=0.03, outlier_m=0.15), seed=3)
    off = np.linalg.norm(take.position_m - motion.position_m, axis=2)
    is_outlier = off > 1e-9
    assert is_outlier.mean() == pytest.approx(0.03, rel=0.1)
    np.testing.assert_allclose(off[is_outlier], 0.15, atol=1e-9)
    direction = (take.position_m - motion.position_m)[is_outlier] / 0.15
    assert np.abs(direction.mean(axis=0)).max() < 0.08  # to every side


def seen_from(motion: Motion, from_m: list[float]) -> set[str]:
    sensor = DepthSensor.perfect("s", [0, 1, 0], from_m=from_m)
    hidden = hidden_joints(motion.skeleton, sensor.to_sensor(motion.position_m))[0]
    return {
        joint for joint, is_hidden in zip(motion.skeleton.joints, hidden, strict=True) if is_hidden
    }


def test_the_far_side_of_the_body_is_hidden():
    standing = walk(1, 30.0, radius_m=np.inf)
    assert seen_from(standing, [0, 1, 3]) == set()
    from_left, from_right = seen_from(standing, [3, 1, 0]), seen_from(standing, [-3, 1, 0])
    assert {"ShoulderRight", "HipRight"} <= from_left
    assert {"ShoulderLeft", "HipLeft"} <= from_right
    limbs = {"Elbow", "Wrist", "Hand", "Knee", "Ankle", "Foot", "Shoulder"}
    assert not from_left & {f"{limb}Left" for limb in limbs}
    assert not from_right & {f"{limb}Right" for limb in limbs}


def test_hidden_joints_are_noisier_less_sure_and_lost_more_often():
    still = walk(1, 30.0, radius_m=np.inf)
    n_frames = 6000
    motion = Motion(
        np.tile(still.position_m, (n_frames, 1, 1)), np.arange(n_frames) / 30, still.skeleton
    )
    sensor = DepthSensor.looking_at(
        "s", [0, 1, 0], from_m=[3, 1, 0], surface_share=0.0, outlier_share=0.0
    )
    take = observe(motion, sensor, seed=8)
    true_m = sensor.to_sensor(motion.position_m)
    hidden = hidden_joints(motion.skeleton, true_m)[0]
    along, _ = split(motion, sensor, take.position_m - true_m)
    scaled = along / (np.linalg.norm(true_m, axis=2) / 2) ** 2
    assert np.nanstd(scaled[:, ~hidden]) == pytest.approx(0.006, rel=0.03)
    assert np.nanstd(scaled[:, hidden]) == pytest.approx(3 * 0.006, rel=0.03)
    assert 1 - take.is_observed[:, hidden].mean() == pytest.approx(0.2, rel=0.15)
    assert 1 - take.is_observed[:, ~hidden].mean() == pytest.approx(0.01, rel=0.3)
    assert set(np.unique(take.confidence[:, hidden])) == {0.0, 0.2}
    assert set(np.unique(take.confidence[:, ~hidden])) == {0.0, 1.0}


def test_same_seed_same_take_and_another_seed_another():
    motion = walk(90, 30.0)
    sensor = DepthSensor.looking_at("s", [0, 1, 0], from_m=[0, 1, 3.4])
    first, again, other = (observe(motion, sensor, seed=seed) for seed in (4, 4, 5))
    np.testing.assert_array_equal(first.position_m, again.position_m)
    np.testing.assert_array_equal(first.confidence, again.confidence)
    assert np.nanmax(np.abs(first.position_m - other.position_m)) > 0.01
    generator = np.random.default_rng(4)
    np.testing.assert_array_equal(
        observe(motion, sensor, seed=generator).position_m, first.position_m
    )


def test_one_parameter_leaves_the_other_effects_as_they_were():
    motion = walk(90, 30.0)
    sensor = DepthSensor.looking_at("s", [0, 1, 0], from_m=[0, 1, 3.4], outlier_share=0.0)
    gappy = observe(motion, replace(sensor, dropout_share=0.3), seed=4)
    whole = observe(motion, sensor, seed=4)
    both = gappy.is_observed & whole.is_observed
    assert gappy.is_observed.mean() < whole.is_observed.mean() - 0.1
    np.testing.assert_array_equal(gappy.position_m[both], whole.position_m[both])


def test_take_of_one_frame_is_observed():
    sensor = DepthSensor.looking_at("s", [0, 1, 0], from_m=[0, 1, 3.4])
    assert observe(walk(1, 30.0), sensor, seed=1).n_frames == 1


def test_bad_parameters_are_listed_together():
    with pytest.raises(RecordError) as caught:
        DepthSensor("s", 2 * np.eye(3), np.zeros(3), dropout_share=0.7, noise_along_at_2m_m=-1.0)
    assert caught.value.faults == (
        "R_world_sensor is no rotation",
        "noise_along_at_2m_m is -1, expected 0 or more",
        "dropout_share is 0.7, expected 0 or more, at most 0.5",
    )
    with pytest.raises(RecordError, match="straight above"):
        DepthSensor.looking_at("s", [0, 1, 0], from_m=[0, 3, 0])
