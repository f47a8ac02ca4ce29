"""How the effectors move when the joints do, and how far a pose is from where they cannot."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from fitpipe.angles.chain import Chain
from fitpipe.arrays import FloatArray
from fitpipe.errors import SolveError


def jacobian(chain: Chain, q: npt.ArrayLike, *, orientation: bool = False) -> FloatArray:
    """Geometric Jacobian: the effectors' velocities per joint velocity.

    Column j of a hinge with axis a at p is a x (tip - p) for position and a for orientation; of a
    slide, a and 0.

    Parameters
    ----------
    chain : Chain
    q : (..., dof), radians or metres
    orientation : bool
        Add angular velocity.

    Returns
    -------
    ndarray, shape (..., rows, dof)
        Position rows first, x y z for each effector in turn, in metres per radian (or per metre of
        a slide); then, with ``orientation``, as many rows in radians per radian. A planar chain
        has the rows x, y and z only, seen in its base.

    Raises
    ------
    SolveError
        See `Chain.check_q`.
    """
    q = chain.check_q(q)
    links = chain.parts.links
    _, centre, axis, tip = chain.link_poses(q.reshape(-1, chain.dof))
    lever = tip[:, :, None] - centre[:, None]  # (pose, effector, dof, 3)
    hinge = ~links.slides[:, None]
    linear = np.where(hinge, np.cross(axis[:, None], lever), axis[:, None])
    linear = np.where(links.moves[..., None], linear, 0.0)
    angular = np.where(links.moves[..., None] & hinge, axis[:, None], 0.0)
    rows = _rows(chain, linear, angular, orientation)
    return rows.reshape(*q.shape[:-1], *rows.shape[1:])


def numerical_jacobian(
    chain: Chain, q: npt.ArrayLike, *, orientation: bool = False, step: float = 1e-6
) -> FloatArray:
    """`jacobian` by central differences of `Chain.forward`, to check it with.

    Parameters
    ----------
    chain, q, orientation
        As for `jacobian`.
    step : float
        Change of each joint value, radians or metres.

    Returns
    -------
    ndarray, shape (..., rows, dof)
    """
    from scipy.spatial.transform import Rotation  # slow to import, and few need it

    q = chain.check_q(q)
    flat = q.reshape(-1, chain.dof)
    places = [chain.parts.joint_link.index(link) for link in chain.parts.links.tip_joint]
    shift = step * np.eye(chain.dof)
    plus, minus = (chain.forward(flat[:, None] + sign * shift) for sign in (1, -1))
    linear = np.moveaxis((plus.tip_m - minus.tip_m) / (2 * step), 1, 2)
    turn = plus.rotation[:, :, places] @ np.swapaxes(minus.rotation[:, :, places], -1, -2)
    vector = Rotation.from_matrix(turn.reshape(-1, 3, 3)).as_rotvec().reshape(turn.shape[:-1])
    angular = np.moveaxis(vector / (2 * step), 1, 2)
    rows = _rows(chain, linear, angular, orientation)
    return rows.reshape(*q.shape[:-1], *rows.shape[1:])


def _rows(chain: Chain, linear: FloatArray, angular: FloatArray, orientation: bool) -> FloatArray:
    """(pose, effector, dof, 3) parts as the rows of a Jacobian."""
    if chain.is_planar:
        base = np.asarray(chain.base_rotation)
        linear, angular = (linear @ base)[..., :2], (angular @ base)[..., 2:]
    parts = [linear, angular] if orientation else [linear]
    return np.concatenate(
        [np.swapaxes(p, -1, -2).reshape(len(p), p.shape[1] * p.shape[3], chain.dof) for p in parts],
        axis=1,
    )


def determinant(J: FloatArray) -> FloatArray:
    """Determinant of square Jacobians (..., n, n); zero in a singular pose.

    Raises
    ------
    SolveError
        The Jacobian is not square; `manipulability` is defined for all.
    """
    J = np.asarray(J, dtype=float)
    if J.shape[-1] != J.shape[-2]:
        raise SolveError(
            f"a Jacobian of {J.shape[-2]} rows and {J.shape[-1]} columns has no determinant",
            hint="use manipulability, which is |det J| where J is square",
        )
    return np.asarray(np.linalg.det(J))


def manipulability(J: FloatArray) -> FloatArray:
    """Yoshikawa's measure sqrt(det(J J')) of Jacobians (..., rows, dof); |det J| where square.

    Computed as the product of the singular values; zero with more rows than joint values.

    References
    ----------
    Yoshikawa (1985), Int. J. Robotics Research 4(2), doi:10.1177/027836498500400201.
    """
    J = np.asarray(J, dtype=float)
    if J.shape[-2] > J.shape[-1]:
        return np.zeros(J.shape[:-2])
    return np.asarray(np.prod(np.linalg.svd(J, compute_uv=False), axis=-1))


def condition_number(J: FloatArray) -> FloatArray:
    """Largest over smallest singular value of Jacobians (..., rows, dof); inf where singular."""
    sigma = np.linalg.svd(np.asarray(J, dtype=float), compute_uv=False)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(sigma[..., -1] > 0, sigma[..., 0] / sigma[..., -1], np.inf)


def singularity_distance(J: FloatArray) -> FloatArray:
    """Smallest singular value of Jacobians (..., rows, dof).

    The size of the smallest change of J (spectral norm) that makes it singular.
    """
    return np.asarray(np.linalg.svd(np.asarray(J, dtype=float), compute_uv=False)[..., -1])
