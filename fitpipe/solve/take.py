"""Fits a take the way `solve.temporal` says: frame by frame, in a row, or all frames together."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from fitpipe.arrays import FloatArray
from fitpipe.config import SolveConfig
from fitpipe.records import Finding, JointStatus, Skeleton
from fitpipe.solve.frames import FrameFits, TakeFits, fit_frames
from fitpipe.solve.gaps import ONE_SIDED
from fitpipe.solve.problem import Problem, pose_problem
from fitpipe.solve.tracker import Tracker
from fitpipe.solve.trajectory import fit_trajectory

_REPORT_EVERY = 256  # frames between two calls of progress


def fit_take(
    problem: Problem,
    observation_m: FloatArray,
    weight: FloatArray,
    time_s: FloatArray,
    settings: SolveConfig,
    *,
    progress: Callable[[int, int], None] | None = None,
) -> TakeFits:
    """Fit all frames of a take.

    Parameters
    ----------
    problem : Problem
        Of these observations and weights.
    observation_m : ndarray, shape (time, source, joint, 3), metres
        In one frame of reference; NaN where missing.
    weight : ndarray, shape (time, source, joint)
        0 exactly where the observation is missing or not to be used.
    time_s : ndarray, shape (time,), seconds
    settings : SolveConfig
    progress : callable, optional
        Called with (frames done, frames in all).
    """
    skeleton = problem.skeleton
    if settings.temporal == "trajectory":
        return fit_trajectory(observation_m, weight, skeleton, time_s, settings, progress=progress)
    if settings.temporal == "previous":
        return _fit_in_a_row(observation_m, weight, skeleton, time_s, settings, progress=progress)
    return TakeFits(fit_frames(problem, settings, progress=progress), weight, ())


def _fit_in_a_row(
    observation_m: FloatArray,
    weight: FloatArray,
    skeleton: Skeleton,
    time_s: FloatArray,
    settings: SolveConfig,
    *,
    progress: Callable[[int, int], None] | None,
) -> TakeFits:
    """All frames through a Tracker."""
    tracker = Tracker(skeleton, sources=observation_m.shape[1], config=settings)
    fits = []
    for frame, (observed, given, at) in enumerate(zip(observation_m, weight, time_s, strict=True)):
        fits.append(tracker.update(observed, time_s=float(at), weight=given))
        if progress is not None and (frame + 1) % _REPORT_EVERY == 0:
            progress(frame + 1, len(time_s))
    if progress is not None:
        progress(len(time_s), len(time_s))
    used = np.stack([fit.weight for fit in fits])
    frames = FrameFits(
        position=np.stack([fit.position for fit in fits]),
        status=np.stack([fit.status for fit in fits]),
        frame_status=np.array([fit.frame_status for fit in fits], np.uint8),
        objective=np.array([fit.objective for fit in fits]),
        objective_start=fit_frames(
            pose_problem(observation_m, used, skeleton), settings
        ).objective_start,
        iterations=np.array([fit.iterations for fit in fits], np.int64),
        multiplier=np.stack([fit.multiplier for fit in fits]),
    )
    n_led = int(np.count_nonzero(frames.status == JointStatus.INTERPOLATED))
    found: tuple[Finding, ...] = ()
    if n_led:
        found = (
            Finding(
                f"{n_led} joint positions without an observation, for at most "
                f"{ONE_SIDED * settings.max_gap_s:.3g} s each",
                "carried on from the frames before, status interpolated",
                "note",
                "the limit is a third of solve.max_gap_s",
            ),
        )
    return TakeFits(frames, used, found)
