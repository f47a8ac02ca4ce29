"""Marker sets: what they accept, what they refuse, and that every preset is sound."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest

from fitpipe.config.presets import list_presets, load_preset
from fitpipe.errors import ConfigError, MappingError
from fitpipe.mapping import MarkerSet, Recipe
from fitpipe.records import Skeleton

PRESETS = list_presets("markersets")


def test_plain_mapping_accepts_label_list_and_weights() -> None:
    made = MarkerSet.make(
        {
            "Head": ["LFHD", "RFHD"],
            "Spine": {"T10": 1, "STRN": 3},
            "HipCenter": "SACR",
            "HandLeft": None,
            "HandRight": [],
        }
    )
    assert dict(made.recipes) == {
        "Head": (Recipe(("LFHD", "RFHD"), (0.5, 0.5)),),
        "Spine": (Recipe(("T10", "STRN"), (0.25, 0.75)),),
        "HipCenter": (Recipe(("SACR",), (1.0,)),),
    }
    assert made.labels == ("LFHD", "RFHD", "T10", "STRN", "SACR")


def test_list_of_specifications_means_alternatives_in_order() -> None:
    made = MarkerSet("m", {"HipCenter": ["MidHip", ["LHip", "RHip"], {"A": 2.0, "B": -1.0}]})
    assert made.recipes["HipCenter"] == (
        Recipe(("MidHip",), (1.0,)),
        Recipe(("LHip", "RHip"), (0.5, 0.5)),
        Recipe(("A", "B"), (2.0, -1.0)),
    )


def test_all_faults_are_told_at_once() -> None:
    with pytest.raises(MappingError) as caught:
        MarkerSet(
            "mine",
            {
                "Head": ["A", "A"],
                "Spine": {"A": 1.0, "B": float("nan")},
                "HipCenter": {"A": 1.0, "B": -1.0},
                "KneeLeft": 3,  # type: ignore[dict-item]
                "WristLeft": "W",
                "HandLeft": ["W"],
            },
            alias={"X": ["x1"], "W": "w"},
            optional=["WristLeftt"],
        )
    faults = "\n".join(caught.value.faults)
    for part in (
        "Head: 'A' more than once",
        "Spine: 'B' = nan",
        "HipCenter: weights sum to 0",
        "KneeLeft: 3, expected a label",
        "WristLeft and HandLeft are both made from W",
        "alias 'X' is for a label that no joint uses",
        "alias 'W' is 'w', expected a list",
        "optional joint 'WristLeftt' is not among the joints; did you mean 'WristLeft'?",
    ):
        assert part in faults
    assert len(caught.value.faults) == 8


def test_one_spelling_cannot_mean_two_labels() -> None:
    with pytest.raises(MappingError) as caught:
        MarkerSet("m", {"Head": "H", "Spine": "S"}, alias={"H": ["x", "S"], "S": ["x"]})
    assert caught.value.faults == (
        "alias 'S' of 'H' already means 'S'",
        "alias 'x' of 'S' already means 'H'",
    )


def test_a_set_without_any_label_is_refused() -> None:
    with pytest.raises(MappingError, match="no joint is made from any label"):
        MarkerSet("empty", {"Head": None})


def test_file_with_unknown_keys_and_bad_joints_lists_both(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text('name = "mine"\njoints = 1\noptinal = []\n[joint]\nHead = 2\n')
    with pytest.raises(MappingError) as caught:
        MarkerSet.preset(path)
    assert caught.value.path == path
    faults = "\n".join(caught.value.faults)
    assert "unknown key 'joints'; did you mean 'joint'?" in faults
    assert "unknown key 'optinal'; did you mean 'optional'?" in faults
    assert "Head: 2, expected" in faults


def test_file_without_joint_table_says_so(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text('name = "mine"\n')
    with pytest.raises(MappingError, match=r"no \[joint\] table"):
        MarkerSet.preset(path)


def test_unknown_preset_names_the_nearest() -> None:
    with pytest.raises(ConfigError, match="did you mean 'pig39'"):
        MarkerSet.preset("pig93")


def test_something_else_is_refused_with_what_was_expected() -> None:
    with pytest.raises(ConfigError, match="expected a preset's name"):
        MarkerSet.make(3)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", PRESETS)
def test_preset_is_sound(name: str) -> None:
    made = MarkerSet.preset(name)
    skeleton = Skeleton.preset(made.skeleton)
    assert made.name == name
    assert made.title
    assert set(load_preset("markersets", name)["joint"]) <= set(skeleton.joints)
    for recipes in made.recipes.values():
        for recipe in recipes:
            assert sum(recipe.weights) == pytest.approx(1.0, abs=1e-15)


@pytest.mark.parametrize("name", PRESETS)
def test_preset_treats_left_and_right_alike(name: str) -> None:
    made = MarkerSet.preset(name)
    skeleton = Skeleton.preset(made.skeleton)
    swap = {"L": "R", "R": "L", "Left": "Right", "Right": "Left"}
    swap |= {"LEFT": "RIGHT", "RIGHT": "LEFT", "left": "right", "right": "left"}

    def mirrored(label: str) -> str:
        for side in ("Left", "Right", "LEFT", "RIGHT", "left", "right"):
            if side in label:
                return label.replace(side, swap[side])
        if label.endswith(("_l", "_r")):
            return label[:-1] + {"l": "r", "r": "l"}[label[-1]]
        if label.startswith(("l_", "r_")):
            return {"l": "r", "r": "l"}[label[0]] + label[1:]
        return swap[label[0]] + label[1:] if label[0] in "LR" else label

    for i, j in skeleton.mirror:
        left, right = skeleton.joints[i], skeleton.joints[j]
        assert (left in made.recipes) == (right in made.recipes)
        for a, b in zip(made.recipes.get(left, ()), made.recipes.get(right, ()), strict=True):
            weight = {mirrored(label): w for label, w in zip(a.labels, a.weights, strict=True)}
            assert weight == dict(zip(b.labels, b.weights, strict=True))
            # what carries most of a left joint is called left
            heaviest = max(zip(a.weights, a.labels, strict=True))[1]
            lower = heaviest.lower()
            assert lower.startswith("l") or "left" in lower or lower.endswith("_l")


@pytest.mark.parametrize("name", PRESETS)
def test_marker_set_survives_pickling_bit_for_bit(name: str) -> None:
    made = MarkerSet.preset(name)
    assert pickle.loads(pickle.dumps(made)) == made  # noqa: S301 - our own bytes
