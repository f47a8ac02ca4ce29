"""Fits one take: the only place that knows the order of the stages."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from fitpipe import calibrate, output, solve
from fitpipe.angles import load_limit_kernels
from fitpipe.arrays import ByteArray, FloatArray
from fitpipe.config import AnglesConfig, CalibrateConfig, FitConfig, make_config
from fitpipe.mapping import MarkerSet
from fitpipe.pipeline.ahead import one_ahead
from fitpipe.pipeline.fitting import Fitting, as_skeleton, check_person
from fitpipe.pipeline.source import Source
from fitpipe.pipeline.stretches import AnyTake
from fitpipe.records import (
    BoneLengths,
    Calibration,
    Finding,
    Fit,
    FitSummary,
    LongTake,
    Skeleton,
    Take,
)
from fitpipe.solve.stretch import Progress

__all__ = [
    "Fitting",
    "Posed",
    "Progress",
    "fit",
    "fit_to_file",
    "load_kernels",
    "measure_lengths",
    "pose",
    "prepare",
]


class Posed(NamedTuple):
    """A take ready for the solver."""

    problem: solve.Problem
    time_s: FloatArray  # (time,) of the first source
    calibration: Calibration
    weight: FloatArray  # (time, source, joint)
    doubt: ByteArray  # (time, source, joint)
    noise_m: FloatArray  # (source, joint)
    observation_m: FloatArray  # (time, source, joint, 3) in the first source's frame


def fit(
    takes: AnyTake | Sequence[AnyTake],
    *,
    skeleton: str | Path | Skeleton | None = None,
    markerset: str | Path | MarkerSet | Mapping[str, Any] | None = None,
    subject: str | None = None,
    static: Take | None = None,
    bone_length_m: npt.ArrayLike | Mapping[str, float] | None = None,
    weight: Sequence[npt.ArrayLike] | None = None,
    config: FitConfig | Mapping[str, Any] | None = None,
    name: str | None = None,
    progress: Progress | None = None,
) -> Fit:
    """Fit a rigid skeleton to one take seen by one or several sources.

    The first source gives the frame of reference and the clock.

    Parameters
    ----------
    takes : Take or sequence of Take
        One per source.
    skeleton : str, path or Skeleton, optional
        Preset name, TOML file or record; default: ``skeleton.preset`` of the config.
    markerset : str, path, MarkerSet or mapping, optional
        Leads labels to joints; None takes joints by their own names.
    subject : str, optional
        Whose labels, where a file has several subjects (``Anna:LASI``, ``Ben:LASI``).
    static : Take, optional
        A static trial of the person, with markers the takes lack: see `fitpipe.mapping.map_take`.
    bone_length_m : array-like of shape (link,) or mapping of bone name to length, metres, optional
        Known lengths; None measures them on the take (or reads the config's file).
    weight : sequence of ndarray of shape (time, joint), optional
        One per source, on the reference clock; multiplies the confidence.
    config : FitConfig or mapping, optional
        Such as ``{"solve": {"max_iterations": 50}}``.
    name : str, optional
        Name of the take in the result; default: the sources' names.
    progress : callable, optional
        Called with (frames done, frames in all) after every block of frames.

    Returns
    -------
    Fit

    Raises
    ------
    FitpipeError
        A subclass that says what cannot be used: config, labels, calibration or weights.
    """
    fitting = prepare(
        takes,
        skeleton=skeleton,
        markerset=markerset,
        subject=subject,
        static=static,
        bone_length_m=bone_length_m,
        weight=weight,
        config=config,
        name=name,
    )
    whole = _joined(fitting.blocks(progress), fitting.n_frames)
    return replace(whole, log=fitting.log)


def fit_to_file(
    takes: AnyTake | Sequence[AnyTake],
    path: str | Path,
    *,
    compression: int = 4,
    provenance: Mapping[str, Any] | None = None,
    before_renaming: Callable[[], None] | None = None,
    progress: Progress | None = None,
    **options: Any,
) -> FitSummary:
    """Fit a take and write it to an HDF5 file, block by block: for takes of any length.

    Parameters
    ----------
    takes : Take, LongTake or sequence of these
        One per source.
    path : path-like
        As of `fitpipe.output.save_fit`, like ``compression``.
    provenance : mapping, optional
        Entries to put over those of the fit.
    before_renaming : callable, optional
        Called when all is fitted; what it raises leaves no file.
    progress : callable, optional
        Called with (frames done, frames in all).
    options
        As of `fit`.

    Returns
    -------
    FitSummary

    Raises
    ------
    FitpipeError
        A subclass that says what cannot be used or written; then the file is as it was.
    """
    begin = time.perf_counter()
    fitting = prepare(takes, **options)
    summary = FitSummary(fitting.name, fitting.names)
    summary.fit_s = time.perf_counter() - begin
    blocks = _timed(fitting.blocks(progress), summary)
    with output.FitWriter(
        path, fitting.n_frames, compression=compression, provenance=provenance
    ) as writer:
        for block in one_ahead(blocks, is_on=fitting.in_threads):
            summary.add(block)
            writer.add(block)
        summary.provenance = dict(block.provenance) | dict(provenance or {})
        if before_renaming is not None:
            before_renaming()
        writer.finish(fitting.log)
    summary.log = fitting.log
    return summary


def prepare(
    takes: AnyTake | Sequence[AnyTake],
    *,
    skeleton: str | Path | Skeleton | None = None,
    markerset: str | Path | MarkerSet | Mapping[str, Any] | None = None,
    subject: str | None = None,
    static: Take | None = None,
    bone_length_m: npt.ArrayLike | Mapping[str, float] | None = None,
    weight: Sequence[npt.ArrayLike] | None = None,
    config: FitConfig | Mapping[str, Any] | None = None,
    name: str | None = None,
) -> Fitting:
    """A take with its calibration, whose frames are then fitted block by block.

    Parameters, and what is raised, as in `fit`.
    """
    return Fitting(
        [takes] if isinstance(takes, Take | LongTake) else list(takes),
        skeleton=skeleton,
        markerset=markerset,
        subject=subject,
        static=static,
        bone_length_m=bone_length_m,
        weight=weight,
        settings=make_config(FitConfig, config),
        name=name,
    )


def _timed(blocks: Iterator[Fit], summary: FitSummary) -> Iterator[Fit]:
    """The blocks; the time it took to make them is added to ``fit_s``."""
    begin = time.perf_counter()
    for block in blocks:
        summary.fit_s += time.perf_counter() - begin
        yield block
        begin = time.perf_counter()


def _joined(blocks: Iterator[Fit], n_frames: int) -> Fit:
    """Fits of consecutive frames as one."""
    first = next(blocks)
    if first.n_frames == n_frames:
        for _ in blocks:  # lets it come to its end
            pass
        return first
    whole = _PerFrame(first.per_frame, n_frames)
    angles = None if first.angles is None else _PerFrame(first.angles.per_frame, n_frames)
    for block in chain([first], blocks):
        whole.add(block.per_frame)
        if angles and block.angles:
            angles.add(block.angles.per_frame)
    turned = None
    if angles and first.angles:
        turned = replace(first.angles, **angles.arrays)
    return replace(first, **whole.arrays, angles=turned)


class _PerFrame:
    """Arrays along time, filled from the first frame to the last."""

    def __init__(self, like: Mapping[str, npt.NDArray[Any]], n_frames: int) -> None:
        self.arrays: dict[str, Any] = {
            name: np.empty((n_frames, *array.shape[1:]), array.dtype)
            for name, array in like.items()
        }
        self._n_done = 0

    def add(self, part: Mapping[str, npt.NDArray[Any]]) -> None:
        end = self._n_done + len(next(iter(part.values())))
        for name, array in self.arrays.items():
            array[self._n_done : end] = part[name]
        self._n_done = end


def load_kernels(config: FitConfig) -> None:
    """Have every kernel a fit needs compiled, or loaded from Numba's cache, on a tiny take."""
    body = Skeleton.preset("kinect20")
    frame, joint = np.arange(24.0), np.arange(float(body.n_joints))
    bend = 0.3 * np.sin(frame[:, None] / 3 + 2 * joint)
    position = 0.3 * np.stack([np.cos(bend), np.sin(bend), 0.1 * np.sin(joint + bend)], axis=-1)
    for child, parent in enumerate(body.parents):
        position[:, child] += position[:, parent] if parent >= 0 else 0.0
    position[5:12, body.joint_index("KneeLeft")] = np.nan  # a start is put in its place
    # one clock is put onto the other
    takes = [
        Take(source, body.joints, position, (frame + late) / 30)
        for source, late in (("a", 0.0), ("b", 0.3))
    ]
    # what the config gives (lengths, transforms, offsets, angles) belongs to other takes
    own = {
        "calibrate": CalibrateConfig(time_offset="none"),
        "angles": AnglesConfig(compute=config.angles.compute or config.angles.limits),
    }
    fit(takes, skeleton=body, config=config.model_copy(update=own))
    if config.angles.limits:
        load_limit_kernels()


def pose(takes: AnyTake | Sequence[AnyTake], **options: Any) -> Posed:
    """Everything of `fit` before the solver: what every frame is to be fitted to.

    ``options``, and what is raised, as in `fit`.
    """
    fitting = prepare(takes, **options)
    seen = fitting.see(0, fitting.n_frames)
    return Posed(
        solve.pose_problem(seen.observation_m, seen.weight, fitting.skeleton),
        fitting.time_s,
        fitting.calibration,
        seen.weight,
        seen.doubt,
        fitting.noise_m,
        seen.observation_m,
    )


def measure_lengths(
    takes: Sequence[AnyTake],
    *,
    skeleton: str | Path | Skeleton | None = None,
    markerset: str | Path | MarkerSet | Mapping[str, Any] | None = None,
    subject: str | None = None,
    static: Take | None = None,
    config: FitConfig | Mapping[str, Any] | None = None,
) -> tuple[BoneLengths, Skeleton, list[Finding]]:
    """Bone lengths of one subject over several takes, of any sensors and times.

    Parameters
    ----------
    takes : sequence of Take
        One per source and take.
    skeleton, markerset, subject, static, config
        As in `fit`; of the config, ``calibrate.symmetric`` and ``[weights]`` matter.

    Returns
    -------
    lengths : BoneLengths
    skeleton : Skeleton
        The one they belong to, without lengths.
    findings : list of Finding

    Raises
    ------
    FitpipeError
        A subclass that says what cannot be used: config, labels, or takes of several people.
    """
    settings = make_config(FitConfig, config)
    check_person(takes)
    bones = as_skeleton(skeleton if skeleton is not None else settings.skeleton.preset)
    sources = [Source(take, bones, markerset, subject, static, settings) for take in takes]
    log = [
        replace(finding, what=f"source {source.take.source!r}: {finding.what}")
        if len(takes) > 1
        else finding
        for source in sources
        for finding in (*source.repairs, *source.findings())
    ]
    lengths, findings = calibrate.estimate_lengths(
        [source.sample for source in sources], bones, symmetric=settings.calibrate.symmetric
    )
    return lengths, bones, log + findings
