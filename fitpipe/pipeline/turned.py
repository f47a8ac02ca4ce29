"""The joint angles of fitted blocks, each seen together with the frames around it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np

from fitpipe import solve
from fitpipe.angles import AnglesOfFit, Window
from fitpipe.arrays import ByteArray, FloatArray
from fitpipe.config import FitConfig
from fitpipe.records import Finding, Skeleton, SkeletonAngles


class Fitted(NamedTuple):
    """Consecutive frames that were fitted."""

    begin: int  # number of the first frame in the take
    frames: solve.FrameFits
    weight: FloatArray  # (time, source, joint) that the fit ended with
    doubt: ByteArray  # (time, source, joint)
    observation_m: FloatArray  # (time, source, joint, 3)
    angles: SkeletonAngles | None = None

    @property
    def end(self) -> int:
        """Number of the frame after the last."""
        return self.begin + len(self.weight)


class Turned:
    """Adds the joint angles to fitted blocks, if they are asked for, and keeps their limits."""

    def __init__(
        self, skeleton: Skeleton, length_m: FloatArray, settings: FitConfig, n_frames: int
    ) -> None:
        self._skeleton, self._settings = skeleton, settings
        self._of_fit: AnglesOfFit | None = None
        if settings.angles.compute or settings.angles.limits:
            self._of_fit = AnglesOfFit(skeleton, length_m, settings.angles, n_frames)

    def blocks(self, fitted: Iterable[Fitted]) -> Iterator[Fitted]:
        """The blocks in their order, each once the frames that its angles need are fitted."""
        if self._of_fit is None:
            yield from fitted
            return
        waiting: list[Fitted] = []
        first, last, around = 0, 0, None  # the frames that are kept for those that wait
        for block in fitted:
            waiting.append(block)
            own = self._window(block)
            around = own if around is None else around.followed_by(own)
            last = block.end
            while waiting and self._of_fit.needs(waiting[0].begin, waiting[0].end)[1] <= last:
                ready = waiting.pop(0)
                low, high = self._of_fit.needs(ready.begin, ready.end)
                yield self._with_angles(ready, around.rows(slice(low - first, high - first)))
                low, _ = self._of_fit.needs(ready.end, ready.end)
                around, first = around.rows(slice(low - first, None)), low

    def findings(self) -> tuple[Finding, ...]:
        """What was noticed in the blocks so far."""
        return () if self._of_fit is None else self._of_fit.findings()

    def _window(self, block: Fitted) -> Window:
        """A block's frames, and what they are fitted to where they exceed the limits."""
        position = block.frames.position
        if not self._settings.angles.limits:
            return Window(position, position[:, :0], position[:, :0, 0])
        problem = self._problem(block)
        if self._settings.solve.temporal == "none":
            return Window(position, problem.target, problem.stiffness)
        # the motion is smooth: the nearest pose to it, not to the noise of the frame
        known = np.isfinite(position[..., 0])
        target = np.where(known[..., None], position, 0.0)
        least = np.where(problem.stiffness > 0, problem.stiffness, np.inf).min(axis=1)
        least = np.where(np.isinf(least), 1.0, least)
        return Window(position, target, known * np.maximum(problem.stiffness, least[:, None]))

    def _with_angles(self, block: Fitted, window: Window) -> Fitted:
        assert self._of_fit is not None  # noqa: S101 - asked for only where there are angles
        found = self._of_fit.of_block(window, block.begin, block.end)
        frames = block.frames
        if found.is_refitted.any():
            frames = solve.refitted(
                frames,
                self._problem(block),
                found.position_m,
                found.is_refitted,
                found.is_converged,
            )
        angles = found.angles if self._settings.angles.compute else None
        return block._replace(frames=frames, angles=angles)

    def _problem(self, block: Fitted) -> solve.Problem:
        return solve.pose_problem(block.observation_m, block.weight, self._skeleton)
