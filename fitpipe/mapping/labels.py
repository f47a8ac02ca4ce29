"""Finds labels among those of a take, whatever subject prefix and spelling they carry."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from fitpipe.errors import MappingError, suggest
from fitpipe.mapping.markerset import MarkerSet
from fitpipe.mapping.sides import sided

_NAMES = 1 << 14
_UNLABELLED = "*"  # Vicon names trajectories without a marker *1, *2, ...


@lru_cache(_NAMES)  # every take of a batch asks about the same names
def loose(name: str) -> str:
    """The letters and digits of a name in one case: what is left when spelling is ignored."""
    return "".join(c for c in name.casefold() if c.isalnum())


@dataclass(frozen=True, eq=False)
class LabelIndex:
    """The labels of one subject in a take.

    Parameters
    ----------
    labels : tuple of str
        Every label of the take, in its order.
    prefix : str
        What stands before each name of this subject: ``"Subject:"``; may be empty.
    columns : mapping of str to int
        Index into ``labels`` of each name, the prefix removed.
    """

    labels: tuple[str, ...]
    prefix: str
    columns: Mapping[str, int]
    _by_loose: Mapping[str, tuple[int, ...]] = field(init=False, repr=False)
    _by_side: Mapping[tuple[str, str], tuple[int, ...]] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        by_loose: dict[str, tuple[int, ...]] = {}
        by_side: dict[tuple[str, str], tuple[int, ...]] = {}
        for name, column in self.columns.items():
            key = loose(name)
            by_loose[key] = (*by_loose.get(key, ()), column)
            side = sided(name)
            if side[0]:
                by_side[side] = (*by_side.get(side, ()), column)
        by_loose.pop("", None)
        object.__setattr__(self, "_by_side", by_side)
        object.__setattr__(self, "_by_loose", by_loose)

    def find(self, name: str, spellings: Sequence[str] = ()) -> tuple[int, ...]:
        """Columns that answer to a name: one, none, or several if the spelling leaves it open.

        Exact spellings win over loose ones (``"hip_center"`` for ``"HipCenter"``), and these over
        other places of left and right (``"L_Knee"`` for ``"KneeLeft"``). A name with a colon is
        looked up as a whole label.
        """
        if ":" in name:
            return (self.labels.index(name),) if name in self.labels else ()
        for spelling in (name, *spellings):
            if spelling in self.columns:
                return (self.columns[spelling],)
        hits = (self._by_loose.get(loose(spelling), ()) for spelling in (name, *spellings))
        found = next((columns for columns in hits if columns), ())
        if found:
            return found
        sides = (self._by_side.get(sided(spelling), ()) for spelling in (name, *spellings))
        return next((columns for columns in sides if columns), ())

    def count(self, markerset: MarkerSet) -> int:
        """How many of the marker set's labels this subject has."""
        alias = markerset.alias
        names = [name for name in markerset.labels if ":" not in name]
        return sum(bool(self.find(name, alias.get(name, ()))) for name in names)


def subjects(labels: Sequence[str]) -> list[LabelIndex]:
    """One index per prefix that ends in a colon, and one for the labels without a prefix."""
    groups: dict[str, dict[str, int]] = {}
    for column, label in enumerate(labels):
        at = label.rfind(":") + 1
        groups.setdefault(label[:at], {})[label[at:]] = column
    return [LabelIndex(tuple(labels), prefix, names) for prefix, names in groups.items()]


def choose_subject(
    labels: Sequence[str], markerset: MarkerSet, *, subject: str | None, take: str
) -> LabelIndex:
    """The index of the one subject whose labels a marker set speaks of.

    Parameters
    ----------
    labels : sequence of str
        The take's labels.
    markerset : MarkerSet
    subject : str or None
        The subject to take; None if the labels are to tell.
    take : str
        The take's name, for messages.

    Raises
    ------
    MappingError
        Several subjects have labels of the marker set, or the one asked for is not there.
    """
    groups = subjects(labels)
    if subject is not None:
        return _named_subject(groups, subject, take)
    hits = [(group, group.count(markerset)) for group in groups]
    hits = [(group, n) for group, n in hits if n]
    if len(hits) > 1:
        raise MappingError(
            f"take {take!r} has markers of several subjects, expected one",
            faults=[
                f"{_name(group)}: {n} of the {len(markerset.labels)} labels of marker set "
                f"{markerset.name!r}"
                for group, n in hits
            ],
            hint=f"say which one, for instance subject={_name(hits[0][0])}",
        )
    if hits:
        return hits[0][0]
    shared = max(affixed(labels), key=lambda group: group.count(markerset), default=None)
    if shared is not None and shared.count(markerset):
        return shared
    return LabelIndex(tuple(labels), "", {label: i for i, label in enumerate(labels)})


def best_subject(labels: Sequence[str], markerset: MarkerSet) -> LabelIndex:
    """The index of the subject that has most of a marker set's labels."""
    groups = [*subjects(labels), *affixed(labels)]
    return max(groups, key=lambda group: group.count(markerset))


def _named_subject(groups: Sequence[LabelIndex], subject: str, take: str) -> LabelIndex:
    wanted = subject.rstrip(":")
    for group in groups:
        if group.prefix.removesuffix(":") == wanted:
            return group
    labels = groups[0].labels if groups else ()
    start = f"{wanted}_"
    columns = {lb.removeprefix(start): i for i, lb in enumerate(labels) if lb.startswith(start)}
    if columns:
        return LabelIndex(labels, start, columns)
    known = [group.prefix.removesuffix(":") for group in groups if group.prefix]
    raise MappingError(
        f"take {take!r} has no subject {subject!r}: no label starts with '{wanted}:' or '{start}'",
        hint=suggest(subject, known) if known else "no label has a prefix that ends in a colon",
    )


def affixed(labels: Sequence[str]) -> list[LabelIndex]:
    """One index per prefix or suffix that every label shares."""
    return [*_underscored(labels), *_suffixed(labels)]


def _suffixed(labels: Sequence[str]) -> list[LabelIndex]:
    """One index per ending, after a separator, that every label shares (``_joint``, ``.pos``)."""
    named = {label: i for i, label in enumerate(labels) if not label.startswith(_UNLABELLED)}
    if len(named) < 2:
        return []
    first = next(iter(named))
    ends = [first[i:] for i, c in enumerate(first) if c in "_.- " and i]
    return [
        LabelIndex(tuple(labels), "", {lb.removesuffix(end): i for lb, i in named.items()})
        for end in ends
        if all(label.endswith(end) and label != end for label in named)
    ]


def _underscored(labels: Sequence[str]) -> list[LabelIndex]:
    """One index per prefix, ending in an underscore, that every label shares; longest first."""
    named = {label: i for i, label in enumerate(labels) if not label.startswith(_UNLABELLED)}
    if len(named) < 2:
        return []
    first = next(iter(named))
    starts = [first[: i + 1] for i, c in enumerate(first) if c == "_"]
    return [
        LabelIndex(tuple(labels), start, {lb.removeprefix(start): i for lb, i in named.items()})
        for start in reversed(starts)
        if all(label.startswith(start) for label in named)
    ]


def _name(group: LabelIndex) -> str:
    return repr(group.prefix.removesuffix(":"))
