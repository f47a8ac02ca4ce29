"""Fits one take from its files to its output; what a worker does."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from fitpipe.batch.fingerprint import file_sha256, fingerprint, identity
from fitpipe.batch.job import TakeFile, TakeJob
from fitpipe.batch.lock import has_lease
from fitpipe.batch.outcome import Outcome
from fitpipe.errors import BatchError, InputError, OutputError

if TYPE_CHECKING:
    from fitpipe.pipeline import Progress
    from fitpipe.records import Fit, FitSummary, LongTake, Take

    _AnyTake = TypeVar("_AnyTake", Take, Take | LongTake)


def read_sources(job: TakeJob) -> list[Take]:
    """Read every source of a take; a file that holds several gives each of them.

    A source is called as the job says, else as the file does.

    Raises
    ------
    InputError
        A file cannot be read.
    """
    from fitpipe.io import read_takes

    return _sources(job, read_takes)


def open_sources(job: TakeJob) -> list[Take | LongTake]:
    """The same; long takes are opened only, where their format allows (see `open_takes`)."""
    from fitpipe.io import open_takes

    return _sources(job, partial(open_takes, most_frames=job.fit.calibrate.sample_frames))


def _sources(job: TakeJob, read: Callable[..., list[_AnyTake]]) -> list[_AnyTake]:
    takes: list[_AnyTake] = []
    for file in job.files:
        inside = read(file.path, **_reading(file))
        if file.source and len(inside) == 1:
            inside = [replace(inside[0], source=file.source)]
        elif file.source:
            inside = [replace(take, source=f"{file.source}/{take.source}") for take in inside]
        takes += inside
    return takes


def read_static(job: TakeJob) -> Take | None:
    """The static trial, read as the take's first file is; None if the job has none.

    Raises
    ------
    InputError
        It cannot be read.
    """
    from fitpipe.io import read_take

    return None if job.static is None else read_take(job.static, **_reading(job.files[0]))


def _reading(file: TakeFile) -> dict[str, Any]:
    return file.model_dump(exclude={"source", "path"}, exclude_none=True)


def fit_take(job: TakeJob, *, progress: Progress | None = None) -> Fit:
    """Read and fit one take; its provenance says how to make it again.

    Raises
    ------
    FitpipeError
        A subclass that says what cannot be used. Also where a file changes while it is read.
    """
    from fitpipe.pipeline import fit

    before = identity(job)
    takes = open_sources(job)
    result = fit(takes, **_fitting(job), progress=progress)
    _check_unchanged(job, before, takes)
    return replace(result, provenance=dict(result.provenance) | _provenance(job, before))


def write_take(job: TakeJob, *, progress: Progress | None = None) -> FitSummary:
    """Read, fit and write one take, block by block where it is long.

    Raises
    ------
    FitpipeError
        A subclass that says what cannot be used or written; then the output is as it was. Also
        where a file changes while it is read, or another run has taken over the folder.
    """
    from fitpipe.pipeline import fit_to_file

    before = identity(job)
    takes = open_sources(job)

    def check() -> None:
        _check_unchanged(job, before, takes)
        if job.lease and not has_lease(Path(job.lease), job.run):
            raise BatchError("another run has taken over the folder", path=Path(job.output).parent)

    return fit_to_file(
        takes,
        job.output,
        **_fitting(job),
        compression=job.compression,
        provenance=_provenance(job, before),
        before_renaming=check,
        progress=progress,
    )


def run_take(job: TakeJob, *, progress: Progress | None = None) -> Outcome:
    """Read, fit and save one take; whatever goes wrong with it is told in the outcome."""
    from fitpipe.output import sealed_sha256

    begin = time.perf_counter()
    try:
        result = write_take(job, progress=progress)
        sha256 = sealed_sha256(Path(job.output))
        if sha256 is None:
            raise OutputError("does not read back as it was written", path=job.output)
    except Exception as error:
        # a fault of ours or of a library costs this take, never the ones after it
        seconds = time.perf_counter() - begin
        return Outcome.failed(job.name, error, seconds=seconds, attempts=1)
    return Outcome.of_fit(
        result,
        frames_per_s=result.n_frames / result.fit_s,
        seconds=time.perf_counter() - begin,
        attempts=1,
        output=job.output,
        output_sha256=sha256,
    )


def _fitting(job: TakeJob) -> dict[str, Any]:
    """What the fit is asked for."""
    return {
        "markerset": job.markerset,
        "subject": job.subject,
        "static": read_static(job),
        "config": job.fit_here,
        "name": job.name,
    }


def _provenance(job: TakeJob, before: dict[str, Any]) -> dict[str, Any]:
    """What the fit by itself does not know of its origin."""
    from fitpipe.config import config_sha256

    return {
        "config": job.config_text,
        "config_sha256": config_sha256(job.config_text),
        "command": job.command,
        "identity": before,
        "fingerprint": fingerprint(before),
    }


def _check_unchanged(
    job: TakeJob, before: dict[str, Any], takes: Sequence[Take | LongTake]
) -> None:
    """The bytes that were read are those that were hashed before, and are still there."""
    hashes = {file.path: file_sha256(Path(file.path)) for file in job.files}
    read = [take.origin.path for take in takes if take.origin.sha256 != hashes[take.origin.path]]
    if read or identity(job) != before:
        raise InputError(
            "changed while the take was fitted",
            path=read[0] if read else job.files[0].path,
            hint="run again when nothing writes to the take's files any more",
        )
