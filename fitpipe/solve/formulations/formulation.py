"""What a formulation gives to the loop."""

from __future__ import annotations

from typing import ClassVar, NamedTuple, Protocol

from fitpipe.arrays import BoolArray, FloatArray
from fitpipe.solve.geometry import Frames


class Step(NamedTuple):
    """One step of every frame of a batch, in one or several parts that are searched one by one."""

    direction: FloatArray  # (frame, part, joint, 3) metres; 0 for absent joints
    multiplier: FloatArray  # (frame, part, constraint) the new lambda, not an increment
    change: FloatArray  # (frame, part, constraint) first-order change of the constraint
    is_defined: BoolArray  # (frame,) False where no multiplier exists


class Formulation(Protocol):
    """A reading of the constraints: their values, and the step of the bordered system.

    All arrays are over a batch of frames.
    """

    n_parts: ClassVar[int]

    def start(self, frames: Frames, rigid: FloatArray) -> FloatArray:
        """Positions (frame, joint, 3) to begin at, given a pose with exact bones."""
        ...

    def constraint(self, frames: Frames, x: FloatArray) -> FloatArray:
        """Values (frame, constraint) that are to become 0."""
        ...

    def step(self, frames: Frames, x: FloatArray, multiplier: FloatArray) -> Step:
        """The step at x; the last step's multiplier (0 at first) weighs the curvature."""
        ...
