"""What a fit comes to, counted block by block of its frames."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from fitpipe.records.finding import Finding
from fitpipe.records.fit import Fit


@dataclass(eq=False)
class FitSummary:
    """Counts and sums over the frames of a fit.

    Parameters
    ----------
    name : str
        The take.
    sources : tuple of str
    n_frames, n_fitted, n_converged, n_certified : int
        Frames in all, and how many hold a skeleton, ended at an optimum, are proven the global one.
    worst_bone_m : float, metres
        Largest deviation of a bone from its length; NaN without data.
    provenance : mapping
        As the file holds it.
    fit_s : float, seconds
        Spent on fitting, what was read meanwhile included.
    log : tuple of Finding
    """

    name: str
    sources: tuple[str, ...]
    n_frames: int = 0
    n_fitted: int = 0
    n_converged: int = 0
    n_certified: int = 0
    worst_bone_m: float = float("nan")
    provenance: Mapping[str, Any] = field(default_factory=dict)
    fit_s: float = float("nan")
    log: tuple[Finding, ...] = ()
    _objective: float = 0.0
    _objective_start: float = 0.0
    _weight: float = 0.0

    @classmethod
    def of(cls, fit: Fit) -> FitSummary:
        """Of a whole fit."""
        summary = cls(fit.name, fit.sources, provenance=fit.provenance, log=fit.log)
        summary.add(fit)
        return summary

    def add(self, block: Fit) -> None:
        """Count the next frames."""
        self.n_frames += block.n_frames
        self.n_fitted += int(block.is_fitted.sum())
        self.n_converged += int(block.is_converged.sum())
        self.n_certified += int(block.is_certified.sum())
        self.worst_bone_m = float(np.fmax(self.worst_bone_m, block.worst_bone_m))
        self._objective += float(np.nansum(block.objective))
        self._objective_start += float(np.nansum(block.objective_start))
        self._weight += float(block.weight.sum())

    @property
    def rms_m(self) -> float:
        """Weighted rms distance between fit and observations, metres."""
        return self._rms(self._objective)

    @property
    def rms_start_m(self) -> float:
        """The same for the start: exact bones that point along the observed directions."""
        return self._rms(self._objective_start)

    def _rms(self, objective: float) -> float:
        return float(np.sqrt(objective / self._weight)) if self._weight > 0 else float("nan")
