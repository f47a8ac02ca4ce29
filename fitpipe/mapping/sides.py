"""Left and right in names, however they are spelt."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

_WORDS = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+")
_SIDES: Final = {
    "l": "left", "left": "left", "lft": "left", "lt": "left", "lx": "left",
    "r": "right", "right": "right", "rgt": "right", "rt": "right", "rx": "right",
}  # fmt: skip


@lru_cache(1 << 14)  # every take of a batch asks about the same names
def sided(name: str) -> tuple[str, str]:
    """Side (``"left"``, ``"right"`` or none) and the rest of a name, in lower case.

    ``KneeLeft``, ``LeftKnee``, ``L_Knee``, ``LKnee``, ``knee.l`` and ``Lx Knee`` are all
    ``("left", "knee")``; ``LKNE`` is one word and has no side.
    """
    words = [word.lower() for word in _WORDS.findall(name)]
    sides = [word for word in words if word in _SIDES]
    if len(sides) != 1 or len(words) < 2:
        return "", "".join(words)
    return _SIDES[sides[0]], "".join(word for word in words if word not in _SIDES)
