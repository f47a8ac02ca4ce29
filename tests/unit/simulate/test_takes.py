"""What is planted in a simulated take can be found again, and the truth says what was planted."""

import csv
import io
import tomllib

import numpy as np
import pytest

from fitpipe.calibrate import read_lengths
from fitpipe.config import SimulateConfig, config_text, make_config
from fitpipe.errors import ConfigError, RecordError
from fitpipe.simulate import (
    Lapses,
    SensorClock,
    punch,
    simulate,
    simulated_files,
    stand_still,
    walk,
)

QUIET = {  # nothing wrong at all
    "noise_along_at_2m_m": 0.0, "noise_across_at_2m_m": 0.0, "surface_share": 0.0,
    "dropout_share": 0.0, "hidden_dropout_share": 0.0, "outlier_share": 0.0, "wander_m": 0.0,
    "flip_share": 0.0, "swap_share": 0.0, "repeat_share": 0.0,
}  # fmt: skip


def made(*, noise=None, sensors=None, **rest):
    table = {"sensors": {"tick_jitter_s": 0.0, **(sensors or {})}, **rest}
    return simulate(make_config(SimulateConfig, {**table, "noise": {**QUIET, **(noise or {})}}))


def events_of(simulated, kind):
    return [event for event in simulated.events if event.kind == kind]


def error_m(simulated):
    """Distance of the reference's reports to the truth, (time, joint)."""
    return np.linalg.norm(simulated.takes[0].position_m - simulated.motion.position_m, axis=-1)


def test_quiet_sensors_see_the_truth_through_their_transforms_and_clocks():
    simulated = made(sensors={"count": 3, "clock_offset_s": 0.12, "clock_drift_ppm": 300.0})
    assert error_m(simulated).max() < 1e-12
    truth, clocks = walk(2405, 240.0), simulated.clocks
    assert [clock.offset_s for clock in clocks] == [0.0, 0.12, 0.24]
    for take, transform, clock in zip(simulated.takes, simulated.transforms, clocks, strict=True):
        true_s = (take.time_s - clock.offset_s) / (1 + clock.drift_ppm * 1e-6)
        world = truth.at(true_s).position_m
        seen = transform.apply(take.position_m)
        # from the world into the reference's frame: the same rigid transform for all
        first = simulated.motion.position_m[0]
        np.testing.assert_allclose(
            np.linalg.norm(seen[:, :, None] - seen[:, None, :], axis=-1),
            np.linalg.norm(world[:, :, None] - world[:, None, :], axis=-1),
            atol=1e-9,
        )
        assert np.linalg.norm(seen[0] - first, axis=-1).max() < 0.1  # within the first tick
    # one more check of the offset itself: heights over the floor, at the planted times
    b = simulated.takes[1]
    height = simulated.transforms[1].apply(b.position_m)[:, 3]
    true_s = (b.time_s - 0.12) / (1 + 300e-6)
    inside = (true_s > 0.1) & (true_s < 9.8)
    expected = simulated.motion.at(true_s[inside]).position_m[:, 3]
    np.testing.assert_allclose(height[inside], expected, atol=2e-4)
    late = simulated.motion.at(true_s[inside] + 0.12).position_m[:, 3]
    assert np.linalg.norm(height[inside] - late, axis=-1).mean() > 0.05


def test_a_shared_frame_is_off_by_the_error_asked_for():
    simulated = made(
        sensors={"frame": "shared", "shared_rotation_deg": 20.0, "shared_shift_m": 0.3}
    )
    transform = simulated.transforms[1]
    angle = np.degrees(np.arccos((np.trace(transform.R_ref_source) - 1) / 2))
    assert angle == pytest.approx(20.0)
    b = simulated.takes[1]
    true_b = simulated.motion.at(np.clip(b.time_s, 0, simulated.motion.time_s[-1])).position_m
    off = np.linalg.norm(transform.apply(b.position_m) - true_b, axis=-1)
    assert np.median(off) < 1e-4
    as_is = np.linalg.norm(b.position_m - true_b, axis=-1)
    assert 0.1 < np.median(as_is) < 1.0


def test_flips_exchange_left_and_right_where_the_events_say():
    simulated = made(noise={"flip_share": 0.1, "flip_mean_s": 0.5})
    flips = [e for e in events_of(simulated, "back taken for front") if e.source == "kinect_a"]
    flipped = np.zeros(simulated.takes[0].n_frames, dtype=bool)
    for event in flips:
        flipped[event.first_frame : event.last_frame + 1] = True
    assert 0.03 < flipped.mean() < 0.25
    skeleton, seen = simulated.motion.skeleton, simulated.takes[0].position_m
    other = np.arange(skeleton.n_joints)
    for left, right in skeleton.mirror:
        other[[left, right]] = right, left
    truth = simulated.motion.position_m
    np.testing.assert_allclose(seen[~flipped], truth[~flipped], atol=1e-12)
    np.testing.assert_allclose(seen[flipped], truth[flipped][:, other], atol=1e-12)


def test_outliers_are_listed_sample_by_sample():
    simulated = made(noise={"outlier_share": 0.05, "outlier_m": 0.4})
    listed = np.zeros((simulated.takes[0].n_frames, 20), dtype=bool)
    for event in events_of(simulated, "sample displaced"):
        if event.source == "kinect_a":
            joint = simulated.motion.skeleton.joint_index(event.joints[0])
            listed[event.first_frame : event.last_frame + 1, joint] = True
    np.testing.assert_array_equal(error_m(simulated) > 0.2, listed)
    assert listed.mean() == pytest.approx(0.05, abs=0.01)
    np.testing.assert_allclose(error_m(simulated)[listed], 0.4)


def test_repeated_poses_and_gaps_and_absences_are_listed():
    simulated = made(
        noise={"repeat_share": 0.1, "away_share": 0.1, "away_mean_s": 0.2}, motion={"seconds": 40}
    )
    take = simulated.takes[0]
    repeated = np.zeros(take.n_frames, dtype=bool)
    for event in events_of(simulated, "pose repeated"):
        if event.source == take.source:
            repeated[event.first_frame : event.last_frame + 1] = True
    same = (np.nan_to_num(np.diff(take.position_m, axis=0)) == 0).all(axis=(1, 2))
    there = take.is_observed.all(axis=1)
    np.testing.assert_array_equal(
        same[there[1:] & there[:-1]], repeated[1:][there[1:] & there[:-1]]
    )
    assert repeated.mean() == pytest.approx(0.1, abs=0.03)
    assert 0.02 < (~there).mean() < 0.25
    assert (take.confidence[~there] == 0).all()


def test_a_lost_arm_is_far_off_for_a_while_and_nothing_else_is():
    simulated = made(noise={"limb_loss_share": 0.2, "limb_loss_m": 0.3}, motion={"seconds": 60})
    error = error_m(simulated)
    arm = [
        j
        for j, n in enumerate(simulated.motion.skeleton.joints)
        if n[:4] in ("Elbo", "Wris", "Hand")
    ]
    rest = np.setdiff1d(np.arange(20), arm)
    assert error[:, rest].max() < 1e-12
    hands = error[:, [simulated.motion.skeleton.joint_index(f"Hand{s}") for s in ("Left", "Right")]]
    off = hands > 0.05
    assert off.mean() == pytest.approx(0.2, abs=0.06)
    assert hands[off].mean() == pytest.approx(0.3, rel=0.25)
    again = off[1:] & off[:-1]
    assert again.sum() > 0.7 * off.sum()  # episodes, not single samples


def test_wander_has_the_size_and_the_memory_asked_for():
    simulated = made(
        noise={"wander_m": 0.02, "wander_s": 0.2}, motion={"name": "still", "seconds": 120},
        sensors={"count": 1},
    )  # fmt: skip
    hidden = simulated.takes[0].confidence.min(axis=0) < 1
    wave = (simulated.takes[0].position_m - simulated.motion.position_m)[:, ~hidden]
    assert wave.std() == pytest.approx(0.02, rel=0.05)

    def correlation(lag):
        return float(np.mean(wave[lag:] * wave[:-lag]) / np.mean(wave**2))

    # (1 + h/memory) exp(-h/memory) at 0.2 s and 0.6 s
    assert correlation(6) == pytest.approx(2 / np.e, abs=0.04)
    assert correlation(18) == pytest.approx(4 * np.exp(-3), abs=0.06)


def test_ticks_are_uneven_as_asked_and_clocks_keep_their_rate():
    ticks = np.diff(SensorClock(30.0, tick_jitter_s=0.012).instants(200.0, seed=1))
    assert np.median(ticks) == pytest.approx(1 / 30, rel=0.02)
    assert ticks.std() == pytest.approx(0.012, rel=0.1)
    assert ticks.min() > 0.4 / 30 - 1e-9
    even = SensorClock(50.0).instants(2.0, seed=1)
    np.testing.assert_allclose(even, np.arange(101) / 50, atol=1e-12)


def test_one_more_sensor_or_one_more_lapse_leaves_the_rest_as_it_was():
    two, three = simulate(), simulate(make_config(SimulateConfig, {"sensors": {"count": 3}}))
    for a, b in zip(two.takes, three.takes[:2], strict=True):
        np.testing.assert_array_equal(a.position_m, b.position_m)
        np.testing.assert_array_equal(a.time_s, b.time_s)
    calm = simulate(make_config(SimulateConfig, {"noise": {"flip_share": 0.0}}))
    assert not events_of(calm, "back taken for front")
    changed = calm.takes[0].position_m != two.takes[0].position_m
    seen = ~np.isnan(calm.takes[0].position_m) & ~np.isnan(two.takes[0].position_m)
    flips = {f for e in events_of(two, "back taken for front") if e.source == "kinect_a"
             for f in range(e.first_frame, e.last_frame + 2)}  # fmt: skip
    assert set(np.flatnonzero((changed & seen).any(axis=(1, 2)))) <= flips


@pytest.mark.parametrize("make", [stand_still, punch])
def test_the_other_motions_are_rigid_and_smooth(make):
    motion = make(400, 100.0)
    parents, children = np.array(motion.skeleton.bones).T
    length = np.linalg.norm(motion.position_m[:, parents] - motion.position_m[:, children], axis=2)
    np.testing.assert_allclose(length, np.tile(motion.skeleton.bone_length_m, (400, 1)), atol=1e-12)
    speed = np.linalg.norm(np.diff(motion.position_m, axis=0), axis=2).max() * 100
    low, high = (0.0, 0.1) if make is stand_still else (5.0, 9.0)
    assert low < speed < high


def test_a_motion_between_its_frames_is_rigid_and_where_it_should_be():
    coarse, fine = walk(300, 120.0), walk(1200, 480.0)
    between = coarse.at(fine.time_s[:1190])
    np.testing.assert_allclose(between.position_m, fine.position_m[:1190], atol=5e-5)
    parents, children = np.array(coarse.skeleton.bones).T
    length = np.linalg.norm(
        between.position_m[:, parents] - between.position_m[:, children], axis=2
    )
    np.testing.assert_allclose(
        length, np.tile(coarse.skeleton.bone_length_m, (1190, 1)), atol=1e-12
    )
    with pytest.raises(RecordError, match="outside"):
        coarse.at(np.array([3.0]))


def test_files_tell_the_truth(tmp_path):
    config = make_config(SimulateConfig, {"sensors": {"clock_offset_s": 0.05}})
    simulated = simulate(config)
    files = simulated_files("walk", simulated)
    assert files == simulated_files("walk", simulate(config))
    sources = tomllib.loads(files["truth/walk_sources.toml"])
    assert sources["kinect_b"]["clock_offset_s"] == 0.05
    np.testing.assert_allclose(
        sources["kinect_b"]["R_ref_source"], simulated.transforms[1].R_ref_source, atol=1e-9
    )
    rows = list(csv.DictReader(io.StringIO(files["truth/walk_events.csv"])))
    assert len(rows) == len(simulated.events)
    path = tmp_path / "bones.toml"
    path.write_text(files["truth/walk_bones.toml"])
    skeleton = simulated.motion.skeleton
    np.testing.assert_allclose(
        read_lengths(path, skeleton).length_m, skeleton.bone_length_m, atol=1e-9
    )
    again = make_config(SimulateConfig, tomllib.loads(config_text(config)))
    assert again == config


def test_wrong_settings_are_all_named():
    with pytest.raises(ConfigError, match="did you mean 'walk'"):
        simulate(make_config(SimulateConfig, {"motion": {"name": "wallk"}}))
    table = {"sensors": {"rate_hz": [30.0], "clock_offset_s": [0.1, 0.2]}}
    with pytest.raises(ConfigError) as caught:
        simulate(make_config(SimulateConfig, table))
    assert len(caught.value.faults) == 2
    with pytest.raises(RecordError) as wrong:
        Lapses(flip_share=0.7, wander_s=0.0, jump_m=-1.0)
    assert len(wrong.value.faults) == 3
    with pytest.raises(RecordError, match="rate_hz is 0"):
        SensorClock(0.0)
