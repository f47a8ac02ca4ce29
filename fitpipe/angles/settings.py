"""What an iterative solver is to `solve_ik`."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Settings:
    """Which kernel, and the defaults of its options."""

    code: int
    max_iterations: int
    damping: float = 0.0  # of |way left| x reach, where the solver begins
    max_step_rad: float = 0.0
    turns: bool = False  # can follow an orientation target
