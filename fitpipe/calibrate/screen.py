"""Finds the observations of one source that its own track or its own bones speak against."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np
from scipy.ndimage import median_filter

from fitpipe.arrays import BoolArray, ByteArray, FloatArray
from fitpipe.config import WeightsConfig
from fitpipe.kernels.off_track import N_PREDICTIONS, off_track
from fitpipe.records import Doubt, Finding, Skeleton, Take

_REACH_S = 0.25  # neighbours farther away in time predict nothing ...
_REACH_TICKS = 2.5  # ... unless the take is slower than that
_LONE = 1.5  # how much wider the gate is where there is one prediction (at the ends of a track)
_PASSES = 2  # the second no longer leans on what the first has found
_LENGTH_OFFSET_M = 0.1  # a bone's error hardly shrinks with its length: short ones may stretch more
_INHERITED = 0.6  # share of the parent's strain: where an elbow is lost the hand is, too
_STRAIN_OVER_MEDIAN = 3.0  # a source that is noisy as a whole is not in doubt as a whole
_AROUND = 61  # frames over which the noise of a track is measured
_FEW = 10  # samples from which a bone's or a track's own median is worth something
_LEAST_CONFIDENCE = 0.04  # caps how noisy a low confidence makes a sample: 1 / sqrt(0.04) = 5 times


def screen(take: Take, skeleton: Skeleton, settings: WeightsConfig) -> tuple[Take, ByteArray]:
    """The take without its jumps, and with less confidence where its bones are off.

    *Jump*: the sample lies farther from where its neighbours in time predict it than
    ``jump_factor`` times what the noise of that track explains (the median over the take; noise
    grows as 1 / sqrt(confidence)), and than ``jump_floor_m``. It is taken as missing.

    *Bones*: the strain of a bone is how far it is from the source's own median length, over that
    length plus 0.1 m; of a joint, the root of the sum of squares over the bones that end there,
    and 0.6 times its parent's. Above ``bone_strain``, and three times the joint's own median, the
    sample keeps ``doubted_share`` of its confidence.

    Parameters
    ----------
    take : Take
        With the skeleton's joints as labels, in its order, on its own clock.
    skeleton : Skeleton
    settings : WeightsConfig

    Returns
    -------
    take : Take
        ``repairs`` tells what was found.
    doubt : ndarray of uint8, shape (time, joint)
        Doubt.JUMP, Doubt.BONES or Doubt.NONE.
    """
    doubt = np.full(take.is_observed.shape, Doubt.NONE, np.uint8)
    position, confidence = take.position_m, _confidence(take)
    jumped = np.zeros(doubt.shape, np.bool_)
    if settings.jumps:
        for j in range(skeleton.n_joints):
            jumped[:, j] = _jumps(position[:, j], take.time_s, confidence[:, j], settings)
        doubt[jumped] = Doubt.JUMP
        position = np.where(jumped[..., None], np.nan, position)
    if settings.bones:
        strain = bone_strain(position, skeleton, confidence)
        usual = np.array([_median(column) for column in strain.T])
        gate = np.fmax(settings.bone_strain, _STRAIN_OVER_MEDIAN * usual)
        strained = strain > gate  # NaN is not
        doubt[strained] = Doubt.BONES
        confidence = np.where(strained, settings.doubted_share * confidence, confidence)
    if not doubt.any():
        return take, doubt
    findings = [
        *_findings(doubt == Doubt.JUMP, skeleton, "off their own track", "taken as missing"),
        *_findings(
            doubt == Doubt.BONES, skeleton, "at bones of the wrong length",
            f"weight times {settings.doubted_share:g}",
        ),
    ]  # fmt: skip
    return (
        replace(
            take,
            position_m=position,
            confidence=confidence if (doubt == Doubt.BONES).any() else take.confidence,
            repairs=(*take.repairs, *findings),
        ),
        doubt,
    )


def doubt_at(doubt: ByteArray, own_time_s: FloatArray, time_s: FloatArray) -> ByteArray:
    """The doubts of a take at the instants of another clock: those of the nearest sample.

    Parameters
    ----------
    doubt : ndarray of uint8, shape (own time, joint)
    own_time_s, time_s : ndarray, shape (own time,) and (time,), seconds

    Returns
    -------
    ndarray of uint8, shape (time, joint)
        Doubt.NONE outside the take.
    """
    after = np.searchsorted(own_time_s, time_s).clip(0, len(own_time_s) - 1)
    before = (after - 1).clip(0)
    nearer_before = time_s - own_time_s[before] <= own_time_s[after] - time_s
    nearest = np.where(nearer_before & (after > before), before, after)
    tick = float(np.median(np.diff(own_time_s))) if len(own_time_s) > 1 else np.inf
    inside = np.abs(own_time_s[nearest] - time_s) <= tick
    return np.where(inside[:, None], doubt[nearest], np.uint8(Doubt.NONE))


def bone_strain(position_m: FloatArray, skeleton: Skeleton, confidence: FloatArray) -> FloatArray:
    """How far the bones at each joint are from their usual length, shape (time, joint).

    Parameters
    ----------
    position_m : ndarray, shape (time, joint, 3), metres
        Of one source; NaN where missing.
    skeleton : Skeleton
    confidence : ndarray, shape (time, joint)

    Returns
    -------
    strain : ndarray, shape (time, joint)
        NaN where the joint is not seen.
    """
    at_bone = np.zeros(position_m.shape[:2])
    total = np.zeros(position_m.shape[:2])
    for parent, child in skeleton.bones:
        length = np.linalg.norm(position_m[:, child] - position_m[:, parent], axis=-1)
        usual = _median(length)
        if np.isnan(usual):
            continue
        at_bone[:, child] = np.nan_to_num((length - usual) / (usual + _LENGTH_OFFSET_M)) ** 2
        at_bone[:, child] *= np.minimum(confidence[:, parent], confidence[:, child])
        total[:, child] += at_bone[:, child]
        total[:, parent] += at_bone[:, child]
    for child in skeleton.topological_order:
        if skeleton.parents[child] >= 0:
            total[:, child] += _INHERITED**2 * total[:, skeleton.parents[child]]
    return np.where(np.isnan(position_m[..., 0]), np.nan, np.sqrt(total))


def _jumps(
    position: FloatArray, time_s: FloatArray, confidence: FloatArray, settings: WeightsConfig
) -> BoolArray:
    """Where one track jumps, shape (time,)."""
    position = position.copy()
    jumped = np.zeros(len(time_s), np.bool_)
    tick = float(np.median(np.diff(time_s))) if len(time_s) > 1 else 0.0
    reach = max(_REACH_S, _REACH_TICKS * tick)
    variance = 1 / np.maximum(confidence, _LEAST_CONFIDENCE)
    distance = np.empty((N_PREDICTIONS, len(time_s)))
    spread = np.empty_like(distance)
    for _ in range(_PASSES):
        off_track(position, time_s, variance, reach, distance, spread)
        usual = _usual(np.fmin.reduce(distance / spread))
        gate = np.maximum(settings.jump_floor_m, settings.jump_factor * usual * spread)
        # chance alone makes one prediction bad more often than all of several
        gate[:, np.count_nonzero(distance >= 0, axis=0) == 1] *= _LONE
        # the best prediction counts: one bad neighbour, or the edge of an episode, brings no good
        # sample into doubt; NaN is not greater than 1
        new = np.fmin.reduce(distance / gate) > 1
        if not new.any():
            break
        jumped |= new
        position[new] = np.nan
    return jumped


def _usual(noise: FloatArray) -> FloatArray:
    """Median over the frames around each frame, shape (time,): noise grows with distance.

    NaN where the track is too short to tell.
    """
    typical = _median(noise)
    if np.isnan(typical) or len(noise) <= _AROUND:
        return np.full(len(noise), typical)
    return np.asarray(median_filter(np.where(np.isnan(noise), typical, noise), _AROUND))


def _confidence(take: Take) -> FloatArray:
    return np.ones(take.is_observed.shape) if take.confidence is None else take.confidence


def _median(values: FloatArray) -> float:
    """Median of the values that are there; NaN if they are few."""
    known = values[~np.isnan(values)]
    return float(np.median(known)) if known.size >= _FEW else float("nan")


def _findings(found: BoolArray, skeleton: Skeleton, what: str, done: str) -> Iterable[Finding]:
    n = int(np.count_nonzero(found))
    if n:
        yield Finding(
            f"{n} of {found.size} samples {what}: {named_samples(found, skeleton.joints)}",
            done,
            otherwise="[weights] has the thresholds; the variable doubt marks every sample",
        )


def named_samples(found: BoolArray, joints: tuple[str, ...], *, n_most: int = 5) -> str:
    """``"HandRight (frame 25), Head (3 samples, frames 7 to 40)"``, the most frequent first."""
    count = found.sum(axis=0)
    listed = []
    for j in np.argsort(-count, kind="stable")[:n_most]:
        frames = np.flatnonzero(found[:, j])
        if frames.size == 1:
            listed.append(f"{joints[j]} (frame {frames[0]})")
        elif frames.size:
            listed.append(f"{joints[j]} ({frames.size}, frames {frames[0]} to {frames[-1]})")
    rest = int(np.count_nonzero(count)) - len(listed)
    return ", ".join(listed) + (f" and {rest} more joints" if rest > 0 else "")
