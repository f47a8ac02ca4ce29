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
from typing import Any, BinaryIO, Final

import numpy as np
import numpy.typing as npt

from fitpipe.output.entry import Variable

# attributes that decide what numbers mean; the wording of the others is no part of the fit
_COVERED_OF_VARIABLE: Final = ("units", "format")
_COVERED_OF_ROOT: Final = ("schema", "take")

_SEAL_MARK: Final = b"\nfitpipe seal sha256:"
_SEAL_BYTES: Final = len(_SEAL_MARK) + hashlib.sha256().digest_size * 2
_BLOCK_BYTES: Final = 1 << 20


class VariableSum:
    """SHA-256 over one variable, whose rows may be added part by part.

    It covers name, type, shape, values (numbers as little-endian bytes, text as UTF-8) and the
    attributes ``units`` and ``format``. Every text goes in with its length in front, so that no two
    contents read alike.

    Parameters
    ----------
    name : str
        With its group in front.
    dtype : dtype
        object for text.
    shape : tuple of int
        Of the whole variable.
    attributes : mapping
    """

    def __init__(
        self,
        name: str,
        dtype: np.dtype[Any],
        shape: tuple[int, ...],
        attributes: Mapping[str, Any],
    ) -> None:
        self._digest = hashlib.sha256()
        for text in (name, "text" if dtype.hasobject else dtype.name, str(shape)):
            _add_text(self._digest, text)
        for attribute in _COVERED_OF_VARIABLE:
            _add_text(self._digest, str(attributes.get(attribute, "")))

    @classmethod
    def of(cls, variable: Variable) -> VariableSum:
        """Of a whole variable."""
        values = variable.values
        own = cls(variable.name, values.dtype, values.shape, variable.attributes)
        own.add(values)
        return own

    def add(self, values: npt.NDArray[Any]) -> None:
        """Go on with the next values."""
        if values.dtype == object:
            for text in values.ravel():
                _add_text(self._digest, text)
        else:
            little = np.ascontiguousarray(values, values.dtype.newbyteorder("<"))
            self._digest.update(little.data)

    def digest(self) -> bytes:
        """The sum."""
        return self._digest.digest()


def checksum(variables: Iterable[Variable], root: Mapping[str, Any]) -> str:
    """SHA-256 over the sums of the variables, and the root's attributes ``schema`` and ``take``.

    Returns
    -------
    str
        ``"sha256:"`` and 64 hexadecimal digits.
    """
    return total_sum({v.name: VariableSum.of(v) for v in variables}, root)


def total_sum(sums: Mapping[str, VariableSum], root: Mapping[str, Any]) -> str:
    """The checksum of a file from the sums of its variables, in the order of their names."""
    digest = hashlib.sha256()
    for name in _COVERED_OF_ROOT:
        _add_text(digest, str(root.get(name, "")))
    for name in sorted(sums):
        digest.update(sums[name].digest())
    return f"sha256:{digest.hexdigest()}"


def _add_text(digest: hashlib._Hash, text: str) -> None:
    data = text.encode()
    digest.update(len(data).to_bytes(8, "little"))
    digest.update(data)


def seal(file: BinaryIO) -> None:
    """Write the sum of a file's bytes behind them."""
    file.write(_SEAL_MARK + _sum_of(file, file.seek(0, os.SEEK_END)).encode())


def breaks_seal(path: Path) -> bool:
    """Whether a file carries a seal that its bytes do not match."""
    claimed, found = _sums(path)
    return claimed is not None and claimed != found


def sealed_sha256(path: Path) -> str | None:
    """SHA-256 of the bytes under a file's seal; None if it has no seal or does not match it."""
    claimed, found = _sums(path)
    return found if claimed == found else None


def is_sealed(file: BinaryIO) -> bool:
    """Whether a file ends with a seal, right or wrong; its position is lost."""
    return _end_of(file)[1].startswith(_SEAL_MARK)


def _end_of(file: BinaryIO) -> tuple[int, bytes]:
    """Where the seal of a file would begin, and its bytes from there."""
    left = max(0, file.seek(0, os.SEEK_END) - _SEAL_BYTES)
    file.seek(left)
    return left, file.read()


def _sums(path: Path) -> tuple[str | None, str]:
    """The sum that a file's seal claims, None without a seal; and that of the bytes before it."""
    with path.open("rb") as file:
        left, end = _end_of(file)
        if not end.startswith(_SEAL_MARK):
            return None, ""
        return end[len(_SEAL_MARK) :].decode("ascii", "replace"), _sum_of(file, left)


def _sum_of(file: BinaryIO, n_bytes: int) -> str:
    """SHA-256 of the first bytes of a file, which is left behind them."""
    file.seek(0)
    digest = hashlib.sha256()
    while n_bytes and (block := file.read(min(n_bytes, _BLOCK_BYTES))):
        digest.update(block)
        n_bytes -= len(block)
    return digest.hexdigest()
