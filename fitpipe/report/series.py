"""What a fit says over time: per frame, in bins of frames, and its worst moments."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import NamedTuple

import numpy as np

from fitpipe.arrays import ByteArray, FloatArray, IntArray
from fitpipe.records import Doubt, Fit, JointStatus
from fitpipe.report.numbers import mean_along

_APART_S = 0.5  # worst moments nearer than this are one


class Cover(IntEnum):
    """How well a joint was seen in a frame; the larger the better."""

    ABSENT = 0
    INTERPOLATED = 1
    CARRIED = 2
    SOME = 3
    ALL = 4


class Use(IntEnum):
    """What became of a source's observation of a joint in a frame."""

    MISSING = 0
    LEFT_OUT = 1
    REDUCED = 2
    USED = 3


class Envelope(NamedTuple):
    """Smallest, mean and largest value of each bin; NaN where it has none."""

    low: FloatArray
    mean: FloatArray
    high: FloatArray


@dataclass(frozen=True)
class Moment:
    """A frame worth looking at.

    Parameters
    ----------
    frame : int
    time_s : float
    rms_m : float, metres
        Root mean square distance between the fit and the observations that count.
    joint : str
        The one farthest off,
    residual_m : float, metres
        by this much.
    """

    frame: int
    time_s: float
    rms_m: float
    joint: str
    residual_m: float


def bin_edges(n: int, n_bins: int) -> IntArray:
    """First entry of every bin, shape (bin,): at most ``n_bins``, each of one or more of n."""
    n_bins = max(1, min(n, n_bins))
    return np.arange(n_bins, dtype=np.int64) * n // n_bins


def envelope(values: FloatArray, edges: IntArray) -> Envelope:
    """Smallest, mean and largest value in every bin of frames.

    Parameters
    ----------
    values : ndarray, shape (time,)
        NaN where unknown.
    edges : ndarray of int, shape (bin,)
        As `bin_edges` gives them.
    """
    is_known = ~np.isnan(values)
    n = np.add.reduceat(is_known.astype(np.int64), edges)
    total = np.add.reduceat(np.where(is_known, values, 0.0), edges)
    mean = np.where(n > 0, total / np.maximum(n, 1), np.nan)
    return Envelope(np.fmin.reduceat(values, edges), mean, np.fmax.reduceat(values, edges))


def middle_of_bins(codes: ByteArray, edges: IntArray) -> ByteArray:
    """The middle one of the ordered codes in every bin of frames, shape (bin, joint)."""
    ends = np.append(edges[1:], len(codes))
    rows = [np.sort(codes[a:b], axis=0)[(b - a - 1) // 2] for a, b in zip(edges, ends, strict=True)]
    return np.stack(rows)


def cover(fit: Fit) -> ByteArray:
    """How well each joint was seen, shape (time, joint): codes of Cover."""
    codes = np.full(fit.status.shape, Cover.ABSENT, np.uint8)
    codes[fit.status == JointStatus.CARRIED] = Cover.CARRIED
    codes[fit.status == JointStatus.INTERPOLATED] = Cover.INTERPOLATED
    n_seen = (fit.weight > 0).sum(axis=1)
    is_seen = fit.status == JointStatus.OBSERVED
    codes[is_seen] = np.where(n_seen[is_seen] == len(fit.sources), Cover.ALL, Cover.SOME)
    return codes


def use(fit: Fit) -> ByteArray:
    """What became of each observation, shape (time, source, joint): codes of Use."""
    codes = np.full(fit.weight.shape, Use.MISSING, np.uint8)
    is_given = ~np.isnan(fit.residual)
    codes[is_given] = np.where(fit.weight[is_given] > 0, Use.USED, Use.LEFT_OUT)
    codes[(fit.doubt == Doubt.BONES) & (codes == Use.USED)] = Use.REDUCED
    codes[(fit.doubt == Doubt.JUMP) | (fit.doubt == Doubt.FLIPPED)] = Use.LEFT_OUT
    return codes


def frame_rms(fit: Fit) -> FloatArray:
    """Rms distance between fit and the observations that count, shape (time,), metres."""
    counts = np.where(fit.weight > 0, fit.residual, np.nan)
    return np.sqrt(mean_along(counts.reshape(fit.n_frames, -1) ** 2, 1))


def source_residual(fit: Fit) -> FloatArray:
    """Mean distance of each source's observations to the fit, shape (time, source), metres."""
    return mean_along(fit.residual, 2)


def worst_moments(fit: Fit, n: int = 8) -> tuple[Moment, ...]:
    """The frames in which the fit lies farthest from what was seen, at least 0.5 s apart.

    Worst first; frames without any observation that counts are not among them.
    """
    value = frame_rms(fit)
    residual = np.where(fit.weight > 0, fit.residual, -1.0).max(axis=1)
    order = np.argsort(np.where(np.isnan(value), -1.0, value), kind="stable")[::-1]
    chosen: list[int] = []
    for frame in order:
        if len(chosen) == n or np.isnan(value[frame]):
            break
        if all(abs(fit.time_s[frame] - fit.time_s[other]) >= _APART_S for other in chosen):
            chosen.append(int(frame))
    moments = []
    for frame in chosen:
        joint = int(residual[frame].argmax())
        moments.append(
            Moment(
                frame,
                float(fit.time_s[frame]),
                float(value[frame]),
                fit.skeleton.joints[joint],
                float(residual[frame, joint]),
            )
        )
    return tuple(moments)


def longest_run(flags: np.ndarray) -> int:
    """Length of the longest run of True."""
    edge = np.flatnonzero(np.diff(np.concatenate(([0], flags.astype(np.int8), [0]))))
    return int((edge[1::2] - edge[::2]).max(initial=0))


def source_lengths(fit: Fit) -> FloatArray | None:
    """Length of each bone as each source saw it, (source, link, 3): quartiles, metres.

    The lower quartile, the median and the upper quartile over the frames in which the source saw
    both ends; NaN where it never did. None if the fit does not hold what the sources saw.
    """
    if fit.observation is None:
        return None
    quartiles = np.full((len(fit.sources), fit.skeleton.n_links, 3), np.nan)
    for k, (a, b) in enumerate(fit.skeleton.links):
        ends = fit.observation[:, :, [a, b]].astype(np.float64)
        length = np.linalg.norm(ends[:, :, 1] - ends[:, :, 0], axis=-1)
        for s in range(len(fit.sources)):
            given = length[~np.isnan(length[:, s]), s]
            if given.size:
                quartiles[s, k] = np.quantile(given, (0.25, 0.5, 0.75))
    return quartiles
