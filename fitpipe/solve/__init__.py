"""Fits the skeleton to the weighted observations, frame by frame or over time."""

from fitpipe.solve.frames import FrameFits, TakeFits, fit_frames, refitted
from fitpipe.solve.noticed import contradictions, never_seen
from fitpipe.solve.problem import Problem, pose_problem, registered, robust_weights, weights
from fitpipe.solve.residuals import disagreement, residuals, worst_bone_error
from fitpipe.solve.take import fit_take
from fitpipe.solve.tracker import FrameFit, Tracker
from fitpipe.solve.trajectory import fit_trajectory

__all__ = [
    "FrameFit",
    "FrameFits",
    "Problem",
    "TakeFits",
    "Tracker",
    "contradictions",
    "disagreement",
    "fit_frames",
    "fit_take",
    "fit_trajectory",
    "never_seen",
    "pose_problem",
    "refitted",
    "registered",
    "residuals",
    "robust_weights",
    "weights",
    "worst_bone_error",
]
