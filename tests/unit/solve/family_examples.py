"""Small problems for the solver family, with their derivatives written out bone by bone."""

from __future__ import annotations

import numpy as np

from fitpipe.kernels.tree_newton import DEFAULT_REST
from fitpipe.kernels.tree_start import fill_directions
from fitpipe.solve.frames_loop import active_joints, centred_frames, rigid_pose
from fitpipe.solve.geometry import Frames

from ..kernels.tree_examples import random_tree


def frames_of(target, stiffness, length, parent):
    """Frames and their pose with exact bones, as `fit_loop` makes them."""
    target = np.ascontiguousarray(target)
    direction = np.empty(target.shape)
    n_frames, n_joints = stiffness.shape
    rest, unknown = np.tile(DEFAULT_REST, (n_joints, 1)), np.full((n_joints, 3), np.nan)
    fill_directions(0, n_frames, target, stiffness, length, parent, rest, unknown, direction)
    active = active_joints(stiffness, parent)
    frames, _ = centred_frames(target, stiffness, active, direction, length, parent)
    return frames, rigid_pose(frames, direction, parent)


def random_frames(seed=0, n_frames=4, n_joints=7) -> tuple[Frames, np.ndarray]:
    """Frames of a random tree, all joints observed, and positions off both targets and bones."""
    rng = np.random.default_rng(seed)
    parent = random_tree(rng, n_joints)
    x = rng.normal(size=(n_frames, n_joints, 3))
    stiffness = rng.uniform(1, 4, (n_frames, n_joints))
    length = rng.uniform(0.8, 1.5, n_joints)
    frames, _ = frames_of(x + 0.2 * rng.normal(size=x.shape), stiffness, length, parent)
    return frames, x - x[:, :1]


def bone_derivatives(frames, x):
    """First and second derivative of every r_k by the 3 n coordinates of x (joint, 3)."""
    n = x.size
    first, second = np.zeros((len(frames.pairs), n)), np.zeros((len(frames.pairs), n, n))
    for k, (a, b) in enumerate(frames.pairs):
        apart = x[b] - x[a]
        distance = np.linalg.norm(apart)
        u = apart / distance
        bend = (np.eye(3) - np.outer(u, u)) / distance
        at = {a: slice(3 * a, 3 * a + 3), b: slice(3 * b, 3 * b + 3)}
        first[k, at[a]], first[k, at[b]] = -u, u
        for i in (a, b):
            for j in (a, b):
                second[k, at[i], at[j]] = bend if i == j else -bend
    return first, second


def solve_bordered(H, L, b_p, b_lambda):
    """d and lambda of [[H, L'], [L, 0]] [d, lambda] = [b_p, b_lambda], densely."""
    n, m = len(H), len(L)
    matrix = np.block([[H, L.T], [L, np.zeros((m, m))]])
    both = np.linalg.solve(matrix, np.concatenate([b_p, b_lambda]))
    return both[:n], both[n:]
