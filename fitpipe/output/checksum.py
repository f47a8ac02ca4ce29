"""The checksum by which a damaged file is noticed."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from typing import Any, Final

import numpy as np

from fitpipe.output.schema import Variable

# attributes that decide what numbers mean; the wording of the others is no part of the fit
_COVERED_OF_VARIABLE: Final = ("units", "format")
_COVERED_OF_ROOT: Final = ("schema", "take")


def checksum(variables: Iterable[Variable], root: Mapping[str, Any]) -> str:
    """SHA-256 over the variables in the order of their names, and the root's attributes.

    Of each variable it covers name, type, shape, values (numbers as little-endian bytes, text as
    UTF-8) and the attributes ``units`` and ``format``; of the root ``schema`` and ``take``.
    Every text goes in with its length in front, so that no two contents read alike.

    Returns
    -------
    str
        ``"sha256:"`` and 64 hexadecimal digits.
    """
    digest = hashlib.sha256()

    def add(text: str) -> None:
        data = text.encode()
        digest.update(len(data).to_bytes(8, "little"))
        digest.update(data)

    for name in _COVERED_OF_ROOT:
        add(str(root.get(name, "")))
    for variable in sorted(variables, key=lambda v: v.name):
        values = variable.values
        add(variable.name)
        add("text" if values.dtype == object else values.dtype.name)
        add(str(values.shape))
        for name in _COVERED_OF_VARIABLE:
            add(str(variable.attributes.get(name, "")))
        if values.dtype == object:
            for text in values.ravel():
                add(text)
        else:
            little = np.ascontiguousarray(values, values.dtype.newbyteorder("<"))
            digest.update(little.data)
    return f"sha256:{digest.hexdigest()}"
