"""Joint angles: chains of joints, their Jacobians, and six ways to reach a target."""

from fitpipe.angles.chain import Chain, Placed
from fitpipe.angles.definition import Definition
from fitpipe.angles.dls import dls_step
from fitpipe.angles.jacobian import (
    condition_number,
    determinant,
    jacobian,
    manipulability,
    numerical_jacobian,
    singularity_distance,
)
from fitpipe.angles.joint import Effector, Joint
from fitpipe.angles.laying import define
from fitpipe.angles.limited import load_limit_kernels
from fitpipe.angles.newton import objective_derivatives
from fitpipe.angles.of_fit import AnglesOfBlock, AnglesOfFit, Window, log_of
from fitpipe.angles.pinv import pinv_step
from fitpipe.angles.pose import pose_skeleton
from fitpipe.angles.problem import IkWarning
from fitpipe.angles.result import IkResult, IkStatus
from fitpipe.angles.skeleton_angles import measure, skeleton_angles
from fitpipe.angles.solve import SOLVERS, solve_ik
from fitpipe.angles.summary import Range, ranges
from fitpipe.angles.two_bone import TwoBone, two_bone

__all__ = [
    "SOLVERS",
    "AnglesOfBlock",
    "AnglesOfFit",
    "Chain",
    "Definition",
    "Effector",
    "IkResult",
    "IkStatus",
    "IkWarning",
    "Joint",
    "Placed",
    "Range",
    "TwoBone",
    "Window",
    "condition_number",
    "define",
    "determinant",
    "dls_step",
    "jacobian",
    "load_limit_kernels",
    "log_of",
    "manipulability",
    "measure",
    "numerical_jacobian",
    "objective_derivatives",
    "pinv_step",
    "pose_skeleton",
    "ranges",
    "singularity_distance",
    "skeleton_angles",
    "solve_ik",
    "two_bone",
]
