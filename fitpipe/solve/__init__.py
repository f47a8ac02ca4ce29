"""Fits the skeleton to the weighted observations, frame by frame."""

from fitpipe.solve.frames import FrameFits, compile_kernels, fit_frames
from fitpipe.solve.problem import Problem, pose_problem, registered, robust_weights, weights
from fitpipe.solve.residuals import disagreement, residuals, worst_bone_error

__all__ = [
    "FrameFits",
    "Problem",
    "compile_kernels",
    "disagreement",
    "fit_frames",
    "pose_problem",
    "registered",
    "residuals",
    "robust_weights",
    "weights",
    "worst_bone_error",
]
