"""Newton's method: the exact second derivative of the squared distance, so fewer steps."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from fitpipe.angles.chain import Chain
from fitpipe.angles.problem import pose_problem
from fitpipe.angles.settings import Settings
from fitpipe.arrays import FloatArray
from fitpipe.kernels import ik_descent, ik_links

SETTINGS = Settings(
    ik_descent.NEWTON, max_iterations=200, damping=0.01, max_step_rad=1.0, turns=True
)


def objective_derivatives(
    chain: Chain, q: npt.ArrayLike, target: npt.ArrayLike
) -> tuple[float, FloatArray, FloatArray]:
    """Half the squared distances to the targets, its gradient and its Hessian, at one pose.

    Hessian = J'J - sum over effectors of (target - tip) . d2(tip), with d2(tip) of a hinge i and a
    joint j it carries (or i itself) = a_i x J_j.

    Parameters
    ----------
    chain : Chain
    q : (dof,)
    target : (3,) or (effector, 3), metres

    Returns
    -------
    objective : float, square metres
    gradient : ndarray, shape (dof,)
    hessian : ndarray, shape (dof, dof)
    """
    problem = pose_problem(chain, target, None, None, None, 1.0)
    goal = ik_links.Goal(*(array[0] for array in problem.goals))
    links, n_rows = chain.parts.links, 3 * len(chain.effectors)
    pose = ik_links.new_pose(chain.dof, len(chain.effectors))
    left, J = np.empty(n_rows), np.empty((n_rows, chain.dof))
    H = np.empty((chain.dof, chain.dof))
    ik_links.forward(links, chain.check_q(q), pose)
    F, _, _ = ik_links.residual(links, pose, goal, left)
    ik_links.fill_jacobian(links, pose, goal.weight, goal.turn_weight, J)
    ik_links.fill_hessian(links, pose, J, left, H)
    return float(F), -J.T @ left, H
