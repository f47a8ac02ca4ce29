"""Finds labels that change places for some frames within one source, and puts them back."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Literal, TypeAlias

import numpy as np

from fitpipe.arrays import BoolArray, ByteArray, FloatArray, IntArray, writable
from fitpipe.kernels import swap_events as kernel
from fitpipe.records import Finding, Skeleton, Take

Exchanged: TypeAlias = dict[tuple[int, int], BoolArray]  # frames of the whole take, by joints

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
    scan = SwapScan(skeleton, take.time_s)
    scan.add(take)
    exchanged = scan.exchanged()
    if not exchanged:
        return take
    findings = swap_findings(exchanged, skeleton, swaps)
    mended = put_back(take, exchanged) if swaps == "repair" else take
    return replace(mended, repairs=(*take.repairs, *findings))


def put_back(take: Take, exchanged: Exchanged, *, first: int = 0) -> Take:
    """The frames from `first` on of a take, with exchanged labels put back."""
    frames = slice(first, first + take.n_frames)
    if not any(where[frames].any() for where in exchanged.values()):
        return take
    position = take.position_m.copy()
    confidence = None if take.confidence is None else take.confidence.copy()
    for (i, j), everywhere in exchanged.items():
        where = everywhere[frames]
        position[where, i], position[where, j] = position[where, j], position[where, i]
        if confidence is not None:
            confidence[where, i], confidence[where, j] = confidence[where, j], confidence[where, i]
    return replace(take, position_m=position, confidence=confidence)


class SwapScan:
    """Looks for labels that change places, block after block of one take.

    Parameters
    ----------
    skeleton : Skeleton
    time_s : ndarray, shape (time,), seconds
        Of the whole take.
    usual_m : ndarray, shape (joint,), metres, optional
        How far each joint usually is from where it is expected (`usual_jumps`); None measures it
        on the first block.
    """

    def __init__(
        self, skeleton: Skeleton, time_s: FloatArray, *, usual_m: FloatArray | None = None
    ) -> None:
        self._limbs = [np.array(limb).T for limb in _limbs(skeleton)]
        self._reach_s = max(_REACH_S, 1.01 * _tick(time_s))
        self.usual_m = usual_m
        self._tracks = kernel.no_tracks(skeleton.n_joints)
        self._n_frames = 0
        self._events: list[list[IntArray]] = [[] for _ in self._limbs]
        self._gains: list[list[FloatArray]] = [[] for _ in self._limbs]
        self._mostly: list[BoolArray] = []
        self._linked: list[ByteArray] = []  # eight joints a byte
        self._singles: dict[tuple[int, int], list[int]] = {}

    def add(self, take: Take) -> None:
        """Look at the next frames, those of a take with the skeleton's joints as labels."""
        before = kernel.Tracks(*(array.copy() for array in self._tracks))
        nowhere = np.full(take.n_frames, -1)
        found, _ = self._scan(take, self._tracks, nowhere, 0)
        if self.usual_m is None:
            self.usual_m = _medians(found.own)
        taken = np.zeros(found.own.shape, np.bool_)
        for limb, event in zip(self._limbs, found.event.T, strict=True):
            taken[np.ix_(np.flatnonzero(event), limb.ravel())] = True
        jumps = found.own > np.maximum(_LEAST_JUMP_M, _OVER_USUAL * self.usual_m)  # NaN is not
        jumps &= ~taken
        busy = jumps.sum(axis=1) >= 2
        chosen = np.flatnonzero(busy | found.event.any(axis=1))
        if chosen.size:
            row = nowhere.copy()
            row[chosen] = np.arange(chosen.size)
            _, expected = self._scan(take, before, row, chosen.size)
            self._note_limbs(take.position_m[chosen], found, expected, chosen)
            singles = _single_events(
                take.position_m[chosen],
                expected.places,
                found.own[chosen],
                np.where(busy[chosen, None], jumps[chosen], False),
            )
            for pair, rows in singles.items():
                frames = (self._n_frames + chosen[rows]).tolist()
                self._singles.setdefault(pair, []).extend(frames)
        self._mostly.append(found.mostly)
        self._linked.append(np.packbits(found.linked, axis=1))
        self._n_frames += take.n_frames

    def exchanged(self) -> Exchanged:
        """For every pair of joints that ever change places: the frames in which they have."""
        exchanged: Exchanged = {}
        mostly = np.concatenate(self._mostly)
        for number, (left, right) in enumerate(self._limbs):
            if not self._events[number]:
                continue
            events = np.concatenate(self._events[number])
            gain = np.concatenate(self._gains[number])
            row = {int(t): k for k, t in enumerate(events)}
            for first, last in _rarer(events, _stretches(mostly[:, number])):
                ends = [row[t] for t in (first, last) if t in row]
                # a pair not seen at either end goes with its limb
                unknown = np.isnan(gain[ends]).all(axis=0)
                for k in np.flatnonzero(unknown | (np.nansum(gain[ends], axis=0) > 0)):
                    pair = (int(left[k]), int(right[k]))
                    self._frames_of(pair, exchanged)[first:last] = True
        for pair, frames in self._singles.items():
            packed = np.concatenate([block[:, [j // 8 for j in pair]] for block in self._linked])
            linked = np.asarray((packed >> [7 - j % 8 for j in pair] & 1).all(axis=1))
            for first, last in _closed(np.array(frames), _stretches(linked)):
                self._frames_of(pair, exchanged)[first:last] ^= True
        return {pair: where for pair, where in sorted(exchanged.items()) if where.any()}

    def _frames_of(self, pair: tuple[int, int], exchanged: Exchanged) -> BoolArray:
        return exchanged.setdefault(pair, np.zeros(self._n_frames, np.bool_))

    def _scan(
        self, take: Take, tracks: kernel.Tracks, row: IntArray, n_rows: int
    ) -> tuple[kernel.Found, kernel.Expected]:
        n_time, n_joints = take.is_observed.shape
        begin = np.cumsum([0, *(limb.shape[1] for limb in self._limbs)])
        pairs = np.concatenate([np.zeros((2, 0), np.int64), *self._limbs], axis=1)
        limbs = kernel.Limbs(begin, *np.ascontiguousarray(pairs))
        rules = kernel.Rules(self._reach_s, _LEAST_JUMP_M, _LEFT_OVER, _SHARE_OF_LIMB)
        found = kernel.Found(
            np.empty((n_time, n_joints)),
            np.empty((n_time, n_joints), np.bool_),
            np.empty((n_time, len(self._limbs)), np.bool_),
            np.empty((n_time, len(self._limbs)), np.bool_),
        )
        expected = kernel.Expected(
            np.empty((2, n_rows, n_joints, 3)), np.empty((n_rows, n_joints, 3))
        )
        position, time_s = writable(take.position_m), writable(take.time_s)
        kernel.scan_swaps(position, time_s, limbs, rules, tracks, row, found, expected)
        return found, expected

    def _note_limbs(
        self, position: FloatArray, found: kernel.Found, expected: kernel.Expected, chosen: IntArray
    ) -> None:
        """The events of every limb, and how much each pair gains by them."""
        for number, (left, right) in enumerate(self._limbs):
            at = np.flatnonzero(found.event[chosen, number])
            if not at.size:
                continue
            both, across = np.concatenate((left, right)), np.concatenate((right, left))
            frame, joint, other = at[:, None], both[None], across[None]
            moved_on = 2 * expected.places[0, frame, other] - expected.earlier[frame, joint]
            there = np.concatenate((expected.places[:, frame, other], moved_on[None]))
            off = _nearest(position[None, frame, joint], there)
            gain = found.own[chosen[frame], joint] - off
            self._events[number].append(self._n_frames + chosen[at])
            self._gains[number].append(gain.reshape(len(at), 2, -1).sum(axis=1))


def usual_jumps(take: Take) -> FloatArray:
    """How far each joint usually is from where it is expected, shape (joint,), metres.

    ``SwapScan`` wants it where it sees a take in blocks.
    """
    loose = Skeleton("joints", take.labels, (-1,) * take.n_points)
    scan = SwapScan(loose, take.time_s)
    scan.add(take)
    return scan.usual_m if scan.usual_m is not None else np.zeros(take.n_points)


def _single_events(
    position: FloatArray, places: FloatArray, own: FloatArray, jumps: BoolArray
) -> dict[tuple[int, int], IntArray]:
    """Rows in which two joints change places with respect to the frame before."""
    found: dict[tuple[int, int], list[int]] = {}
    busy = np.flatnonzero(jumps.any(axis=1))
    for begin in range(0, len(busy), _BLOCK):
        rows = busy[begin : begin + _BLOCK]
        # (row, i, j): how near joint i is to where joint j was expected
        to_other = _nearest(position[None, rows, :, None], places[:, rows, None])
        theirs = np.maximum(to_other, to_other.transpose(0, 2, 1))
        theirs = np.where(np.isnan(theirs), np.inf, theirs)
        best = theirs.min(axis=2, keepdims=True)
        mine = np.where(jumps[rows], own[rows], 0.0)
        mine = np.minimum(mine[:, :, None], mine[:, None, :])
        change = (theirs <= best) & (theirs <= best.transpose(0, 2, 1))
        change &= theirs < _LEFT_OVER * mine
        for f, i, j in zip(*np.nonzero(np.triu(change, 1)), strict=True):
            found.setdefault((int(i), int(j)), []).append(int(rows[f]))
    return {pair: np.array(rows, dtype=np.int64) for pair, rows in found.items()}


def _medians(own: FloatArray) -> FloatArray:
    return np.array([np.median(o[~np.isnan(o)]) if (o >= 0).any() else 0.0 for o in own.T])


def _stretches(linked: BoolArray) -> IntArray:
    """Number of the stretch of frames each frame belongs to: what is not linked begins a new one.

    Frames in between, without a sample, belong to none: the count goes on with each of them.
    """
    return np.cumsum(~linked)


def _rarer(events: IntArray, stretch: IntArray) -> list[tuple[int, int]]:
    """Ranges (first, end) of the rarer of two labellings, which every event exchanges."""
    ranges = []
    for number in np.unique(stretch[events]):
        begin = int(np.searchsorted(stretch, number))
        end = int(np.searchsorted(stretch, number, side="right"))
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


def swap_findings(
    exchanged: Exchanged, skeleton: Skeleton, swaps: Literal["repair", "report"]
) -> list[Finding]:
    """One finding per range of frames, with all the pairs exchanged there."""
    done = "changed back" if swaps == "repair" else "left as they are"
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
