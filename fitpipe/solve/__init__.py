"""Fits the skeleton to the weighted observations, frame by frame or over time."""

from fitpipe.solve.frames import FrameFits, TakeFits, fit_frames, refitted
from fitpipe.solve.noticed import contradictions, never_seen
from fitpipe.solve.problem import (
    Problem,
    check_weights,
    pose_problem,
    registered,
    robust_weights,
    weights,
)
from fitpipe.solve.residuals import disagreement, residuals, worst_bone_error
from fitpipe.solve.stretch import Stretch
from fitpipe.solve.take import Fitter, fit_take, make_fitter
from fitpipe.solve.tracker import FrameFit, Tracker

__all__ = [
    "Fitter",
    "FrameFit",
    "FrameFits",
    "Problem",
    "Stretch",
    "TakeFits",
    "Tracker",
    "check_weights",
    "contradictions",
    "disagreement",
    "fit_frames",
    "fit_take",
    "make_fitter",
    "never_seen",
    "pose_problem",
    "refitted",
    "registered",
    "residuals",
    "robust_weights",
    "weights",
    "worst_bone_error",
]
