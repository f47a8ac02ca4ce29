"""Frames beyond a joint limit: flagged, and fitted anew within it."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize

from fitpipe import pipeline
from fitpipe.angles import define, measure, pose_skeleton
from fitpipe.angles.limited import check_limits, keep_limits
from fitpipe.angles.limits import nearest_to_limits
from fitpipe.config import SolveConfig
from fitpipe.config.angle_preset import AnglePreset, load_angle_preset
from fitpipe.errors import ConfigError, SolveError
from fitpipe.records import FrameStatus, LimitStatus, Skeleton, Take
from fitpipe.simulate.motion import walk
from fitpipe.solve import fit_frames, pose_problem, worst_bone_error

LENGTH = np.array([0.08, 0.39, 0.2, *(0.18, 0.31, 0.25, 0.08) * 2, *(0.1, 0.43, 0.43, 0.14) * 2])
SKELETON = Skeleton.preset("kinect20").with_lengths(LENGTH)
DEFINITION = define(SKELETON)
KNEE = DEFINITION.segments.index("AnkleLeft")
KNEE_LOW = np.radians(-15)


def posed(angles_deg):
    euler = {name: np.radians(values) for name, values in angles_deg.items()}
    return pose_skeleton(SKELETON, euler, bone_length_m=LENGTH)


def fitted(target, stiffness=None, lengths=LENGTH):
    """The plain fit to a target, and what `keep_limits` is given."""
    stiffness = np.full(target.shape[:2], 2.0) if stiffness is None else stiffness
    skeleton = SKELETON.with_lengths(lengths)
    problem = pose_problem(target[:, None], stiffness[:, None] / 2, skeleton)
    position = fit_frames(problem, SolveConfig()).position
    return measure(position, DEFINITION, lengths), DEFINITION, position, target, stiffness


def objective(position, target, stiffness):
    return 0.5 * np.einsum("tj,tjc->t", stiffness, (position - target) ** 2)


def knee_bent_backwards(n_frames=9, at=4, flexion_deg=-60.0):
    """A walk in one frame of which the left shank is seen turned to the front of the knee."""
    motion = walk(n_frames, 30.0)
    lengths = motion.skeleton.bone_length_m
    angles = measure(motion.position_m, DEFINITION, lengths)
    turned = dict(zip(angles.segments, angles.euler_rad[at], strict=True))
    turned["AnkleLeft"] = np.array([np.radians(flexion_deg), 0.0, 0.0])
    target = np.array(motion.position_m)
    target[at] = pose_skeleton(
        SKELETON, turned, bone_length_m=lengths, root_position_m=target[at, 0]
    )
    return target, at, lengths


def test_a_knee_bent_backwards_by_an_outlier_comes_out_at_its_limit():
    target, at, lengths = knee_bent_backwards()
    start = fitted(target, lengths=lengths)
    angles, _, position, _, stiffness = start
    np.testing.assert_allclose(position, target, atol=1e-9)
    assert np.degrees(angles.euler_rad[at, KNEE, 0]) == pytest.approx(-60, abs=1e-6)
    assert angles.limit_status[at, KNEE] == LimitStatus.BEYOND
    found = keep_limits(*start)
    assert found.angles.euler_rad[at, KNEE, 0] == pytest.approx(KNEE_LOW, abs=1e-9)
    assert found.angles.limit_status[at, KNEE] == LimitStatus.AT
    assert not (found.angles.limit_status == LimitStatus.BEYOND).any()
    assert found.is_converged[at]
    assert worst_bone_error(found.position_m, SKELETON.links, lengths).max() < 1e-14
    # the other frames are untouched, to the bit
    others = np.arange(len(target)) != at
    np.testing.assert_array_equal(found.is_refitted, ~others)
    np.testing.assert_array_equal(found.position_m[others], position[others])
    # better than the angle set to its limit with nothing else moved, by far
    after = objective(found.position_m, target, stiffness)[at]
    clipped = clamped(angles, at, lengths)
    assert after < 0.5 * objective(clipped, target[at : at + 1], stiffness[:1])[0]


def clamped(angles, frame_i, lengths):
    """The pose with every angle set to the nearest one within its limits, and nothing else done."""
    low, high = angles.limit_rad[..., 0], angles.limit_rad[..., 1]
    euler = np.clip(angles.euler_rad[frame_i], low, high)
    return pose_skeleton(
        SKELETON,
        dict(zip(angles.segments, euler, strict=True)),
        bone_length_m=lengths,
        root_position_m=angles.root_position_m[frame_i],
    )


@pytest.mark.parametrize("flexion_deg", [-60.0, -35.0, 175.0])
def test_no_other_pose_within_the_limits_is_closer(flexion_deg):
    target, at, lengths = knee_bent_backwards(flexion_deg=flexion_deg)
    start = fitted(target, lengths=lengths)
    angles, stiffness = start[0], start[4]
    found = keep_limits(*start)
    assert found.is_refitted[at]
    best = objective(found.position_m, target, stiffness)[at]
    parts = [
        angles.segments.index(f"{joint}{side}")
        for side in ("Left", "Right")
        for joint in ("Knee", "Ankle", "Foot")
    ]
    low, high = DEFINITION.limit_rad[parts, :, 0], DEFINITION.limit_rad[parts, :, 1]
    for i in (1, 4):  # a hinge has one turn
        low[i, 1:] = high[i, 1:] = 0.0

    def distance(x):
        turned = dict(zip(angles.segments, angles.euler_rad[at], strict=True))
        turned["pelvis"] = x[3:6]
        for s, turn in zip(parts, x[6:].reshape(-1, 3), strict=True):
            turned[angles.segments[s]] = turn
        pose = pose_skeleton(SKELETON, turned, bone_length_m=lengths, root_position_m=x[:3])
        return objective(pose, target[at : at + 1], stiffness[:1])[0]

    free = np.full(6, np.inf)
    bounds = list(zip([*-free, *low.ravel()], [*free, *high.ravel()], strict=True))
    first = np.clip(angles.euler_rad[at, parts], low, high).ravel()
    first = np.concatenate([angles.root_position_m[at], angles.euler_rad[at, 0], first])
    peer = minimize(distance, first, method="SLSQP", bounds=bounds, options={"ftol": 1e-12})
    # the peer moves pelvis and legs only, so it may be a little worse but never better
    assert best <= peer.fun * (1 + 1e-6)
    assert best > 0.5 * peer.fun


@pytest.mark.parametrize("seed", range(6))
def test_whatever_the_data_say_no_limit_is_exceeded(seed):
    rng = np.random.default_rng(seed)
    target = np.array(walk(30, 30.0).position_m)
    target += rng.normal(scale=0.08, size=target.shape)
    outlier = rng.random(target.shape[:2]) < 0.05
    target[outlier] += rng.normal(scale=0.4, size=(np.count_nonzero(outlier), 3))
    stiffness = rng.uniform(0.2, 2.0, size=target.shape[:2])
    stiffness[rng.random(stiffness.shape) < 0.05] = 0.0
    start = fitted(target, stiffness)
    n_beyond = (start[0].limit_status == LimitStatus.BEYOND).any(axis=1).sum()
    assert n_beyond > 5
    found = keep_limits(*start)
    assert not (found.angles.limit_status == LimitStatus.BEYOND).any()
    # looked at afresh, too
    again = measure(found.position_m, DEFINITION, LENGTH)
    judged = again.limit_status != LimitStatus.NONE
    assert judged.sum() > 100
    assert not (again.limit_status == LimitStatus.BEYOND).any()
    assert found.is_converged[found.is_refitted].mean() > 0.9
    error = worst_bone_error(found.position_m, SKELETON.links, LENGTH)
    assert error.max() < 1e-13
    np.testing.assert_array_equal(
        found.position_m[~found.is_refitted], start[2][~found.is_refitted]
    )
    before, after = (
        objective(np.nan_to_num(x), np.nan_to_num(target), stiffness)
        for x in (start[2], found.position_m)
    )
    assert (after >= before * (1 - 1e-9)).all()


def test_poses_within_the_limits_stay_as_they_are():
    target = np.array(walk(40, 30.0).position_m)
    lengths = walk(1, 30.0).skeleton.bone_length_m
    start = measure(target, DEFINITION, lengths)
    found = keep_limits(start, DEFINITION, target, target + 0.3, np.ones(target.shape[:2]))
    assert not found.is_refitted.any()
    np.testing.assert_array_equal(found.position_m, target)


def test_frames_with_absent_joints_are_held_as_well():
    target, at, lengths = knee_bent_backwards()
    stiffness = np.full(target.shape[:2], 2.0)
    gone = [i for i, name in enumerate(SKELETON.joints) if "Right" in name or name == "HipCenter"]
    stiffness[:, gone] = 0.0
    start = fitted(target, stiffness, lengths)
    assert np.isnan(start[2][at]).any()
    found = keep_limits(*start)
    assert found.is_refitted[at]
    assert not (found.angles.limit_status == LimitStatus.BEYOND).any()
    np.testing.assert_array_equal(np.isnan(found.position_m), np.isnan(start[2]))


def test_the_same_turns_told_in_other_angles_do_not_count_as_excess():
    limits = np.radians([[[-30, 60], [-np.inf, np.inf], [-np.inf, np.inf]]] * 4)
    angles = np.radians([[[70, 20, 0], [430, 20, 0], [200, 170, 180], [-170, 150, 40]]])
    counts = np.isfinite(limits).all(axis=-1)[None]
    found, over = nearest_to_limits(angles, limits, counts)
    np.testing.assert_allclose(np.degrees(over), [[10, 10, -40, -40]], atol=1e-9)
    np.testing.assert_allclose(np.degrees(found[0, 2]), [20, 10, 0], atol=1e-9)
    _, over = nearest_to_limits(angles, limits, np.zeros_like(counts))
    assert (over == -np.inf).all()


def noisy_takes():
    """Two sources that see a walk; in frames 20 to 24 both see the left knee bent backwards."""
    target, _, lengths = knee_bent_backwards(60, 20)
    for at in range(21, 25):
        target[at] = knee_bent_backwards(60, at)[0][at]
    rng = np.random.default_rng(3)
    takes = [
        Take(source, SKELETON.joints, target + rng.normal(scale=0.002, size=target.shape), TIME_S)
        for source in "ab"
    ]
    return takes, lengths


TIME_S = np.arange(60) / 30
PLAIN = {"noise": False, "jumps": False, "bones": False, "flips": False, "swaps": "off"}


def test_the_pipeline_holds_the_fit_to_the_limits_and_tells():
    takes, lengths = noisy_takes()
    config = {"weights": PLAIN, "calibrate": {"registration": "none", "time_offset": "none"}}
    plain = pipeline.fit(takes, bone_length_m=lengths, config=config)
    held = pipeline.fit(takes, bone_length_m=lengths, config=config | {"angles": {"limits": True}})
    beyond = (plain.angles.limit_status == LimitStatus.BEYOND).any(axis=1)
    np.testing.assert_array_equal(np.flatnonzero(beyond), range(20, 25))
    assert any("exceed the limits" in finding.what for finding in plain.log)
    assert not (held.angles.limit_status == LimitStatus.BEYOND).any()
    assert (held.frame_status[beyond] == FrameStatus.STATIONARY).all()
    assert (held.objective[beyond] > plain.objective[beyond]).all()
    np.testing.assert_array_equal(held.position[~beyond], plain.position[~beyond])
    np.testing.assert_array_equal(held.objective[~beyond], plain.objective[~beyond])
    assert held.worst_bone_m < 1e-12
    told = [finding for finding in held.log if "exceeded the limits" in finding.what]
    assert "5 frames (left knee 5" in told[0].what
    assert "rose from" in told[0].done
    residual = np.linalg.norm(takes[1].position_m - held.position, axis=-1)
    np.testing.assert_allclose(held.residual[:, 1], residual, atol=1e-12)


def test_a_smooth_fit_is_held_to_the_limits_near_its_motion():
    takes, lengths = noisy_takes()
    config = {
        "weights": PLAIN,
        "calibrate": {"registration": "none", "time_offset": "none"},
        "solve": {"temporal": "trajectory", "smoothness": 1e-9, "robust": False},
        "angles": {"limits": True},
    }
    held = pipeline.fit(takes, bone_length_m=lengths, config=config)
    assert not (held.angles.limit_status == LimitStatus.BEYOND).any()
    assert any("exceeded the limits" in finding.what for finding in held.log)


def test_limits_without_angles_in_the_result():
    takes, lengths = noisy_takes()
    config = {
        "weights": PLAIN,
        "calibrate": {"registration": "none", "time_offset": "none"},
        "angles": {"limits": True, "compute": False},
    }
    fit = pipeline.fit(takes, bone_length_m=lengths, config=config)
    assert fit.angles is None
    angles = measure(fit.position, DEFINITION, fit.bone_length)
    assert not (angles.limit_status == LimitStatus.BEYOND).any()


def test_a_preset_without_limits_cannot_hold_anything():
    takes, lengths = noisy_takes()
    config = {"angles": {"limits": True, "preset": "general"}}
    with pytest.raises(ConfigError, match="the preset 'general' has no limits"):
        pipeline.fit(takes, bone_length_m=lengths, config=config)


def test_rigid_pairs_within_a_body_last_and_others_are_refused():
    girdles = Skeleton.preset("kinect20_girdles")
    target, at, lengths = knee_bent_backwards()
    lengths = np.concatenate([lengths, np.zeros(2)])
    lengths[-2:] = [np.linalg.norm(target[0, a] - target[0, b]) for a, b in girdles.rigid_pairs]
    skeleton = girdles.with_lengths(lengths)
    definition = define(skeleton)
    stiffness = np.full(target.shape[:2], 2.0)
    problem = pose_problem(target[:, None], stiffness[:, None] / 2, skeleton)
    position = fit_frames(problem, SolveConfig()).position
    angles = measure(position, definition, lengths[:-2])
    found = keep_limits(angles, definition, position, target, stiffness)
    assert found.is_refitted[at]
    assert not (found.angles.limit_status == LimitStatus.BEYOND).any()
    assert worst_bone_error(found.position_m, skeleton.links, lengths).max() < 1e-6
    knees = Skeleton("knees tied", girdles.joints, girdles.parents, rigid_pairs=((13, 17),))
    with pytest.raises(SolveError, match="KneeLeft~KneeRight"):
        check_limits(define(knees, "kinect20"))


def test_limits_of_an_own_preset_are_used():
    table = load_angle_preset("kinect20").model_dump()
    for row in table["bone"]:
        row["limits_deg"] = {"flexion": (20, 30)} if row["joint"] == "WristLeft" else {}
    definition = define(SKELETON, AnglePreset.model_validate(table))
    position = np.repeat(posed({"WristLeft": (70, 0, 0)}), 3, axis=0)
    angles = measure(position, definition, LENGTH)
    found = keep_limits(angles, definition, position, position, np.ones(position.shape[:2]))
    elbow = np.degrees(found.angles.euler_rad[:, definition.segments.index("WristLeft"), 0])
    np.testing.assert_allclose(elbow, 30, atol=1e-6)
