"""Text of files on a terminal: nothing in a name or label may steer it."""

from __future__ import annotations


def printable(text: str, *, keep: str = "\n") -> str:
    """The text with an escape for every character that cannot be printed, but those of ``keep``."""
    return "".join(c if c.isprintable() or c in keep else ascii(c)[1:-1] for c in text)
