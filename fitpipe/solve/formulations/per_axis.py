"""M = sum of r_k^2 = 0 with one multiplier and one step factor for each coordinate."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from fitpipe.arrays import FloatArray
from fitpipe.solve.formulations.formulation import Step
from fitpipe.solve.formulations.squared_sum import (
    curvature_weight,
    gradient,
    has_multiplier,
    squared_sum,
    target_start,
)
from fitpipe.solve.geometry import Frames, bones_at, guarded_tension, pull, stiffness_matrix


@dataclass(frozen=True)
class PerAxis:
    """The source page's triple search, which it tried and rejected.

    Each coordinate takes off its share of M, in proportion to what it can do about it. Asked for
    the whole of M each, as on the page, the three together overshoot three times; asked for a third
    each, one that can do little takes endless steps. A turn of the axes changes the result.

    Of M'' a coordinate sees the part inside itself. It makes all bones exact, but holds them
    against turning, which takes two coordinates: frames stall above the optimum.
    """

    curvature: Literal["exact", "none"] = "exact"
    n_parts: ClassVar[int] = 3

    def start(self, frames: Frames, rigid: FloatArray) -> FloatArray:
        """The targets: at exact bones there is no step."""
        return target_start(frames, rigid)

    def constraint(self, frames: Frames, x: FloatArray) -> FloatArray:
        """M, shape (frame, 1), square metres."""
        return squared_sum(bones_at(frames, x))

    def step(self, frames: Frames, x: FloatArray, multiplier: FloatArray) -> Step:
        """lambda_c = (L_c H^-1 b_c + M_c) / (L_c H^-1 L_c'), d_c = H^-1 (b_c - L_c' lambda_c)."""
        S, bones = frames.incidence, bones_at(frames, x)
        # arrays are (frame, axis, joint) from here on
        h, slope = frames.damped_stiffness[:, None], gradient(frames, bones).swapaxes(1, 2)
        both = np.stack([pull(frames, x).swapaxes(1, 2), slope], axis=-1)
        if self.curvature == "exact":
            u2 = np.square(bones.unit).swapaxes(1, 2)
            across = (bones.residual * bones.curvature)[:, None]
            inside = (u2 + across * (1.0 - u2)) * frames.bound[:, None]
            tension = guarded_tension(
                h, curvature_weight(frames, multiplier[..., 0])[..., None] * inside, S
            )
            free, along = np.moveaxis(np.linalg.solve(stiffness_matrix(h, tension, S), both), -1, 0)
        else:
            free, along = np.moveaxis(both / h[..., None], -1, 0)
        is_defined = has_multiplier(frames, bones)
        bottom = np.einsum("faj,faj->fa", slope, along)
        total = bottom.sum(axis=1, keepdims=True)
        share = np.divide(bottom, total, out=np.zeros_like(bottom), where=total > 0)
        top = np.einsum("faj,faj->fa", slope, free) + share * squared_sum(bones)
        has_slope = is_defined[:, None] & (bottom > 0)
        new = np.divide(top, bottom, out=np.zeros_like(top), where=has_slope)
        d = free - new[..., None] * along
        direction = d[..., None] * np.eye(3)[:, None]  # part c moves coordinate c alone
        change = np.einsum("faj,faj->fa", slope, d)
        return Step(direction, new[..., None], change[..., None], is_defined)
