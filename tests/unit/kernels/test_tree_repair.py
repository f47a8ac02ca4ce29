"""Starts at joints nobody saw: on the circle, on the side of the frames around, by reaching."""

from __future__ import annotations

import numpy as np
import pytest

from fitpipe.kernels.tree_newton import fit_tree
from fitpipe.kernels.tree_repair import REACH, repaired_start
from fitpipe.kernels.tree_start import last_directions

from .tree_examples import KINECT20, KINECT20_LENGTH_M, kinect_frames, place

ARM = np.array([-1, 0, 1])
LENGTH_M = np.array([0, 0.30, 0.25])
REST3 = np.tile([0.0, -1.0, 0.0], (3, 1))


def turning_arm(n_frames, *, turn_rad, reach_m=0.4):
    """An arm with its ends at rest whose elbow goes round them: (frame, 3, 3)."""
    x = (LENGTH_M[1] ** 2 - LENGTH_M[2] ** 2 + reach_m**2) / (2 * reach_m)
    h = np.sqrt(LENGTH_M[1] ** 2 - x**2)
    angle = np.linspace(0, turn_rad, n_frames)
    target = np.zeros((n_frames, 3, 3))
    target[:, 1] = np.stack([np.full(n_frames, x), h * np.cos(angle), h * np.sin(angle)], axis=-1)
    target[:, 2, 0] = reach_m
    return target


def unseen(target, rows, joints):
    """Target and stiffness with joints missing in some frames."""
    stiffness = np.full(target.shape[:2], 2.0)
    stiffness[np.ix_(rows, joints)] = 0.0
    return np.where(stiffness[..., None] > 0, target, np.nan), stiffness


def placed(start, target, length, parent, root=0):
    """Joints at the ends of bones along `start`, from the target of the root."""
    out = np.zeros_like(start)
    out[:, root] = target[:, root]
    for i, p in enumerate(parent):
        if p >= 0:
            out[:, i] = out[:, p] + length[i] * start[:, i]
    return out


def test_an_elbow_is_placed_between_the_sides_it_had_before_and_after():
    truth = turning_arm(31, turn_rad=np.radians(90))
    gap = np.arange(5, 26)
    target, stiffness = unseen(truth, gap, [1])
    start = repaired_start(target, stiffness, LENGTH_M, ARM, rest=REST3)
    arm = placed(start, truth, LENGTH_M, ARM)
    # mixed as vectors, not as angles: a little off in between
    np.testing.assert_allclose(arm[:, 1], truth[:, 1], atol=0.006)
    np.testing.assert_allclose(arm[15, 1], truth[15, 1], atol=1e-9)
    np.testing.assert_allclose(arm[:, 2], truth[:, 2], atol=1e-12)


def test_the_fit_stays_on_that_side_and_takes_fewer_steps():
    truth = turning_arm(31, turn_rad=np.radians(90))
    target, stiffness = unseen(truth, np.arange(5, 26), [1])
    start = repaired_start(target, stiffness, LENGTH_M, ARM, rest=REST3)
    helped = fit_tree(target, stiffness, LENGTH_M, ARM, rest=REST3, start=start)
    alone = fit_tree(target, stiffness, LENGTH_M, ARM, rest=REST3)
    error = [np.linalg.norm(f.position - truth, axis=-1)[5:26, 1].max() for f in (helped, alone)]
    assert error[0] < 0.006
    assert error[1] > 0.15
    assert helped.iterations.sum() <= alone.iterations.sum()
    np.testing.assert_array_equal(helped.outcome, 1)
    # frames without a gap start and end as they would alone
    seen = np.r_[0:5, 26:31]
    np.testing.assert_array_equal(helped.position[seen], alone.position[seen])


def test_at_an_end_of_the_take_the_side_is_that_of_the_only_neighbour():
    truth = turning_arm(20, turn_rad=0.0)
    truth[:, :, 1:] = truth[:, :, [2, 1]]  # elbow along +z
    for gap in (np.arange(0, 8), np.arange(12, 20)):
        target, stiffness = unseen(truth, gap, [1])
        start = repaired_start(target, stiffness, LENGTH_M, ARM, rest=REST3)
        np.testing.assert_allclose(placed(start, truth, LENGTH_M, ARM), truth, atol=1e-12)


def test_the_side_turns_with_the_ends():
    truth = turning_arm(12, turn_rad=0.0)
    angle = np.linspace(0, np.radians(80), 12)
    c, s, o, e = np.cos(angle), np.sin(angle), np.zeros(12), np.ones(12)
    turn = np.moveaxis(np.array([[c, -s, o], [s, c, o], [o, o, e]]), -1, 0)
    truth = truth @ np.swapaxes(turn, 1, 2) + [0.3, -2.0, 5.0]
    target, stiffness = unseen(truth, np.arange(4, 9), [1])
    start = repaired_start(target, stiffness, LENGTH_M, ARM, rest=REST3)
    np.testing.assert_allclose(placed(start, truth, LENGTH_M, ARM), truth, atol=1e-9)


@pytest.mark.parametrize(
    ("reach_m", "elbow"),
    [
        (0.7, [0.3, 0, 0]),  # too far: straight
        (0.55, [0.3, 0, 0]),
        (0.05, [0.3, 0, 0]),  # folded back
        (0.02, [0.3, 0, 0]),  # too near
    ],
)
def test_ends_out_of_reach_give_a_straight_or_folded_limb(reach_m, elbow):
    truth = turning_arm(9, turn_rad=0.0)
    truth[3:6, 2, 0] = reach_m
    target, stiffness = unseen(truth, np.arange(3, 6), [1])
    start = repaired_start(target, stiffness, LENGTH_M, ARM, rest=REST3)
    np.testing.assert_allclose(placed(start, truth, LENGTH_M, ARM)[3:6, 1], [elbow] * 3, atol=1e-7)


def test_a_limb_never_seen_whole_bends_as_its_bones_were_last_seen():
    truth = turning_arm(6, turn_rad=0.0)
    target, stiffness = unseen(truth, np.arange(6), [1])
    last = np.array([[np.nan] * 3, [0.6, 0.0, -0.8], [0.6, 0.0, 0.8]])
    start = repaired_start(target, stiffness, LENGTH_M, ARM, rest=REST3, last=last)
    arm = placed(start, truth, LENGTH_M, ARM)
    np.testing.assert_allclose(arm[:, 2], truth[:, 2], atol=1e-12)
    assert (arm[:, 1, 2] < -0.1).all()
    np.testing.assert_allclose(arm[:, 1, 1], 0, atol=1e-12)
    # neither seen nor known: some side, but a number
    straight = np.tile([1.0, 0.0, 0.0], (3, 1))
    start = repaired_start(target, stiffness, LENGTH_M, ARM, rest=straight)
    arm = placed(start, truth, LENGTH_M, ARM)
    np.testing.assert_allclose(arm[:, 2], truth[:, 2], atol=1e-12)


def test_several_unseen_joints_of_a_chain_are_reached_from_both_ends():
    truth = kinect_frames(40)
    chain = [5, 6]  # left elbow and wrist; shoulder and hand are seen
    target, stiffness = unseen(truth, np.arange(10, 30), chain)
    start = repaired_start(target, stiffness, KINECT20_LENGTH_M, KINECT20, rest=rest20())
    bone = place(start, KINECT20_LENGTH_M, KINECT20)
    apart = bone[:, 7] - bone[:, 4]
    wanted = truth[:, 7] - truth[:, 4]
    assert np.linalg.norm(apart - wanted, axis=-1)[10:30].max() < 1e-3


@pytest.mark.parametrize("joints", [[0], [2], [1, 2], [0, 1], [4, 5], [12, 13, 16, 17]])
def test_wherever_joints_are_missing_the_fit_starts_nearer_and_ends_as_well(joints):
    truth = kinect_frames(60)
    target, stiffness = unseen(truth, np.arange(20, 40), joints)
    args = (target, stiffness, KINECT20_LENGTH_M, KINECT20)
    start = repaired_start(*args, rest=rest20())
    assert np.isfinite(start).all()
    np.testing.assert_allclose(np.linalg.norm(start[:, 1:], axis=-1), 1, atol=1e-12)
    helped, alone = fit_tree(*args, start=start, rest=rest20()), fit_tree(*args, rest=rest20())
    gap = slice(20, 40)
    assert helped.objective_start[gap].sum() < alone.objective_start[gap].sum()
    assert helped.iterations[gap].sum() < alone.iterations[gap].sum()
    assert helped.objective[gap].sum() <= alone.objective[gap].sum() + 1e-9
    np.testing.assert_array_equal(helped.active, alone.active)


def test_there_is_nothing_to_repair_where_all_is_seen_or_hangs_loose():
    truth = kinect_frames(5)
    for joints in ([], [7], [6, 7], [3, 15], list(range(20))):
        target, stiffness = unseen(truth, np.arange(1, 4), joints)
        args = (target, stiffness, KINECT20_LENGTH_M, KINECT20)
        assert repaired_start(*args, rest=rest20()) is None


def test_a_row_is_the_same_for_any_split_and_any_number_of_threads():
    rng = np.random.default_rng(5)
    n = 3000
    truth = kinect_frames(n)
    missing = rng.random((n, 20)) < 0.15
    missing[400 : 400 + 2 * REACH + 40, 5] = True  # longer than what is looked into
    missing[1500:1900, [13, 14]] = True
    stiffness = np.where(missing, 0.0, 2.0)
    target = np.where(missing[..., None], np.nan, truth)
    target[0], stiffness[0] = truth[0], 2.0
    args = (target, stiffness, KINECT20_LENGTH_M, KINECT20)
    whole = repaired_start(*args, rest=rest20())
    np.testing.assert_array_equal(repaired_start(*args, rest=rest20(), n_threads=2), whole)
    low, high = 700, 1600
    around = slice(low - REACH, high + REACH)
    last = last_directions(target[:low], stiffness[:low], KINECT20_LENGTH_M, KINECT20)
    part = repaired_start(
        target[around],
        stiffness[around],
        KINECT20_LENGTH_M,
        KINECT20,
        rest=rest20(),
        last=last,
        low=REACH,
        high=REACH + high - low,
    )
    np.testing.assert_array_equal(part, whole[low:high])


def test_ends_that_coincide_or_turn_right_round_give_numbers():
    truth = turning_arm(9, turn_rad=0.0)
    truth[4, 2] = truth[4, 0]  # the hand on the shoulder
    truth[5, 2] = -truth[3, 2]  # and on the other side
    target, stiffness = unseen(truth, np.array([4, 5]), [1])
    start = repaired_start(target, stiffness, LENGTH_M, ARM, rest=REST3)
    assert np.isfinite(start).all()
    arm = placed(start, truth, LENGTH_M, ARM)
    np.testing.assert_allclose(arm[5, 2], truth[5, 2], atol=1e-9)


def test_bones_without_length_are_passed():
    length = np.array([0, 0.3, 0.0])
    target = np.zeros((3, 3, 3))
    target[:, 1:, 0] = 0.3
    target, stiffness = unseen(target, np.array([1]), [1])
    start = repaired_start(target, stiffness, length, ARM, rest=REST3)
    np.testing.assert_allclose(start[1, 1], [1, 0, 0], atol=1e-12)
    assert np.isfinite(start).all()


def rest20():
    return np.tile([0.0, -1.0, 0.0], (20, 1))
