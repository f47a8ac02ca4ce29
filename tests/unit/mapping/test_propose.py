"""Proposals: the right preset comes first, and nothing is proposed for strange labels."""

from __future__ import annotations

import pytest

from fitpipe.config.presets import list_presets
from fitpipe.mapping import MarkerSet, propose_markersets

# (labels, best preset): 35-marker Plug-in Gait, Pose2Sim's names, and prefixes
SPELLINGS = [
    (["A:" + label for label in MarkerSet.preset("cmu41").labels], "cmu41"),
    (["S1_" + label for label in MarkerSet.preset("pig39").labels], "pig39"),
    (["JointType_" + label for label in MarkerSet.preset("kinect25").labels], "kinect25"),
    ([label.title() for label in MarkerSet.preset("azure32").labels], "azure32"),
]


@pytest.mark.parametrize("name", list_presets("markersets"))
def test_a_presets_own_labels_propose_it_first(name: str) -> None:
    made = MarkerSet.preset(name)
    first = propose_markersets(made.labels)[0]
    assert first.markerset == name
    assert first.n_mapped == len(made.recipes)
    assert first.share == len(made.recipes) / 20
    assert first.missing == ()


@pytest.mark.parametrize(("labels", "name"), SPELLINGS)
def test_prefixes_and_spellings_do_not_hide_a_marker_set(labels: list[str], name: str) -> None:
    assert propose_markersets(labels)[0].markerset == name


def test_ranking_is_by_share_and_tells_what_is_lacking() -> None:
    proposals = propose_markersets(MarkerSet.preset("pig39").labels)
    assert [p.markerset for p in proposals] == ["pig39", "cmu41", "pig16"]
    assert [p.n_mapped for p in proposals] == [20, 17, 9]
    assert proposals[1].missing == ("LFWT", "RFWT", "LBWT", "RBWT")
    assert str(proposals[1]) == "cmu41: 17 of 20 joints, lacks 4 labels: LFWT, RFWT, LBWT, RBWT"


def test_nothing_is_proposed_for_strange_labels_or_another_skeleton() -> None:
    assert propose_markersets(["p1", "p2"]) == []
    assert propose_markersets([]) == []
    assert propose_markersets(["Head", "Spine"], skeleton="horse") == []
