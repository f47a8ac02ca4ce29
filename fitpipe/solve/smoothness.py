"""How smooth the motion is and how noisy the sources are, from observations held out.

Both are found on the smoother without bones. Short runs of frames are held out, not single ones:
the noise of depth sensors lasts for some frames, and would be taken for motion.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from fitpipe.arrays import BoolArray, FloatArray
from fitpipe.kernels import banded
from fitpipe.kernels.banded import from_planes, to_planes
from fitpipe.kernels.sources import squared_distances, weigh_down
from fitpipe.solve.problem import weighted_mean

_N_CUTOFFS = 12
_CUTOFFS_HZ = (0.25, 0.4)  # slowest; fastest as a share of the frame rate
_ROUNDS = 3  # of re-weighting
_RUN = 4  # frames held out together
_FOLDS = 3
_POOLED_SAMPLES = 100  # of evidence that the joints lend each other
_SET_ASIDE = 0.01
_LEAST_NOISE_M = 0.003  # below it, a sudden move could pass for a gross error
CHI_MEDIAN = 1.5382  # median length of a 3-D normal vector of unit spread
_SCORED_FRAMES = 3072  # of a longer take, evenly spread blocks are looked at
_SCORED_BLOCK = 512


class Tuning(NamedTuple):
    """What `tune` finds."""

    smoothness: FloatArray  # (joint,) s, in seconds^(2 q - 1)
    cutoff_hz: FloatArray  # (joint,) frequency whose amplitude the smoother halves
    noise_m: FloatArray  # (source, joint) per axis, metres; NaN where never seen
    usual_weight: FloatArray  # (source, joint) at which an observation has that noise


def rate_of(time_s: FloatArray) -> float:
    """Frames per second, of the median tick."""
    return float(1.0 / np.median(np.diff(time_s)))


def to_smoothness(
    cutoff_hz: FloatArray, stiffness: FloatArray, rate_hz: float, order: int
) -> FloatArray:
    """s at which the smoother halves a frequency: 2 s (2 π f)^(2 q) = h · rate."""
    return np.asarray(stiffness * rate_hz / (2.0 * (2 * np.pi * cutoff_hz) ** (2 * order)))


def to_cutoff(
    smoothness: FloatArray, stiffness: FloatArray, rate_hz: float, order: int
) -> FloatArray:
    """The inverse of `to_smoothness`, Hz."""
    return np.asarray((stiffness * rate_hz / (2.0 * smoothness)) ** (0.5 / order) / (2 * np.pi))


def tune(
    stretches: Sequence[tuple[FloatArray, FloatArray, BoolArray, FloatArray]],
    rate_hz: float,
    *,
    order: int,
    robust: bool,
    smoothness: float | None,
) -> Tuning:
    """Smoothness of every joint and noise of every source's joint.

    Parameters
    ----------
    stretches : sequence of (observation_m, weight, is_held, time_s)
        What was seen in some frames of the take, those of `scored`: arrays of shapes (time,
        source, joint, 3), metres, (time, source, joint), (time, joint) and (time,), seconds, with
        more than ``order`` frames.
    rate_hz : float
        Of the whole take: `rate_of`.
    order : int
        q of the penalised derivative.
    robust : bool
        Weigh down observations far from the smooth motion while choosing.
    smoothness : float or None
        Given s; None chooses it per joint by the error of held-out runs.
    """
    blocks = [_Block(*stretch, order) for stretch in stretches]
    sums = sum(block.stiffness.sum(axis=0) for block in blocks)
    counts = sum((block.stiffness > 0).sum(axis=0) for block in blocks)
    stiffness = np.where(counts > 0, sums / np.maximum(counts, 1), 1.0)
    cutoffs = np.geomspace(_CUTOFFS_HZ[0], _CUTOFFS_HZ[1] * rate_hz, _N_CUTOFFS)
    grid = to_smoothness(cutoffs[:, None], stiffness, rate_hz, order)

    if smoothness is not None:
        chosen = np.full(len(stiffness), smoothness)
    else:
        chosen = _best(grid, blocks, robust=robust)
    usual = _usual_weight(blocks)
    noise = _noise(blocks, chosen)
    if robust:
        for _ in range(_ROUNDS):
            for block in blocks:
                block.reweigh(chosen, noise, usual)
            noise = _noise(blocks, chosen)
        if smoothness is None:
            # over the whole grid again: gross errors can make a joint look slower than it is
            chosen = _best(grid, blocks, robust=False)
            noise = _noise(blocks, chosen)
    return Tuning(chosen, to_cutoff(chosen, stiffness, rate_hz, order), noise, usual)


def robust_weight(
    weight: FloatArray,
    observation_m: FloatArray,
    position_m: FloatArray,
    noise_m: FloatArray,
    usual_weight: FloatArray | None = None,
) -> FloatArray:
    """Weights times exp(-r² / 2 c²), r the distance in units of the noise, c² = 15.

    A factor below 1 % is 0: the observation is set aside.

    Parameters
    ----------
    weight : ndarray, shape (time, source, joint)
    observation_m : ndarray, shape (time, source, joint, 3), metres
    position_m : ndarray, shape (time, joint, 3), metres
        The motion without its noise.
    noise_m : ndarray, shape (source, joint), metres per axis
        Taken as 3 mm where it is less; where NaN or infinite, nothing is weighed down.
    usual_weight : ndarray, shape (source, joint), optional
        Observations of less weight are noisier, by the root. Default: all have the same noise.

    References
    ----------
    Dennis and Welsch (1978), doi:10.1080/03610917808812083.
    """
    is_known = noise_m < np.inf  # not so for NaN
    scale = np.where(is_known, 30.0 * np.maximum(noise_m, _LEAST_NOISE_M) ** 2, np.inf)
    squared, out = np.empty_like(weight), np.empty_like(weight)
    squared_distances(observation_m, weight, position_m, squared)
    if usual_weight is not None:
        squared *= weight / usual_weight
    weigh_down(weight, squared, scale, _SET_ASIDE, out)
    return out


def smooth(
    target: FloatArray,
    stiffness: FloatArray,
    is_held: BoolArray,
    rows: FloatArray,
    smoothness: FloatArray,
) -> FloatArray:
    """Positions that minimise J0 + s |D x|² without bones, (time, joint, 3), metres.

    Parameters
    ----------
    target : ndarray, shape (time, joint, 3), metres
    stiffness : ndarray, shape (time, joint)
        Above 0 wherever it takes data to hold the system up.
    is_held : ndarray of bool, shape (time, joint)
    rows : ndarray, shape (time - q, q + 1)
    smoothness : ndarray, shape (joint,)
    """
    band = np.empty((len(target), rows.shape[1], target.shape[1]))
    banded.assemble(rows, is_held, stiffness, 2.0 * smoothness, band)
    banded.factor(band)
    planes = to_planes(target)
    planes *= stiffness[:, None]
    banded.solve(band, planes)
    return from_planes(planes)


class _Block:
    """A stretch of frames to choose on."""

    _SLACK = 1e-9  # of the mean stiffness, so that no joint's matrix is singular

    def __init__(
        self,
        observation_m: FloatArray,
        weight: FloatArray,
        is_held: BoolArray,
        time_s: FloatArray,
        order: int,
    ) -> None:
        self.observation, self.given, self.is_held = observation_m, weight, is_held
        self.rows = banded.difference_rows(time_s, order)
        run = np.arange(len(time_s)) // min(max(len(time_s) // (4 * _FOLDS), 1), _RUN)
        inner = (run > 0) & (run < run[-1])
        self.folds = [np.flatnonzero(inner & (run % _FOLDS == k)) for k in range(_FOLDS)]
        self._pose(weight)

    def _pose(self, weight: FloatArray) -> None:
        self.weight = weight
        target, total = weighted_mean(self.observation, weight)
        self.stiffness = 2.0 * total
        self.target = np.where(total[..., None] > 0, target, self._middle(target, total))
        self.planes = to_planes(self.target)
        self.least = self._SLACK * max(float(self.stiffness.mean()), np.finfo(np.float64).tiny)
        self.diagonal = np.maximum(self.stiffness, self.least)

    @staticmethod
    def _middle(target: FloatArray, total: FloatArray) -> FloatArray:
        """Mean place of each joint, (joint, 3)."""
        sums = np.einsum("tj,tjx->jx", total, target)
        return np.asarray(sums / np.maximum(total.sum(axis=0), np.finfo(np.float64).tiny)[:, None])

    def reweigh(
        self, smoothness: FloatArray, noise_m: FloatArray, usual_weight: FloatArray
    ) -> None:
        position = smooth(self.target, self.diagonal, self.is_held, self.rows, smoothness)
        self._pose(robust_weight(self.given, self.observation, position, noise_m, usual_weight))

    def left_out(self, smoothness: FloatArray) -> FloatArray:
        """Squared distance of each target to its prediction without its run, (time, joint).

        NaN in the runs at both ends, which would have to be extrapolated.
        """
        n_time, n_joints = self.stiffness.shape
        error = np.full((n_time, n_joints), np.nan)
        band = np.empty((n_time, self.rows.shape[1], n_joints))
        for fold in self.folds:
            left = self.diagonal.copy()
            left[fold] = self.least
            banded.assemble(self.rows, self.is_held, left, 2.0 * smoothness, band)
            banded.factor(band)
            planes = left[:, None] * self.planes
            banded.solve(band, planes)
            error[fold] = ((planes[fold] - self.planes[fold]) ** 2).sum(axis=1)
        return error

    def distances(self, smoothness: FloatArray) -> FloatArray:
        """Of the observations that are given a weight to the motion, (time, source, joint)."""
        position = smooth(self.target, self.diagonal, self.is_held, self.rows, smoothness)
        squared = np.empty_like(self.given)
        squared_distances(self.observation, self.given, position, squared)
        return np.where(self.given > 0, np.sqrt(squared), np.nan)


def scored(n_time: int) -> list[tuple[int, int]]:
    """First frame, and the one after the last, of the stretches to choose on."""
    if n_time <= _SCORED_FRAMES:
        return [(0, n_time)]
    starts = np.linspace(0, n_time - _SCORED_BLOCK, _SCORED_FRAMES // _SCORED_BLOCK).astype(int)
    return [(start, start + _SCORED_BLOCK) for start in starts.tolist()]


def _usual_weight(blocks: list[_Block]) -> FloatArray:
    """Median of the weights above 0, (source, joint); 1 where there are none."""
    given = np.concatenate([block.given for block in blocks])
    some = (given > 0).any(axis=0)
    usual = np.ones(some.shape)
    usual[some] = np.nanmedian(np.where(given > 0, given, np.nan)[:, some], axis=0)
    return usual


def _noise(blocks: list[_Block], smoothness: FloatArray) -> FloatArray:
    distance = np.concatenate([block.distances(smoothness) for block in blocks])
    known = ~np.isnan(distance).all(axis=0)
    noise = np.full(known.shape, np.nan)
    noise[known] = np.nanmedian(distance[:, known], axis=0) / CHI_MEDIAN
    return noise


def _best(grid: FloatArray, blocks: list[_Block], *, robust: bool) -> FloatArray:
    """Row of `grid` (cutoff, joint) with the least left-out error, refined between rows."""
    h = np.concatenate([block.stiffness for block in blocks])
    errors = [np.concatenate([block.left_out(s) for block in blocks]) for s in grid]
    h = np.where(np.isnan(errors[0]), 0.0, h)  # the ends are not predicted
    errors = [np.nan_to_num(error) for error in errors]
    n_seen = (h > 0).sum(axis=0)
    if robust:
        # Gross errors count little: Student's t with four degrees of freedom about the best scale.
        typical = np.full(h.shape[1], np.inf)
        for error in errors:
            for joint in np.flatnonzero(n_seen):
                middle = float(np.median(error[h[:, joint] > 0, joint]))
                typical[joint] = min(typical[joint], max(middle, np.finfo(np.float64).tiny))
        scale = 4.0 * typical / CHI_MEDIAN**2
        loss = [3.5 * (np.log1p(error / scale) * (h > 0)).sum(axis=0) for error in errors]
        score = np.array(loss)
    else:
        total = np.maximum(h.sum(axis=0), np.finfo(np.float64).tiny)
        mean = [(h * error).sum(axis=0) / total for error in errors]
        score = 1.5 * n_seen * np.log(np.maximum(mean, np.finfo(np.float64).tiny))
    n_all = max(int(n_seen.sum()), 1)
    score = score + (_POOLED_SAMPLES / n_all) * score.sum(axis=1, keepdims=True)
    return np.asarray(np.exp(_lowest(np.log(grid), score)))


def _lowest(at: FloatArray, score: FloatArray) -> FloatArray:
    """Where each column of `score` is least, by a parabola through the three lowest rows."""
    k = score.argmin(axis=0)
    columns = np.arange(score.shape[1])
    inner = k.clip(1, len(score) - 2)
    low, mid, high = (score[inner + step, columns] for step in (-1, 0, 1))
    bend = low - 2 * mid + high
    shift = np.where(bend > 0, 0.5 * (low - high) / np.where(bend > 0, bend, 1.0), 0.0)
    shift = np.where(k == inner, shift.clip(-0.5, 0.5), k - inner)
    step = at[1] - at[0]
    return np.asarray(at[inner, columns] + shift * step)
