"""Several sources' observations of the same joints: their mean, and how far each is off."""

# mypy: allow-untyped-defs, allow-untyped-calls
# (Numba infers the types of compiled functions; the Python faces are annotated.)

from __future__ import annotations

import math

from fitpipe.kernels._jit import kernel


@kernel()
def mean_of_sources(observation, weight, mean, total):
    """Write the weighted mean (time, joint, 3), 0 where no weight, and the sum of the weights.

    `observation` (time, source, joint, 3) counts only where `weight` (time, source, joint) > 0.
    """
    n_time, n_sources, n_joints = weight.shape
    for t in range(n_time):
        for j in range(n_joints):
            x0 = x1 = x2 = w = 0.0
            for s in range(n_sources):
                own = weight[t, s, j]
                if own > 0.0:
                    w += own
                    x0 += own * observation[t, s, j, 0]
                    x1 += own * observation[t, s, j, 1]
                    x2 += own * observation[t, s, j, 2]
            inverse = 1.0 / w if w > 0.0 else 0.0
            mean[t, j, 0] = x0 * inverse
            mean[t, j, 1] = x1 * inverse
            mean[t, j, 2] = x2 * inverse
            total[t, j] = w


@kernel()
def squared_distances(observation, weight, position, out):
    """Write |observation - position|² into `out` (time, source, joint), 0 where no weight."""
    n_time, n_sources, n_joints = weight.shape
    for t in range(n_time):
        for s in range(n_sources):
            for j in range(n_joints):
                out[t, s, j] = 0.0
                if weight[t, s, j] > 0.0:
                    d0 = observation[t, s, j, 0] - position[t, j, 0]
                    d1 = observation[t, s, j, 1] - position[t, j, 1]
                    d2 = observation[t, s, j, 2] - position[t, j, 2]
                    out[t, s, j] = d0 * d0 + d1 * d1 + d2 * d2


@kernel()
def distances(observation, position, out):
    """Write |observation - position| into `out` (time, source, joint), NaN where either is."""
    n_time, n_sources, n_joints = out.shape
    for t in range(n_time):
        for s in range(n_sources):
            for j in range(n_joints):
                d0 = observation[t, s, j, 0] - position[t, j, 0]
                d1 = observation[t, s, j, 1] - position[t, j, 1]
                d2 = observation[t, s, j, 2] - position[t, j, 2]
                out[t, s, j] = math.sqrt(d0 * d0 + d1 * d1 + d2 * d2)


@kernel()
def farthest_apart(observation, out):
    """Write the largest distance of two sources into `out` (time, joint), NaN if fewer saw it."""
    n_time, n_sources, n_joints = observation.shape[:3]
    for t in range(n_time):
        for j in range(n_joints):
            largest = -1.0
            for a in range(n_sources):
                for b in range(a + 1, n_sources):
                    d0 = observation[t, a, j, 0] - observation[t, b, j, 0]
                    d1 = observation[t, a, j, 1] - observation[t, b, j, 1]
                    d2 = observation[t, a, j, 2] - observation[t, b, j, 2]
                    square = d0 * d0 + d1 * d1 + d2 * d2
                    largest = square if square > largest else largest
            out[t, j] = math.sqrt(largest) if largest >= 0.0 else math.nan


@kernel()
def length_errors(position, up, down, length, out):
    """Write the largest error of a bone into `out` (time,), NaN in a frame without a position.

    Bone k runs from joint up[k] to down[k]; it counts where both and its length are known.
    """
    for t in range(position.shape[0]):
        worst = math.nan
        for j in range(position.shape[1]):
            if position[t, j, 0] == position[t, j, 0]:
                worst = 0.0
                break
        for k in range(len(up)):
            d0 = position[t, down[k], 0] - position[t, up[k], 0]
            d1 = position[t, down[k], 1] - position[t, up[k], 1]
            d2 = position[t, down[k], 2] - position[t, up[k], 2]
            error = abs(math.sqrt(d0 * d0 + d1 * d1 + d2 * d2) - length[k])
            worst = error if error > worst else worst
        out[t] = worst


@kernel()
def weigh_down(weight, squared, scale, least, out):
    """Write weight exp(-squared / scale), and 0 where that factor is below `least`.

    `scale` (source, joint) may be infinite.
    """
    n_time, n_sources, n_joints = weight.shape
    for t in range(n_time):
        for s in range(n_sources):
            for j in range(n_joints):
                factor = math.exp(-squared[t, s, j] / scale[s, j])
                out[t, s, j] = weight[t, s, j] * factor if factor >= least else 0.0
