"""Errors of a skeleton tracker that last: the ones smoothing does not remove.

Recordings of two Kinects show noise from frame to frame of about a millimetre and errors of
centimetres that stay for some tenths of a second, seconds in which the back is taken for the
front, and poses that are reported twice.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Final, NamedTuple

import numpy as np
from scipy.signal import lfilter

from fitpipe.arrays import BoolArray, FloatArray, IntArray
from fitpipe.records import Skeleton, Take
from fitpipe.records.checks import Faults
from fitpipe.simulate.bursts import bursts
from fitpipe.simulate.sensor import Seen

_HIDDEN_WANDER: Final = 2.0  # a joint that is guessed wanders farther
_EASE_S: Final = 0.1  # a limb drifts to its wrong place and back in this time


@dataclass(frozen=True)
class Lapses:
    """How often a sensor is wrong for a while, and by how much; nothing of it by default.

    Parameters
    ----------
    wander_m : float, metres
        Standard deviation per axis of a smooth error that every joint has of its own; twofold where
        the body hides it.
    wander_s : float, seconds
        In which it forgets where it was (its correlation falls to 0.74 in that time).
    flip_share, flip_mean_s : float
        Share of the frames in which the back is taken for the front, so that all left and right
        joints are exchanged; and how long this lasts on average, seconds.
    swap_share, swap_mean_s : float
        The same for both arms from the elbow on, or both legs from the knee on, alone.
    limb_loss_share, limb_loss_mean_s, limb_loss_m : float
        Share of the frames in which an arm is lost and reported elsewhere, at full confidence; its
        mean duration; and how far off its end is on average, metres.
    jump_share, jump_mean_s, jump_m : float
        The same for the whole body, found in a wrong place.
    away_share, away_mean_s : float
        Share of the frames in which the whole body is not seen.
    repeat_share : float
        Share of the frames that report the pose of the frame before once more.

    Raises
    ------
    RecordError
        Lists every argument out of its range.
    """

    wander_m: float = 0.0
    wander_s: float = 0.2
    flip_share: float = 0.0
    flip_mean_s: float = 1.5
    swap_share: float = 0.0
    swap_mean_s: float = 0.3
    limb_loss_share: float = 0.0
    limb_loss_mean_s: float = 0.3
    limb_loss_m: float = 0.2
    jump_share: float = 0.0
    jump_mean_s: float = 0.2
    jump_m: float = 1.5
    away_share: float = 0.0
    away_mean_s: float = 0.5
    repeat_share: float = 0.0

    def __post_init__(self) -> None:
        faults = Faults("lapses")
        for field in fields(self):
            value, is_share = getattr(self, field.name), field.name.endswith("_share")
            is_time = field.name.endswith("_s")
            in_range = (value > 0 if is_time else value >= 0) and value <= (
                0.5 if is_share else np.inf
            )
            wanted = "above 0" if is_time else "0 to 0.5" if is_share else "0 or more"
            faults.unless(
                in_range and bool(np.isfinite(value)),
                f"{field.name} is {value:g}, expected {wanted}",
            )
        faults.raise_if_any()


class Event(NamedTuple):
    """One thing that went wrong, as the truth of a simulated take tells it."""

    source: str
    kind: str
    joints: tuple[str, ...]
    """Empty for the whole body."""
    first_frame: int
    last_frame: int


def misled(
    seen: Seen, skeleton: Skeleton, lapses: Lapses, *, seed: int | np.random.Generator
) -> tuple[Take, list[Event]]:
    """What a sensor reports with its lapses, and the list of all that is wrong.

    Parameters
    ----------
    seen : Seen
        From ``look``.
    skeleton : Skeleton
    lapses : Lapses
    seed : int or numpy.random.Generator

    Returns
    -------
    take : Take
    events : list of Event
        Single samples lost or displaced (from ``look``) and all lapses, by kind.
    """
    rng = np.random.default_rng(seed)
    take, n_frames = seen.take, seen.take.n_frames
    tick_s = float(np.median(np.diff(take.time_s))) if n_frames > 1 else 1.0
    groups = _groups(skeleton)
    # drawn first and always, so that changing one setting leaves the other lapses as they were
    wave = _waves(rng, take.time_s, skeleton.n_joints, lapses.wander_s)
    chance = {name: rng.random((n_frames, width)) for name, width in _WIDTHS.items()}
    limb_step = rng.standard_normal((2, n_frames, 3))
    jump_angle = rng.uniform(0, 2 * np.pi, n_frames)

    def during(name: str, share: float, mean_s: float) -> BoolArray:
        return bursts(chance[name], share=share, mean_frames=max(mean_s / tick_s, 1.0))

    flipped = during("flip", lapses.flip_share, lapses.flip_mean_s)[:, 0]
    swapped = during("swap", lapses.swap_share, lapses.swap_mean_s) & ~flipped[:, None]
    lost = during("limb", lapses.limb_loss_share, lapses.limb_loss_mean_s)
    jumped = during("jump", lapses.jump_share, lapses.jump_mean_s)[:, 0]
    away = during("away", lapses.away_share, lapses.away_mean_s)[:, 0]
    repeated = _alone(chance["repeat"][:, 0], lapses.repeat_share)

    size_m = np.where(seen.hidden, _HIDDEN_WANDER, 1.0) * lapses.wander_m
    position = take.position_m + size_m[..., None] * wave
    for side, limb in enumerate(groups.arms):
        off = lapses.limb_loss_m * _displacement(lost[:, side], limb_step[side], tick_s)
        position[:, limb] += off[:, None] * np.linspace(0.5, 1.0, len(limb))[:, None]
    frame = np.arange(n_frames)[:, None]
    order = np.tile(np.arange(skeleton.n_joints), (n_frames, 1))
    for limb_i, pairs in enumerate((groups.arm_pairs, groups.leg_pairs)):
        _exchange(order, swapped[:, limb_i], pairs)
    _exchange(order, flipped, groups.all_pairs)
    position = position[frame, order]
    confidence = None if take.confidence is None else take.confidence[frame, order]
    way = np.stack([np.cos(jump_angle), np.zeros(n_frames), np.sin(jump_angle)], axis=1)
    position += (lapses.jump_m * _held(way, jumped))[:, None]
    position[away] = np.nan
    source_frame = np.where(repeated, np.arange(n_frames) - 1, np.arange(n_frames))
    position = position[source_frame]
    if confidence is not None:
        confidence = np.where(away[:, None], 0.0, confidence)[source_frame]

    whole = {
        "back taken for front": flipped,
        "body in a wrong place": jumped,
        "body not seen": away,
        "pose repeated": repeated,
    }
    part: list[tuple[str, list[int], BoolArray]] = [
        ("left and right arm exchanged", groups.arm_pairs.ravel().tolist(), swapped[:, 0]),
        ("left and right leg exchanged", groups.leg_pairs.ravel().tolist(), swapped[:, 1]),
        *(("arm lost", limb.tolist(), lost[:, side]) for side, limb in enumerate(groups.arms)),
        *(("sample displaced", [j], seen.outlier[:, j]) for j in range(skeleton.n_joints)),
        *(("joint not seen", [j], seen.lost[:, j]) for j in range(skeleton.n_joints)),
    ]
    events = [
        Event(take.source, kind, (), first, last)
        for kind, when in whole.items()
        for first, last in _runs(when)
    ]
    events += [
        Event(take.source, kind, tuple(skeleton.joints[j] for j in joints), first, last)
        for kind, joints, when in part
        for first, last in _runs(when)
    ]
    return replace(take, position_m=position, confidence=confidence), events


# columns of chance that each lapse uses: arms left and right; arms and legs
_WIDTHS: Final = {"flip": 1, "swap": 2, "limb": 2, "jump": 1, "away": 1, "repeat": 1}


class _Groups(NamedTuple):
    """Joints that belong together: limbs from their second joint on, and mirrored pairs."""

    arms: tuple[IntArray, IntArray]
    arm_pairs: IntArray
    leg_pairs: IntArray
    all_pairs: IntArray


def _groups(skeleton: Skeleton) -> _Groups:
    """Arms and legs by their joints' names; a skeleton without such names has neither."""

    def named(stems: tuple[str, ...]) -> IntArray:
        rows = [pair for pair in skeleton.mirror if skeleton.joints[pair[0]].startswith(stems)]
        return np.array(rows, dtype=np.int64).reshape(-1, 2)

    arms = named(("Elbow", "Wrist", "Hand", "Thumb"))
    legs = named(("Knee", "Ankle", "Foot"))
    every = np.array(skeleton.mirror, dtype=np.int64).reshape(-1, 2)
    return _Groups((arms[:, 0], arms[:, 1]), arms, legs, every)


def _exchange(order: IntArray, when: BoolArray, pairs: IntArray) -> None:
    """Exchange the joints of each pair in some frames of ``order`` (time, joint), in place."""
    rows = np.flatnonzero(when)[:, None]
    left, right = pairs.T
    order[rows, left], order[rows, right] = order[rows, right], order[rows, left]


def _waves(
    rng: np.random.Generator, time_s: FloatArray, n_joints: int, memory_s: float
) -> FloatArray:
    """Smooth random curves of unit variance, (time, joint, 3): a Matérn 3/2 process.

    Correlation over a lag h: (1 + h/memory) exp(-h/memory). White noise through two equal
    low-pass filters of first order, on even ticks a tenth of the memory long.
    """
    tick_s = memory_s / 10
    begin = float(time_s[0])
    n_warm = 200  # twenty memories, after which the start is forgotten
    n = int(np.ceil((float(time_s[-1]) - begin) / tick_s)) + 2
    white = rng.standard_normal((n_warm + n, n_joints, 3))
    decay = np.exp(-0.1)
    wave = lfilter([1.0], [1.0, -2 * decay, decay**2], white, axis=0)
    # variance of this filter's output for unit white noise
    square = decay**2
    wave = wave[n_warm:] / np.sqrt((1 + square) / (1 - square) ** 3)
    at = (time_s - begin) / tick_s
    low = np.floor(at).astype(np.int64)
    share = (at - low)[:, None, None]
    return np.asarray((1 - share) * wave[low] + share * wave[low + 1])


def _alone(chance: FloatArray, share: float) -> BoolArray:
    """Frames picked with the given share, never the first and never two in a row."""
    picked = np.zeros(len(chance), dtype=np.bool_)
    # after a picked frame one is passed over, so that the rate of the others is a little higher
    rate = share / (1 - share)
    for frame_i in range(1, len(chance)):
        picked[frame_i] = not picked[frame_i - 1] and chance[frame_i] < rate
    return picked


def _held(value: FloatArray, when: BoolArray) -> FloatArray:
    """The value at the start of each run of ``when`` for all of the run, 0 outside."""
    held = np.zeros_like(value)
    for first, last in _runs(when):
        held[first : last + 1] = value[first]
    return held


def _displacement(lost: BoolArray, step: FloatArray, tick_s: float) -> FloatArray:
    """Displacement of a lost limb's end, (time, 3), of length 1 on average, eased in and out."""
    off = _held(step, lost) / 1.6  # the mean length of a standard normal vector
    n_ease = max(round(_EASE_S / tick_s), 1)
    window = np.ones(n_ease) / n_ease
    return np.stack([np.convolve(axis, window, mode="same") for axis in off.T], axis=1)


def _runs(when: BoolArray) -> list[tuple[int, int]]:
    """First and last frame of every run of True."""
    edge = np.diff(np.concatenate(([0], when.astype(np.int8), [0])))
    return list(
        zip(
            np.flatnonzero(edge == 1).tolist(),
            (np.flatnonzero(edge == -1) - 1).tolist(),
            strict=True,
        )
    )
