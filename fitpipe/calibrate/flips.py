"""Finds frames in which a source takes the back for the front, against the other sources."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fitpipe.arrays import BoolArray, FloatArray, IntArray
from fitpipe.records import Finding, Skeleton

_REACH_S = 0.5  # how far a source has turned says nothing after a longer hole
_COST_PER_FRAME = 0.002  # of a source being flipped; a turn by 180 degrees costs 1
_AROUND = 3  # frames on either side of a change of camps between which the turn is measured
_LEAST_LINE_M = 0.02  # a line between left and right shorter than this has no direction
_ALIKE = 0.7  # cosine of the angle up to which two lines point alike
_NEAR = 5  # frames within which the line of a jump is compared with what is left of the track


def flipped_sources(
    observation_m: FloatArray, as_seen_m: FloatArray, time_s: FloatArray, skeleton: Skeleton
) -> BoolArray:
    """Which sources see left and right exchanged while another sees them the other way round.

    A depth sensor that takes a person's back for the front exchanges left and right of the whole
    body. The lines between the shoulders of two sources in one frame then point opposite ways.
    Which of the two is wrong follows from how the lines turn: a source that flips turns at once,
    one that does not turns with the person. Of all assignments over the take that explain who
    opposes whom, the one with the least turning is taken (squares of the angles, a flip counting
    as a turn by 180 degrees), and among those the one with the fewest flipped frames. Frames in
    which all sources agree are left alone: nothing in them tells.

    Parameters
    ----------
    observation_m : ndarray, shape (time, source, joint, 3), metres
        In one frame of reference; NaN where missing.
    time_s : ndarray, shape (time,), seconds
    skeleton : Skeleton

    Returns
    -------
    flipped : ndarray of bool, shape (time, source)
    """
    girdle = widest_girdle(observation_m, skeleton)
    if girdle is None:
        return np.zeros(observation_m.shape[:2], np.bool_)
    line, as_seen = (girdle_lines(m[:, :, list(girdle)]) for m in (observation_m, as_seen_m))
    return flipped_lines(line, as_seen, time_s)


def flipped_lines(line: FloatArray, as_seen: FloatArray, time_s: FloatArray) -> BoolArray:
    """What `flipped_sources` finds, from the directions between left and right.

    Parameters
    ----------
    line, as_seen : ndarray, shape (time, source, 3)
        As `girdle_lines` gives them, without and with the samples that jump.
    time_s : ndarray, shape (time,), seconds
    """
    flipped = np.zeros(line.shape[:2], np.bool_)
    line = np.stack([_with_jumps(line[:, s], as_seen[:, s]) for s in range(line.shape[1])], axis=1)
    seen = ~np.isnan(line[..., 0])
    frames = np.flatnonzero(seen.sum(axis=1) >= 2)
    if frames.size == 0:
        return flipped
    camp = _camps(line[frames])
    if not (camp == 1).any():
        return flipped
    # stretches of frames with the same camps
    begin = np.append(0, np.flatnonzero(np.any(camp[1:] != camp[:-1], axis=1)) + 1)
    end = np.append(begin[1:], len(frames))
    turn = _turns(line[frames], time_s[frames], begin, end)
    other_way = _least_turning(camp[begin], turn, end - begin)
    opposed = (camp == 1).any(axis=1)
    wrong = (camp == 1) ^ np.repeat(other_way, end - begin)[:, None]
    flipped[frames] = wrong & (camp >= 0) & opposed[:, None]
    return flipped


def widest_girdle(observation_m: FloatArray, skeleton: Skeleton) -> tuple[int, int] | None:
    """Left and right joint of one parent that are farthest apart (the shoulders), or None."""
    widest, pair = 0.0, None
    for i, j in skeleton.mirror:
        if skeleton.parents[i] != skeleton.parents[j] or skeleton.parents[i] < 0:
            continue
        width = np.linalg.norm(observation_m[:, :, i] - observation_m[:, :, j], axis=-1)
        seen = width[~np.isnan(width)]
        if seen.size and float(np.median(seen)) > widest:
            widest, pair = float(np.median(seen)), (i, j)
    return pair


def girdle_lines(sides_m: FloatArray) -> FloatArray:
    """Unit vectors from right to left, (time, source, 3), of points (time, source, 2, 3), metres.

    NaN where a line is missing or too short to have a direction.
    """
    line = sides_m[:, :, 0] - sides_m[:, :, 1]
    length = np.linalg.norm(line, axis=-1, keepdims=True)
    good = length > _LEAST_LINE_M
    return np.where(good, line, np.nan) / np.where(good, length, 1.0)


def _with_jumps(line: FloatArray, as_seen: FloatArray) -> FloatArray:
    """The line of one source, (time, 3), filled with jumps that point where a neighbour points.

    So a flip is there from its first frame on, and one wild shoulder is no person turned round.
    """
    n = len(line)
    valid = ~np.isnan(line[:, 0])
    at = np.arange(n)
    before = np.maximum.accumulate(np.where(valid, at, -1))
    after = np.minimum.accumulate(np.where(valid, at, n)[::-1])[::-1]
    fits = np.zeros(n, np.bool_)
    for other in (before, after):
        near = (np.abs(other - at) <= _NEAR) & (other >= 0) & (other < n)
        along = np.einsum("ta,ta->t", as_seen, line[other.clip(0, n - 1)])
        fits |= near & (along > _ALIKE)  # NaN is not
    return np.where((~valid & fits)[:, None], as_seen, line)


def _camps(line: FloatArray) -> IntArray:
    """Who opposes whom, shape (frame, source): 0 with the first source seen, 1 not, -1 not seen.

    The camps are the two ends of the direction that the lines, taken without their sign, have
    most in common; of two lines, they are two camps if the angle is more than 90 degrees.
    """
    seen = ~np.isnan(line[..., 0])
    if line.shape[1] == 2:
        apart = np.einsum("fx,fx->f", line[:, 0], line[:, 1]) < 0
        return np.stack([np.zeros(len(line), np.int64), apart.astype(np.int64)], axis=1)
    known = np.where(seen[..., None], line, 0.0)
    common = np.linalg.eigh(np.einsum("fsa,fsb->fab", known, known))[1][..., -1]
    ahead = np.einsum("fsa,fa->fs", known, common) >= 0
    first = np.take_along_axis(ahead, np.argmax(seen, axis=1)[:, None], axis=1)
    return np.where(seen, (ahead != first).astype(np.int64), -1)


def _turns(line: FloatArray, time_s: FloatArray, begin: IntArray, end: IntArray) -> FloatArray:
    """Angle by which each source turns between stretches, shape (stretch - 1, source), radians.

    From three frames before the boundary to three after it, as sensors take some frames to flip.
    NaN where a source is not seen or time has a hole.
    """
    before = np.maximum(begin[1:] - _AROUND, begin[:-1])
    after = np.minimum(begin[1:] + _AROUND - 1, end[1:] - 1)
    cosine = np.einsum("ksa,ksa->ks", line[before], line[after])
    angle = np.arccos(np.clip(cosine, -1.0, 1.0))
    return np.where((time_s[after] - time_s[before] <= _REACH_S)[:, None], angle, np.nan)


def _least_turning(camp: IntArray, turn: FloatArray, duration: IntArray) -> BoolArray:
    """For every stretch, whether camp 0 is the flipped one, by dynamic programming.

    Parameters
    ----------
    camp : ndarray of int, shape (stretch, source)
    turn : ndarray, shape (stretch - 1, source), radians
    duration : ndarray of int, shape (stretch,), frames
    """
    # (stretch, choice, source): which sources each choice takes as flipped
    flipped = np.stack([camp == 1, camp == 0], axis=1)
    own = _COST_PER_FRAME * duration[:, None] * flipped.sum(axis=2)
    total, back = own[0], np.zeros((len(camp), 2), np.int64)
    for k in range(1, len(camp)):
        known = (camp[k - 1] >= 0) & (camp[k] >= 0) & ~np.isnan(turn[k - 1])
        angle = np.where(known, turn[k - 1], 0.0)
        changes = flipped[k - 1][:, None] ^ flipped[k][None]  # (from, to, source)
        turned = (np.where(changes, np.pi - angle, angle) / np.pi) ** 2
        step = total[:, None] + np.where(known, turned, 0.0).sum(axis=2)
        back[k] = step.argmin(axis=0)
        total = step.min(axis=0) + own[k]
    choice = np.zeros(len(camp), np.int64)
    choice[-1] = total.argmin()
    for k in range(len(camp) - 1, 0, -1):
        choice[k - 1] = back[k, choice[k]]
    return np.asarray(choice == 1)


def flip_findings(flipped: BoolArray, sources: Sequence[str]) -> list[Finding]:
    """Says which sources took the back for the front, and when."""
    findings = []
    for source, where in zip(sources, flipped.T, strict=True):
        edge = np.flatnonzero(np.diff(np.concatenate(([0], where.astype(np.int8), [0]))))
        ranges = [f"{a}-{b - 1}" for a, b in zip(edge[::2], edge[1::2], strict=True)]
        if ranges:
            listed = ", ".join(ranges[:10]) + (", ..." if len(ranges) > 10 else "")
            findings.append(
                Finding(
                    f"source {source!r} takes the back for the front in "
                    f"{np.count_nonzero(where)} frames ({listed})",
                    "left out there, the other sources are used",
                    otherwise="weights.flips = false keeps them",
                )
            )
    return findings
