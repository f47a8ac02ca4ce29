"""Drafts of marker sets: near names, checked by where the markers lie."""

from __future__ import annotations

import tomllib
from pathlib import Path

import numpy as np
import pytest

from fitpipe.errors import MappingError
from fitpipe.mapping import MarkerSet, draft_markerset, map_take
from fitpipe.mapping.anatomy import oddities, wrong_sides
from fitpipe.mapping.sides import sided
from fitpipe.records import Skeleton, Take
from fitpipe.simulate import walk

SKELETON = Skeleton.preset("kinect20")


def body() -> Take:
    motion = walk(40, 30.0)
    return Take("lab", SKELETON.joints, motion.position_m, motion.time_s)


def renamed(take: Take, names: dict[str, str]) -> Take:
    labels = tuple(names.get(label, label) for label in take.labels)
    return Take(take.source, labels, take.position_m, take.time_s)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("KneeLeft", ("left", "knee")),
        ("LeftKnee", ("left", "knee")),
        ("L_Knee", ("left", "knee")),
        ("LKnee", ("left", "knee")),
        ("knee.r", ("right", "knee")),
        ("Rx Knee", ("right", "knee")),
        ("r_elbow_lat", ("right", "elbowlat")),
        ("LKNE", ("", "lkne")),
        ("Spine", ("", "spine")),
        ("LEFT", ("", "left")),
    ],
)
def test_sides_are_told_however_they_are_spelt(name: str, expected: tuple[str, str]) -> None:
    assert sided(name) == expected


def test_left_and_right_at_the_other_end_map_by_name_and_are_told() -> None:
    take = body()
    names = {j: f"{j[-4:]}{j[:-4]}" for j in take.labels if j.endswith("Left")}
    names |= {j: f"R_{j[:-5].lower()}" for j in take.labels if j.endswith("Right")}
    mapped = map_take(renamed(take, names), None, SKELETON)
    np.testing.assert_array_equal(mapped.position_m, take.position_m)
    assert "labels spelt in another way (16)" in "; ".join(map(str, mapped.repairs))


def test_an_ending_that_all_labels_share_is_removed() -> None:
    take = body()
    names = {joint: f"{joint}_pos" for joint in take.labels}
    mapped = map_take(renamed(take, names), {"Head": "Head", "Spine": "Spine"}, SKELETON)
    head = take.index("Head")
    np.testing.assert_array_equal(
        mapped.position_m[:, mapped.index("Head")], take.position_m[:, head]
    )


def test_a_preset_that_fits_is_drafted_with_the_labels_of_the_take() -> None:
    take = renamed(body(), {joint: f"Anna:{joint}" for joint in SKELETON.joints})
    draft = draft_markerset(take)
    assert draft.basis == "marker set kinect20"
    assert draft.joints["KneeLeft"] == ["Anna:KneeLeft"]
    assert not draft.remarks
    assert not draft.absent


NEAR = {
    "Head": "Top.Head", "ShoulderLeft": "L.Acromium", "ShoulderRight": "R.Acromium",
    "ElbowLeft": "L.Elbow.Lat", "ElbowRight": "R.Elbow.Lat", "WristLeft": "L.Wristt",
    "WristRight": "R.Wristt", "HandLeft": "L.Finger", "HandRight": "R.Finger", "Spine": "T10",
    "ShoulderCenter": "C7", "HipCenter": "V.Sacral", "HipLeft": "L.HJC", "HipRight": "R.HJC",
    "KneeLeft": "L.Knee.Lat", "KneeRight": "R.Knee.Lat", "AnkleLeft": "L.Ankle",
    "AnkleRight": "R.Ankle", "FootLeft": "L.Toe", "FootRight": "R.Toe",
}  # fmt: skip


def test_near_names_that_lie_right_become_a_marker_set_that_fits(tmp_path: Path) -> None:
    take = renamed(body(), NEAR)
    draft = draft_markerset(take)
    assert draft.basis == "near names"
    assert {joint: labels[0] for joint, labels in draft.joints.items()} == NEAR
    assert draft.remarks["WristLeft"] == ["name taken for WristLeft (90% alike)"]
    path = tmp_path / "mapping.toml"
    path.write_text(draft.toml("mapping", "walk.trc"))
    mapped = map_take(take, MarkerSet.preset(path), SKELETON)
    np.testing.assert_array_equal(mapped.position_m, body().position_m)
    assert 'WristLeft = "L.Wristt"  # CHECK: name taken' in path.read_text()


def test_a_marker_that_lies_elsewhere_than_its_name_says_is_to_be_checked() -> None:
    take = renamed(body(), NEAR)
    position = take.position_m.copy()
    position[:, take.index("L.Elbow.Lat")] += [0, 0.9, 0]
    draft = draft_markerset(Take("lab", take.labels, position, take.time_s))
    said = "; ".join(draft.remarks["ElbowLeft"])
    assert "m from ShoulderLeft, expected 0.15 to 0.42" in said
    assert "KneeLeft" not in draft.remarks


def test_exchanged_sides_are_told() -> None:
    take = body()
    swapped = {"KneeLeft": "KneeRight", "KneeRight": "KneeLeft"}
    at = {swapped.get(j, j): take.position_m[:, i] for i, j in enumerate(take.labels)}
    assert wrong_sides(at) == ["Knee"]
    assert not wrong_sides({j: take.position_m[:, i] for i, j in enumerate(take.labels)})


def test_the_bones_of_a_person_have_no_oddities() -> None:
    take = body()
    at = {j: take.position_m[:, i] for i, j in enumerate(take.labels)}
    assert {joint: oddities(joint, at) for joint in at if oddities(joint, at)} == {}


def test_spines_of_the_pelvis_place_the_hips_of_a_draft() -> None:
    rng = np.random.default_rng(0)
    spines = {
        "L.ASIS": (0.12, 0.95, 0.1), "R.ASIS": (-0.12, 0.95, 0.1), "L.PSIS": (0.05, 0.97, -0.06),
        "R.PSIS": (-0.05, 0.97, -0.06), "L.Knee": (0.1, 0.5, 0), "R.Knee": (-0.1, 0.5, 0),
    }  # fmt: skip
    position = np.array(list(spines.values())) + rng.normal(scale=1e-3, size=(9, 6, 3))
    take = Take("lab", tuple(spines), position, np.arange(9) / 100)
    draft = draft_markerset(take)
    assert draft.joints["HipLeft"] == ["LHJC"]
    table = tomllib.loads(draft.toml("m", "walk.trc"))
    mapped = map_take(take, table, SKELETON)
    hips = mapped.position_m[:, [mapped.index("HipLeft"), mapped.index("HipRight")]].mean(axis=0)
    # depth 0.16 m, width 0.24 m: 0.0865 to the side and, in the pelvis's own frame, 0.0829 down
    assert hips[:, 0] == pytest.approx([0.0865, -0.0865], abs=2e-3)
    assert hips[:, 1] == pytest.approx([0.87, 0.87], abs=0.01)


def test_labels_of_nothing_known_are_refused() -> None:
    take = Take("lab", ("qq", "zz"), np.ones((3, 2, 3)), np.arange(3) / 100)
    with pytest.raises(MappingError, match="no label is near to a name that is known"):
        draft_markerset(take)
