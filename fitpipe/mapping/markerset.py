"""A marker set: how each joint of a skeleton is made from a take's labels."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import InitVar, dataclass, field
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeAlias

from fitpipe.config.presets import load_preset
from fitpipe.errors import ConfigError, MappingError, suggest
from fitpipe.mapping.virtual import Virtual, read_virtual

JointSpec: TypeAlias = "str | Recipe | Mapping[str, float] | Sequence[Any] | None"

_KEYS = ("name", "title", "skeleton", "joint", "alias", "optional", "virtual")


@dataclass(frozen=True, slots=True)
class Recipe:
    """A joint as a weighted mean of labels.

    Parameters
    ----------
    labels : tuple of str
    weights : tuple of float
        One per label; they sum to one. A negative weight goes past the other labels.
    """

    labels: tuple[str, ...]
    weights: tuple[float, ...]


@dataclass(frozen=True)
class MarkerSet:
    """How each joint of a skeleton is made from labels.

    Parameters
    ----------
    name : str
    joints : mapping of str to joint specification
        What a joint is made from: a label; a list of labels (their plain mean); a mapping of
        label to weight (weighted mean; weights are divided by their sum); a list of these
        (alternatives: the first one whose labels the take has is used for the whole take);
        None or an empty list (the joint is absent). What it was made from is kept in ``recipes``.
    skeleton : str
        Name of the skeleton whose joints these are.
    alias : mapping of str to sequence of str
        Other spellings of a label.
    optional : sequence of str
        Joints that a take may lack the labels of.
    title : str
        One line for people.
    virtual : mapping of str to Virtual or table
        Points made from labels before the joints are, such as the centres of joints; recipes use
        them like labels.

    Attributes
    ----------
    recipes : mapping of str to tuple of Recipe
        The alternatives of each joint that is not absent, in the order they are tried.

    Raises
    ------
    MappingError
        Lists every fault at once.
    """

    name: str
    joints: InitVar[Mapping[str, JointSpec]]
    skeleton: str = "kinect20"
    alias: Mapping[str, Sequence[str]] = field(default_factory=dict)
    optional: Sequence[str] = ()
    title: str = ""
    virtual: Mapping[str, Any] = field(default_factory=dict)
    recipes: Mapping[str, tuple[Recipe, ...]] = field(init=False)

    def __post_init__(self, joints: Mapping[str, JointSpec]) -> None:
        faults: list[str] = []
        recipes = {str(joint): _recipes(str(joint), spec, faults) for joint, spec in joints.items()}
        recipes = {joint: made for joint, made in recipes.items() if made}
        if not recipes and not faults:
            faults.append("no joint is made from any label")
        faults += _coinciding(recipes)
        virtual = read_virtual(self.virtual, faults)
        alias = _aliases(self.alias, faults)
        faults += _alias_faults(alias, recipes, virtual)
        optional: tuple[str, ...] = ()
        if isinstance(self.optional, str) or not isinstance(self.optional, Sequence):
            faults.append(f"optional is {self.optional!r}, expected a list of joints")
        else:
            optional = tuple(str(joint) for joint in self.optional)
        faults += [
            f"optional joint {joint!r} is not among the joints; {suggest(joint, joints)}"
            for joint in optional
            if joint not in joints
        ]
        if faults:
            raise MappingError(f"marker set {self.name!r} cannot be used", faults=faults)
        for key, value in (
            ("recipes", MappingProxyType(recipes)),
            ("alias", MappingProxyType(alias)),
            ("optional", optional),
            ("virtual", MappingProxyType(virtual)),
        ):
            object.__setattr__(self, key, value)

    def __reduce__(self) -> tuple[object, ...]:
        # read-only views of dicts do not pickle, and worker processes get marker sets that way
        fields = (self.name, dict(self.recipes), self.skeleton, dict(self.alias))
        return (MarkerSet, (*fields, self.optional, self.title, dict(self.virtual)))

    @classmethod
    def preset(cls, name: str | Path) -> MarkerSet:
        """Marker set from a preset's name (``"pig39"``) or the path of a TOML file.

        Raises
        ------
        ConfigError
            No such preset, or the file cannot be read as TOML.
        MappingError
            The file does not describe a marker set; lists every fault.
        """
        table = load_preset("markersets", name)
        try:
            return cls.from_table(table)
        except MappingError as error:
            raise MappingError(
                error.problem, path=name, place=error.place, hint=error.hint, faults=error.faults
            ) from None

    @classmethod
    def from_table(cls, table: Mapping[str, Any]) -> MarkerSet:
        """Marker set from the tables of a preset file (see fitpipe/presets/markersets).

        Raises
        ------
        MappingError
            Lists every fault at once.
        """
        name = table.get("name", "unnamed")
        faults = [
            f"unknown key {key!r}; {suggest(key, _KEYS)}" for key in table if key not in _KEYS
        ]
        faults += [
            f"{key} is {table[key]!r}, expected text"
            for key in ("name", "title", "skeleton")
            if not isinstance(table.get(key, ""), str)
        ]
        joints = table.get("joint")
        if not isinstance(joints, Mapping):
            faults.append("has no [joint] table that says what each joint is made from")
            raise MappingError(f"marker set {name!r} cannot be used", faults=faults)
        try:
            made = cls(
                name=str(name),
                joints=joints,
                skeleton=str(table.get("skeleton", "kinect20")),
                alias=table.get("alias", {}),
                optional=table.get("optional", ()),
                title=str(table.get("title", "")),
                virtual=table.get("virtual", {}),
            )
        except MappingError as error:
            raise MappingError(error.problem, faults=[*faults, *error.faults]) from None
        if faults:
            raise MappingError(f"marker set {name!r} cannot be used", faults=faults)
        return made

    @classmethod
    def make(cls, given: MarkerSet | Mapping[str, Any] | str | Path) -> MarkerSet:
        """Marker set from any form a user may give.

        Parameters
        ----------
        given : MarkerSet, str, Path or mapping
            A preset's name, the path of a TOML file, the tables of such a file (a mapping with
            a ``"joint"`` table) or plainly joint -> specification.

        Raises
        ------
        ConfigError, MappingError
            As in ``preset`` and ``from_table``.
        """
        if isinstance(given, MarkerSet):
            return given
        if isinstance(given, str | Path):
            return cls.preset(given)
        if not isinstance(given, Mapping):
            raise ConfigError(
                f"markerset is {given!r}, expected a preset's name, the path of a TOML file or a "
                "mapping of joints to labels"
            )
        if isinstance(given.get("joint"), Mapping):
            return cls.from_table(given)
        return cls(name="given", joints=given)

    @classmethod
    def own_names(cls, joints: Sequence[str], *, skeleton: str) -> MarkerSet:
        """The marker set in which every joint is the label of its own name, and may be lacking."""
        return cls("joint names", {j: j for j in joints}, skeleton=skeleton, optional=tuple(joints))

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """Every label that some joint can be made from, in order of first use.

        Virtual points are not among them, but what they are made from is.
        """
        return _labels(self.recipes, self.virtual)


def _labels(
    recipes: Mapping[str, tuple[Recipe, ...]], virtual: Mapping[str, Virtual]
) -> tuple[str, ...]:
    """Labels that recipes use, and those behind the virtual points."""
    named = [label for made in recipes.values() for recipe in made for label in recipe.labels]
    behind = [label for point in virtual.values() for label in (*point.inputs, *point.segment)]
    return tuple(dict.fromkeys(label for label in (*named, *behind) if label not in virtual))


def _recipes(joint: str, spec: JointSpec, faults: list[str]) -> tuple[Recipe, ...]:
    """The alternatives that a joint's specification names."""
    alternatives: Sequence[Any] = () if spec is None else (spec,)
    if isinstance(spec, Sequence) and not isinstance(spec, str):
        is_mean = bool(spec) and all(isinstance(part, str) for part in spec)
        alternatives = (spec,) if is_mean else spec
    made = [_recipe(joint, part, faults) for part in alternatives]
    return tuple(recipe for recipe in made if recipe is not None)


def _recipe(joint: str, spec: Any, faults: list[str]) -> Recipe | None:
    """One weighted mean; faults are noted and None comes back."""
    if isinstance(spec, Recipe):
        if len(spec.labels) != len(spec.weights):
            faults.append(f"{joint}: {spec!r}, expected one weight per label")
            return None
        spec = dict(zip(spec.labels, spec.weights, strict=True))
    if isinstance(spec, str):
        spec = [spec]
    if isinstance(spec, Sequence):
        twice = sorted({str(label) for label in spec if spec.count(label) > 1})
        if twice:
            faults.append(
                f"{joint}: {', '.join(map(repr, twice))} more than once; give weights instead"
            )
            return None
        spec = dict.fromkeys(spec, 1.0) if all(isinstance(part, str) for part in spec) else spec
    if not isinstance(spec, Mapping):
        faults.append(f"{joint}: {spec!r}, expected a label, a list of labels or label = weight")
        return None
    bad = [repr(label) for label in spec if not (isinstance(label, str) and label.strip())]
    bad += [
        f"{label!r} = {weight!r}"
        for label, weight in spec.items()
        if isinstance(weight, bool)
        or not isinstance(weight, int | float)
        or not math.isfinite(weight)
        or weight == 0
    ]
    if bad or not spec:
        what = ", ".join(bad) or "an empty table"
        faults.append(f"{joint}: {what}, expected labels with finite weights other than zero")
        return None
    total = math.fsum(spec.values())
    if total <= 0:
        faults.append(f"{joint}: weights sum to {total:g}, expected a sum above zero")
        return None
    if math.isclose(total, 1.0, rel_tol=1e-12):
        total = 1.0  # as written; dividing would round the weights anew
    return Recipe(tuple(spec), tuple(float(weight) / total for weight in spec.values()))


def _coinciding(recipes: Mapping[str, tuple[Recipe, ...]]) -> list[str]:
    """Faults for joints that would always lie at one point, with a bone of no length."""
    first: dict[frozenset[tuple[str, float]], str] = {}
    faults = []
    for joint, alternatives in recipes.items():
        for recipe in alternatives:
            key = frozenset(zip(recipe.labels, recipe.weights, strict=True))
            other = first.setdefault(key, joint)
            if other != joint:
                faults.append(
                    f"{other} and {joint} are both made from {' + '.join(recipe.labels)} "
                    "and would coincide"
                )
    return faults


def _aliases(given: Any, faults: list[str]) -> dict[str, tuple[str, ...]]:
    """The alias table with a tuple of spellings per label."""
    if not isinstance(given, Mapping):
        faults.append(f"alias is {given!r}, expected a table: label = [other spellings]")
        return {}
    alias = {}
    for label, spellings in given.items():
        listed = isinstance(spellings, Sequence) and not isinstance(spellings, str)
        if listed and all(isinstance(spelling, str) and spelling for spelling in spellings):
            alias[str(label)] = tuple(spellings)
        else:
            faults.append(f"alias {label!r} is {spellings!r}, expected a list of spellings")
    return alias


def _alias_faults(
    alias: Mapping[str, tuple[str, ...]],
    recipes: Mapping[str, tuple[Recipe, ...]],
    virtual: Mapping[str, Virtual],
) -> list[str]:
    """Faults of aliases: for a label no joint uses, or one spelling for two labels."""
    used = _labels(recipes, virtual)
    faults = [
        f"alias {label!r} is for a label that no joint uses; {suggest(label, used)}"
        for label in alias
        if label not in used
    ]
    owner = {label: label for label in used}
    for label, spellings in alias.items():
        for spelling in spellings:
            other = owner.setdefault(spelling, label)
            if other != label or spelling == label:
                faults.append(f"alias {spelling!r} of {label!r} already means {other!r}")
    return faults
