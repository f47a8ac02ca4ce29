"""The three readings of "all bones keep their lengths" (formulation.md section 2)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Literal

from fitpipe.solve.formulations.aggregate import Aggregate
from fitpipe.solve.formulations.formulation import Formulation, Step
from fitpipe.solve.formulations.per_axis import PerAxis
from fitpipe.solve.formulations.per_bone import PerBone

Curvature = Literal["exact", "none"]

FORMULATIONS: Mapping[str, Callable[[Curvature], Formulation]] = {
    "per_bone": PerBone,
    "aggregate": Aggregate,
    "per_axis": PerAxis,
}

__all__ = ["FORMULATIONS", "Aggregate", "Curvature", "Formulation", "PerAxis", "PerBone", "Step"]
