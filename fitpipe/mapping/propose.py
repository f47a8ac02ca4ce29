"""Ranks the preset marker sets by how much of a skeleton they would find among labels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, lru_cache

from fitpipe.config.presets import list_presets
from fitpipe.mapping.joint_centres import available
from fitpipe.mapping.labels import best_subject
from fitpipe.mapping.markerset import MarkerSet
from fitpipe.mapping.resolve import resolve
from fitpipe.records import Skeleton

_N_NAMED = 6


@dataclass(frozen=True, slots=True)
class Proposal:
    """What a preset marker set would make of some labels.

    Parameters
    ----------
    markerset : str
        Name of the preset.
    title : str
        What it is, for people.
    n_mapped, n_joints : int
        Joints of the skeleton that would be mapped, and all of them.
    missing : tuple of str
        Labels that are lacking for joints that are not optional; with any, ``map_take`` refuses.
    n_labels : int
        How many labels the mapped joints are made from.
    """

    markerset: str
    title: str
    n_mapped: int
    n_joints: int
    missing: tuple[str, ...]
    n_labels: int

    @property
    def share(self) -> float:
        """Share of the skeleton's joints that would be mapped, 0 to 1."""
        return self.n_mapped / self.n_joints

    def __str__(self) -> str:
        text = f"{self.markerset}: {self.n_mapped} of {self.n_joints} joints"
        if not self.missing:
            return text
        more = ", ..." if len(self.missing) > _N_NAMED else ""
        return (
            f"{text}, lacks {len(self.missing)} labels: {', '.join(self.missing[:_N_NAMED])}{more}"
        )


def propose_markersets(labels: Sequence[str], skeleton: str = "kinect20") -> list[Proposal]:
    """Preset marker sets that would map some of these labels, best first.

    Parameters
    ----------
    labels : sequence of str
        Labels of a take; with several subjects, each preset counts the one that suits it best.
    skeleton : str
        Name of the skeleton preset; only marker sets for it are proposed.

    Returns
    -------
    list of Proposal
        Ordered by share of joints mapped, then fewest labels lacking, then most labels used.
        Presets that would map no joint are left out.
    """
    return list(_proposals(tuple(labels), skeleton))


@lru_cache(256)  # takes of a batch mostly have the same labels
def _proposals(labels: tuple[str, ...], skeleton: str) -> tuple[Proposal, ...]:
    if not labels:
        return ()
    made = (_proposal(labels, markerset) for markerset in _presets(skeleton))
    ranked = sorted(
        (proposal for proposal in made if proposal.n_mapped),
        key=lambda p: (-p.share, len(p.missing), -p.n_labels, p.markerset),
    )
    return tuple(ranked)


def _proposal(labels: Sequence[str], markerset: MarkerSet) -> Proposal:
    found = resolve(markerset, available(best_subject(labels, markerset), markerset))
    lacking = (
        found.missing[joint][0] for joint in found.missing if joint not in markerset.optional
    )
    columns = {column for choice in found.choices.values() for column in choice.columns}
    return Proposal(
        markerset=markerset.name,
        title=markerset.title,
        n_mapped=len(found.choices),
        n_joints=_n_joints(markerset.skeleton),
        missing=tuple(dict.fromkeys(label for names in lacking for label in names)),
        n_labels=len(columns),
    )


@cache
def _presets(skeleton: str) -> tuple[MarkerSet, ...]:
    every = (MarkerSet.preset(name) for name in list_presets("markersets"))
    return tuple(markerset for markerset in every if markerset.skeleton == skeleton)


@cache
def _n_joints(skeleton: str) -> int:
    return Skeleton.preset(skeleton).n_joints
