"""Which way is up in a fit, so that drawings stand on their feet."""

from __future__ import annotations

import numpy as np

from fitpipe.arrays import FloatArray
from fitpipe.records import Fit

_CLEARLY = 0.8  # share of the body's mean direction along one axis; less: it leans, or lies askew
_STEADILY = 0.4  # share of the bones' length the mean keeps; less: it turns over

# by (axis, sign) of up: the rotation that makes it +y
_TURNS = {
    (0, 1): ((0, -1, 0), (1, 0, 0), (0, 0, 1)),
    (0, -1): ((0, 1, 0), (-1, 0, 0), (0, 0, 1)),
    (1, 1): ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
    (1, -1): ((1, 0, 0), (0, -1, 0), (0, 0, -1)),
    (2, 1): ((1, 0, 0), (0, 0, 1), (0, -1, 0)),
    (2, -1): ((1, 0, 0), (0, 0, -1), (0, 1, 0)),
}


def upright_turn(fit: Fit) -> FloatArray:
    """Rotation (3, 3) by quarter turns that makes +y up, told by how the body stands.

    Bones that are upright in a standing person are upright over most of a take, so their mean
    direction tells the vertical axis of its frame. Where it is not clear, +y is taken for up.
    """
    rest_up = fit.skeleton.rest_direction[:, 1]
    mean, most = np.zeros(3), 0.0
    for parent, child in fit.skeleton.bones:
        way = fit.position[:, child] - fit.position[:, parent]
        given = ~np.isnan(way[:, 0])
        if given.any():
            mean += rest_up[child] * way[given].mean(axis=0)
            most += abs(rest_up[child]) * float(np.linalg.norm(way[given], axis=1).mean())
    axis = int(np.abs(mean).argmax())
    along = abs(float(mean[axis]))
    if along <= max(_CLEARLY * float(np.linalg.norm(mean)), _STEADILY * most):
        return np.eye(3)
    return np.array(_TURNS[axis, 1 if mean[axis] > 0 else -1], np.float64)
