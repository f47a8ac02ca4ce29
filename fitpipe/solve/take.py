"""Fits a take the way `solve.temporal` says: frame by frame, in a row, or all frames together.

A fitter is given a take stretch by stretch, in order, and ends up with the numbers it would have
found for all frames at once.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np

from fitpipe.arrays import FloatArray
from fitpipe.config import SolveConfig
from fitpipe.kernels.tree_repair import REACH
from fitpipe.records import Finding, JointStatus, Skeleton
from fitpipe.solve.frames import Carried, FrameFits, TakeFits, fit_frames
from fitpipe.solve.gaps import ONE_SIDED
from fitpipe.solve.problem import pose_problem, robust_weights
from fitpipe.solve.residuals import residuals
from fitpipe.solve.rigid_pairs import refuse_rigid_pairs
from fitpipe.solve.stretch import Observe, Progress, Stretch, starts_of
from fitpipe.solve.tracker import Tracker
from fitpipe.solve.trajectory import TrajectoryFitter

_REPORT_EVERY = 256  # frames between two calls of progress


class Fitter(Protocol):
    """What fits a take, stretch after stretch."""

    def needs(self, begin: int, end: int) -> tuple[int, int]:
        """The frames that have a say in frames ``begin`` to ``end``."""

    def fit(self, seen: Stretch, begin: int, end: int, progress: Progress | None, /) -> TakeFits:
        """Fit frames ``begin`` to ``end``; ``seen`` holds those they need."""

    def findings(self) -> tuple[Finding, ...]:
        """What was noticed in all stretches so far."""


def make_fitter(
    skeleton: Skeleton,
    time_s: FloatArray,
    settings: SolveConfig,
    observe: Observe,
    *,
    robust_scale_m: float = 0.0,
    robust_steps: int = 1,
) -> Fitter:
    """The fitter that the settings ask for.

    Parameters
    ----------
    skeleton : Skeleton
        With bone lengths.
    time_s : ndarray, shape (time,), seconds
        Of the whole take.
    settings : SolveConfig
    observe : callable
        Given the first frame and the one after the last, what was seen in them: the smoothness of
        a fit over time is chosen on some stretches of the take.
    robust_scale_m, robust_steps : float, int
        Fits of single frames are repeated so many times with weights that fall with the residual,
        to a half at the scale; 0 m leaves that out. Fits over time judge observations by the
        motion instead.

    Raises
    ------
    SolveError
        The skeleton has rigid pairs and the settings choose a solver that cannot hold them.
    """
    if settings.temporal == "trajectory":
        refuse_rigid_pairs(skeleton)
    if settings.temporal == "trajectory" and len(time_s) > settings.smoothness_order:
        return TrajectoryFitter(skeleton, time_s, settings, observe)
    if settings.temporal == "previous":
        return _InARow(skeleton, time_s, settings)
    n_repeats = robust_steps if robust_scale_m > 0 and settings.temporal == "none" else 0
    few = () if settings.temporal == "none" else (_too_few(time_s, settings),)
    return _FrameByFrame(skeleton, len(time_s), settings, n_repeats, robust_scale_m, few)


def fit_take(
    observation_m: FloatArray,
    weight: FloatArray,
    skeleton: Skeleton,
    time_s: FloatArray,
    settings: SolveConfig,
) -> TakeFits:
    """Fit all frames of a take at once.

    Parameters
    ----------
    observation_m : ndarray, shape (time, source, joint, 3), metres
        In one frame of reference; NaN where missing.
    weight : ndarray, shape (time, source, joint)
        0 exactly where the observation is missing or not to be used.
    skeleton : Skeleton
        With bone lengths.
    time_s : ndarray, shape (time,), seconds
    settings : SolveConfig
    """

    def observe(begin: int, end: int) -> Stretch:
        return Stretch(begin, observation_m[begin:end], weight[begin:end])

    fitter = make_fitter(skeleton, time_s, settings, observe)
    n = len(time_s)
    fits = fitter.fit(observe(0, n), 0, n, None)
    return fits._replace(findings=fitter.findings())


class _FrameByFrame:
    """Every frame by itself, repeated with less weight on what lies off the fit."""

    def __init__(
        self,
        skeleton: Skeleton,
        n_frames: int,
        settings: SolveConfig,
        n_repeats: int,
        robust_scale_m: float,
        findings: tuple[Finding, ...],
    ) -> None:
        self._skeleton, self._n_frames, self._settings = skeleton, n_frames, settings
        self._scale_m, self._findings = robust_scale_m, findings
        self._carried = [Carried() for _ in range(n_repeats + 1)]
        self._of_starts = Carried()

    def needs(self, begin: int, end: int) -> tuple[int, int]:
        return max(begin - REACH, 0), min(end + REACH, self._n_frames)

    def fit(self, seen: Stretch, begin: int, end: int, progress: Progress | None) -> TakeFits:
        starts = starts_of(seen, begin, end, self._skeleton, self._settings, self._of_starts)
        seen = seen.frames(begin, end)
        weight, n_passes = seen.weight, len(self._carried)
        for number, carried in enumerate(self._carried):

            def of_pass(done: int, n: int, number: int = number) -> None:
                if progress is not None:
                    progress(begin + (number * n + done) // n_passes, self._n_frames)

            problem = pose_problem(seen.observation_m, weight, self._skeleton)
            frames = fit_frames(
                problem, self._settings, carried=carried, starts=starts, progress=of_pass
            )
            if number + 1 < n_passes:
                residual = residuals(frames.position, seen.observation_m)
                weight = robust_weights(seen.weight, residual, scale_m=self._scale_m)
        return TakeFits(frames, weight, ())

    def findings(self) -> tuple[Finding, ...]:
        return self._findings


class _InARow:
    """All frames through a Tracker."""

    def __init__(self, skeleton: Skeleton, time_s: FloatArray, settings: SolveConfig) -> None:
        self._skeleton, self._time_s, self._settings = skeleton, time_s, settings
        self._tracker: Tracker | None = None
        self._carried, self._of_starts = Carried(), Carried()
        self._n_led = 0

    def needs(self, begin: int, end: int) -> tuple[int, int]:
        return max(begin - REACH, 0), min(end + REACH, len(self._time_s))

    def fit(self, seen: Stretch, begin: int, end: int, progress: Progress | None) -> TakeFits:
        starts = starts_of(seen, begin, end, self._skeleton, self._settings, self._of_starts)
        seen = seen.frames(begin, end)
        if self._tracker is None:
            n_sources = seen.observation_m.shape[1]
            self._tracker = Tracker(self._skeleton, sources=n_sources, config=self._settings)
        fits = []
        rows = zip(seen.observation_m, seen.weight, self._time_s[begin:end], strict=True)
        for frame, (observed, given, at) in enumerate(rows, start=begin + 1):
            fits.append(self._tracker.update(observed, time_s=float(at), weight=given))
            if progress is not None and (frame % _REPORT_EVERY == 0 or frame == end):
                progress(frame, len(self._time_s))
        used = np.stack([fit.weight for fit in fits])
        start = fit_frames(
            pose_problem(seen.observation_m, used, self._skeleton),
            self._settings,
            carried=self._carried,
            starts=starts,
        )
        frames = FrameFits(
            position=np.stack([fit.position for fit in fits]),
            status=np.stack([fit.status for fit in fits]),
            frame_status=np.array([fit.frame_status for fit in fits], np.uint8),
            objective=np.array([fit.objective for fit in fits]),
            objective_start=start.objective_start,
            iterations=np.array([fit.iterations for fit in fits], np.int64),
            multiplier=np.stack([fit.multiplier for fit in fits]),
        )
        self._n_led += int(np.count_nonzero(frames.status == JointStatus.INTERPOLATED))
        return TakeFits(frames, used, ())

    def findings(self) -> tuple[Finding, ...]:
        if not self._n_led:
            return ()
        return (
            Finding(
                f"{self._n_led} joint positions without an observation, for at most "
                f"{ONE_SIDED * self._settings.max_gap_s:.3g} s each",
                "carried on from the frames before, status interpolated",
                "note",
                "the limit is a third of solve.max_gap_s",
            ),
        )


def _too_few(time_s: FloatArray, settings: SolveConfig) -> Finding:
    return Finding(
        f"{len(time_s)} frames are too few to be smoothed over time (it takes "
        f"{settings.smoothness_order + 1})",
        "every frame fitted by itself",
    )
