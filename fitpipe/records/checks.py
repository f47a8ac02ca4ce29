"""Collects every fault of a record so that they are raised together."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fitpipe.arrays import FloatArray
from fitpipe.errors import RecordError


class Faults:
    """Gathers faults while a record is checked; ``raise_if_any`` ends the check."""

    def __init__(self, record: str) -> None:
        self._record = record
        self._found: list[str] = []

    def unless(self, holds: bool, fault: str) -> bool:
        """Note ``fault`` unless the condition holds; returns the condition."""
        if not holds:
            self._found.append(fault)
        return bool(holds)

    def shape(self, name: str, array: FloatArray, expected: tuple[int | None, ...]) -> bool:
        """Note a wrong shape; ``None`` in ``expected`` leaves that axis free."""
        fits = array.ndim == len(expected) and all(
            want is None or have == want for have, want in zip(array.shape, expected, strict=True)
        )
        wanted = "(" + ", ".join("any" if n is None else str(n) for n in expected) + ")"
        return self.unless(fits, f"{name} has shape {array.shape}, expected {wanted}")

    def unique(self, name: str, values: Sequence[str]) -> bool:
        """Note names that occur more than once."""
        twice = sorted({value for value in values if values.count(value) > 1})
        return self.unless(not twice, f"{name} holds {', '.join(map(repr, twice))} more than once")

    def finite(self, name: str, array: FloatArray) -> bool:
        """Note values that are not finite."""
        n_bad = int(np.size(array) - np.count_nonzero(np.isfinite(array)))
        return self.unless(n_bad == 0, f"{name} has {n_bad} values that are not finite")

    def raise_if_any(self) -> None:
        """Raise one RecordError with all faults, if there are any."""
        if len(self._found) == 1:
            raise RecordError(f"{self._record}: {self._found[0]}")
        if self._found:
            raise RecordError(f"{self._record} has {len(self._found)} faults", faults=self._found)
