"""Finds the observations of one source that its own track or its own bones speak against."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from fitpipe.arrays import BoolArray, ByteArray, FloatArray, IntArray, writable
from fitpipe.config import WeightsConfig
from fitpipe.kernels.bone_strain import bone_lengths, strain_of_joints
from fitpipe.kernels.off_track import N_SHARES, find_jumps, predict, track_noise
from fitpipe.kernels.running_median import HALF, running_median
from fitpipe.records import Doubt, Finding, Skeleton, Take

_REACH_S = 0.25  # neighbours farther away in time predict nothing ...
_REACH_TICKS = 2.5  # ... unless the take is slower than that
_LONE = 1.5  # how much wider the gate is where there is one prediction (at the ends of a track)
_PASSES = 2  # the second no longer leans on what the first has found
_LENGTH_OFFSET_M = 0.1  # a bone's error hardly shrinks with its length: short ones may stretch more
_INHERITED = 0.6  # share of the parent's strain: where an elbow is lost the hand is, too
_STRAIN_OVER_MEDIAN = 3.0  # a source that is noisy as a whole is not in doubt as a whole
_FEW = 10  # samples from which a bone's or a track's own median is worth something
_TOLD: Final = {Doubt.JUMP: "off their own track", Doubt.BONES: "at bones of the wrong length"}
# Frames on either side that have a say in whether a sample jumps: in each pass those that predict
# it, those that measure the noise around it, and those that predict these in turn.
REACH_FRAMES: Final = _PASSES * (HALF + 2 * 2)
_LEAST_CONFIDENCE = 0.04  # caps how noisy a low confidence makes a sample: 1 / sqrt(0.04) = 5 times


@dataclass(frozen=True, eq=False)
class Usual:
    """What is usual for the tracks and bones of one source; NaN where there are too few samples.

    Parameters
    ----------
    tick_s : float, seconds
    noise_m : ndarray, shape (pass, joint), metres
        Median distance of the samples of each track from their prediction, before and after the
        jumps that the first pass finds are left out.
    length_m : ndarray, shape (bone,), metres
    strain : ndarray, shape (joint,)
    """

    tick_s: float
    noise_m: FloatArray
    length_m: FloatArray
    strain: FloatArray

    def of(self, joints: Sequence[int]) -> Usual:
        """Of these joints, as if they had no bones."""
        own = list(joints)
        return Usual(self.tick_s, self.noise_m[:, own], np.zeros(0), self.strain[own])


def usual_tracks(take: Take, skeleton: Skeleton, settings: WeightsConfig) -> Usual:
    """What is usual for a take, or for a longer one that it is a fair sample of.

    Parameters as of `screen`.
    """
    return _judge(take, skeleton, settings, None)[0]


def screen(
    take: Take, skeleton: Skeleton, settings: WeightsConfig, *, usual: Usual | None = None
) -> tuple[Take, ByteArray]:
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
    usual : Usual, optional
        Where the take is a stretch of a longer one; then ``repairs`` is left as it is. Frames
        less than ``REACH_FRAMES`` from the stretch's ends may be judged otherwise than in the
        whole.

    Returns
    -------
    take : Take
        ``repairs`` tells what was found.
    doubt : ndarray of uint8, shape (time, joint)
        Doubt.JUMP, Doubt.BONES or Doubt.NONE.
    """
    _, position, confidence, doubt = _judge(take, skeleton, settings, usual)
    if not doubt.any():
        return take, doubt
    findings = []
    if usual is None:
        tally = Doubted.nothing(skeleton.n_joints)
        tally.add(doubt, first=0)
        findings = tally.findings(skeleton, settings)
    return (
        replace(
            take,
            position_m=position,
            confidence=confidence if (doubt == Doubt.BONES).any() else take.confidence,
            repairs=(*take.repairs, *findings),
        ),
        doubt,
    )


def _judge(
    take: Take, skeleton: Skeleton, settings: WeightsConfig, usual: Usual | None
) -> tuple[Usual, FloatArray, FloatArray, ByteArray]:
    """What is usual (measured where it is not given); positions, confidences, doubts."""
    doubt = np.full(take.is_observed.shape, Doubt.NONE, np.uint8)
    position, confidence = take.position_m, _confidence(take)
    noise_m = np.full((_PASSES, skeleton.n_joints), np.nan)
    length_m, typical = np.full(skeleton.n_bones, np.nan), np.full(skeleton.n_joints, np.nan)
    tick = float(np.median(np.diff(take.time_s))) if take.n_frames > 1 else 0.0
    if usual is not None:
        tick, noise_m, length_m, typical = (
            usual.tick_s, usual.noise_m.copy(), usual.length_m, usual.strain,
        )  # fmt: skip
    if settings.jumps:
        jumped = _jumps(take, take.confidence, settings, tick, noise_m, measure_usual=usual is None)
        if jumped.any():
            doubt[jumped] = Doubt.JUMP
            position = np.where(jumped[..., None], np.nan, position)
    if settings.bones:
        strain, length_m = _strain(
            position, skeleton, confidence, None if usual is None else length_m
        )
        if usual is None:
            typical = np.array([_median(column) for column in strain.T])
        gate = np.fmax(settings.bone_strain, _STRAIN_OVER_MEDIAN * typical)
        strained = strain > gate  # NaN is not
        if strained.any():
            doubt[strained] = Doubt.BONES
            confidence = np.where(strained, settings.doubted_share * confidence, confidence)
    return Usual(tick, noise_m, length_m, typical), position, confidence, doubt


def doubt_at(
    doubt: ByteArray, own_time_s: FloatArray, time_s: FloatArray, *, tick_s: float | None = None
) -> ByteArray:
    """The doubts of a take at the instants of another clock: those of the nearest sample.

    Parameters
    ----------
    doubt : ndarray of uint8, shape (own time, joint)
    own_time_s, time_s : ndarray, shape (own time,) and (time,), seconds
    tick_s : float, seconds, optional
        Of the take; by default the median step of ``own_time_s``.

    Returns
    -------
    ndarray of uint8, shape (time, joint)
        Doubt.NONE outside the take.
    """
    after = np.searchsorted(own_time_s, time_s).clip(0, len(own_time_s) - 1)
    before = (after - 1).clip(0)
    nearer_before = time_s - own_time_s[before] <= own_time_s[after] - time_s
    nearest = np.where(nearer_before & (after > before), before, after)
    if tick_s is None:
        tick_s = float(np.median(np.diff(own_time_s))) if len(own_time_s) > 1 else np.inf
    inside = np.abs(own_time_s[nearest] - time_s) <= tick_s
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
    return _strain(position_m, skeleton, confidence, None)[0]


def _strain(
    position_m: FloatArray,
    skeleton: Skeleton,
    confidence: FloatArray,
    usual_m: FloatArray | None,
) -> tuple[FloatArray, FloatArray]:
    """Strain (time, joint), and the usual length of every bone (bone,)."""
    position, confidence = writable(position_m), writable(confidence)
    up, down = np.array(skeleton.bones, np.int64).reshape(-1, 2).T.copy()
    length = np.empty((skeleton.n_bones, len(position)))
    bone_lengths(position, up, down, length)
    if usual_m is None:
        usual_m = np.array([_median(row) for row in length])
    strain = np.empty(position.shape[:2])
    parent = np.array(skeleton.parents, np.int64)
    strain_of_joints(
        position, confidence, length, writable(usual_m), _LENGTH_OFFSET_M, up, down,
        skeleton.topological_order, parent, _INHERITED**2, strain,
    )  # fmt: skip
    return strain, usual_m


def _jumps(
    take: Take,
    confidence: FloatArray | None,
    settings: WeightsConfig,
    tick_s: float,
    noise_m: FloatArray,
    *,
    measure_usual: bool,
) -> BoolArray:
    """Where the tracks jump, shape (time, joint); `noise_m` is written where it is measured."""
    n_time, n_joints = take.is_observed.shape
    share = np.empty((N_SHARES, n_time))
    predict(writable(take.time_s), max(_REACH_S, _REACH_TICKS * tick_s), share)
    rated = np.empty((0, 0)) if confidence is None else writable(confidence)
    tracks = writable(take.position_m), rated, _LEAST_CONFIDENCE, share
    jumped = np.zeros((n_joints, n_time), np.bool_)
    noise, median = np.empty(jumped.shape), np.full(jumped.shape, np.nan)
    filled = np.full(jumped.shape, np.nan)
    n_new = np.zeros(n_joints, np.int64)
    for number in range(_PASSES):
        track_noise(*tracks, jumped, noise)
        if measure_usual:
            noise_m[number:] = [_median(track) for track in noise]
        usual = noise_m[number]
        before, filled = filled, np.where(np.isnan(noise), usual[:, None], noise)
        for j in range(n_joints):
            # around each frame, as noise grows with distance; if that can be told
            if n_time <= 2 * HALF + 1 or np.isnan(usual[j]):
                median[j] = usual[j]
            else:
                running_median(filled[j], before[j], median[j])
        # the best prediction counts: one bad neighbour, or the edge of an episode, brings no good
        # sample into doubt; chance alone makes one bad more often than all of several
        find_jumps(
            *tracks, median, settings.jump_factor, settings.jump_floor_m, _LONE, jumped, n_new
        )
        if not n_new.any() and np.array_equal(noise_m[number], noise_m[-1], equal_nan=True):
            break
    return jumped.T


def _confidence(take: Take) -> FloatArray:
    return np.ones(take.is_observed.shape) if take.confidence is None else take.confidence


def _median(values: FloatArray) -> float:
    """Median of the values that are there; NaN if they are few."""
    known = values[~np.isnan(values)]
    return float(np.median(known)) if known.size >= _FEW else float("nan")


@dataclass(eq=False)
class Doubted:
    """How often each joint was in doubt, added up block by block of one take."""

    n_samples: int
    count: dict[Doubt, IntArray]
    first: dict[Doubt, IntArray]
    last: dict[Doubt, IntArray]

    @classmethod
    def nothing(cls, n_joints: int) -> Doubted:
        """Before the first block."""

        def each(value: int) -> dict[Doubt, IntArray]:
            return {kind: np.full(n_joints, value) for kind in _TOLD}

        return cls(0, each(0), each(-1), each(-1))

    def add(self, doubt: ByteArray, *, first: int) -> None:
        """Count a block of doubts, (time, joint), whose first frame has that number."""
        self.n_samples += doubt.size
        if not doubt.any():
            return
        for kind in _TOLD:
            found = doubt == kind
            for j in np.flatnonzero(found.any(axis=0)):
                frames = first + np.flatnonzero(found[:, j])
                if not self.count[kind][j]:
                    self.first[kind][j] = frames[0]
                self.count[kind][j] += len(frames)
                self.last[kind][j] = frames[-1]

    def findings(self, skeleton: Skeleton, settings: WeightsConfig) -> list[Finding]:
        """What to tell of them."""
        done = {
            Doubt.JUMP: "taken as missing",
            Doubt.BONES: f"weight times {settings.doubted_share:g}",
        }
        return [
            Finding(
                f"{n} of {self.n_samples} samples {_TOLD[kind]}: {self._named(kind, skeleton)}",
                done[kind],
                otherwise="[weights] has the thresholds; the variable doubt marks every sample",
            )
            for kind in _TOLD
            if (n := int(self.count[kind].sum()))
        ]

    def _named(self, kind: Doubt, skeleton: Skeleton, *, n_most: int = 5) -> str:
        """``"HandRight (frame 25), Head (3, frames 7 to 40)"``, the most frequent first."""
        count, first, last = self.count[kind], self.first[kind], self.last[kind]
        listed = []
        for j in np.argsort(-count, kind="stable")[:n_most]:
            if count[j] == 1:
                listed.append(f"{skeleton.joints[j]} (frame {first[j]})")
            elif count[j]:
                listed.append(f"{skeleton.joints[j]} ({count[j]}, frames {first[j]} to {last[j]})")
        rest = int(np.count_nonzero(count)) - len(listed)
        return ", ".join(listed) + (f" and {rest} more joints" if rest > 0 else "")
