"""A take made ready for its fit: calibrated as a whole, then fitted block by block."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from fitpipe import calibrate, solve
from fitpipe.arrays import BoolArray, ByteArray, FloatArray
from fitpipe.config import FitConfig
from fitpipe.errors import RecordError, SolveError
from fitpipe.mapping import MarkerSet
from fitpipe.pipeline import stretches
from fitpipe.pipeline.ahead import one_ahead
from fitpipe.pipeline.source import Source, Timed
from fitpipe.pipeline.stretches import AnyTake
from fitpipe.pipeline.turned import Fitted, Turned
from fitpipe.provenance import given_as_text, provenance_of
from fitpipe.records import (
    Calibration,
    Doubt,
    Finding,
    Fit,
    FrameStatus,
    Skeleton,
    Take,
)
from fitpipe.records.long_take import joined
from fitpipe.solve.stretch import Progress

_SLACK_S = 10.0  # by which a clock may have run off between two windows of a long take


class Seen(NamedTuple):
    """What all sources saw in consecutive frames, in the first one's frame of reference."""

    observation_m: FloatArray  # (time, source, joint, 3), NaN where missing
    weight: FloatArray  # (time, source, joint)
    doubt: ByteArray  # (time, source, joint)
    timed: list[Timed]  # the sources


class Fitting:
    """A take with its calibration, ready to be fitted.

    Parameters as of `fitpipe.fit`; each take may also be a LongTake.

    Raises
    ------
    FitpipeError
        A subclass that says what cannot be used: config, labels, calibration or weights.
    """

    def __init__(
        self,
        takes: Sequence[AnyTake],
        *,
        skeleton: str | Path | Skeleton | None,
        markerset: str | Path | MarkerSet | Mapping[str, Any] | None,
        subject: str | None,
        static: Take | None,
        bone_length_m: npt.ArrayLike | Mapping[str, float] | None,
        weight: Sequence[npt.ArrayLike] | None,
        settings: FitConfig,
        name: str | None,
    ) -> None:
        check_sources(takes)
        self.settings = settings
        self._given_text = given_as_text(
            skeleton, markerset, subject, static, bone_length_m, weight
        )
        self.names = tuple(take.source for take in takes)
        self.name = name or "+".join(self.names)
        bones = as_skeleton(skeleton if skeleton is not None else settings.skeleton.preset)
        self._static = static
        # each on its own clock: interpolation would smear a jump over its neighbours
        self.sources = [Source(take, bones, markerset, subject, static, settings) for take in takes]
        self.time_s = takes[0].time_s
        most = settings.calibrate.sample_frames
        self._blocks = stretches.blocks(len(self.time_s), most)
        # blocks are read, fitted and written at the same time
        self.in_threads = settings.solve.threads != 1 and len(self._blocks) > 1
        self._log: list[Finding] = []  # of the calibration
        self._flips: BoolArray | None = None
        self._at_last: tuple[Finding, ...] = ()

        clocks, self._of_clocks = self._find_clocks()
        for source, clock in zip(self.sources, clocks, strict=True):
            source.use_clock(clock, self.time_s, settings.calibrate.max_gap_s)
        sampled = stretches.sampled(len(self.time_s), most)
        timed = [joined([source.at(*part).take for part in sampled]) for source in self.sources]
        transforms, findings = calibrate.find_transforms(timed, bones, settings.calibrate)
        self._log += findings
        # on their own clocks: interpolation would hide the noise that makes bones seem longer
        samples = [source.sample for source in self.sources]
        lengths, findings = calibrate.find_lengths(
            samples, bones, bone_length_m, settings.calibrate
        )
        self._log += findings
        own = zip(clocks, transforms, strict=True)
        self.calibration = Calibration(tuple(c.written_into(t) for c, t in own), lengths)
        self.skeleton = bones.with_lengths(lengths.length_m)
        noise = [calibrate.noise_m(take) for take in samples]
        self.noise_m = np.stack(noise)
        sample_m = solve.registered(timed, self.calibration)
        self._slow_m = calibrate.slow_error_m(sample_m, noise)
        self._given = None
        if weight is not None:
            shape = (len(self.time_s), bones.n_joints)
            self._given = solve.check_weights(weight, self.names, shape)
        self._refuse_nothing(timed, sampled)
        if settings.weights.flips and len(takes) > 1:
            self._flips = self._find_flips(sample_m)
            if self._flips is not None:
                self._log += calibrate.flip_findings(self._flips, self.names)
        for source in self.sources:
            source.forget_sample()

    @property
    def n_frames(self) -> int:
        """Number of frames."""
        return len(self.time_s)

    def see(self, begin: int, end: int) -> Seen:
        """What all sources saw in frames ``begin`` to ``end``."""
        at = [source.at(begin, end) for source in self.sources]
        timed, doubt = [own.take for own in at], np.stack([own.doubt for own in at], axis=1)
        given = None if self._given is None else [array[begin:end] for array in self._given]
        weight = solve.weights(timed, given) * calibrate.noise_weights(
            list(self.noise_m),
            self.settings.weights,
            course=[own.course for own in at],
            slow_m=self._slow_m,
        )
        observation = solve.registered(timed, self.calibration)
        if self._flips is not None and (flipped := self._flips[begin:end]).any():
            doubt[flipped] = np.where(weight[flipped] > 0, np.uint8(Doubt.FLIPPED), doubt[flipped])
            weight = np.where(flipped[..., None], 0.0, weight)
        return Seen(observation, weight, doubt, at)

    def blocks(self, progress: Progress | None = None) -> Iterator[Fit]:
        """The fit of consecutive frames, block by block; without a log, which ``log`` gives."""
        fitter = solve.make_fitter(
            self.skeleton,
            self.time_s,
            self.settings.solve,
            self._observe,
            robust_scale_m=self.settings.weights.robust_scale_m,
            robust_steps=self.settings.weights.robust_steps,
        )
        lengths = self.calibration.bone_lengths.length_m
        turned = Turned(self.skeleton, lengths, self.settings, self.n_frames)
        provenance = provenance_of(
            [source.take for source in self.sources], self.settings, self._static
        )
        provenance |= {"given": self._given_text}
        is_seen = np.zeros(self.skeleton.n_joints, np.bool_)
        n_contradictory = 0
        for block in turned.blocks(self._fitted(fitter, is_seen, progress)):
            frames = block.frames
            n_contradictory += int((frames.frame_status == FrameStatus.COMPROMISE).sum())
            yield Fit(
                name=self.name,
                skeleton=self.skeleton,
                sources=self.names,
                time_s=self.time_s[block.begin : block.end],
                position=frames.position,
                status=frames.status,
                frame_status=frames.frame_status,
                objective=frames.objective,
                objective_start=frames.objective_start,
                iterations=frames.iterations,
                worst_bone_error=solve.worst_bone_error(
                    frames.position, self.skeleton.links, lengths
                ),
                multiplier=frames.multiplier,
                weight=block.weight,
                doubt=block.doubt,
                noise=self.noise_m,
                residual=solve.residuals(frames.position, block.observation_m),
                disagreement=solve.disagreement(block.observation_m),
                observation=block.observation_m.astype(np.float32),
                calibration=self.calibration,
                provenance=provenance,
                angles=block.angles,
            )
        self._at_last = (
            *solve.never_seen(is_seen, self.skeleton),
            *fitter.findings(),
            *solve.contradictions(n_contradictory),
            *turned.findings(),
        )

    def _fitted(
        self, fitter: solve.Fitter, is_seen: BoolArray, progress: Progress | None
    ) -> Iterator[Fitted]:
        """The blocks without their angles; notes in ``is_seen`` (joint,) which joints were."""
        needed = [fitter.needs(*block) for block in self._blocks]
        ahead = one_ahead((self.see(*frames) for frames in needed), is_on=self.in_threads)
        for (begin, end), (low, _), seen in zip(self._blocks, needed, ahead, strict=True):
            for source, timed in zip(self.sources, seen.timed, strict=True):
                source.count_doubts(begin, end, timed)
            stretch = solve.Stretch(low, seen.observation_m, seen.weight)
            frames, weight, _ = fitter.fit(stretch, begin, end, progress)
            own = slice(begin - low, end - low)
            is_seen |= (seen.weight[own] > 0).any(axis=(0, 1))
            yield Fitted(begin, frames, weight, seen.doubt[own], seen.observation_m[own])

    @property
    def log(self) -> tuple[Finding, ...]:
        """All that was noticed; complete after the last block."""
        log = self._named(lambda source: source.repairs)
        log += self._of_clocks
        log += self._named(lambda source: source.findings())
        return (*log, *self._log, *self._at_last)

    def _observe(self, begin: int, end: int) -> solve.Stretch:
        seen = self.see(begin, end)
        return solve.Stretch(begin, seen.observation_m, seen.weight)

    def _find_clocks(self) -> tuple[list[calibrate.Clock], list[Finding]]:
        settings = self.settings.calibrate
        if all(source.is_whole for source in self.sources):
            return calibrate.find_clocks([source.sample for source in self.sources], settings)
        # a long first window in which to look for the offset, then others that follow the clock
        most, n = settings.sample_frames, len(self.time_s)
        parts = [(0, min(most, n)), *stretches.sampled(n, most)[1:]]
        windows = [self._windows(source, parts) for source in self.sources]
        takes = [source.take for source in self.sources]
        return calibrate.find_clocks(takes, settings, windows=windows, n_windows=len(parts))

    def _windows(self, source: Source, parts: list[tuple[int, int]]) -> calibrate.Windows:
        """Frames of the reference and of a source at the same time, as far as that is known."""

        def window(number: int, clock: calibrate.Clock) -> tuple[Take, Take] | None:
            reference, _ = self.sources[0].judged(*parts[number])
            slack_s = reference.duration_s / 2 if number == 0 else _SLACK_S
            ends_s = reference.time_s[0] - slack_s, reference.time_s[-1] + slack_s
            own = source.window(
                *(t + clock.offset_s + clock.drift * (t - clock.t0_s) for t in ends_s)
            )
            if own is None and number == 0:  # clocks that have nothing in common
                own, _ = source.judged(0, min(source.take.n_frames, parts[0][1]))
            return None if own is None else (reference, own)

        return window

    def _refuse_nothing(self, timed: Sequence[Take], sampled: list[tuple[int, int]]) -> None:
        seen = solve.weights(timed, None) > 0
        if self._given is not None:
            given = np.stack(self._given, axis=1)
            hole = np.zeros((1, *given.shape[1:]))
            parts = [part for b, e in sampled for part in (hole, given[b:e])][1:]
            seen &= np.concatenate(parts) > 0
        if not seen.any():
            raise SolveError(
                "no joint is observed with a weight above zero in any frame",
                hint="check the marker set, the confidences and the weights",
            )

    def _find_flips(self, sample_m: FloatArray) -> BoolArray | None:
        """Which sources take the back for the front, (time, source)."""
        girdle = calibrate.widest_girdle(sample_m, self.skeleton)
        if girdle is None:
            return None
        lines: list[FloatArray] = []
        as_seen: list[FloatArray] = []
        each = (self._sides(*block, girdle) for block in self._blocks)
        for sides in one_ahead(each, is_on=self.in_threads):
            for found, points in zip((lines, as_seen), zip(*sides, strict=True), strict=True):
                moved = zip(self.calibration.transforms, points, strict=True)
                placed = np.stack([transform.apply(p) for transform, p in moved], axis=1)
                found.append(calibrate.girdle_lines(placed))
        return calibrate.flipped_lines(np.concatenate(lines), np.concatenate(as_seen), self.time_s)

    def _sides(
        self, begin: int, end: int, girdle: tuple[int, int]
    ) -> list[tuple[FloatArray, FloatArray]]:
        return [source.sides(begin, end, girdle) for source in self.sources]

    def _named(self, of: Callable[[Source], Sequence[Finding]]) -> list[Finding]:
        """Findings of every source, with its name in front where there are several."""
        return [
            replace(finding, what=f"source {source.take.source!r}: {finding.what}")
            if len(self.sources) > 1
            else finding
            for source in self.sources
            for finding in of(source)
        ]


def as_skeleton(given: str | Path | Skeleton) -> Skeleton:
    """A skeleton from what a caller may give for one."""
    return given if isinstance(given, Skeleton) else Skeleton.preset(given)


def check_person(takes: Sequence[AnyTake]) -> None:
    """RecordError where there is no take, or they show several people."""
    if not takes:
        raise RecordError("no take given, expected one or more")
    bodies = list(dict.fromkeys(take.origin.metadata.get("body", "") for take in takes))
    if len(bodies) > 1:
        raise RecordError(
            f"the takes show {len(bodies)} people: {', '.join(map(repr, bodies))}",
            hint="fit one at a time: read_takes(path, body='...'), --body or takes.body",
        )


def check_sources(takes: Sequence[AnyTake]) -> None:
    """RecordError where takes cannot be the sources of one take."""
    check_person(takes)
    names = [take.source for take in takes]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise RecordError(
            f"two sources are called {', '.join(map(repr, twice))}",
            hint="give each its own name: dataclasses.replace(take, source='b')",
        )
