"""One thing worth telling about an input or a result, and what was done about it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Severity = Literal["note", "warning"]


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
