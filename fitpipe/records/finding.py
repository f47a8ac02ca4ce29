"""One thing worth telling about an input or a result, and what was done about it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

Severity = Literal["note", "warning"]

_MOST_NAMES = 5  # that a finding put together lists


@dataclass(frozen=True, slots=True)
class Finding:
    """Something odd that was met on the way, kept with the data it concerns.

    Parameters
    ----------
    what : str
        The fact, with its place and count: ``"30 samples have a negative residual"``.
    done : str
        What fitpipe did about it; empty if nothing had to be done.
    severity : {"note", "warning"}
        ``"warning"`` if it may change the numbers in a way the user would not expect.
    otherwise : str
        How to have it done differently, if there is a way.
    """

    what: str
    done: str = ""
    severity: Severity = "warning"
    otherwise: str = ""

    def __str__(self) -> str:
        text = f"{self.what}: {self.done}" if self.done else self.what
        return f"{text} ({self.otherwise})" if self.otherwise else text


def added_up(parts: Iterable[Sequence[Finding]]) -> list[Finding]:
    """Findings of consecutive parts of one take as those of the whole.

    Those that differ only in the count they begin with, and in what a colon leads in (names,
    places), become one: counts are summed, and of the names the first few are told.
    """
    alike: dict[Finding, list[str]] = {}
    for finding in (finding for part in parts for finding in part):
        kind = _without_count(finding.what).partition(": ")[0]
        alike.setdefault(replace(finding, what=kind), []).append(finding.what)
    return [replace(kind, what=_summed(kind.what, texts)) for kind, texts in alike.items()]


def _summed(kind: str, texts: Sequence[str]) -> str:
    counts = [re.match(r"\d+(?= )", text) for text in texts]
    total = f"{sum(int(n[0]) for n in counts if n)} " if counts[0] else ""
    lists = [_without_count(text).partition(": ")[2] for text in texts]
    # commas within parentheses belong to one place
    names = [name for told in lists for name in re.split(r", (?![^(]*\))", told) if name]
    named = [name for name in dict.fromkeys(names) if name != "..."]
    if not named:
        return f"{total}{kind}"
    is_more = "..." in names or len(named) > _MOST_NAMES
    return f"{total}{kind}: {', '.join(named[:_MOST_NAMES])}{', ...' if is_more else ''}"


def _without_count(text: str) -> str:
    return re.sub(r"^\d+ ", "", text)
