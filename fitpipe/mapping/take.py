"""Carries a take from its labels to the joints of a skeleton."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from fitpipe.arrays import BoolArray, FloatArray
from fitpipe.errors import MappingError, nearest_names, suggest
from fitpipe.mapping.joint_centres import with_centres
from fitpipe.mapping.labels import LabelIndex, choose_subject
from fitpipe.mapping.markerset import MarkerSet
from fitpipe.mapping.propose import Proposal, propose_markersets
from fitpipe.mapping.resolve import Resolution, resolve
from fitpipe.records import Finding, Skeleton, Take

_FEWEST_BY_NAME = 2  # joints that must be found by their own names before a take is taken so
_N_LISTED = 40
_N_NAMED = 6


def map_take(
    take: Take,
    markerset: MarkerSet | Mapping[str, Any] | str | Path | None,
    skeleton: Skeleton,
    *,
    subject: str | None = None,
    static: Take | None = None,
) -> Take:
    """The take with the joints of a skeleton in place of its labels.

    Parameters
    ----------
    take : Take
        With the labels as they were read.
    markerset : MarkerSet, mapping, str, Path or None
        Anything ``MarkerSet.make`` takes. None: each joint is the label of its own name, letter
        case and separators ignored; joints without one are absent.
    skeleton : Skeleton
    subject : str, optional
        Which subject's labels to take, where a file holds several (``"Anna"`` for
        ``"Anna:LASI"``).
    static : Take, optional
        A static trial of the same person with markers the take lacks (medial knees and ankles):
        joint centres that need them are carried over by the markers of their segment.

    Returns
    -------
    Take
        Labels are ``skeleton.joints``, in their order. A joint is NaN in a frame where any of
        its labels is missing: a mean of what is left would jump, and change every bone at it.
        Its confidence is the lowest among its labels; 0 for absent joints. ``repairs`` tells
        which prefix was removed, which spellings were bridged, which joints are absent and which
        labels went unused.

    Raises
    ------
    MappingError
        Labels that joints need are not there (all listed, with near names), several labels or
        subjects answer to one name, or the marker set speaks of joints the skeleton lacks.
    ConfigError
        There is no such preset or file.
    """
    mapper = make_mapper(take, markerset, skeleton, subject=subject, static=static)
    mapped = mapper.apply(mapper.take)
    never = mapper.never_seen(np.asarray(mapped.is_observed.any(axis=0)))
    return mapped.with_findings([*mapper.findings, *never])


@dataclass(frozen=True)
class Mapper:
    """How the labels of one source lead to the joints of a skeleton.

    Parameters
    ----------
    skeleton : Skeleton
    found : Resolution
    take : Take
        The one it was made for, with the virtual points of the marker set as further labels.
    findings : tuple of Finding
        What was done about labels and joints.
    """

    skeleton: Skeleton
    found: Resolution
    take: Take
    findings: tuple[Finding, ...]
    has_virtual: bool  # points that take all frames to make, so that `apply` is for `take` alone

    def apply(self, take: Take) -> Take:
        """A take or stretch of one, with the joints of the skeleton in place of its labels."""
        position, confidence = _joints(take, self.found, self.skeleton)
        return replace(
            take, labels=self.skeleton.joints, position_m=position, confidence=confidence
        )

    def never_seen(self, is_seen: BoolArray) -> list[Finding]:
        """Which joints have labels, and yet no sample: `is_seen` (joint,) over the whole take."""
        joints = self.skeleton.joints
        never = [j for j in self.found.choices if not is_seen[joints.index(j)]]
        if not never:
            return []
        return [
            Finding(
                f"joints whose labels are never seen in one frame together ({len(never)}): "
                + ", ".join(never),
                "absent",
            )
        ]


def make_mapper(
    take: Take,
    markerset: MarkerSet | Mapping[str, Any] | str | Path | None,
    skeleton: Skeleton,
    *,
    subject: str | None = None,
    static: Take | None = None,
) -> Mapper:
    """Resolve the labels of a take, or of a longer one that it is a fair sample of.

    Parameters, and what is raised, as in `map_take`.
    """
    by_name = markerset is None
    if markerset is None:
        rules = MarkerSet.own_names(skeleton.joints, skeleton=skeleton.name)
    else:
        rules = MarkerSet.make(markerset)
    _check_joints(rules, skeleton)
    index = choose_subject(take.labels, rules, subject=subject, take=take.source)
    still = None
    if static is not None and rules.virtual:
        own = choose_subject(static.labels, rules, subject=subject, take=static.source)
        still = with_centres(static, own, rules, None)
    made = with_centres(take, index, rules, still)
    take, index = made.take, made.index
    is_seen = np.any(take.is_observed, axis=0)
    found = resolve(rules, index, is_seen)
    # only marker sets that would map the take as it is are worth a hint
    proposals = propose_markersets(
        tuple(name for name in index.columns if name not in made.inputs), skeleton.name
    )
    best = next((proposal for proposal in proposals if not proposal.missing), None)
    _check_found(take, rules, skeleton, index, found, best, by_name=by_name)
    findings = (
        *made.findings,
        *_label_findings(rules, index, found, made.inputs),
        *_joint_findings(rules, skeleton, found, best, by_name=by_name),
    )
    return Mapper(skeleton, found, take, findings, bool(made.inputs))


def _joints(
    take: Take, found: Resolution, skeleton: Skeleton
) -> tuple[FloatArray, FloatArray | None]:
    """Position (time, joint, 3) and confidence (time, joint) of every joint."""
    chosen = {skeleton.joints.index(joint): choice for joint, choice in found.choices.items()}
    labels = {j: c.columns[0] for j, c in chosen.items() if c.recipe.weights == (1.0,)}
    columns = np.array([labels.get(j, 0) for j in range(skeleton.n_joints)])
    others = [j for j in range(skeleton.n_joints) if j not in labels]
    position = np.take(take.position_m, columns, axis=1)
    position[:, others] = np.nan
    confidence = None
    if take.confidence is not None:
        confidence = np.take(take.confidence, columns, axis=1)
        confidence[:, others] = 0.0
    for j in (j for j in others if j in chosen):
        choice = chosen[j]
        position[:, j] = sum(
            weight * take.position_m[:, column]
            for weight, column in zip(choice.recipe.weights, choice.columns, strict=True)
        )
        if confidence is not None and take.confidence is not None:
            confidence[:, j] = take.confidence[:, list(choice.columns)].min(axis=1)
    return position, confidence


def _check_joints(rules: MarkerSet, skeleton: Skeleton) -> None:
    unknown = [joint for joint in rules.recipes if joint not in skeleton.joints]
    if unknown:
        raise MappingError(
            f"marker set {rules.name!r} speaks of joints that skeleton {skeleton.name!r} lacks",
            faults=[f"{joint!r}; {suggest(joint, skeleton.joints)}" for joint in unknown],
        )


def _check_found(
    take: Take,
    rules: MarkerSet,
    skeleton: Skeleton,
    index: LabelIndex,
    found: Resolution,
    best: Proposal | None,
    *,
    by_name: bool,
) -> None:
    """Raise one MappingError with everything that keeps the take from being mapped."""
    path = take.origin.path or None
    needed = [joint for joint in found.missing if joint not in rules.optional]
    faults = [
        f"{label!r} could be {_some(take.labels[i] for i in columns)}; rename all but one"
        for label, columns in found.unclear.items()
    ]
    faults += _repeated_faults(take, rules, index)
    faults += _missing_faults(found, needed, index)
    better = ""
    if best is not None and best.n_mapped > len(found.choices):
        better = f"; markerset={best.markerset!r} maps {best.n_mapped} of {best.n_joints} joints"
    hint = f"the take has {_listed(index)}{better}"
    if faults:
        raise MappingError(
            f"take {take.source!r} does not fit marker set {rules.name!r}",
            path=path,
            faults=faults,
            hint=hint,
        )
    fewest = min(_FEWEST_BY_NAME, skeleton.n_joints) if by_name else 1
    if len(found.choices) < fewest:
        n = f"only {len(found.choices)}" if found.choices else "none"
        wanted = f"the joints of skeleton {skeleton.name!r}: {_some(skeleton.joints)}"
        if not by_name:
            wanted = f"the labels of marker set {rules.name!r}: {_some(rules.labels)}"
        raise MappingError(
            f"{n} of the labels of take {take.source!r} is among {wanted}", path=path, hint=hint
        )


def _repeated_faults(take: Take, rules: MarkerSet, index: LabelIndex) -> list[str]:
    """One fault per label of the marker set that the file gives to several columns."""
    repeated = take.origin.metadata.get("repeated_labels", "")
    names = {name.removeprefix(index.prefix): name for name in repeated.split(", ") if name}
    faults = []
    for label in rules.labels:
        spelling = next((s for s in (label, *rules.alias.get(label, ())) if s in names), None)
        if spelling is not None:
            stand_in = re.compile(re.escape(names[spelling]) + r"_\d+")
            columns = [lb for lb in take.labels if stand_in.fullmatch(lb)]
            faults.append(
                f"label {names[spelling]!r} stands over more than one column (read as "
                f"{_some(columns)}); name the one to use in the marker set"
            )
    return faults


def _missing_faults(found: Resolution, joints: Iterable[str], index: LabelIndex) -> list[str]:
    """One fault per label that is lacking, with the joints that need it and near names."""
    needed_by: dict[str, list[str]] = {}
    instead: dict[str, list[str]] = {}
    for joint in joints:
        nearest, *others = found.missing[joint]
        for label in nearest:
            needed_by.setdefault(label, []).append(joint)
            for other in others:
                if label not in other:
                    way = " + ".join(lb for lb in other if lb not in nearest)
                    instead.setdefault(label, []).append(way)
    faults = []
    for label, needing in needed_by.items():
        near = nearest_names(label, index.labels if ":" in label else index.columns)
        ways = ", ".join(filter(None, dict.fromkeys(instead.get(label, ()))))
        other_ways = f" (or instead {ways})" if ways else ""
        tail = f"; nearest: {_some(near)}" if near else ""
        faults.append(f"no label {label!r}{other_ways}, needed for {', '.join(needing)}{tail}")
    return faults


def _label_findings(
    rules: MarkerSet,
    index: LabelIndex,
    found: Resolution,
    inputs: Mapping[str, tuple[int, ...]],
) -> Iterable[Finding]:
    """What was done about prefixes, spellings, and labels nobody asked for."""
    if index.prefix:
        yield Finding(
            f"labels that start with {index.prefix!r} ({len(index.columns) - len(inputs)})",
            "prefix removed",
            "note",
        )
    used: dict[int, str] = {}
    for choice in found.choices.values():
        used |= dict(zip(choice.columns, choice.recipe.labels, strict=True))
    respelt = [
        f"{index.labels[column]!r} for {label!r}"
        for column, label in used.items()
        if index.labels[column] not in (label, index.prefix + label)
    ]
    if respelt:
        yield Finding(
            f"labels spelt in another way ({len(respelt)}): {_some(respelt, quote=False)}",
            "taken as the same",
            "note",
        )
    behind = {column for columns in inputs.values() for column in columns}
    n_read = len(index.labels) - len(inputs)
    unused = [
        label
        for column, label in enumerate(index.labels[:n_read])
        if column not in used and column not in behind
    ]
    if unused:
        yield Finding(
            f"labels not used by marker set {rules.name!r} ({len(unused)}): {_some(unused)}",
            "ignored",
            "note",
        )


def _joint_findings(
    rules: MarkerSet,
    skeleton: Skeleton,
    found: Resolution,
    best: Proposal | None,
    *,
    by_name: bool,
) -> Iterable[Finding]:
    """Which joints are absent, and which are made in a way that was not the first choice."""
    second = [
        f"{joint} from {' + '.join(choice.recipe.labels)}"
        for joint, choice in found.choices.items()
        if not choice.is_first
    ]
    if second:
        yield Finding(
            f"joints whose first choice of labels is not there ({len(second)})",
            f"made another way: {'; '.join(second)}",
            "note",
        )
    absent = [joint for joint in skeleton.joints if joint not in found.choices]
    if absent:
        otherwise = ""
        if best is not None and best.n_mapped > len(found.choices):
            otherwise = f"markerset={best.markerset!r} maps {best.n_mapped} joints"
        yield Finding(
            f"joints of skeleton {skeleton.name!r} without a label ({len(absent)}): "
            + ", ".join(absent),
            "absent",
            "warning" if by_name or set(absent) & set(rules.recipes) else "note",
            otherwise,
        )


def _some(names: Iterable[str], *, quote: bool = True) -> str:
    """The first few names, and how many more there are."""
    names = [repr(name) if quote else name for name in names]
    more = f" and {len(names) - _N_NAMED} more" if len(names) > _N_NAMED else ""
    return ", ".join(names[:_N_NAMED]) + more


def _listed(index: LabelIndex) -> str:
    names = list(index.columns)
    more = f" and {len(names) - _N_LISTED} more" if len(names) > _N_LISTED else ""
    return f"{len(names)} labels: {', '.join(names[:_N_LISTED])}{more}"
