"""How far the bones of one source are from their usual lengths."""

# mypy: allow-untyped-defs, allow-untyped-calls
# (Numba infers the types of compiled functions; the Python faces are annotated.)

from __future__ import annotations

import math

import numpy as np

from fitpipe.kernels._jit import kernel


@kernel(contract=False)
def bone_lengths(position, up, down, length):
    """Write the distance of joints up[k] and down[k] into `length` (bone, time)."""
    for t in range(position.shape[0]):
        for k in range(len(up)):
            d0 = position[t, down[k], 0] - position[t, up[k], 0]
            d1 = position[t, down[k], 1] - position[t, up[k], 1]
            d2 = position[t, down[k], 2] - position[t, up[k], 2]
            length[k, t] = math.sqrt(d0 * d0 + d1 * d1 + d2 * d2)


@kernel(contract=False)
def strain_of_joints(
    position, confidence, length, usual, offset_m, up, down, order, parent, share, strain
):
    """Write the strain (time, joint) of every joint, NaN where it is not seen.

    The strain of a bone is how far its `length` (bone, time) is from the `usual` (bone,), over the
    usual one plus offset_m; squared, and times the lower confidence of its ends, it counts at both.
    In `order`, parents first, each joint takes over a `share` of its parent's sum of squares.
    """
    n_time, n_joints = position.shape[0], position.shape[1]
    total = np.zeros(n_joints)
    for t in range(n_time):
        total[:] = 0.0
        for k in range(len(up)):
            off = (length[k, t] - usual[k]) / (usual[k] + offset_m)
            if off == off:  # neither the length nor the usual one is unknown
                off = off * off * min(confidence[t, up[k]], confidence[t, down[k]])
                total[down[k]] += off
                total[up[k]] += off
        for i in order:
            if parent[i] >= 0:
                total[i] += share * total[parent[i]]
        for i in range(n_joints):
            seen = position[t, i, 0] == position[t, i, 0]
            strain[t, i] = math.sqrt(total[i]) if seen else np.nan
