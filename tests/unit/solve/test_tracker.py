"""Frame after frame: the same as the batch, smoother than single frames, clear about misuse."""

from __future__ import annotations

import numpy as np
import pytest

import fitpipe as fp
from fitpipe import solve
from fitpipe.config import SolveConfig, WeightsConfig
from fitpipe.errors import RecordError, SolveError
from fitpipe.records import FrameStatus, JointStatus, SourceTransform
from fitpipe.simulate import DepthSensor, observe, reach_and_turn, walk

PREVIOUS = {"solve": {"temporal": "previous"}}


@pytest.fixture(scope="module")
def motion():
    return walk(120, 30.0)


def observed(motion, *, outlier_share=0.03, noise_m=0.015):
    rng = np.random.default_rng(0)
    shape = (len(motion.time_s), 2, motion.position_m.shape[1])
    y = motion.position_m[:, None] + noise_m * rng.normal(size=(*shape, 3))
    y += 0.15 * (rng.random(shape) < outlier_share)[..., None] * rng.choice([-1, 1], (*shape, 3))
    return y


def test_a_tracker_gives_the_bits_of_the_batch(motion):
    sensors = [
        DepthSensor.looking_at("a", (0, 1, 0), from_m=(0, 1, 4)),
        DepthSensor.looking_at("b", (0, 1, 0), from_m=(4, 1.2, 0)),
    ]
    takes = [observe(motion, sensor, seed=i) for i, sensor in enumerate(sensors)]
    # the same weights for both: a tracker cannot look ahead to judge an observation
    plain = {**PREVIOUS, "weights": WeightsConfig.plain().model_dump()}
    fit = fp.fit(takes, config=plain)
    tracker = fp.Tracker(
        fit.skeleton,
        sources=fit.sources,
        transforms=fit.calibration.transforms,
        config=PREVIOUS,
    )
    for frame, at in enumerate(fit.time_s):
        weight = np.stack([np.where(t.is_observed, t.confidence, 0)[frame] for t in takes])
        one = tracker.update(
            {take.source: take.position_m[frame] for take in takes}, time_s=at, weight=weight
        )
        np.testing.assert_array_equal(one.position, fit.position[frame])
        np.testing.assert_array_equal(one.status, fit.status[frame])
        np.testing.assert_array_equal(one.weight, fit.weight[frame])
        assert one.frame_status == fit.frame_status[frame]
        assert one.worst_bone_error < 1e-9
    assert fit.worst_bone_m < 1e-9


def test_the_past_makes_the_present_steadier():
    motion = reach_and_turn(240, 30.0)
    y = observed(motion)
    tracker = fp.Tracker(motion.skeleton, sources=2)
    led = np.array([tracker.update(frame).position for frame in y])
    problem = solve.pose_problem(y, np.ones(y.shape[:3]), motion.skeleton)
    alone = solve.fit_frames(problem, SolveConfig()).position
    errors = [np.linalg.norm(x - motion.position_m, axis=-1)[30:].mean() for x in (led, alone)]
    assert errors[0] < 0.75 * errors[1]


def test_only_the_past_counts(motion):
    y = observed(motion)
    changed = y.copy()
    changed[60:] += 1.0
    one, other = (fp.Tracker(motion.skeleton, sources=2) for _ in range(2))
    for frame in range(60):
        a, b = one.update(y[frame]), other.update(changed[frame])
        np.testing.assert_array_equal(a.position, b.position)


def test_reset_forgets(motion):
    y = observed(motion)
    tracker = fp.Tracker(motion.skeleton, sources=2)
    first = [tracker.update(frame).position for frame in y[:20]]
    tracker.reset()
    again = [tracker.update(frame).position for frame in y[:20]]
    np.testing.assert_array_equal(first, again)


def test_a_hidden_joint_is_led_on_for_a_while_and_then_let_go(motion):
    y = observed(motion, outlier_share=0.0)
    foot, elbow = (motion.skeleton.joint_index(name) for name in ("FootLeft", "ElbowLeft"))
    y[40:, :, [foot, elbow]] = np.nan
    tracker = fp.Tracker(motion.skeleton, sources=2, rate_hz=30.0)
    fits = [tracker.update(frame) for frame in y]
    status = np.array([fit.status for fit in fits])
    # a third of 0.5 s: 5 ticks after frame 39
    assert (status[40:45, [foot, elbow]] == JointStatus.INTERPOLATED).all()
    assert (status[45:, foot] == JointStatus.ABSENT).all()
    assert (status[45:, elbow] == JointStatus.CARRIED).all()
    assert np.isnan(fits[60].position[foot]).all()
    error = np.linalg.norm(fits[42].position[foot] - motion.position_m[42, foot])
    assert error < 0.15


def test_a_frame_without_observations_is_led_on(motion):
    y = observed(motion, outlier_share=0.0)
    tracker = fp.Tracker(motion.skeleton, sources=2)
    for frame in y[:30]:
        tracker.update(frame)
    fit = tracker.update(np.full_like(y[0], np.nan))
    assert (fit.status == JointStatus.INTERPOLATED).all()
    assert fit.objective == 0.0
    nothing = fp.Tracker(motion.skeleton, sources=2).update(np.full_like(y[0], np.nan))
    assert nothing.frame_status == FrameStatus.NO_DATA
    assert np.isnan(nothing.position).all()


def test_sources_by_name_and_transforms(motion):
    y = observed(motion)
    R = np.array([[0.0, 0, 1], [0, 1, 0], [-1, 0, 0]])
    t = np.array([1.0, 2.0, 3.0])
    transforms = [SourceTransform.identity("a"), SourceTransform("b", R, t)]
    named = fp.Tracker(motion.skeleton, sources=("a", "b"), transforms=transforms)
    plain = fp.Tracker(motion.skeleton, sources=2)
    for frame in y[:5]:
        one = named.update({"b": (frame[1] - t) @ R, "a": frame[0]})
        other = plain.update(frame)
        np.testing.assert_allclose(one.position, other.position, atol=1e-9)


def test_misuse_is_told_clearly(motion):
    with pytest.raises(RecordError, match="no bone lengths"):
        fp.Tracker(fp.Skeleton.preset("kinect20"))
    tracker = fp.Tracker(motion.skeleton, sources=("left", "right"))
    with pytest.raises(SolveError, match=r"shape \(3, 3\), expected \(2, 20, 3\)"):
        tracker.update(np.zeros((3, 3)))
    with pytest.raises(SolveError, match="no source 'lefft'"):
        tracker.update({"lefft": np.zeros((20, 3))})
    with pytest.raises(SolveError, match="weight has shape"):
        tracker.update(np.zeros((2, 20, 3)), weight=np.ones(20))
    with pytest.raises(SolveError, match="negative"):
        tracker.update(np.zeros((2, 20, 3)), weight=-np.ones((2, 20)))
    tracker.update(motion.position_m[[0, 0]], time_s=1.0)
    with pytest.raises(SolveError, match="comes after"):
        tracker.update(motion.position_m[[0, 0]], time_s=1.0)
    with pytest.raises(SolveError, match="1 transforms for 2 sources"):
        fp.Tracker(motion.skeleton, sources=2, transforms=[SourceTransform.identity("a")])
