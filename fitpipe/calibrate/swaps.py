"""Finds labels that change places for some frames within one source, and puts them back."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Literal

import numpy as np

from fitpipe.arrays import BoolArray, FloatArray, IntArray
from fitpipe.records import Finding, Skeleton, Take

_LEAST_JUMP_M = 0.05  # labels nearer to each other than this are not told apart ...
_LEFT_OVER = 0.35  # both labels must be this much nearer to the other's track than to their own
_OVER_USUAL = 5.0  # ... nor any two whose tracks jump by less than this times the median
_SHARE_OF_LIMB = 0.6  # of a limb's joints that must change places for the limb to have changed
_REACH_S = 0.12  # a sample this much later than the last is still compared with it
_BLOCK = 4096
_N_LISTED = 20


def mend_swaps(
    take: Take, skeleton: Skeleton, *, swaps: Literal["repair", "report", "off"]
) -> Take:
    """The take with exchanged labels put back: left for right, or any two labels.

    Two labels have changed places where each jumps onto the track of the other: onto its last
    place, or the place it was moving to. Left and right joints that follow each other along a
    limb are judged together: most of them must change. Which of the two labellings was wrong is a
    matter of time: between two gaps, the rarer one. Two labels by themselves must change back.

    Parameters
    ----------
    take : Take
        With the skeleton's joints as labels, in its order, on its own clock.
    skeleton : Skeleton
    swaps : {"repair", "report", "off"}
        ``"report"`` tells of them and leaves them.

    Returns
    -------
    Take
        ``repairs`` names the frames and the labels.
    """
    if swaps == "off" or take.n_frames < 3:
        return take
    exchanged = _exchanged(take, skeleton)
    if not exchanged:
        return take
    position = take.position_m.copy()
    confidence = None if take.confidence is None else take.confidence.copy()
    for (i, j), where in exchanged.items():
        position[where, i], position[where, j] = position[where, j], position[where, i]
        if confidence is not None:
            confidence[where, i], confidence[where, j] = confidence[where, j], confidence[where, i]
    done = "changed back" if swaps == "repair" else "left as they are"
    repairs = (*take.repairs, *_findings(exchanged, skeleton, done))
    if swaps == "report":
        return replace(take, repairs=repairs)
    return replace(take, position_m=position, confidence=confidence, repairs=repairs)


def _exchanged(take: Take, skeleton: Skeleton) -> dict[tuple[int, int], BoolArray]:
    """For every pair of joints that ever change places: the frames in which they have."""
    seen = take.is_observed
    places, earlier, linked = _expected(take.position_m, take.time_s, seen)
    own = np.where(linked, _nearest(take.position_m[None], places), np.nan)
    limbs = [np.array(limb).T for limb in _limbs(skeleton)]
    exchanged: dict[tuple[int, int], BoolArray] = {}
    taken = np.zeros(seen.shape, np.bool_)  # changes of place that a limb explains
    for left, right in limbs:
        both, across = np.concatenate((left, right)), np.concatenate((right, left))
        # a limb exchanged for one frame moves on from where the other side was two frames ago
        moved_on = 2 * places[:1, :, across] - earlier[None, :, both]
        there = np.concatenate((places[:, :, across], moved_on))
        other = _nearest(take.position_m[None][:, :, both], there)
        gain = (own[:, both] - other).reshape(len(seen), 2, -1).sum(axis=1)  # (time, pair)
        switched = (own[:, both] > _LEAST_JUMP_M) & (other < _LEFT_OVER * own[:, both])
        n_seen = np.count_nonzero(~np.isnan(other), axis=1)
        n_switched = switched.sum(axis=1)
        event = (n_switched > _SHARE_OF_LIMB * n_seen) & (n_switched >= min(3, both.size))
        mostly = np.asarray(2 * linked[:, both].sum(axis=1) > both.size, dtype=np.bool_)
        stretch = _stretches(mostly)
        for first, last in _rarer(np.flatnonzero(event), stretch):
            ends = [t for t in (first, last) if t < len(seen) and event[t]]
            # a pair not seen at either end goes with its limb
            unknown = np.isnan(gain[ends]).all(axis=0)
            for k in np.flatnonzero(unknown | (np.nansum(gain[ends], axis=0) > 0)):
                where = exchanged.setdefault(
                    (int(left[k]), int(right[k])), np.zeros(len(seen), np.bool_)
                )
                where[first:last] = True
        taken[np.ix_(np.flatnonzero(event), both)] = True
    for pair, events in _single_events(take.position_m, places, own, taken).items():
        stretch = _stretches(linked[:, pair[0]] & linked[:, pair[1]])
        for first, last in _closed(events, stretch):
            where = exchanged.setdefault(pair, np.zeros(len(seen), np.bool_))
            where[first:last] ^= True
    return {pair: where for pair, where in sorted(exchanged.items()) if where.any()}


def _expected(
    position: FloatArray, time_s: FloatArray, seen: BoolArray
) -> tuple[FloatArray, FloatArray, BoolArray]:
    """Where each joint may be expected: (last place, where it was moving to); the place before
    the last, or the last where there is none; and if it may be expected anywhere.

    Shapes (2, time, joint, 3), (time, joint, 3) and (time, joint).
    """
    n_time, n_joints = seen.shape
    frame = np.where(seen, np.arange(n_time)[:, None], -1)
    last = np.maximum.accumulate(frame, axis=0)
    before = np.full_like(last, -1)
    before[1:] = last[:-1]  # the last frame before this one that shows the joint
    joint = np.arange(n_joints)
    earlier = np.where(before > 0, np.take_along_axis(before, np.maximum(before, 0), axis=0), -1)
    p1, p2 = position[np.maximum(before, 0), joint], position[np.maximum(earlier, 0), joint]
    t1, t2 = time_s[np.maximum(before, 0)], time_s[np.maximum(earlier, 0)]
    recent = time_s[:, None] - t1 <= max(_REACH_S, 1.01 * _tick(time_s))
    linked = seen & (before >= 0) & recent
    moving = (earlier >= 0) & (t1 - t2 <= max(_REACH_S, 1.01 * _tick(time_s)))
    rate = np.where(moving, (time_s[:, None] - t1) / np.where(moving, t1 - t2, 1.0), 0.0)
    with_speed = p1 + rate[..., None] * np.where(moving[..., None], p1 - p2, 0.0)
    places = np.where(linked[..., None], np.stack([p1, with_speed]), np.nan)
    return places, np.where(moving[..., None], p2, p1), linked


def _single_events(
    position: FloatArray, places: FloatArray, own: FloatArray, taken: BoolArray
) -> dict[tuple[int, int], IntArray]:
    """Frames in which two joints change places with respect to the frame before."""
    usual = np.array([np.median(o[~np.isnan(o)]) if (o >= 0).any() else 0.0 for o in own.T])
    jumps = (own > np.maximum(_LEAST_JUMP_M, _OVER_USUAL * usual)) & ~taken  # NaN is not
    busy = np.flatnonzero(jumps.sum(axis=1) >= 2)
    found: dict[tuple[int, int], list[int]] = {}
    for begin in range(0, len(busy), _BLOCK):
        frames = busy[begin : begin + _BLOCK]
        # (frame, i, j): how near joint i is to where joint j was expected
        to_other = _nearest(position[None, frames, :, None], places[:, frames, None])
        theirs = np.maximum(to_other, to_other.transpose(0, 2, 1))
        theirs = np.where(np.isnan(theirs), np.inf, theirs)
        best = theirs.min(axis=2, keepdims=True)
        mine = np.where(jumps[frames], own[frames], 0.0)
        mine = np.minimum(mine[:, :, None], mine[:, None, :])
        change = (theirs <= best) & (theirs <= best.transpose(0, 2, 1))
        change &= theirs < _LEFT_OVER * mine
        for f, i, j in zip(*np.nonzero(np.triu(change, 1)), strict=True):
            found.setdefault((int(i), int(j)), []).append(int(frames[f]))
    return {pair: np.array(frames, dtype=np.int64) for pair, frames in found.items()}


def _stretches(linked: BoolArray) -> IntArray:
    """Number of the stretch of frames each frame belongs to: what is not linked begins a new one.

    Frames in between, without a sample, belong to none: the count goes on with each of them.
    """
    return np.cumsum(~linked)


def _rarer(events: IntArray, stretch: IntArray) -> list[tuple[int, int]]:
    """Ranges (first, end) of the rarer of two labellings, which every event exchanges."""
    ranges = []
    for number in np.unique(stretch[events]):
        inside = np.flatnonzero(stretch == number)
        begin, end = int(inside[0]), int(inside[-1]) + 1
        edges = [begin, *events[stretch[events] == number].tolist(), end]
        parts = list(pairwise(edges))
        odd = sum(last - first for first, last in parts[1::2])
        rarer = parts[1::2] if 2 * odd <= end - begin else parts[0::2]
        ranges += [part for part in rarer if part[1] > part[0]]
    return ranges


def _closed(events: IntArray, stretch: IntArray) -> list[tuple[int, int]]:
    """Ranges (first, end) from each odd event to the next, in stretches with an even number."""
    ranges = []
    for number in np.unique(stretch[events]):
        inside = events[stretch[events] == number].tolist()
        if len(inside) % 2 == 0:
            ranges += list(zip(inside[::2], inside[1::2], strict=True))
    return ranges


def _limbs(skeleton: Skeleton) -> list[list[tuple[int, int]]]:
    """Left and right joints that follow each other along a limb."""
    other = {i: j for pair in skeleton.mirror for i, j in (pair, pair[::-1])}
    limb_of: dict[int, list[tuple[int, int]]] = {}
    limbs = []
    for joint in skeleton.topological_order.tolist():
        mirror = other.get(joint)
        if mirror is None or joint in limb_of:
            continue
        up, up_other = skeleton.parents[joint], skeleton.parents[mirror]
        limb = limb_of.get(up) if up >= 0 and other.get(up) == up_other else None
        if limb is None:
            limb = []
            limbs.append(limb)
        limb.append((joint, mirror))
        limb_of[joint] = limb_of[mirror] = limb
    return limbs


def _findings(
    exchanged: dict[tuple[int, int], BoolArray], skeleton: Skeleton, done: str
) -> list[Finding]:
    """One finding per range of frames, with all the pairs exchanged there."""
    ranges: dict[tuple[int, int], list[str]] = {}
    for (i, j), where in exchanged.items():
        edge = np.flatnonzero(np.diff(np.concatenate(([0], where.astype(np.int8), [0]))))
        for first, end in zip(edge[::2].tolist(), edge[1::2].tolist(), strict=True):
            names = f"{skeleton.joints[i]}/{skeleton.joints[j]}"
            ranges.setdefault((first, end - 1), []).append(names)
    findings = [
        Finding(
            f"frames {first}-{last}: exchanged {', '.join(names)}",
            done,
            otherwise="weights.swaps = 'repair', 'report' or 'off'",
        )
        for (first, last), names in sorted(ranges.items())
    ]
    if len(findings) > _N_LISTED:
        n_more = len(findings) - _N_LISTED
        more = Finding(f"labels exchanged in {n_more} more ranges of frames", done)
        findings = [*findings[:_N_LISTED], more]
    return findings


def _nearest(position: FloatArray, places: FloatArray) -> FloatArray:
    """Distance to the nearer of the two expected places (leading axis of ``places``)."""
    apart = position - places
    return np.asarray(np.sqrt(np.einsum("...x,...x->...", apart, apart).min(axis=0)))


def _tick(time_s: FloatArray) -> float:
    return float(np.median(np.diff(time_s)))
