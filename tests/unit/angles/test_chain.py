from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from fitpipe.angles import Chain, Effector, Joint
from fitpipe.errors import RecordError, SolveError
from fitpipe.records import Skeleton

from .chains import body, some_q, tree, turned


def test_the_planar_arm_is_where_trigonometry_puts_it():
    q = np.array([[0.3, 0.5], [-1.0, 2.0]])
    a, b = q[:, 0], q.sum(axis=1)
    placed = Chain.planar([2.0, 1.5]).forward(q)
    tip = np.column_stack([2 * np.cos(a) + 1.5 * np.cos(b), 2 * np.sin(a) + 1.5 * np.sin(b), 0 * a])
    np.testing.assert_allclose(placed.tip_m[:, 0], tip, atol=1e-12)


def test_a_ball_turns_about_x_then_y_then_z():
    q = [0.3, -0.7, 1.1]
    placed = Chain([Joint(kind="ball")], [Effector("joint1", (1, 2, 3))]).forward(q)
    R = Rotation.from_euler("XYZ", q)
    np.testing.assert_allclose(placed.rotation[0], R.as_matrix(), atol=1e-12)
    np.testing.assert_allclose(placed.tip_m[0], R.apply([1, 2, 3]), atol=1e-12)


def test_a_tree_is_where_matrices_put_it():
    chain = tree()
    q = some_q(chain, 1, seed=7)[0]
    value = dict(zip(chain.dof_names, q, strict=True))

    def ball(name):
        return Rotation.from_euler("XYZ", [value[f"{name}.{k}"] for k in "xyz"]).as_matrix()

    base = turned()
    trunk_at = np.array([0.1, -0.2, 0.3]) + base @ [value["rail"], 0.2, 0]
    trunk = base @ ball("trunk")
    left_at = trunk_at + trunk @ [0.3, 0.4, 0]
    left = trunk @ ball("left")
    elbow = left @ Rotation.from_rotvec([0, value["left elbow"], 0]).as_matrix()
    right = trunk @ ball("right")
    hand = trunk_at + trunk @ [-0.3, 0.4, 0] + right @ [-0.5 - value["piston"], 0, 0]
    placed = chain.forward(q)
    np.testing.assert_allclose(
        placed.tip_m, [left_at + left @ [0.3, 0, 0] + elbow @ [0.25, 0, 0.05], hand], atol=1e-12
    )
    ornament = [joint.name for joint in chain.joints].index("ornament")
    np.testing.assert_allclose(placed.joint_m[ornament], trunk_at + trunk @ [0, 0.6, 0], atol=1e-12)


def test_a_skeleton_at_zero_is_in_its_rest_pose_and_keeps_its_bones():
    chain = body()
    length = [np.linalg.norm(j.offset_m) for j in chain.joints]
    names = [j.name for j in chain.joints]
    up = [names.index(j.parent) if j.parent in names else None for j in chain.joints]
    for q in (np.zeros(chain.dof), some_q(chain, 1, seed=2)[0]):
        at = chain.forward(q).joint_m
        for k, parent in enumerate(up):
            if parent is not None and "slide" not in names[k]:
                assert np.linalg.norm(at[k] - at[parent]) == pytest.approx(length[k], abs=1e-12)
    head = chain.forward(np.zeros(chain.dof)).tip_m[0]
    assert head[1] > 0.3  # +Y is up in a standing person
    assert chain.dof == 40


def test_points_are_the_zero_pose_of_their_chain():
    points = np.array([[1, 0, 0], [1, 2, 0], [1, 2, 3.0]])
    chain = Chain.from_points(points)
    placed = chain.forward(chain.neutral)
    np.testing.assert_allclose(placed.joint_m, points[:-1], atol=1e-12)
    np.testing.assert_allclose(placed.tip_m[0], points[-1], atol=1e-12)


def test_neutral_is_zero_or_the_nearest_limit():
    chain = Chain.planar([1, 1], limits_rad=[(-1, 1), (0.5, 2)])
    np.testing.assert_array_equal(chain.neutral, [0, 0.5])


def test_every_fault_of_a_chain_is_told_at_once():
    joints = [
        Joint("a", parent="c"),
        Joint("a", axis=(0, 0, 0)),
        Joint("c", kind="ball", lower=[1, 2]),
        Joint("d", lower=2.0, upper=1.0),
        Joint("e", offset_m=(np.nan, 0, 0)),
    ]
    with pytest.raises(RecordError) as caught:
        Chain(joints, [Effector("f")])
    told = "\n".join(caught.value.faults)
    for part in (
        "'a' more than once",
        "joint 'a' has parent 'c', expected 'base' or a joint before it",
        "axis of joint 'a' has length zero",
        "lower of joint 'c' has shape (2,)",
        "lower > upper",
        "offset_m of joint 'e' has 1 values that are not finite",
        "effector on 'f'",
    ):
        assert part in told


def test_wrong_bases_lengths_and_skeletons_are_told():
    with pytest.raises(RecordError, match="base_rotation is not a rotation matrix"):
        Chain([Joint()], base_rotation=-np.eye(3))
    with pytest.raises(RecordError, match=r"lengths_m holds -1, expected > 0"):
        Chain.planar([1.0, -1.0])
    with pytest.raises(RecordError, match=r"limits_rad has 1 pairs, expected one per bone \(2\)"):
        Chain.planar([1.0, 1.0], limits_rad=[(0, 1)])
    kinect = Skeleton.preset("kinect20")
    with pytest.raises(SolveError, match="lacks bone lengths"):
        Chain.from_skeleton(kinect, ["Head"])
    with pytest.raises(SolveError, match=r"no joint 'Hed'; did you mean 'Head'"):
        Chain.from_skeleton(kinect, ["Hed"])
