"""Consecutive frames of a take, as the fitters are given them."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, TypeAlias

from fitpipe.arrays import FloatArray


class Stretch(NamedTuple):
    """What was seen in consecutive frames of a take, in one frame of reference."""

    first: int  # number of its first frame in the take
    observation_m: FloatArray  # (time, source, joint, 3) metres, NaN where missing
    weight: FloatArray  # (time, source, joint), 0 exactly where missing or not to be used

    def frames(self, begin: int, end: int) -> Stretch:
        """A part of it, by the numbers of its frames in the take."""
        rows = slice(begin - self.first, end - self.first)
        return Stretch(begin, self.observation_m[rows], self.weight[rows])


Observe: TypeAlias = Callable[[int, int], Stretch]  # the first frame, and the one after the last
Progress: TypeAlias = Callable[[int, int], None]  # frames done, frames in all
