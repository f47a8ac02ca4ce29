"""One row of the file format, and the variable it becomes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from fitpipe.records import Fit

Kind = Literal["float64", "float32", "int64", "uint8", "text", "json"]


@dataclass(frozen=True, slots=True)
class Variable:
    """One variable as it stands in the file.

    Parameters
    ----------
    name : str
        With its group in front: ``"calibration/rms"``.
    dims : tuple of str
    values : ndarray
        Text as an array of Python strings.
    attributes : mapping
        ``units``, ``long_name`` and whatever else explains the numbers.
    """

    name: str
    dims: tuple[str, ...]
    values: npt.NDArray[Any]
    attributes: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Entry:
    """One row of the schema: a variable, what it means, and where a Fit keeps it.

    Parameters
    ----------
    name : str
        With its group in front.
    dims : tuple of str
    kind : {"float64", "float32", "int64", "uint8", "text", "json"}
    units, long_name, comment : str
    value : callable
        Takes the Fit, returns the values; None where this fit has none.
    flags : type of IntEnum, optional
        What the numbers stand for.
    """

    name: str
    dims: tuple[str, ...]
    kind: Kind
    units: str
    long_name: str
    value: Callable[[Fit], Any]
    comment: str = ""
    flags: type[IntEnum] | None = None

    def attributes(self) -> dict[str, Any]:
        """Attributes of the variable, in the order they are written."""
        attributes: dict[str, Any] = {"units": self.units, "long_name": self.long_name}
        if self.comment:
            attributes["comment"] = self.comment
        if self.kind in ("text", "json"):
            attributes["format"] = self.kind
        if self.flags is not None:
            attributes["flag_values"] = np.array([int(flag) for flag in self.flags], np.uint8)
            attributes["flag_meanings"] = " ".join(flag.name.lower() for flag in self.flags)
        return attributes

    def variable(self, fit: Fit) -> Variable | None:
        """The variable with the values of ``fit``; None where the fit has none."""
        value = self.value(fit)
        if value is None:
            return None
        dtype = object if self.kind in ("text", "json") else np.dtype(self.kind)
        return Variable(self.name, self.dims, np.asarray(value, dtype), self.attributes())


def group_of(name: str) -> str:
    """Group of a variable; empty for the root."""
    return name.rpartition("/")[0]
