"""One source of a take, up to where the sources come together."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from fitpipe import calibrate
from fitpipe.arrays import ByteArray, FloatArray
from fitpipe.config import FitConfig
from fitpipe.mapping import MarkerSet, make_mapper
from fitpipe.pipeline import stretches
from fitpipe.pipeline.ahead import one_ahead
from fitpipe.pipeline.stretches import AnyTake
from fitpipe.records import Doubt, Finding, Skeleton, Take
from fitpipe.records.finding import added_up
from fitpipe.records.long_take import joined

_FEWEST_TO_SCAN = 3  # frames; fewer cannot show that labels change places


class Timed(NamedTuple):
    """One source at frames of the reference."""

    take: Take
    doubt: ByteArray  # (time, joint)
    own_first: int  # of its own frames, the first one looked at
    own_doubt: ByteArray  # (own time, joint)
    course: FloatArray  # (time,) of the noise


class Source:
    """The frames of one source: mapped to the skeleton, exchanged labels put back, judged.

    A take of at most ``calibrate.sample_frames`` frames is dealt with as a whole. Of a longer one,
    what is usual for it (noise, lengths, jumps) is measured on evenly spaced stretches, and any of
    its frames are made ready when they are asked for.

    Parameters
    ----------
    take : Take or LongTake
    skeleton : Skeleton
    markerset, subject, static
        As in `fitpipe.fit`. A marker set with virtual points takes all frames to place them: then
        a long take is read as a whole.
    settings : FitConfig
    """

    def __init__(
        self,
        take: AnyTake,
        skeleton: Skeleton,
        markerset: str | Path | MarkerSet | Mapping[str, Any] | None,
        subject: str | None,
        static: Take | None,
        settings: FitConfig,
    ) -> None:
        self.take, self._skeleton, self._weights = take, skeleton, settings.weights
        self._most, self._in_threads = settings.calibrate.sample_frames, settings.solve.threads != 1
        self._blocks = stretches.blocks(take.n_frames, self._most)
        self._sampled = stretches.sampled(take.n_frames, self._most)
        self.repairs: list[Finding] = list(take.repairs)
        mapping = partial(make_mapper, subject=subject, static=static)
        self._mapper = mapping(stretches.sample(take, self._most), markerset, skeleton)
        self._mapped_whole: Take | None = None
        if self._mapper.has_virtual:
            whole = take.frames(0, take.n_frames)
            self.repairs += whole.repairs if whole is not take else ()
            self._mapper = mapping(whole, markerset, skeleton)
            self._mapped_whole = self._mapper.apply(self._mapper.take)
        self._whole: tuple[Take, Take, ByteArray] | None = None  # mended, judged, doubts
        self._usual: calibrate.Usual | None = None
        self._exchanged: calibrate.Exchanged = {}
        self._noticed = self._scan()
        self._ready: dict[tuple[int, int], tuple[Take, ByteArray]] = {}
        self._doubted = calibrate.Doubted.nothing(skeleton.n_joints)
        mended = joined([self.mended(*part) for part in self._sampled])
        if len(self._blocks) == len(self._sampled) == 1:
            judged, doubt = calibrate.screen(mended, skeleton, self._weights)
            self._whole = (mended, judged, doubt)
            self._doubted.add(doubt, first=0)
            self.sample = judged
        else:
            self._usual = calibrate.usual_tracks(mended, skeleton, self._weights)
            self._ready = {part: self.judged(*part) for part in self._sampled}
            self.sample = joined([take for take, _ in self._ready.values()])
        self.course = calibrate.NoiseCourse(self.sample, skeleton, take.time_s)
        own = calibrate.Clock(float(take.time_s[0]))
        self.use_clock(own, take.time_s, settings.calibrate.max_gap_s)

    @property
    def is_whole(self) -> bool:
        """Whether the take is short enough to be dealt with as a whole."""
        return self._whole is not None

    def use_clock(self, clock: calibrate.Clock, reference_s: FloatArray, max_gap_s: float) -> None:
        """Settle how this source gets onto the reference's clock."""
        self.clock, self.time_s = clock, clock.set_back_s(self.take.time_s)
        self._reference_s = reference_s
        self._way = calibrate.Resampling(
            self.take.source, self.time_s, reference_s, max_gap_s=max_gap_s
        )
        self._tick_s = calibrate.tick_s(self.time_s) if self.take.n_frames > 1 else np.inf
        # of the nearest frame, so that the rounding of another clock does not reach the weights
        frame = np.interp(reference_s, self.time_s, np.arange(self.take.n_frames))
        self._nearest = np.rint(frame).astype(np.int64)

    def mended(self, begin: int, end: int) -> Take:
        """Frames with the skeleton's joints as labels, and exchanged labels put back."""
        if self._whole is not None:
            return self._whole[0].frames(begin, end)
        _, mapped = self._mapped(begin, end)
        if self._weights.swaps != "repair":
            return mapped
        return calibrate.put_back(mapped, self._exchanged, first=begin)

    def judged(self, begin: int, end: int) -> tuple[Take, ByteArray]:
        """Frames without jumps and with what is in doubt weighed down; the doubts (time, joint)."""
        if self._whole is not None:
            _, judged, doubt = self._whole
            return judged.frames(begin, end), doubt[begin:end]
        ready = self._ready.get((begin, end))
        return self._screened(begin, end, None) if ready is None else ready

    def at(self, begin: int, end: int) -> Timed:
        """This source at frames ``begin`` to ``end`` of the reference, and its doubts there."""
        low, high = self._way.rows(begin, end)
        if low == high:
            nothing = self._nothing(begin, end)
            doubt = np.full(nothing.is_observed.shape, Doubt.NONE, np.uint8)
            return Timed(nothing, doubt, low, doubt[:0], np.ones(end - begin))
        nearest = self._nearest[begin:end]
        first, last = min(low, int(nearest[0])), max(high, int(nearest[-1]) + 1)
        wide = self.course.needs(first, last)
        judged, wide_doubt = self.judged(*wide)
        rows = slice(low - wide[0], high - wide[0])
        take, doubt = judged.frames(rows.start, rows.stop), wide_doubt[rows]
        course = self.course.factor(judged.position_m, first, last)[nearest - first]
        own = self.clock.set_back(take)
        timed = self._way.stretch(own, begin, end)
        at = calibrate.doubt_at(doubt, own.time_s, timed.time_s, tick_s=self._tick_s)
        return Timed(timed, at, low, doubt, course)

    def sides(self, begin: int, end: int, joints: tuple[int, int]) -> tuple[FloatArray, FloatArray]:
        """Two joints at frames of the reference, judged and as seen, (time, 2, 3), metres."""
        low, high = self._way.rows(begin, end)
        if low == high:
            nothing = self._nothing(begin, end).position_m[:, list(joints)]
            return nothing, nothing
        if self._whole is not None:
            judged = _of(self.judged(low, high)[0], joints)
        else:
            judged = self._screened(low, high, joints)[0]
        as_seen = _of(self.mended(low, high), joints)
        both = (self._way.stretch(self.clock.set_back(t), begin, end) for t in (judged, as_seen))
        judged, as_seen = both
        return judged.position_m, as_seen.position_m

    def window(self, start_s: float, end_s: float) -> Take | None:
        """The judged frames whose own stamps lie between; None if there are none."""
        low, high = np.searchsorted(self.take.time_s, [start_s, end_s])
        return self.judged(int(low), int(high))[0] if low < high else None

    def count_doubts(self, begin: int, end: int, timed: Timed) -> None:
        """Count the doubts at frames ``begin`` to ``end`` of the reference, which `at` gave."""
        if self._whole is not None:  # counted as a whole
            return
        low, doubt = timed.own_first, timed.own_doubt
        edge = np.searchsorted(self.time_s, self._reference_s[[begin, end - 1]])
        n = len(self._reference_s)
        first = low if begin == 0 else int(edge[0])
        last = (
            low + len(doubt)
            if end == n
            else int(np.searchsorted(self.time_s, self._reference_s[end]))
        )
        self._doubted.add(doubt[first - low : last - low], first=first)

    def forget_sample(self) -> None:
        """Let go of what calibration needed."""
        self._ready = {}
        del self.sample

    def findings(self) -> list[Finding]:
        """What was met on the way after the file was read, in its order."""
        doubts = self._doubted.findings(self._skeleton, self._weights)
        return [*self._noticed, *doubts, *self._way.findings()]

    def _scan(self) -> list[Finding]:
        """Go through the whole take for what only all frames can tell."""
        skeleton, swaps = self._skeleton, self._weights.swaps
        scan = None
        if swaps != "off" and self.take.n_frames >= _FEWEST_TO_SCAN:
            usual = None
            if len(self._blocks) > 1 or len(self._sampled) > 1:
                usual = calibrate.usual_jumps(
                    joined([self.mended(*part) for part in self._sampled])
                )
            scan = calibrate.SwapScan(skeleton, self.take.time_s, usual_m=usual)
        is_seen = np.zeros(skeleton.n_joints, np.bool_)
        repairs = []
        each = (self._mapped(*block) for block in self._blocks)
        for found, mapped in one_ahead(each, is_on=self._in_threads and len(self._blocks) > 1):
            repairs.append(found)
            is_seen |= mapped.is_observed.any(axis=0)
            if scan is not None:
                scan.add(mapped)
        self.repairs += added_up(repairs)
        findings = [*self._mapper.findings, *self._mapper.never_seen(is_seen)]
        if scan is not None and swaps != "off":
            self._exchanged = scan.exchanged()
            findings += calibrate.swap_findings(self._exchanged, skeleton, swaps)
        return findings

    def _mapped(self, begin: int, end: int) -> tuple[tuple[Finding, ...], Take]:
        """What was repaired when frames were read; and they, with the skeleton's joints."""
        if self._mapped_whole is not None:
            return (), self._mapped_whole.frames(begin, end)
        take = self.take.frames(begin, end)
        return () if take is self.take else take.repairs, self._mapper.apply(take)

    def _screened(
        self, begin: int, end: int, joints: tuple[int, int] | None
    ) -> tuple[Take, ByteArray]:
        """Frames of a long take, judged: all joints, or two of them by their own tracks only."""
        reach = calibrate.REACH_FRAMES
        low, high = max(begin - reach, 0), min(end + reach, self.take.n_frames)
        take, skeleton, weights, usual = (
            self.mended(low, high), self._skeleton, self._weights, self._usual
        )  # fmt: skip
        if joints is not None and usual is not None:
            take, usual = _of(take, joints), usual.of(joints)
            skeleton = Skeleton("girdle", take.labels, (-1, -1))
            weights = weights.model_copy(update={"bones": False})
        take, doubt = calibrate.screen(take, skeleton, weights, usual=usual)
        rows = slice(begin - low, end - low)
        return take.frames(rows.start, rows.stop), doubt[rows]

    def _nothing(self, begin: int, end: int) -> Take:
        """This source where it has no frames."""
        shape = (end - begin, self._skeleton.n_joints)
        return Take(
            self.take.source,
            self._skeleton.joints,
            np.full((*shape, 3), np.nan),
            self._reference_s[begin:end],
        )


def _of(take: Take, joints: tuple[int, int]) -> Take:
    columns = list(joints)
    return replace(
        take,
        labels=tuple(take.labels[j] for j in columns),
        position_m=np.ascontiguousarray(take.position_m[:, columns]),
        confidence=None if take.confidence is None else take.confidence[:, columns],
    )
