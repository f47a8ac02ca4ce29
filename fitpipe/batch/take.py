"""Fits one take from its files to its output; what a worker does."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fitpipe.batch.fingerprint import file_sha256, fingerprint, identity
from fitpipe.batch.job import TakeFile, TakeJob
from fitpipe.batch.lock import has_lease
from fitpipe.batch.outcome import Outcome
from fitpipe.errors import BatchError, InputError, OutputError

if TYPE_CHECKING:
    from fitpipe.pipeline import Progress
    from fitpipe.records import Fit, Take


def read_sources(job: TakeJob) -> list[Take]:
    """Read every source of a take; a file that holds several gives each of them.

    A source is called as the job says, else as the file does.

    Raises
    ------
    InputError
        A file cannot be read.
    """
    from fitpipe.io import read_takes

    takes = []
    for file in job.files:
        options = _reading(file)
        inside = read_takes(file.path, **options)
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
    before = identity(job)
    return _fit(job, read_sources(job), before, progress)


def run_take(job: TakeJob, *, progress: Progress | None = None) -> Outcome:
    """Read, fit and save one take; whatever goes wrong with it is told in the outcome."""
    from fitpipe.output import save_fit, sealed_sha256

    begin = time.perf_counter()
    try:
        before = identity(job)
        takes = read_sources(job)
        fitting = time.perf_counter()
        result = _fit(job, takes, before, progress)
        fit_seconds = time.perf_counter() - fitting
        if job.lease and not has_lease(Path(job.lease), job.run):
            raise BatchError("another run has taken over the folder", path=Path(job.output).parent)
        output = save_fit(result, job.output, compression=job.compression)
        sha256 = sealed_sha256(output)
        if sha256 is None:
            raise OutputError("does not read back as it was written", path=output)
    except Exception as error:
        # a fault of ours or of a library costs this take, never the ones after it
        seconds = time.perf_counter() - begin
        return Outcome.failed(job.name, error, seconds=seconds, attempts=1)
    return Outcome.of_fit(
        result,
        frames_per_s=result.n_frames / fit_seconds,
        seconds=time.perf_counter() - begin,
        attempts=1,
        output=job.output,
        output_sha256=sha256,
    )


def _fit(job: TakeJob, takes: list[Take], before: dict[str, Any], progress: Progress | None) -> Fit:
    from fitpipe.config import config_sha256
    from fitpipe.pipeline import fit

    result = fit(
        takes,
        markerset=job.markerset,
        subject=job.subject,
        static=read_static(job),
        config=job.fit_here,
        name=job.name,
        progress=progress,
    )
    _check_unchanged(job, before, takes)
    provenance = dict(result.provenance) | {
        "config": job.config_text,
        "config_sha256": config_sha256(job.config_text),
        "command": job.command,
        "identity": before,
        "fingerprint": fingerprint(before),
    }
    return replace(result, provenance=provenance)


def _check_unchanged(job: TakeJob, before: dict[str, Any], takes: list[Take]) -> None:
    """The bytes that were read are those that were hashed before, and are still there."""
    hashes = {file.path: file_sha256(Path(file.path)) for file in job.files}
    read = [take.origin.path for take in takes if take.origin.sha256 != hashes[take.origin.path]]
    if read or identity(job) != before:
        raise InputError(
            "changed while the take was fitted",
            path=read[0] if read else job.files[0].path,
            hint="run again when nothing writes to the take's files any more",
        )
