"""Bones of length zero: their ends are one point, which the loop is given as one joint."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fitpipe.arrays import FloatArray, IntArray


class Merged(NamedTuple):
    """A tree without bones of length zero."""

    target: FloatArray  # (frame, point, 3) metres
    stiffness: FloatArray  # (frame, point)
    constant: FloatArray  # (frame,) what J0 has besides, wherever the points lie
    parent: IntArray  # (point,)
    first: IntArray  # (point,) topmost joint of each point
    point: IntArray  # (joint,) point of each joint


def merge_joints(
    target: FloatArray, stiffness: FloatArray, length: FloatArray, parent: IntArray
) -> Merged:
    """Join the ends of bones of length zero; shapes as in `tree_newton.fit_tree`."""
    top = np.arange(len(parent))
    for i, p in enumerate(parent):
        if p >= 0 and length[i] == 0:
            top[i] = top[p]
    first, point = np.unique(top, return_inverse=True)
    is_in = (point[:, None] == np.arange(len(first))) * 1.0  # (joint, point)
    seen = np.where((stiffness > 0)[..., None], target, 0.0)
    total = stiffness @ is_in
    mean = is_in.T @ (stiffness[..., None] * seen) / np.where(total > 0, total, 1.0)[..., None]
    apart = seen - mean[:, point]
    return Merged(
        target=mean,
        stiffness=total,
        constant=0.5 * np.einsum("fj,fjc,fjc->f", stiffness, apart, apart),
        parent=np.where(parent[first] < 0, -1, point[parent[first]]),
        first=first,
        point=point,
    )


def carried_force(
    position: FloatArray, target: FloatArray, stiffness: FloatArray, parent: IntArray
) -> FloatArray:
    """Size (frame, joint) of the pull that the bone to each joint's parent carries.

    It is the gradient of J0 summed over the joint and all below it; what a multiplier is for a bone
    without direction.
    """
    pull = np.where((stiffness > 0)[..., None], stiffness[..., None] * (position - target), 0.0)
    for i in range(len(parent) - 1, -1, -1):
        if parent[i] >= 0:
            pull[:, parent[i]] += pull[:, i]
    return np.asarray(np.linalg.norm(pull, axis=-1))
