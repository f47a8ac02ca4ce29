"""The solvers that bench_fit.py compares, each at the best correct settings found for it.

A maker returns the peer's version and a function from (target, stiffness) of some frames to their
positions; it raises ImportError where the peer is not installed.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import version
from typing import Any

import numpy as np
from scipy.optimize import minimize
from scipy.spatial.transform import Rotation

from fitpipe.kernels.tree_newton import TreeFit, fit_tree
from fitpipe.simulate import walk

SKELETON = walk(2, 30.0).skeleton  # the 20 joints of the Kinect v1, lengths of an adult
PARENT = np.array(SKELETON.parents)
UP, CHILD = np.array(SKELETON.bones).T
BONE = np.array(SKELETON.bone_length_m)
LENGTH = np.concatenate([[0.0], BONE])
TOLERANCE_M = 1e-7

Peer = Callable[[np.ndarray, np.ndarray], Any]


def scipy_slsqp() -> tuple[str, Peer]:
    n_bones = len(CHILD)
    rows = np.arange(n_bones)

    def bones(x: np.ndarray) -> np.ndarray:
        p = x.reshape(20, 3)
        return np.sqrt(((p[CHILD] - p[UP]) ** 2).sum(1)) - BONE

    def bones_jac(x: np.ndarray) -> np.ndarray:
        p = x.reshape(20, 3)
        u = p[CHILD] - p[UP]
        u /= np.linalg.norm(u, axis=1, keepdims=True)
        jac = np.zeros((n_bones, 20, 3))
        jac[rows, CHILD] = u
        jac[rows, UP] = -u
        return jac.reshape(n_bones, 60)

    constraint = {"type": "eq", "fun": bones, "jac": bones_jac}

    def solve(target: np.ndarray, stiffness: np.ndarray) -> np.ndarray:
        out = np.empty_like(target)
        for t in range(len(target)):
            m, h = target[t].ravel(), np.repeat(stiffness[t], 3)
            out[t] = minimize(
                lambda x, m=m, h=h: 0.5 * (h * (x - m)) @ (x - m),
                m,
                jac=lambda x, m=m, h=h: h * (x - m),
                method="SLSQP",
                constraints=constraint,
                options={"ftol": 1e-9, "maxiter": 300},
            ).x.reshape(20, 3)
        return out

    return version("scipy"), solve


def numpy_newton() -> tuple[str, Peer]:
    """Newton on the bordered system, dense matrices, all frames at once.

    The Hessian of the Lagrangian is K = diag(h) + B' diag(multiplier) B for x, y and z alike. In
    the first steps multipliers are kept so that K is positive definite; else some frames diverge.
    """
    B = np.zeros((len(CHILD), 20))
    B[np.arange(len(CHILD)), CHILD] = 1.0
    B[np.arange(len(CHILD)), UP] = -1.0
    diagonal = np.arange(20)

    def solve(target: np.ndarray, stiffness: np.ndarray) -> np.ndarray:
        x = target.copy()
        multiplier = np.zeros((len(target), len(CHILD)))
        todo = np.arange(len(target))
        for iteration in range(60):
            bone = B @ x[todo]
            residual = 0.5 * ((bone**2).sum(-1) - BONE**2)
            m, h, factor = target[todo], stiffness[todo], multiplier[todo]
            if iteration < 4:
                factor = np.maximum(factor, -h.min(-1, keepdims=True) / 10)
            K = B.T @ (factor[:, :, None] * B)
            K[:, diagonal, diagonal] += np.maximum(h, 1e-6)
            # K d + bone' new = h (m - x) and bone d = -residual; K's inverse serves all three axes.
            inverse = np.linalg.inv(K)
            response = inverse @ B.T
            free = inverse @ (h[:, :, None] * (m - x[todo]))
            S = (B @ response) * (bone @ bone.transpose(0, 2, 1))
            right = residual + (bone * (B @ free)).sum(-1)
            new = np.linalg.solve(S, right[..., None])[..., 0]
            step = free - response @ (new[..., None] * bone)
            x[todo] += step
            multiplier[todo] = new
            size = np.abs(step).max((1, 2))
            todo = todo[(size > TOLERANCE_M) & (size < 1e3)]
            if not len(todo):
                break
        return x

    return np.__version__, solve


def casadi_nlp(plugin: str, options: dict[str, Any]) -> tuple[str, Peer]:
    import casadi as ca

    x, m, h = ca.MX.sym("x", 3, 20), ca.MX.sym("m", 3, 20), ca.MX.sym("h", 1, 20)
    cost = 0.5 * ca.sum2(h * ca.sum1((x - m) ** 2))
    bone = x[:, CHILD.tolist()] - x[:, UP.tolist()]
    constraint = 0.5 * (ca.sum1(bone**2).T - BONE**2)
    problem = {"x": ca.vec(x), "p": ca.vertcat(ca.vec(m), ca.vec(h)), "f": cost, "g": constraint}
    solver = ca.nlpsol("fit", plugin, problem, {"print_time": False, **options})

    def solve(target: np.ndarray, stiffness: np.ndarray) -> np.ndarray:
        out = np.empty_like(target)
        for t in range(len(target)):
            start = target[t].ravel()
            answer = solver(x0=start, p=np.concatenate([start, stiffness[t]]), lbg=0, ubg=0)
            out[t] = np.asarray(answer["x"]).reshape(20, 3)
        return out

    return ca.__version__, solve


def casadi_sqp() -> tuple[str, Peer]:
    silent = {"print_header": False, "print_iteration": False, "print_status": False}
    qp = {"print_iter": False, "print_header": False, "print_info": False, "error_on_fail": False}
    return casadi_nlp(
        "sqpmethod",
        {
            **silent,
            "qpsol": "qrqp",
            "qpsol_options": qp,
            "convexify_strategy": "regularize",
            "tol_pr": 1e-8,
            "tol_du": 1e-8,
        },
    )


def casadi_ipopt() -> tuple[str, Peer]:
    return casadi_nlp("ipopt", {"ipopt": {"print_level": 0, "sb": "yes"}})


def pymomentum() -> tuple[str, Peer]:
    """Levenberg-Marquardt on joint angles: a pivot with three angles a bone, bones along its +y."""
    import torch
    from pymomentum import geometry, solver

    torch.set_num_threads(1)
    solver.set_num_threads(1)
    upright = np.array([0, 0, 0, 1], np.float32)
    nothing = np.zeros(3, np.float32)
    joints = [geometry.Joint("root", -1, upright, nothing)]
    node = {0: 0}  # joint of ours -> joint of theirs
    names = ["tx", "ty", "tz"]
    entries = [(k, k) for k in range(3)]  # seven numbers a joint: tx ty tz rx ry rz scale
    for parent, child, length in zip(UP, CHILD, BONE, strict=True):
        pivot = len(joints)
        joints.append(geometry.Joint(f"pivot{child}", node[parent], upright, nothing))
        tip = np.array([0, length, 0], np.float32)
        joints.append(geometry.Joint(f"node{child}", pivot, upright, tip))
        node[child] = pivot + 1
        for axis in (3, 4, 5):
            entries.append((7 * pivot + axis, len(names)))
            names.append(f"r{axis}_{child}")
    skeleton = geometry.Skeleton(joints)
    matrix = np.zeros((7 * len(joints), len(names)), np.float32)
    matrix[tuple(np.array(entries).T)] = 1
    transform = geometry.ParameterTransform(names, skeleton, matrix)
    character = geometry.Character("walker", skeleton, transform)
    options = solver.SolverOptions()
    options.linear_solver = solver.LinearSolverType.QR
    options.line_search = True
    options.levmar_lambda = 1e-5
    options.threshold = 0.1
    options.max_iter = 200
    parents = torch.tensor([node[j] for j in range(20)])

    def angles(target: np.ndarray) -> np.ndarray:
        """Parameters that point every bone along its target's direction."""
        n = len(target)
        start = np.zeros((n, len(names)))
        start[:, :3] = target[:, 0]
        turn = {0: np.tile(np.eye(3), (n, 1, 1))}
        for k, (parent, child) in enumerate(zip(UP, CHILD, strict=True)):
            apart = target[:, child] - target[:, parent]
            apart /= np.linalg.norm(apart, axis=1, keepdims=True)
            x, y, z = np.einsum("tji,tj->it", turn[parent], apart)
            rx, rz = np.arcsin(np.clip(z, -1, 1)), np.arctan2(-x, y)
            start[:, 3 + 3 * k], start[:, 5 + 3 * k] = rx, rz
            own = Rotation.from_euler("ZYX", np.stack([rz, 0 * rx, rx], -1)).as_matrix()
            turn[child] = turn[parent] @ own
        return start

    def solve(target: np.ndarray, stiffness: np.ndarray) -> np.ndarray:
        found = solver.solve_ik(
            character=character,
            active_parameters=torch.ones(len(names), dtype=torch.bool),
            model_parameters_init=torch.from_numpy(angles(target)),
            active_error_functions=[solver.ErrorFunctionType.Position],
            error_function_weights=torch.ones(len(target), 1, dtype=torch.float64),
            options=options,
            position_cons_parents=parents,
            position_cons_offsets=torch.zeros(20, 3, dtype=torch.float64),
            position_cons_weights=torch.from_numpy(100.0 * stiffness),  # else it stops early
            position_cons_targets=torch.from_numpy(target),
        )
        state = geometry.model_parameters_to_skeleton_state(character, found.numpy())
        return np.asarray(state[:, parents.numpy(), :3])

    return version("pymomentum-cpu"), solve


def fitpipe_cores(n_threads: int) -> Callable[[], tuple[str, Peer]]:
    def make() -> tuple[str, Peer]:
        def solve(target: np.ndarray, stiffness: np.ndarray) -> TreeFit:
            return fit_tree(
                target, stiffness, LENGTH, PARENT, tolerance_m=TOLERANCE_M, n_threads=n_threads
            )

        return version("fitpipe"), solve

    return make


# name -> (maker, whether it gets all --frames or only --slsqp-frames)
PEERS: dict[str, tuple[Callable[[], tuple[str, Peer]], bool]] = {
    "SciPy SLSQP": (scipy_slsqp, False),
    "CasADi IPOPT": (casadi_ipopt, False),
    "CasADi sqpmethod + qrqp": (casadi_sqp, False),
    "pymomentum solve_ik": (pymomentum, False),
    "NumPy Newton, batched": (numpy_newton, True),
    "fitpipe, 1 core": (fitpipe_cores(1), True),
    "fitpipe, 2 cores": (fitpipe_cores(2), True),
}
