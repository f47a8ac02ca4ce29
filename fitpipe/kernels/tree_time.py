"""Fit of rigid bones to a whole take: smoothness over time and exact lengths at once.

Minimises sum_t 1/2 h |x - m|² + s |D x|² subject to |x_child - x_parent| = L in every frame
(formulation.md section 5) by sequential quadratic programming. With A = H + 2 s DᵀD, g the gradient
and N the linearised constraints of `tree_bones`, a step is

    minimise  1/2 dᵀ (A + K) d + gᵀ d   subject to   N d = 0

K keeps the curvature of the constraints on the diagonal: kappa = multiplier / length at both ends
of a bone, so that A + K stays one banded matrix per joint. The multipliers solve
(N (A + K)⁻¹ Nᵀ) l = r by conjugate gradients. Their preconditioner
(N Nᵀ)⁻¹ N (A + K) Nᵀ (N Nᵀ)⁻¹ rests on N changing slowly over time, so that it nearly commutes
with A (Elman 1999, doi:10.1137/S1064827596299849, has the same for flow). After a step the bones
are laid along their new directions, which keeps lengths exact and makes the objective the merit
function.
"""

# mypy: allow-untyped-defs, allow-untyped-calls
# (Numba infers the types of compiled functions; the Python faces are annotated.)

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from fitpipe.kernels import banded
from fitpipe.kernels import tree_bones as bones
from fitpipe.kernels._jit import kernel

Float = npt.NDArray[np.float64]
Int = npt.NDArray[np.int64]
Bool = npt.NDArray[np.bool_]

ARRIVED, STUCK, LIMIT = 0, 1, 2  # how the iteration ended

SOFTEST = 0.3  # K may take away this much of H, no more
UNSEEN = 1e-3  # proximal stiffness where nothing was observed, share of the median stiffness
FORCING = 1e-2  # multipliers are solved to this share of the residual they start with
MOST_CG = 60
TAU = (0.05, 2.0)
WORTH_A_LOOK = 0.1  # a better tau is tried if it differs from 1 by this
MOST_HALVINGS = 30
ROUNDING = 1e-12  # share of the objective below which a descent cannot be told from rounding


class TimeFit(NamedTuple):
    """What `fit_tree_over_time` returns."""

    position: Float  # (time, joint, 3) metres; NaN where not held
    force: Float  # (time, joint, 3) gradient of the objective; NaN where not held
    outcome: int  # ARRIVED, STUCK or LIMIT
    iterations: int
    step_m: float  # largest move of a coordinate in the last full step


@kernel()
def dot(a, b):
    """Sum of products of two arrays of one shape, (time, joint) or (time, 3, joint)."""
    a, b = a.reshape(-1, a.shape[-1]), b.reshape(-1, b.shape[-1])
    total = 0.0
    for t in range(a.shape[0]):
        row = 0.0
        for j in range(a.shape[1]):
            row += a[t, j] * b[t, j]
        total += row
    return total


@kernel()
def add(a, factor, b, out):
    """Write a + factor b into `out`; all of one shape."""
    a, b, out = a.ravel(), b.ravel(), out.ravel()
    for i in range(a.shape[0]):
        out[i] = a[i] + factor * b[i]


@kernel()
def data_force(stiffness, m, x, out):
    """Add H (x - m) to `out`; returns 1/2 (x - m)ᵀ H (x - m)."""
    value = 0.0
    for t in range(x.shape[0]):
        row = 0.0
        for c in range(3):
            for j in range(x.shape[2]):
                apart = x[t, c, j] - m[t, c, j]
                force = stiffness[t, j] * apart
                out[t, c, j] += force
                row += 0.5 * force * apart
        value += row
    return value


@kernel()
def soften(stiffness, floor, multiplier, is_bone, pattern, diagonal):
    """Write H + K into `diagonal`, no less than `floor` and a share of H."""
    n_joints = diagonal.shape[1]
    for t in range(diagonal.shape[0]):
        for j in range(n_joints):
            diagonal[t, j] = max(stiffness[t, j], floor[t, j])
        for j in range(n_joints):
            if is_bone[t, j]:
                kappa = multiplier[t, j] / pattern.length[j]
                diagonal[t, j] += kappa
                diagonal[t, pattern.parent[j]] += kappa
        for j in range(n_joints):
            least = max(SOFTEST * stiffness[t, j], floor[t, j])
            diagonal[t, j] = max(diagonal[t, j], least)


class Descent:
    """Positions with exact bones on their way to the optimum, and the workspace of the steps."""

    def __init__(
        self,
        m: Float,
        stiffness: Float,
        is_held: Bool,
        pattern: bones.Pattern,
        rows: Float,
        penalty: Float,
        start: Float,
    ) -> None:
        shape = stiffness.shape
        parent = pattern.parent
        self.m, self.stiffness, self.is_held, self.pattern = m, stiffness, is_held, pattern
        self.rows, self.penalty, self.x = rows, penalty, start
        self.is_bone = is_held & is_held[:, np.maximum(parent, 0)] & (parent >= 0)
        middle = float(np.median(stiffness[stiffness > 0]))
        self.floor = np.where(is_held, np.where(stiffness > 0, 0.0, UNSEEN * middle), middle)
        self.zeros = np.zeros(shape)
        self.multiplier = np.zeros(shape)
        self.diagonal, self.pivot = np.empty(shape), np.empty(shape)
        self.residual, self.better = np.empty(shape), np.empty(shape)
        self.search, self.image = np.empty(shape), np.empty(shape)
        self.band = np.empty((shape[0], rows.shape[1], shape[1]))
        self.entry = np.empty((shape[0], len(pattern.neighbour)))
        self.n = np.empty_like(start)
        self.planes, self.product = np.empty_like(start), np.empty_like(start)
        self.step = np.empty_like(start)
        self.force = np.empty_like(start)
        self.value = self.objective(self.x, self.force)

    def objective(self, x: Float, force: Float) -> float:
        """The objective at x; its gradient goes into `force`."""
        banded.multiply(self.rows, self.is_held, self.zeros, self.penalty, x, force)
        return float(0.5 * dot(x, force) + data_force(self.stiffness, self.m, x, force))

    def find_step(self) -> None:
        """Leave in `step` the solution of the quadratic programme, in `multiplier` its l."""
        pattern, n, step, r = self.pattern, self.n, self.step, self.residual
        bones.point(self.x, self.is_bone, pattern, n)
        bones.factor_gram(n, self.is_bone, pattern, self.pivot, self.entry)
        soften(self.stiffness, self.floor, self.multiplier, self.is_bone, pattern, self.diagonal)
        banded.assemble(self.rows, self.is_held, self.diagonal, self.penalty, self.band)
        banded.factor(self.band)
        bones.pull(self.multiplier, n, pattern, step)
        step += self.force
        np.negative(step, out=step)
        banded.solve(self.band, step)
        bones.stretch(step, n, pattern, r)
        enough = FORCING**2 * dot(r, r)
        rz = 1.0
        self.search[:] = 0.0
        for _ in range(MOST_CG):
            if dot(r, r) <= enough:
                break
            self.precondition()
            before, rz = rz, dot(r, self.better)
            add(self.better, rz / before, self.search, self.search)
            bones.pull(self.search, n, pattern, self.planes)
            banded.solve(self.band, self.planes)
            bones.stretch(self.planes, n, pattern, self.image)
            alpha = rz / dot(self.search, self.image)
            add(self.multiplier, alpha, self.search, self.multiplier)
            add(r, -alpha, self.image, r)
            add(step, -alpha, self.planes, step)

    def precondition(self) -> None:
        """Write (N Nᵀ)⁻¹ N (A + K) Nᵀ (N Nᵀ)⁻¹ residual into `better`."""
        out = self.better
        out[:] = self.residual
        bones.solve_gram(self.pivot, self.entry, self.pattern, out)
        bones.pull(out, self.n, self.pattern, self.planes)
        banded.multiply(
            self.rows, self.is_held, self.diagonal, self.penalty, self.planes, self.product
        )
        bones.stretch(self.product, self.n, self.pattern, out)
        bones.solve_gram(self.pivot, self.entry, self.pattern, out)

    def move(self) -> bool:
        """Take the step, longer or shorter where a parabola says so; False if nothing descends."""
        slope = dot(self.force, self.step)
        ahead, force = np.empty_like(self.x), np.empty_like(self.x)
        value = self.look(1.0, ahead, force)
        bend = value - self.value - slope
        tau = min(max(-0.5 * slope / bend, TAU[0]), TAU[1]) if bend > 0 else TAU[1]
        is_tiny = -slope <= ROUNDING * self.value
        if not is_tiny and (value > self.value or abs(tau - 1.0) > WORTH_A_LOOK):
            other, other_force = self.planes, self.product
            for _ in range(MOST_HALVINGS):
                at_other = self.look(tau, other, other_force)
                if at_other < value:
                    value = at_other
                    ahead[:], force[:] = other, other_force
                if value <= self.value:
                    break
                tau *= 0.5
        if not (is_tiny or value <= self.value):
            return False
        self.x, self.force, self.value = ahead, force, value
        return True

    def look(self, tau: float, x: Float, force: Float) -> float:
        """The objective after tau steps; positions and gradient go into `x` and `force`."""
        add(self.x, tau, self.step, x)
        bones.point(x, self.is_bone, self.pattern, self.n)
        bones.lay(x, self.n, self.is_bone, self.pattern)
        return self.objective(x, force)


def fit_tree_over_time(
    target: Float,
    stiffness: Float,
    is_held: Bool,
    length: Float,
    parent: Int,
    *,
    rows: Float,
    smoothness: Float,
    start: Float,
    tolerance_m: float = 1e-6,
    max_iterations: int = 100,
) -> TimeFit:
    """Fit all frames of a take together.

    Parameters
    ----------
    target : ndarray, shape (time, joint, 3), metres
        Finite wherever `stiffness` is above 0.
    stiffness : ndarray, shape (time, joint)
        h = 2 x the sum of weights; 0 = not observed.
    is_held : ndarray of bool, shape (time, joint)
        Which joints have a position at all; a bone binds where both its ends do.
    length : ndarray, shape (joint,), metres
        Of the bone from the parent; above 0 except for roots.
    parent : ndarray of int, shape (joint,)
        -1 for a root; parents come before their children.
    rows : ndarray, shape (time - q, q + 1)
        Of `banded.difference_rows`.
    smoothness : ndarray, shape (joint,)
        s of each joint.
    start : ndarray, shape (time, joint, 3), metres
        Positions with exact bones wherever held.
    tolerance_m : float, metres
        Arrived when a full step moves no coordinate by more than this.
    max_iterations : int

    Returns
    -------
    TimeFit
    """
    h = np.where(is_held, stiffness, 0.0)
    seen = (h > 0)[..., None]
    # about the middle of the data, so that rounding does not grow with the place in the world
    centre = np.where(seen, target, 0.0).sum(axis=(0, 1)) / np.count_nonzero(seen)
    descent = Descent(
        banded.to_planes(np.where(seen, target - centre, 0.0)),
        h,
        np.ascontiguousarray(is_held),
        bones.make_pattern(parent, np.ascontiguousarray(length)),
        rows,
        2.0 * smoothness,
        banded.to_planes(np.where(is_held[..., None], start - centre, 0.0)),
    )
    outcome, iteration, largest = LIMIT, 0, np.inf
    while outcome == LIMIT and iteration < max_iterations:
        descent.find_step()
        largest = float(np.abs(descent.step).max())
        iteration += 1
        if not descent.move():
            outcome = STUCK
        elif largest < tolerance_m:
            outcome = ARRIVED
    held = is_held[..., None]
    position = np.where(held, banded.from_planes(descent.x) + centre, np.nan)
    force = np.where(held, banded.from_planes(descent.force), np.nan)
    return TimeFit(position, force, outcome, iteration, largest)
