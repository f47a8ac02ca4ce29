"""Joints without observation: carried by bones, pruned, or absent; and where starts come from."""

from __future__ import annotations

import numpy as np
import pytest

from fitpipe.kernels import tree_frames as frames
from fitpipe.kernels.tree_newton import fit_tree
from fitpipe.kernels.tree_start import fill_directions, last_directions

from .tree_examples import KINECT20, KINECT20_LENGTH_M, kinect_frames, place, unit

CHAIN4 = np.array([-1, 0, 1, 2])


def fit_unseen(parent, length, target, unseen, **options):
    stiffness = np.full(target.shape[:2], 2.0)
    stiffness[:, unseen] = 0.0
    target = np.where(stiffness[..., None] > 0, target, np.nan)
    return fit_tree(target, stiffness, length, parent, **options)


@pytest.mark.parametrize(
    ("unseen", "absent"),
    [
        ([3], [3]),  # an end joint
        ([2, 3], [2, 3]),  # a limb
        ([0], [0]),  # the root with one branch
        ([0, 1], [0, 1]),
        ([1], []),  # between observed joints
        ([1, 2], []),
        ([0, 2], [0]),
        ([0, 1, 3], [0, 1, 3]),
        ([0, 1, 2, 3], [0, 1, 2, 3]),
    ],
)
def test_only_joints_between_observed_ones_are_carried(unseen, absent):
    length = np.array([0, 0.3, 0.3, 0.3])
    target = place(unit(np.random.default_rng(0).normal(size=(3, 4, 3))), length, CHAIN4)
    fit = fit_unseen(CHAIN4, length, target, unseen)
    assert np.flatnonzero(~fit.active[0]).tolist() == absent
    assert np.isnan(fit.position[:, absent]).all()
    assert np.isfinite(fit.position[fit.active]).all()
    bone_absent = [i for i in range(4) if i == 0 or {i, i - 1} & set(absent)]
    assert np.flatnonzero(np.isnan(fit.multiplier[0])).tolist() == bone_absent


def test_an_unseen_root_with_two_branches_is_carried():
    parent = np.array([-1, 0, 0, 1])
    length = np.array([0, 0.3, 0.3, 0.3])
    target = place(unit(np.random.default_rng(1).normal(size=(3, 4, 3))), length, parent)
    fit = fit_unseen(parent, length, target, [0])
    assert fit.active.all()
    assert fit.worst_bone_error.max() < 1e-12
    np.testing.assert_allclose(fit.objective, 0, atol=1e-12)


def test_pruned_joints_do_not_change_the_rest():
    target = kinect_frames(10)
    legs = [12, 13, 14, 15, 16, 17, 18, 19]
    upper = np.arange(12)
    fit = fit_unseen(KINECT20, KINECT20_LENGTH_M, target, legs)
    alone = fit_tree(
        target[:, upper], np.full((10, 12), 2.0), KINECT20_LENGTH_M[upper], KINECT20[upper]
    )
    np.testing.assert_allclose(fit.position[:, upper], alone.position, atol=1e-8)
    np.testing.assert_allclose(fit.objective, alone.objective, rtol=1e-12)


def test_a_frame_without_data_is_absent_and_says_so():
    stiffness = np.array([[2.0, 2.0], [0.0, 0.0], [2.0, 2.0]])
    target = np.tile([[0.0, 0, 0], [1.2, 0, 0]], (3, 1, 1))
    target[1] = np.nan
    fit = fit_tree(target, stiffness, np.array([0, 1.0]), np.array([-1, 0]))
    assert fit.outcome.tolist() == [frames.CERTIFIED, frames.NO_DATA, frames.CERTIFIED]
    assert np.isnan(fit.position[1]).all()
    assert np.isnan(fit.objective[1])
    assert not fit.active[1].any()


def test_an_elbow_within_reach_costs_nothing_and_is_certified():
    length = np.array([0, 0.3, 0.25])
    target = np.array([[[0, 0, 0], [np.nan] * 3, [0.4, 0, 0]]])
    rest = np.array([[0, 0, 0], [0, 1.0, 0], [0, 0, 1.0]])
    fit = fit_unseen(np.array([-1, 0, 1]), length, target, [1], rest=rest)
    np.testing.assert_allclose(fit.position[0, [0, 2]], target[0, [0, 2]], atol=1e-7)
    assert fit.objective[0] < 1e-13
    assert fit.outcome[0] == frames.CERTIFIED


def test_an_elbow_out_of_reach_lies_on_the_straight_line():
    length = np.array([0, 0.3, 0.25])
    target = np.array([[[0, 0, 0], [np.nan] * 3, [0.65, 0, 0]]])
    fit = fit_unseen(np.array([-1, 0, 1]), length, target, [1])
    np.testing.assert_allclose(fit.position[0, :, 0], [0.05, 0.35, 0.6], atol=1e-7)
    np.testing.assert_allclose(fit.position[0, :, 1:], 0, atol=1e-7)


def test_start_directions_are_filled_from_earlier_then_later_then_rest():
    parent = np.array([-1, 0, 0])
    length = np.array([0, 1.0, 1.0])
    target = np.zeros((4, 3, 3))
    target[1, 1], target[3, 1] = [2, 0, 0], [0, 3, 0]
    stiffness = np.ones((4, 3))
    stiffness[[0, 2], 1] = 0.0
    stiffness[:, 2] = 0.0
    rest = np.array([[0, 0, 0], [0, 0, 1.0], [0, 0, -1.0]])
    unknown = np.full((3, 3), np.nan)
    start = np.empty_like(target)
    fill_directions(0, 4, target, stiffness, length, parent, rest, unknown, start)
    np.testing.assert_array_equal(start[:, 1], [[1, 0, 0], [1, 0, 0], [1, 0, 0], [0, 1, 0]])
    np.testing.assert_array_equal(start[:, 2], np.tile(rest[2], (4, 1)))
    parts = np.empty_like(target)
    for low, high in [(0, 1), (1, 3), (3, 4)]:
        fill_directions(
            low, high, target, stiffness, length, parent, rest, unknown, parts[low:high]
        )
    np.testing.assert_array_equal(parts, start)


def test_last_directions_carry_a_take_over_its_blocks():
    target = kinect_frames(40)
    rng = np.random.default_rng(5)
    stiffness = np.where(rng.random((40, 20)) < 0.5, 0.0, 2.0)
    target[stiffness == 0] = np.nan
    target[0], stiffness[0] = kinect_frames(1)[0], 2.0
    whole = fit_tree(target, stiffness, KINECT20_LENGTH_M, KINECT20)
    last, blocks = None, []
    for part in np.split(np.arange(40), [9, 25]):
        args = (target[part], stiffness[part], KINECT20_LENGTH_M, KINECT20)
        blocks.append(fit_tree(*args, last=last))
        last = last_directions(*args, last=last)
    together = np.concatenate([b.position for b in blocks])
    np.testing.assert_array_equal(together, whole.position)
