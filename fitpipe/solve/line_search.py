"""How far to go along a step: the factor tau of every frame (formulation.md section 3)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import ClassVar, Protocol

import numpy as np

from fitpipe.arrays import FloatArray, IntArray

ARMIJO = 1e-4
SHORTEST_TAU = 1e-12
MOST_TRIALS = 200  # along one step when reversing; a Lagrangian may fall without end
SHRINK: Mapping[str, float] = {"halving": 0.5, "golden": (5.0**0.5 - 1.0) / 2.0}

Value = Callable[[FloatArray, IntArray], FloatArray]
"""What is to fall, at factors tau (row,) of the frames ``rows`` (row,)."""


class LineSearch(Protocol):
    """Finds tau for a batch of frames; knows neither frames nor formulations."""

    falls_lagrangian: ClassVar[bool]
    """What `search` is to be given: the Lagrangian J0 + sum of lambda c, or else the merit."""

    def search(
        self,
        value: Value,
        before: FloatArray,
        slope: FloatArray,
        *,
        slack: FloatArray,
        size_m: FloatArray,
        stop_m: float,
    ) -> FloatArray:
        """The factor of every frame; 0 where no trial is worth a move.

        Parameters
        ----------
        value : callable
            Given tau and rows, returns what is to fall.
        before, slope, slack : ndarray, shape (frame,)
            Value and derivative at tau = 0, and what the value may rise by through rounding.
        size_m : ndarray, shape (frame,), metres
            Largest move of a joint at tau = 1.
        stop_m : float
        """
        ...


@dataclass(frozen=True)
class Backtracking:
    """From tau = 1, shrink until the merit falls enough (Armijo)."""

    shrink: float
    falls_lagrangian: ClassVar[bool] = False

    def search(
        self,
        value: Value,
        before: FloatArray,
        slope: FloatArray,
        *,
        slack: FloatArray,
        size_m: FloatArray,
        stop_m: float,
    ) -> FloatArray:
        """See LineSearch; the sizes do not matter here."""
        del size_m, stop_m
        found = np.zeros_like(before)
        rows, tau = np.arange(len(before)), 1.0
        while len(rows) and tau > SHORTEST_TAU:
            allowed = before[rows] + slack[rows] + ARMIJO * tau * slope[rows]
            is_enough = value(np.full(len(rows), tau), rows) <= allowed
            found[rows[is_enough]] = tau
            rows, tau = rows[~is_enough], self.shrink * tau
        return found


@dataclass(frozen=True)
class Reversing:
    """The source page's search: repeat the same move while the Lagrangian falls.

    When it rises, shrink the move and flip its sign; stop when it is shorter than ``stop_m``. The
    lowest point on the way is taken. Multipliers change from step to step, so what falls along each
    step need not fall over all of them.
    """

    shrink: float
    falls_lagrangian: ClassVar[bool] = True

    def search(
        self,
        value: Value,
        before: FloatArray,
        slope: FloatArray,
        *,
        slack: FloatArray,
        size_m: FloatArray,
        stop_m: float,
    ) -> FloatArray:
        """See LineSearch; slope and slack do not matter here."""
        del slope, slack
        tau, last = np.zeros_like(before), before.copy()
        found, lowest = tau.copy(), before.copy()
        move = np.ones_like(before)
        rows = np.arange(len(before))
        for _ in range(MOST_TRIALS):
            tau[rows] += move[rows]
            now = value(tau[rows], rows)
            move[rows] *= np.where(now > last[rows], -self.shrink, 1.0)
            last[rows] = now
            lower = rows[now < lowest[rows]]
            found[lower], lowest[lower] = tau[lower], last[lower]
            rows = rows[np.abs(move[rows]) * size_m[rows] > stop_m]
            if not len(rows):
                break
        return found
