"""The two sums by which a damaged file is noticed.

The checksum is over what the file says; it stays right when other tools copy, repack or extend
the file. The seal is over the bytes; it is read before HDF5 sees the file, because some damaged
bytes keep HDF5 busy for ever. It stands behind the end of the HDF5 data, where HDF5 does not look,
and vanishes when another tool writes into the file.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

import numpy as np

from fitpipe.output.entry import Variable

# attributes that decide what numbers mean; the wording of the others is no part of the fit
_COVERED_OF_VARIABLE: Final = ("units", "format")
_COVERED_OF_ROOT: Final = ("schema", "take")

_SEAL_MARK: Final = b"\nfitpipe seal sha256:"
_SEAL_BYTES: Final = len(_SEAL_MARK) + hashlib.sha256().digest_size * 2
_BLOCK_BYTES: Final = 1 << 20


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


def seal(image: bytes) -> bytes:
    """What goes behind the bytes of a file."""
    return _SEAL_MARK + hashlib.sha256(image).hexdigest().encode()


def breaks_seal(path: Path) -> bool:
    """Whether a file carries a seal that its bytes do not match."""
    claimed, found = _sums(path)
    return claimed is not None and claimed != found


def sealed_sha256(path: Path) -> str | None:
    """SHA-256 of the bytes under a file's seal; None if it has no seal or does not match it."""
    claimed, found = _sums(path)
    return found if claimed == found else None


def _sums(path: Path) -> tuple[str | None, str]:
    """The sum that a file's seal claims, None without a seal; and that of the bytes before it."""
    with path.open("rb") as file:
        left = max(0, file.seek(0, os.SEEK_END) - _SEAL_BYTES)
        file.seek(left)
        end = file.read()
        if not end.startswith(_SEAL_MARK):
            return None, ""
        file.seek(0)
        digest = hashlib.sha256()
        while left and (block := file.read(min(left, _BLOCK_BYTES))):
            digest.update(block)
            left -= len(block)
    return end[len(_SEAL_MARK) :].decode("ascii", "replace"), digest.hexdigest()
