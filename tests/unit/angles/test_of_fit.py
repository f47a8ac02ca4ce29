"""Angles measured block by block: those of the whole, up to what frames far away would tell."""

from __future__ import annotations

import numpy as np
import pytest

from fitpipe.angles import AnglesOfFit, Window, of_fit, skeleton_angles
from fitpipe.config import AnglesConfig
from fitpipe.records import TwistStatus
from fitpipe.simulate import reach_and_turn, walk


def lengths_of(motion):
    parent, child = np.array(motion.skeleton.bones).T
    step = motion.position_m[:, child] - motion.position_m[:, parent]
    return np.linalg.norm(step, axis=-1).mean(axis=0)


def in_blocks(position, skeleton, lengths, size):
    of_fit_ = AnglesOfFit(skeleton, lengths, AnglesConfig(), len(position))
    found = []
    for begin in range(0, len(position), size):
        end = min(begin + size, len(position))
        low, high = of_fit_.needs(begin, end)
        around = position[low:high]
        window = Window(around, around, np.zeros(around.shape[:2]))
        found.append(of_fit_.of_block(window, begin, end).angles)
    return found, of_fit_.findings()


@pytest.mark.parametrize("make", [walk, reach_and_turn])
def test_blocks_run_on_as_the_whole_does(make, monkeypatch):
    monkeypatch.setattr(of_fit, "REACH_FRAMES", 50)
    motion = make(600, 30.0)
    lengths = lengths_of(motion)
    whole = skeleton_angles(motion.position_m, motion.skeleton, lengths)
    blocks, _ = in_blocks(motion.position_m, motion.skeleton, lengths, 70)
    world, local, euler, twist = (
        np.concatenate([getattr(b, name) for b in blocks])
        for name in ("world_wxyz", "local_wxyz", "euler_rad", "twist_status")
    )
    for found, expected in ((world, whole.world_wxyz), (local, whole.local_wxyz)):
        # no seam: signs run on
        assert (np.einsum("tsi,tsi->ts", found[1:], found[:-1]) > 0).all()
        same = np.abs(np.einsum("tsi,tsi->ts", found, expected)) > 1 - 1e-12
        assert same[whole.twist_status == TwistStatus.MEASURED].all()
        assert same.mean() > 0.9
    np.testing.assert_array_equal(twist, whole.twist_status)
    far = np.abs(np.diff(euler, axis=0)).max(axis=0)
    assert (far <= np.abs(np.diff(whole.euler_rad, axis=0)).max(axis=0) + 0.05).all()
    for block, begin in zip(blocks, range(0, 600, 70), strict=True):
        placed = motion.position_m[begin : begin + 70]
        np.testing.assert_allclose(block.forward(), placed, rtol=0, atol=1e-12)


def test_turns_are_counted_over_blocks_and_over_frames_without_anyone(monkeypatch):
    monkeypatch.setattr(of_fit, "REACH_FRAMES", 0)
    motion = walk(400, 30.0)
    angle = np.linspace(0, 6 * np.pi, 400)  # three times round
    c, s = np.cos(angle), np.sin(angle)
    R = np.zeros((400, 3, 3))
    R[:, 0, 0], R[:, 0, 2], R[:, 1, 1], R[:, 2, 0], R[:, 2, 2] = c, s, 1, -s, c
    position = np.einsum("tij,tkj->tki", R, motion.position_m)
    position[95:105] = np.nan
    position[200:250] = np.nan  # a block without anyone
    lengths = lengths_of(motion)
    whole = skeleton_angles(position, motion.skeleton, lengths)
    blocks, _ = in_blocks(position, motion.skeleton, lengths, 50)
    assert np.isnan(blocks[4].world_wxyz).all()
    found = np.concatenate([b.euler_rad[:, 0] for b in blocks])
    assert np.nanmax(whole.euler_rad[:, 0]) - np.nanmin(whole.euler_rad[:, 0]) > 5 * np.pi
    turns = (found - whole.euler_rad[:, 0]) / (2 * np.pi)
    known = ~np.isnan(turns[:, 0])
    assert known.sum() == 340
    np.testing.assert_allclose(turns[known] - np.round(turns[known][0]), 0, atol=1e-12)


def test_a_joint_that_loses_its_parent_in_a_later_block_is_placed():
    motion = walk(100, 30.0)
    position = np.array(motion.position_m)
    parent = motion.skeleton.joint_index("ShoulderLeft")
    position[80:, parent] = np.nan
    blocks, _ = in_blocks(position, motion.skeleton, lengths_of(motion), 50)
    assert {b.anchor for b in blocks} == {blocks[0].anchor}
    np.testing.assert_allclose(blocks[1].forward(), position[50:], rtol=0, atol=1e-12)


def test_frames_beyond_the_limits_are_counted_over_all_blocks():
    motion = walk(120, 30.0)
    position = np.array(motion.position_m)
    names = ("HipLeft", "KneeLeft", "AnkleLeft", "FootLeft")
    hip, knee, ankle, foot = (motion.skeleton.joint_index(name) for name in names)
    folded = 0.1 * position[:, knee] + 0.9 * position[:, hip]  # the shank back onto the thigh
    position[:, foot] += folded - position[:, ankle]
    position[:, ankle] = folded
    lengths = lengths_of(motion)
    whole, told = in_blocks(position, motion.skeleton, lengths, 120)
    _, found = in_blocks(position, motion.skeleton, lengths, 50)
    assert whole[0].limit_status.any()
    assert len(told) == 1
    assert found == told
