"""Drafts a marker set for a take: a preset that fits, or names that are near and lie right."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from functools import cache

import numpy as np

from fitpipe.arrays import FloatArray
from fitpipe.config.presets import load_preset
from fitpipe.errors import MappingError
from fitpipe.mapping.anatomy import oddities, wrong_sides
from fitpipe.mapping.joint_centres import with_centres
from fitpipe.mapping.labels import LabelIndex, affixed, best_subject, loose
from fitpipe.mapping.markerset import MarkerSet
from fitpipe.mapping.propose import propose_markersets
from fitpipe.mapping.resolve import resolve
from fitpipe.mapping.sides import sided
from fitpipe.mapping.virtual import Virtual
from fitpipe.records import Skeleton, Take

_NEAR = 0.72  # likeness of names below which they are strangers
_MOST_CANDIDATES = 4
_PARTNERS = (("lateral", "medial"), ("lat", "med"), ("radius", "ulna"), ("radial", "ulnar"))
_SIDED = {"left": "Left", "right": "Right"}


@dataclass
class Draft:
    """A marker set for people to review.

    Parameters
    ----------
    basis : str
        The preset it is, or ``"near names"``.
    joints : dict of str to list of str
        Labels of the take by joint; the mean of several.
    weights : dict of str to tuple of float
        For joints whose labels do not count alike.
    virtual : dict of str to Virtual
    remarks : dict of str to list of str
        By joint: what speaks against it.
    strays : list of str
        Labels nothing is made from.
    absent : list of str
        Joints without a label.
    """

    basis: str
    joints: dict[str, list[str]] = field(default_factory=dict)
    weights: dict[str, tuple[float, ...]] = field(default_factory=dict)
    virtual: dict[str, Virtual] = field(default_factory=dict)
    remarks: dict[str, list[str]] = field(default_factory=dict)
    strays: list[str] = field(default_factory=list)
    absent: list[str] = field(default_factory=list)

    def toml(self, name: str, source: str) -> str:
        """The draft as a marker set file, with its doubts as comments."""
        lines = [
            f"# Drafted from {source} ({self.basis}). Review it: every line marked CHECK, and",
            "# whether left is the person's own left.",
            f"name = {_quoted(name)}",
            'title = "Drafted, to be reviewed"',
            'skeleton = "kinect20"',
            f"optional = [{', '.join(_quoted(joint) for joint in self.joints)}]",
            "",
            "[joint]",
        ]
        for joint, labels in self.joints.items():
            remark = "; ".join(self.remarks.get(joint, ()))
            spec = _quoted(labels[0]) if len(labels) == 1 else _list(labels)
            if joint in self.weights:
                pairs = zip(labels, self.weights[joint], strict=True)
                spec = "{ " + ", ".join(f"{_quoted(lb)} = {w:g}" for lb, w in pairs) + " }"
            lines.append(f"{joint} = {spec}" + (f"  # CHECK: {remark}" if remark else ""))
        lines += [f"# {joint} = ?  # no label seems to be it" for joint in self.absent]
        if self.virtual:
            lines += ["", "[virtual] # centres of joints, used above like labels"]
            lines += [f"{_quoted(v.name)} = {_virtual(v)}" for v in self.virtual.values()]
        if self.strays:
            lines += ["", f"# Labels not used ({len(self.strays)}):"]
            lines += [f"#   {label}" for label in self.strays]
        return "\n".join(lines) + "\n"


def draft_markerset(take: Take) -> Draft:
    """Draft a marker set for the 20 joints of ``kinect20``.

    A preset that finds all its labels is taken as it is. Else each joint gets the label whose name
    is nearest to one that some preset uses for it, and that lies where the joint can be: as far
    from its neighbours as bones are long.

    Parameters
    ----------
    take : Take

    Returns
    -------
    Draft

    Raises
    ------
    MappingError
        No label is near to any that is known.
    """
    whole = [p for p in propose_markersets(take.labels) if not p.missing and p.share >= 0.5]
    draft = _by_preset(take, MarkerSet.preset(whole[0].markerset)) if whole else _by_names(take)
    at = _placed(take, draft)
    for joint in draft.joints:
        if joint in at:
            odd = oddities(joint, at)
            if odd:
                draft.remarks.setdefault(joint, []).extend(odd)
    for pair in wrong_sides(at):
        for side in _SIDED.values():
            said = f"left and right of {pair} seem exchanged"
            draft.remarks.setdefault(f"{pair}{side}", []).append(said)
    draft.absent = [j for j in Skeleton.preset("kinect20").joints if j not in draft.joints]
    return draft


def _by_preset(take: Take, rules: MarkerSet) -> Draft:
    """A preset with the labels of the take in place of its own names."""
    index = best_subject(take.labels, rules)
    made = with_centres(take, index, rules, None)
    found = resolve(rules, made.index, np.any(made.take.is_observed, axis=0))
    named = {
        label: index.labels[columns[0]]
        for label in rules.labels
        if len(columns := index.find(label, rules.alias.get(label, ()))) == 1
    }
    virtual = {
        v.name: _renamed(v, named, rules) for v in rules.virtual.values() if v.name in made.inputs
    }
    draft = Draft(f"marker set {rules.name}", virtual=virtual)
    used = set(named.values())
    for joint, choice in found.choices.items():
        labels = [named.get(label, label) for label in choice.recipe.labels]
        draft.joints[joint] = labels
        if len(set(choice.recipe.weights)) > 1:
            draft.weights[joint] = choice.recipe.weights
    draft.strays = [label for label in take.labels if label not in used]
    return draft


def _renamed(virtual: Virtual, named: Mapping[str, str], rules: MarkerSet) -> Virtual:
    """A virtual point made from labels as the take spells them; those it lacks are left out."""

    def known(labels: Sequence[str]) -> tuple[str, ...]:
        return tuple(named.get(lb, lb) for lb in labels if lb in named or lb in rules.virtual)

    markers = {role: known(labels) for role, labels in virtual.markers.items()}
    segment = known(virtual.segment)
    whole = segment if len(segment) == len(virtual.segment) else ()
    return Virtual(virtual.name, virtual.kind, markers, whole, virtual.options)


def _by_names(take: Take) -> Draft:
    """Nearest names that lie right, the most alike first."""
    names = _short_names(take.labels)
    ranked = sorted(
        (
            (likeness, joint, label)
            for joint in Skeleton.preset("kinect20").joints
            for likeness, label in _candidates(joint, names)
        ),
        key=lambda item: (-item[0], item[1], item[2]),
    )
    draft = Draft("near names")
    at: dict[str, FloatArray] = {}
    taken: set[str] = set()
    second: list[tuple[float, str, str]] = []
    for likeness, joint, label in ranked:
        if joint in draft.joints or label in taken:
            continue
        place = {**at, joint: take.position_m[:, take.index(label)]}
        if oddities(joint, place):
            second.append((likeness, joint, label))
            continue
        at = place
        taken.add(label)
        draft.joints[joint] = [label]
        if likeness < 1:
            draft.remarks[joint] = [f"name taken for {joint} ({100 * likeness:.0f}% alike)"]
    for likeness, joint, label in second:
        # better a doubtful line to review than none
        if joint not in draft.joints and label not in taken:
            taken.add(label)
            draft.joints[joint] = [label]
            if likeness < 1:
                draft.remarks[joint] = [f"name taken for {joint} ({100 * likeness:.0f}% alike)"]
    if not draft.joints:
        raise MappingError(
            f"take {take.source!r}: no label is near to a name that is known",
            path=take.origin.path or None,
            hint="write a marker set by hand: see docs/formats.md",
        )
    order = [joint for joint in Skeleton.preset("kinect20").joints if joint in draft.joints]
    draft.joints = {j: _with_partner(draft.joints[j][0], take.labels) for j in order}
    _add_hips(draft, names)
    taken = {label for labels in draft.joints.values() for label in labels}
    taken |= {label for point in draft.virtual.values() for label in point.inputs}
    draft.strays = [label for label in take.labels if label not in taken]
    return draft


def _add_hips(draft: Draft, names: Mapping[str, str]) -> None:
    """Hips by regression where the spines of the pelvis have markers and no hip is named well."""
    words = load_preset("names", "markers")
    front, back = (
        {side: _named(names, words[key], side) for side in ("left", "right")}
        for key in ("PelvisFront", "PelvisBack")
    )
    sacrum = draft.joints.get("HipCenter", [""])[0]
    behind = tuple(filter(None, back.values())) if all(back.values()) else (sacrum,)
    if not all(front.values()) or not all(behind):
        return
    for side, end in _SIDED.items():
        given = draft.joints.get(f"Hip{end}", [""])[0]
        if given and any(_likeness(names[given], word, side) == 1 for word in words["HipJoint"]):
            continue  # a hip marker may sit anywhere on the thigh, a joint centre does not
        name = f"{end[0]}HJC"
        while name in names:
            name += "_"
        markers = {"asis": (front["left"], front["right"]), "back": behind}
        draft.virtual[name] = Virtual(name, "hip", markers, (), {"side": side})
        draft.joints[f"Hip{end}"] = [name]
        draft.remarks.pop(f"Hip{end}", None)
    draft.joints["HipCenter"] = list(dict.fromkeys((*front.values(), *behind)))


def _named(names: Mapping[str, str], words: Sequence[str], side: str) -> str:
    """The label of one side that is one of some words; empty if there is none."""
    return next(
        (lb for lb, name in names.items() if any(_likeness(name, w, side) == 1 for w in words)), ""
    )


def _short_names(labels: Sequence[str]) -> dict[str, str]:
    """Labels without what they share at their start or end, by label."""
    groups = [group for group in affixed(labels) if len(group.columns) > 1]
    short = {label: label.split(":")[-1] for label in labels}
    for group in groups[:1]:
        short |= {group.labels[column]: name for name, column in group.columns.items()}
    return short


def _candidates(joint: str, names: Mapping[str, str]) -> list[tuple[float, str]]:
    """Labels near to the names of a joint: likeness and label, the best few."""
    side = next((s for s, end in _SIDED.items() if joint.endswith(end)), "")
    found = []
    for label, name in names.items():
        best = max(_likeness(name, known, side) for known in _known_names()[joint])
        if best >= _NEAR:
            found.append((best, label))
    return sorted(found, key=lambda item: (-item[0], item[1]))[:_MOST_CANDIDATES]


def _likeness(name: str, known: str, side: str) -> float:
    """How alike a label and a word without a side are, 0 to 1; 0 if it is of another side."""
    own_side, rest = sided(name)
    if own_side != side:
        rest = loose(name)
        # LKNE and RKNE tell their side by their first letter, and only that
        if own_side or rest[:1] != side[:1]:
            return 0.0
        rest = rest[len(side[:1]) :]
    word = loose(known)
    return 1.0 if rest == word else 0.99 * SequenceMatcher(None, rest, word).ratio()


@cache
def _known_names() -> dict[str, tuple[str, ...]]:
    """Words for each joint, without a side."""
    words = load_preset("names", "markers")
    names = {}
    for joint in Skeleton.preset("kinect20").joints:
        base = joint
        for end in _SIDED.values():
            base = base.removesuffix(end)
        names[joint] = (base, *words[base])
    return names


def _with_partner(label: str, labels: Sequence[str]) -> list[str]:
    """A lateral marker with the medial one that is named like it, if there is one."""
    for one, other in _PARTNERS:
        for old, new in ((one, other), (other, one)):
            pattern = re.compile(re.escape(old), re.IGNORECASE)
            partner = pattern.sub(new, label, count=1)
            found = next(
                (lb for lb in labels if lb.lower() == partner.lower() != label.lower()), ""
            )
            if found:
                return [label, found]
    return [label]


def _placed(take: Take, draft: Draft) -> dict[str, FloatArray]:
    """The drafted joints that the take shows, (time, 3) each."""
    rules = MarkerSet("draft", dict(draft.joints), virtual=draft.virtual)
    index = LabelIndex(take.labels, "", {label: i for i, label in enumerate(take.labels)})
    made = with_centres(take, index, rules, None)
    at = {}
    for joint, labels in draft.joints.items():
        columns = [made.take.labels.index(lb) for lb in labels if lb in made.take.labels]
        if len(columns) == len(labels):
            weights = draft.weights.get(joint, (1 / len(labels),) * len(labels))
            place = np.einsum("tpi,p->ti", made.take.position_m[:, columns], np.array(weights))
            if np.isfinite(place).any():
                at[joint] = place
    return at


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _list(labels: Sequence[str]) -> str:
    return f"[{', '.join(_quoted(label) for label in labels)}]"


def _virtual(virtual: Virtual) -> str:
    parts = [f"kind = {_quoted(virtual.kind)}"]
    for role, labels in virtual.markers.items():
        parts.append(f"{role} = {_quoted(labels[0]) if len(labels) == 1 else _list(labels)}")
    if virtual.segment:
        parts.append(f"segment = {_list(virtual.segment)}")
    for key, value in (virtual.options or {}).items():
        parts.append(f"{key} = {_quoted(value) if isinstance(value, str) else f'{value:g}'}")
    return "{ " + ", ".join(parts) + " }"
