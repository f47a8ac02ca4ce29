"""Consecutive frames of a take, as the fitters are given them."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, TypeAlias

from fitpipe.arrays import FloatArray
from fitpipe.config import SolveConfig
from fitpipe.records import Skeleton
from fitpipe.solve.frames import Carried, Starts, find_starts
from fitpipe.solve.problem import pose_problem


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


def starts_of(
    seen: Stretch,
    begin: int,
    end: int,
    skeleton: Skeleton,
    settings: SolveConfig,
    carried: Carried,
) -> Starts:
    """Where frames ``begin`` to ``end`` start, by the weights that the observations came with."""
    problem = pose_problem(seen.observation_m, seen.weight, skeleton)
    frames = slice(begin - seen.first, end - seen.first)
    return find_starts(problem, settings, carried=carried, frames=frames)
