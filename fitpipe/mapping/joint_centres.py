"""Adds the virtual points of a marker set to a take, as far as it or a static trial has them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from fitpipe.arrays import FloatArray
from fitpipe.mapping.labels import LabelIndex
from fitpipe.mapping.markerset import MarkerSet
from fitpipe.mapping.virtual import Virtual
from fitpipe.records import Finding, Take


@dataclass(frozen=True)
class WithCentres:
    """A take with the virtual points that could be made, as further labels.

    Parameters
    ----------
    take : Take
    index : LabelIndex
    inputs : dict of str to tuple of int
        Columns that each virtual point was made from.
    findings : list of Finding
    """

    take: Take
    index: LabelIndex
    inputs: dict[str, tuple[int, ...]]
    findings: list[Finding]


def with_centres(
    take: Take, index: LabelIndex, rules: MarkerSet, static: WithCentres | None
) -> WithCentres:
    """Make the virtual points of a marker set, one after another.

    Parameters
    ----------
    take : Take
    index : LabelIndex
        The labels of the subject.
    rules : MarkerSet
    static : WithCentres, optional
        The same person's static trial, made by this function.

    Returns
    -------
    WithCentres
        Without the points whose markers are not there, and those the take has by that name.
    """
    columns = [take.position_m]
    sure = [] if take.confidence is None else [take.confidence]
    labels = list(take.labels)
    inputs: dict[str, tuple[int, ...]] = {}
    findings: list[Finding] = []
    for virtual in rules.virtual.values():
        if index.find(virtual.name):
            continue
        used, point, why = _make(virtual, index, rules, np.concatenate(columns, axis=1))
        if point is None and static is not None:
            used, point = _carry(virtual, index, rules, np.concatenate(columns, axis=1), static)
            if point is not None:
                findings.append(
                    Finding(
                        f"{virtual.name}: its markers are in the static trial alone",
                        "carried over by its segment",
                        "note",
                    )
                )
        if point is None:
            if why:
                findings.append(
                    Finding(f"{virtual.name} ({virtual.kind}): {why}", "not used", "note")
                )
            continue
        columns.append(point[:, None])
        if sure:
            sure.append(np.concatenate(sure, axis=1)[:, list(used)].min(axis=1)[:, None])
        inputs[virtual.name] = used
        labels.append(index.prefix + virtual.name)
        # later points may be made from this one
        index = LabelIndex(
            tuple(labels), index.prefix, {**index.columns, virtual.name: len(labels) - 1}
        )
    if len(columns) > 1:
        take = replace(
            take,
            labels=tuple(labels),
            position_m=np.concatenate(columns, axis=1),
            confidence=np.concatenate(sure, axis=1) if sure else None,
        )
    return WithCentres(take, index, inputs, findings)


def available(index: LabelIndex, rules: MarkerSet) -> LabelIndex:
    """The index with the virtual points whose markers are there, for questions about names alone.

    Functional centres are left out: whether the motion gives them, names do not tell.
    """
    columns, labels = dict(index.columns), list(index.labels)
    for virtual in rules.virtual.values():
        probe = LabelIndex(tuple(labels), index.prefix, columns)
        is_certain = virtual.kind not in ("sphere", "score")
        if is_certain and _needs(virtual, probe, rules) and virtual.name not in columns:
            labels.append(index.prefix + virtual.name)
            columns = {**columns, virtual.name: len(labels) - 1}
    return LabelIndex(tuple(labels), index.prefix, columns)


def _find(index: LabelIndex, rules: MarkerSet, label: str) -> int | None:
    """The one column of a label; None if there is none, or several."""
    found = index.find(label, rules.alias.get(label, ()))
    return found[0] if len(found) == 1 else None


def _needs(virtual: Virtual, index: LabelIndex, rules: MarkerSet) -> dict[str, int] | None:
    """The columns a point is made from; None if they are not all there."""
    if virtual.kind != "first":
        return _columns(index, rules, virtual.inputs)
    found = ((label, _find(index, rules, label)) for label in virtual.inputs)
    return next(({label: column} for label, column in found if column is not None), None)


def _columns(index: LabelIndex, rules: MarkerSet, labels: Sequence[str]) -> dict[str, int] | None:
    found = {label: _find(index, rules, label) for label in labels}
    whole = {label: column for label, column in found.items() if column is not None}
    return whole if len(whole) == len(found) else None


def _make(
    virtual: Virtual, index: LabelIndex, rules: MarkerSet, position: FloatArray
) -> tuple[tuple[int, ...], FloatArray | None, str]:
    at = _needs(virtual, index, rules)
    if at is None:
        return (), None, ""
    if virtual.kind == "first":
        virtual = replace(virtual, markers={"of": tuple(at)})
    point, why = virtual.make(lambda label: position[:, at[label]])
    if why or not np.isfinite(point).all(axis=1).any():
        return (), None, why
    return tuple(at.values()), point, ""


def _carry(
    virtual: Virtual,
    index: LabelIndex,
    rules: MarkerSet,
    position: FloatArray,
    static: WithCentres,
) -> tuple[tuple[int, ...], FloatArray | None]:
    """The point of the static trial, placed by the markers of its segment."""
    from fitpipe.mapping.functional import carried

    point = static.index.find(virtual.name)
    here = _columns(index, rules, virtual.segment) if virtual.segment else None
    there = _columns(static.index, rules, virtual.segment) if virtual.segment else None
    if not point or here is None or there is None:
        return (), None
    still = static.take.position_m
    placed = carried(
        still[:, [there[label] for label in virtual.segment]],
        still[:, point[0]],
        position[:, [here[label] for label in virtual.segment]],
    )
    if not np.isfinite(placed).all(axis=1).any():
        return (), None
    return tuple(here.values()), placed
