"""Skeleton: presets, checks, derived bones."""

from __future__ import annotations

import numpy as np
import pytest

from fitpipe.errors import ConfigError, RecordError
from fitpipe.records import Skeleton


def test_kinect20_has_the_bones_of_the_sdk():
    skeleton = Skeleton.preset("kinect20")
    assert skeleton.n_joints == 20
    assert skeleton.bones == (
        (0, 1), (1, 2), (2, 3), (2, 4), (4, 5), (5, 6), (6, 7), (2, 8), (8, 9), (9, 10), (10, 11),
        (0, 12), (12, 13), (13, 14), (14, 15), (0, 16), (16, 17), (17, 18), (18, 19),
    )  # fmt: skip
    names = skeleton.bone_names
    for left, right in skeleton.mirrored_bones:
        assert names[left].replace("Left", "Right") == names[right]
    assert len(skeleton.mirrored_bones) == 8
    np.testing.assert_allclose(np.linalg.norm(skeleton.rest_direction, axis=1), 1)


def test_parents_may_follow_their_children():
    skeleton = Skeleton("s", ("tip", "mid", "root"), (1, 2, -1))
    assert list(skeleton.topological_order) == [2, 1, 0]
    assert skeleton.bone_names == ("mid-tip", "root-mid")


def test_a_circle_of_parents_is_refused():
    with pytest.raises(RecordError, match="go round in a circle at 'a'"):
        Skeleton("s", ("a", "b", "c"), (2, 0, 1))


def test_every_fault_is_listed_at_once():
    with pytest.raises(RecordError) as caught:
        Skeleton("s", ("a", "a"), (-1, 7), mirror=((0, 0),), rest_direction=np.zeros((2, 3)))
    text = str(caught.value)
    for part in ("'a' more than once", "[7]", "mirror [(0, 0)]", "length zero"):
        assert part in text


def test_negative_length_is_refused_and_nan_means_unknown():
    tree = Skeleton("s", ("a", "b"), (-1, 0))
    assert np.isnan(tree.with_lengths([np.nan]).bone_length_m[0])
    with pytest.raises(RecordError, match=r"holds -0\.1"):
        tree.with_lengths([-0.1])


def test_unknown_joint_suggests_the_nearest():
    skeleton = Skeleton.preset("kinect20")
    assert skeleton.joint_index("KneeLeft") == 13
    with pytest.raises(RecordError, match="did you mean 'KneeLeft'"):
        skeleton.joint_index("KneLeft")


def test_a_preset_file_of_ones_own(tmp_path):
    path = tmp_path / "arm.toml"
    path.write_text(
        'name = "arm"\nmirror = []\njoint = [\n  { name = "S" },\n'
        '  { name = "E", parent = "S", rest = [0, -2, 0] },\n]\nrigid_pairs = [["S", "E"]]\n'
    )
    arm = Skeleton.preset(path)
    assert arm.bones == ((0, 1),)
    assert arm.rigid_pairs == ((0, 1),)
    np.testing.assert_allclose(arm.rest_direction[1], [0, -1, 0])


def test_a_preset_with_an_unknown_parent_is_refused(tmp_path):
    path = tmp_path / "arm.toml"
    path.write_text(
        'name = "arm"\njoint = [{ name = "Shoulder" }, { name = "E", parent = "Sholder" }]'
    )
    with pytest.raises(RecordError, match="no joint 'Sholder'; did you mean 'Shoulder'"):
        Skeleton.preset(path)


@pytest.mark.parametrize(
    "text", ["x = 1\n", 'name = "a"\n', 'name = "a"\njoint = [{ nme = "b" }]\n']
)
def test_a_file_that_describes_no_skeleton_is_refused(tmp_path, text):
    path = tmp_path / "arm.toml"
    path.write_text(text)
    with pytest.raises(ConfigError, match=r"arm\.toml"):
        Skeleton.preset(path)


def test_rigid_pairs_stand_behind_the_bones():
    hips = Skeleton(
        "hips",
        ("Hip", "L", "R", "KneeL", "KneeR"),
        (-1, 0, 0, 1, 2),
        mirror=((1, 2), (3, 4)),
        rigid_pairs=((1, 2), (2, 3), (4, 1)),
    )
    assert hips.links == ((0, 1), (0, 2), (1, 3), (2, 4), (1, 2), (2, 3), (4, 1))
    assert hips.bone_names[3:] == ("R-KneeR", "L~R", "R~KneeL", "KneeR~L")
    # whichever way round a pair is written, it finds its mirror image
    assert hips.mirrored_bones == ((0, 1), (2, 3), (5, 6))
    assert hips.with_lengths(np.ones(7)).n_links == 7
    with pytest.raises(RecordError, match=r"bone_length_m has shape \(4,\), expected \(7\)"):
        hips.with_lengths(np.ones(4))


@pytest.mark.parametrize(
    ("name", "n_joints", "pairs"),
    [
        ("kinect20_girdles", 20, ("HipLeft~HipRight", "ShoulderLeft~ShoulderRight")),
        ("hand21", 21, ("IndexMCP~MiddleMCP", "MiddleMCP~RingMCP", "RingMCP~PinkyMCP")),
    ],
)
def test_presets_with_rigid_pairs(name, n_joints, pairs):
    skeleton = Skeleton.preset(name)
    assert skeleton.name == name
    assert skeleton.n_joints == n_joints
    assert skeleton.n_bones == n_joints - 1
    assert skeleton.bone_names[skeleton.n_bones :] == pairs


def test_hand21_has_mediapipes_order():
    hand = Skeleton.preset("hand21")
    assert [hand.joints[i] for i in (0, 4, 5, 8, 9, 12, 13, 16, 17, 20)] == [
        "Wrist", "ThumbTip", "IndexMCP", "IndexTip", "MiddleMCP", "MiddleTip", "RingMCP",
        "RingTip", "PinkyMCP", "PinkyTip",
    ]  # fmt: skip
    assert [hand.parents[i] for i in (1, 5, 9, 13, 17)] == [0] * 5


def test_kinect20_girdles_is_kinect20_with_widths():
    plain, girdles = Skeleton.preset("kinect20"), Skeleton.preset("kinect20_girdles")
    assert girdles.joints == plain.joints
    assert girdles.parents == plain.parents
    assert girdles.mirror == plain.mirror
    np.testing.assert_array_equal(girdles.rest_direction, plain.rest_direction)
