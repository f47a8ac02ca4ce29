from __future__ import annotations

import numpy as np
import pytest

from fitpipe.angles import Chain, Effector, Joint, solve_ik, two_bone
from fitpipe.errors import SolveError

from .chains import crane, leg


def test_bones_keep_their_lengths_and_the_tip_meets_the_target():
    rng = np.random.default_rng(1)
    way = rng.normal(size=(200, 3))
    way /= np.linalg.norm(way, axis=1, keepdims=True)
    target = rng.normal(size=(200, 3))
    root = target - way * rng.uniform(0.1, 1.7, (200, 1))
    found = two_bone(target, (1.0, 0.9), root_m=root, pole_m=rng.normal(size=(200, 3)))
    np.testing.assert_allclose(np.linalg.norm(found.joint_m - root, axis=1), 1.0, atol=1e-12)
    np.testing.assert_allclose(np.linalg.norm(found.tip_m - found.joint_m, axis=1), 0.9, atol=1e-12)
    np.testing.assert_allclose(found.tip_m, target, atol=1e-12)


def test_the_middle_joint_bends_towards_the_pole():
    found = two_bone([1.0, 0, 0], (1.0, 1.0), pole_m=[[0.5, 2, 0], [0.5, -2, 0], [3, 0, 0.1]])
    side = found.joint_m[:, 1:] / np.sin(np.pi / 3)
    np.testing.assert_allclose(side, [[1, 0], [-1, 0], [0, 1]], atol=1e-12)


def test_on_a_swivel_hinge_the_bones_stay_in_the_plane_of_axis_and_target():
    target = np.array([[1.0, 0.4, 0.7], [-0.3, -0.2, 0.9], [0.0, 1.2, 0.0]])
    found = two_bone(target, (1.0, 0.75))
    off_plane = np.cross(target, [0, 1.0, 0])
    np.testing.assert_allclose(np.sum(found.joint_m * off_plane, axis=1), 0, atol=1e-12)
    np.testing.assert_allclose(found.tip_m, target, atol=1e-12)
    np.testing.assert_allclose(found.swivel[:2], np.arctan2(target[:2, 0], target[:2, 2]))


def test_too_far_is_straight_and_too_near_is_folded():
    far, near = two_bone([[3.0, 0, 4.0], [0.03, 0, 0.04]], (1.0, 0.75)).tip_m
    np.testing.assert_allclose(far, [1.05, 0, 1.4], atol=1e-12)
    np.testing.assert_allclose(near, [0.15, 0, 0.2], atol=1e-12)
    # with the second bone the longer one, the first points away from the target
    found = two_bone([0.03, 0, 0.04], (0.75, 1.0))
    np.testing.assert_allclose(found.joint_m, [-0.45, 0, -0.6], atol=1e-12)
    assert found.error == pytest.approx(0.2)


def test_the_crane_as_a_chain_agrees_with_the_closed_form():
    target = np.array([[1.0, 0.7, 0.7], [-0.3, 0.1, 0.9], [5.0, 0.3, 1.0], [0.0, 0.3, 0.05]])
    result = solve_ik(crane(), target, solver="two_bone", q0=[0, 1.0, -1.0])
    found = two_bone(target, (1.0, 0.75), root_m=[0, 0.3, 0])
    np.testing.assert_allclose(result.position, found.tip_m, atol=1e-9)
    np.testing.assert_allclose(result.error, found.error, atol=1e-9)
    assert list(result.status) == ["reached", "reached", "closest", "closest"]


@pytest.mark.parametrize("ball_knee", [False, True])
def test_a_leg_bends_its_knee_towards_the_pole(ball_knee):
    chain = leg(ball_knee=ball_knee)
    target = np.array([[0.1, -0.6, 0.1], [0.2, -0.5, -0.2], [0.0, -0.7, 0.3]])
    pole = target / 2 + [0, 0, 3.0]
    result = solve_ik(chain, target, solver="two_bone", pole_m=pole)
    assert np.all(result.is_reached)
    knee = chain.forward(result.q).joint_m[:, 1]
    found = two_bone(target, (0.42, 0.40), pole_m=pole)
    np.testing.assert_allclose(knee, found.joint_m, atol=1e-9)
    if not ball_knee:
        assert np.all(result.q[:, -1] >= 0)


def test_without_a_pole_the_elbow_stays_on_its_side():
    chain = Chain.planar([1.0, 1.0])
    for side in (1.0, -1.0):
        result = solve_ik(chain, [1.2, 0.5], solver="two_bone", q0=[0.0, 0.3 * side])
        assert np.sign(result.q[1]) == side


def test_a_knee_at_its_limit_still_aims_at_the_target():
    chain = leg()
    result = solve_ik(chain, [0.03, -0.05, 0.02], solver="two_bone")
    assert result.status == "at_limit"
    assert result.q[-1] == 2.6
    way = np.array([0.03, -0.05, 0.02])
    np.testing.assert_allclose(np.cross(result.position, way), 0, atol=1e-12)


@pytest.mark.parametrize(
    "joints",
    [
        [Joint("a"), Joint("b", axis=(1, 0, 0), offset_m=(1, 0, 0))],
        [Joint("a"), Joint("b", axis=(0, 1, 0), offset_m=(1, 0, 0))],
        [Joint("a", kind="prismatic"), Joint("b", offset_m=(1, 0, 0))],
        [Joint("a"), Joint("b", offset_m=(1, 0, 0)), Joint("c", offset_m=(1, 0, 0))],
    ],
)
def test_other_chains_are_refused_with_what_would_do(joints):
    chain = Chain(joints, [Effector(joints[-1].name, (1, 0, 0))])
    with pytest.raises(SolveError, match="at the elbow a hinge square to both bones"):
        solve_ik(chain, [1, 1, 0], solver="two_bone")


def test_wrong_lengths_and_shapes_are_told():
    with pytest.raises(SolveError, match=r"lengths_m is \(1\.0, 0\.0\)"):
        two_bone([1, 0, 0], (1.0, 0.0))
    with pytest.raises(SolveError, match="axis is"):
        two_bone([1, 0, 0], (1.0, 1.0), axis=(0, 0, 0))
    with pytest.raises(SolveError, match="do not fit together"):
        two_bone([1, 0], (1.0, 1.0))
