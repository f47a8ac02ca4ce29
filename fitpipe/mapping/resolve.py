"""Decides which columns of a take each joint is made from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from fitpipe.arrays import BoolArray
from fitpipe.mapping.labels import LabelIndex
from fitpipe.mapping.markerset import MarkerSet, Recipe


@dataclass(frozen=True, slots=True)
class Choice:
    """The recipe taken for a joint, and the columns its labels are in."""

    recipe: Recipe
    columns: tuple[int, ...]
    is_first: bool


@dataclass(frozen=True)
class Resolution:
    """What a marker set finds among the labels of one subject.

    Parameters
    ----------
    choices : dict of str to Choice
        The joints that can be made.
    missing : dict of str to tuple of tuple of str
        Labels that are lacking for each joint that cannot be made: one tuple per recipe, the
        recipe that lacks the smallest share of its labels first.
    unclear : dict of str to tuple of int
        Labels that several columns answer to.
    """

    choices: dict[str, Choice]
    missing: dict[str, tuple[tuple[str, ...], ...]]
    unclear: dict[str, tuple[int, ...]]


def resolve(
    markerset: MarkerSet, index: LabelIndex, is_seen: BoolArray | None = None
) -> Resolution:
    """Choose the recipe of every joint.

    The first alternative whose labels are all there is taken for the whole take, so that a bone
    is measured between the same points in every frame. Alternatives with a label that
    ``is_seen`` (one entry per column) says is never seen come after all others.
    """
    names = (*markerset.labels, *markerset.virtual)
    hits = {label: index.find(label, markerset.alias.get(label, ())) for label in names}
    unclear = {label: columns for label, columns in hits.items() if len(columns) > 1}
    choices: dict[str, Choice] = {}
    missing: dict[str, tuple[tuple[str, ...], ...]] = {}
    for joint, recipes in markerset.recipes.items():
        whole = [r for r in recipes if all(hits[label] for label in r.labels)]
        if not whole:
            needs = [_behind(r.labels, markerset) for r in recipes]
            lacking = [tuple(label for label in labels if not hits[label]) for labels in needs]
            share = [len(lacks) / len(n) for lacks, n in zip(lacking, needs, strict=True)]
            order = sorted(range(len(recipes)), key=lambda i: (share[i], len(lacking[i])))
            missing[joint] = tuple(lacking[i] for i in order)
            continue
        made = [
            Choice(r, tuple(hits[lb][0] for lb in r.labels), is_first=r is recipes[0])
            for r in whole
        ]
        seen = [c for c in made if is_seen is None or all(is_seen[i] for i in c.columns)]
        choices[joint] = (seen or made)[0]
    return Resolution(choices, missing, unclear)


def _behind(labels: Sequence[str], markerset: MarkerSet) -> tuple[str, ...]:
    """Labels with those that virtual points are made from in their place."""
    named: list[str] = []
    for label in labels:
        virtual = markerset.virtual.get(label)
        inputs = () if virtual is None else virtual.inputs
        if virtual is not None and virtual.kind == "first":
            # what has to be there at least; the first may need motion or a static trial
            inputs = inputs[-1:]
        named += _behind(inputs, markerset) if virtual else [label]
    return tuple(dict.fromkeys(named))
