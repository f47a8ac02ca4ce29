"""Mapping: planted points come back as joints, and what cannot be mapped is told in full."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fitpipe.config.presets import list_presets
from fitpipe.errors import MappingError
from fitpipe.mapping import MarkerSet, map_take
from fitpipe.records import Finding, Origin, Skeleton, Take

SKELETON = Skeleton.preset("kinect20")
SMALL = {"Head": ["LFHD", "RFHD"], "Spine": {"T10": 1.0, "STRN": 3.0}, "HipCenter": "SACR"}


def make_take(labels: Sequence[str], *, n_frames: int = 5, seed: int = 7, **more: Any) -> Take:
    position = np.random.default_rng(seed).normal(size=(n_frames, len(labels), 3))
    return Take("lab", tuple(labels), position, np.arange(n_frames) / 100, **more)


def joint(take: Take, name: str) -> np.ndarray:
    return take.position_m[:, take.index(name)]


def said(take: Take) -> str:
    return "\n".join(str(finding) for finding in take.repairs)


def test_joints_are_the_weighted_means_of_their_labels() -> None:
    take = make_take(["T10", "LFHD", "STRN", "RFHD", "SACR"])
    mapped = map_take(take, SMALL, SKELETON)
    p = {label: take.position_m[:, i] for i, label in enumerate(take.labels)}
    assert mapped.labels == SKELETON.joints
    np.testing.assert_array_equal(joint(mapped, "HipCenter"), p["SACR"])
    np.testing.assert_allclose(joint(mapped, "Head"), (p["LFHD"] + p["RFHD"]) / 2, atol=1e-15)
    np.testing.assert_allclose(joint(mapped, "Spine"), (p["T10"] + 3 * p["STRN"]) / 4, atol=1e-15)
    others = [j for j in SKELETON.joints if j not in SMALL]
    assert all(np.isnan(joint(mapped, j)).all() for j in others)
    assert "joints of skeleton 'kinect20' without a label (17)" in said(mapped)


def test_a_joint_is_missing_where_any_of_its_labels_is() -> None:
    take = make_take(["LFHD", "RFHD", "T10", "STRN", "SACR"])
    position = take.position_m.copy()
    position[2, 1] = np.nan
    mapped = map_take(Take("lab", take.labels, position, take.time_s), SMALL, SKELETON)
    assert np.isnan(joint(mapped, "Head")).any(axis=1).tolist() == [
        False,
        False,
        True,
        False,
        False,
    ]
    assert not np.isnan(joint(mapped, "Spine")).any()


def test_confidence_is_the_lowest_of_the_labels_used() -> None:
    confidence = np.tile([0.9, 0.4, 1.0, 0.7, 0.2], (5, 1))
    take = make_take(["LFHD", "RFHD", "T10", "STRN", "SACR"], confidence=confidence)
    mapped = map_take(take, SMALL, SKELETON)
    assert mapped.confidence is not None
    by_joint = dict(zip(mapped.labels, mapped.confidence[0], strict=True))
    assert (by_joint["Head"], by_joint["Spine"], by_joint["HipCenter"]) == (0.4, 0.7, 0.2)
    assert by_joint["KneeLeft"] == 0.0


def test_source_time_origin_and_earlier_repairs_stay() -> None:
    origin = Origin(path="walk.c3d", format="c3d")
    take = make_take(
        ["LFHD", "RFHD", "T10", "STRN", "SACR"], origin=origin, repairs=(Finding("odd"),)
    )
    mapped = map_take(take, SMALL, SKELETON)
    assert (mapped.source, mapped.origin) == ("lab", origin)
    assert mapped.repairs[0] == Finding("odd")
    np.testing.assert_array_equal(mapped.time_s, take.time_s)


@given(st.permutations(list(SKELETON.joints)))
def test_label_order_does_not_matter(order: list[str]) -> None:
    take = make_take(SKELETON.joints, n_frames=1)
    columns = [take.index(label) for label in order]
    shuffled = Take("lab", tuple(order), take.position_m[:, columns], take.time_s)
    np.testing.assert_array_equal(map_take(shuffled, None, SKELETON).position_m, take.position_m)


@pytest.mark.parametrize("name", list_presets("markersets"))
def test_preset_recovers_planted_joints(name: str) -> None:
    rules = MarkerSet.preset(name)
    take = make_take(rules.labels)
    mapped = map_take(take, name, SKELETON)
    plain = {j: r for j, r in rules.recipes.items() if not set(r[0].labels) & set(rules.virtual)}
    assert len(plain) >= 2
    for made, recipes in plain.items():
        expected = sum(
            w * take.position_m[:, take.index(label)]
            for label, w in zip(recipes[0].labels, recipes[0].weights, strict=True)
        )
        np.testing.assert_allclose(joint(mapped, made), expected, atol=1e-15)
    absent = [j for j in SKELETON.joints if j not in rules.recipes]
    assert mapped.is_observed.all(axis=0).sum() == SKELETON.n_joints - len(absent)


@pytest.mark.parametrize("spell", [str.upper, str.lower, lambda s: s.replace("Hip", "Hip_ ")])
def test_own_names_ignore_case_and_separators(spell: Any) -> None:
    take = make_take([spell(name) for name in SKELETON.joints])
    mapped = map_take(take, None, SKELETON)
    np.testing.assert_array_equal(mapped.position_m, take.position_m)
    assert "labels spelt in another way" in said(mapped)


def test_first_kinect_sdk_spelling_maps_with_and_without_its_preset() -> None:
    spelt = {"HipCenter": "HIP_CENTER", "Spine": "SPINE", "Head": "HEAD", "KneeLeft": "KNEE_LEFT"}
    take = make_take([f"NUI_SKELETON_POSITION_{name}" for name in spelt.values()])
    mapped = map_take(take, None, SKELETON)
    for i, name in enumerate(spelt):
        np.testing.assert_array_equal(joint(mapped, name), take.position_m[:, i])


def test_exact_spelling_wins_over_loose_ones() -> None:
    take = make_take(["head", "Head", "Spine"])
    np.testing.assert_array_equal(
        joint(map_take(take, None, SKELETON), "Head"), take.position_m[:, 1]
    )


def test_two_loose_spellings_of_one_label_are_refused() -> None:
    take = make_take(["HEAD", "head", "Spine", "HipCenter"])
    with pytest.raises(MappingError, match="'Head' could be 'HEAD', 'head'; rename all but one"):
        map_take(take, None, SKELETON)


@pytest.mark.parametrize("prefix", ["Anna:", "Subj01_", "Group:Anna:", "Subj_01_"])
def test_shared_prefix_is_removed_and_told(prefix: str) -> None:
    bare = ["LFHD", "RFHD", "T10", "STRN", "SACR"]
    take = make_take([prefix + label for label in bare])
    mapped = map_take(take, SMALL, SKELETON)
    np.testing.assert_array_equal(joint(mapped, "HipCenter"), take.position_m[:, 4])
    assert f"labels that start with {prefix!r} (5): prefix removed" in said(mapped)


def test_unlabelled_trajectories_do_not_hide_a_prefix() -> None:
    bare = ["S_LFHD", "S_RFHD", "*12", "S_T10", "S_STRN", "S_SACR"]
    take = make_take(bare)
    mapped = map_take(take, SMALL, SKELETON)
    np.testing.assert_array_equal(joint(mapped, "HipCenter"), take.position_m[:, 5])
    assert "labels not used by marker set 'given' (1): '*12'" in said(mapped)


def test_side_written_as_a_prefix_is_not_cut_off() -> None:
    take = make_take(["L_Knee", "L_Ankle", "L_Toe"])
    mapped = map_take(take, {"KneeLeft": "LKnee", "AnkleLeft": "LAnkle"}, SKELETON)
    np.testing.assert_array_equal(joint(mapped, "AnkleLeft"), take.position_m[:, 1])


def test_props_of_another_name_do_not_disturb() -> None:
    take = make_take(["Anna:" + label for label in MarkerSet.make(SMALL).labels] + ["Ball:b1"])
    mapped = map_take(take, SMALL, SKELETON)
    assert "'Ball:b1': ignored" in said(mapped)


def test_two_subjects_must_be_told_apart() -> None:
    bare = MarkerSet.make(SMALL).labels
    take = make_take([f"{who}:{label}" for who in ("Anna", "Ben") for label in bare])
    with pytest.raises(MappingError) as caught:
        map_take(take, SMALL, SKELETON)
    assert "'Anna': 5 of the 5 labels" in str(caught.value)
    assert "'Ben': 5 of the 5 labels" in str(caught.value)
    assert "subject='Anna'" in str(caught.value)
    mapped = map_take(take, SMALL, SKELETON, subject="Ben")
    sacrum = take.index("Ben:SACR")
    np.testing.assert_array_equal(joint(mapped, "HipCenter"), take.position_m[:, sacrum])


def test_subject_may_be_set_off_by_an_underscore() -> None:
    bare = MarkerSet.make(SMALL).labels
    take = make_take([f"{who}_{label}" for who in ("Anna", "Ben") for label in bare])
    mapped = map_take(take, SMALL, SKELETON, subject="Anna")
    sacrum = take.index("Anna_SACR")
    np.testing.assert_array_equal(joint(mapped, "HipCenter"), take.position_m[:, sacrum])


def test_unknown_subject_names_the_nearest() -> None:
    take = make_take(["Anna:Head", "Anna:Spine"])
    with pytest.raises(MappingError, match="did you mean 'Anna'"):
        map_take(take, None, SKELETON, subject="Ana")


def test_whole_labels_with_a_colon_can_be_asked_for() -> None:
    take = make_take(["Arm:A", "Leg:A"])
    mapped = map_take(take, {"Head": "Arm:A", "Spine": "Leg:A"}, SKELETON)
    np.testing.assert_array_equal(joint(mapped, "Spine"), take.position_m[:, 1])


def test_error_lists_every_missing_label_with_near_names_and_what_is_there() -> None:
    take = make_take(["LFHD", "RFHF", "T10", "SACRUM"], origin=Origin(path="walk.c3d"))
    with pytest.raises(MappingError) as caught:
        map_take(take, SMALL, SKELETON)
    assert str(caught.value.path) == "walk.c3d"
    assert caught.value.faults == (
        "no label 'RFHD', needed for Head; nearest: 'RFHF', 'LFHD'",
        "no label 'STRN', needed for Spine",
        "no label 'SACR', needed for HipCenter; nearest: 'SACRUM'",
    )
    assert "the take has 4 labels: LFHD, RFHF, T10, SACRUM" in str(caught.value)


def test_error_names_a_preset_that_would_map_the_take() -> None:
    take = make_take(MarkerSet.preset("cmu41").labels)
    with pytest.raises(MappingError) as caught:
        map_take(take, "pig39", SKELETON)
    assert "no label 'LASI', needed for HipCenter, HipLeft" in str(caught.value)
    assert "markerset='cmu41' maps 20 of 20 joints" in str(caught.value)


def test_missing_alternatives_are_told_as_such() -> None:
    lacking = ("LPSI", "RPSI", "SACR", "LKNE", "LKNEM")
    take = make_take([lb for lb in MarkerSet.preset("pig39").labels if lb not in lacking])
    with pytest.raises(MappingError) as caught:
        map_take(take, "pig39", SKELETON)
    sacrum, knee = caught.value.faults
    assert sacrum.startswith(
        "no label 'SACR' (or instead LPSI + RPSI), needed for HipCenter, HipLeft"
    )
    assert knee.startswith("no label 'LKNE', needed for KneeLeft; nearest: ")


def test_optional_joints_may_lack_their_labels() -> None:
    rules = MarkerSet("m", {"Head": "H", "Spine": "S"}, optional=["Head"])
    mapped = map_take(make_take(["S"]), rules, SKELETON)
    assert np.isnan(joint(mapped, "Head")).all()
    assert not np.isnan(joint(mapped, "Spine")).any()


def test_first_alternative_that_is_there_is_used_for_the_whole_take() -> None:
    take = make_take(["LFHD", "RFHD", "SACR", "T10"])
    rules = {"Head": [["LFHD", "LBHD"], ["LFHD", "RFHD"]], "Spine": "T10"}
    mapped = map_take(take, rules, SKELETON)
    p = {label: take.position_m[:, i] for i, label in enumerate(take.labels)}
    np.testing.assert_allclose(joint(mapped, "Head"), (p["LFHD"] + p["RFHD"]) / 2, atol=1e-15)
    assert "Head from LFHD + RFHD" in said(mapped)


def test_alternative_that_is_never_seen_is_passed_over() -> None:
    take = make_take(["A", "B", "C"])
    position = take.position_m.copy()
    position[:, 0] = np.nan
    mapped = map_take(
        Take("lab", take.labels, position, take.time_s), {"Head": [["A"], ["B"]]}, SKELETON
    )
    np.testing.assert_array_equal(joint(mapped, "Head"), position[:, 1])


def test_joint_whose_labels_are_never_seen_together_is_told() -> None:
    take = make_take(["A", "B"], n_frames=2)
    position = take.position_m.copy()
    position[0, 0] = position[1, 1] = np.nan
    mapped = map_take(
        Take("lab", take.labels, position, take.time_s), {"Head": ["A", "B"]}, SKELETON
    )
    assert "joints whose labels are never seen in one frame together (1): Head" in said(mapped)


def test_own_names_leave_the_rest_absent_and_say_which() -> None:
    labels = MarkerSet.preset("kinect25").labels
    mapped = map_take(make_take(labels), None, SKELETON)
    assert (
        "joints of skeleton 'kinect20' without a label (3): HipCenter, Spine, ShoulderCenter"
        in said(mapped)
    )
    assert "markerset='kinect25' maps 20 joints" in said(mapped)
    assert mapped.repairs[-1].severity == "warning"


def test_own_names_refuse_a_take_of_markers_and_propose_a_preset() -> None:
    take = make_take(["Anna:" + label for label in MarkerSet.preset("pig39").labels])
    with pytest.raises(MappingError) as caught:
        map_take(take, None, SKELETON)
    assert "none of the labels of take 'lab' is among the joints" in str(caught.value)
    assert "markerset='pig39' maps 20 of 20 joints" in str(caught.value)


def test_one_joint_by_its_name_is_not_enough() -> None:
    with pytest.raises(MappingError, match="only 1 of the labels"):
        map_take(make_take(["Head", "A", "B"]), None, SKELETON)


def test_marker_set_for_another_skeleton_is_refused_with_all_its_joints() -> None:
    with pytest.raises(MappingError) as caught:
        map_take(make_take(["A", "B"]), {"Haed": "A", "Tail": "B"}, SKELETON)
    assert caught.value.faults[0] == "'Haed'; did you mean 'Head'?"
    assert caught.value.faults[1].startswith("'Tail'; ")


def test_take_without_labels_is_refused_not_crashed() -> None:
    empty = Take("lab", (), np.zeros((3, 0, 3)), np.arange(3.0))
    with pytest.raises(MappingError, match="none of the labels"):
        map_take(empty, None, SKELETON)
