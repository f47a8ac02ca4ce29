"""Many takes: which files belong to which take, and a run over them that outlives failures."""

from __future__ import annotations

import csv
import re
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, fields, replace
from functools import partial
from pathlib import Path
from typing import TypeVar

from fitpipe.config import RunConfig, TakesConfig
from fitpipe.errors import ConfigError, FitpipeError
from fitpipe.io import open_takes, read_takes
from fitpipe.output import check_writable
from fitpipe.pipeline import Progress, fit_to_file
from fitpipe.records import FitSummary, LongTake, Take

SUMMARY = "summary.csv"
_AnyTake = TypeVar("_AnyTake", Take, Take | LongTake)
_FIELD = re.compile(r"\{(\w+)\}")


@dataclass(frozen=True)
class TakeFiles:
    """The files of one take: path by source name ('' where the pattern names no source)."""

    name: str
    paths: Mapping[str, Path]


@dataclass(frozen=True)
class Outcome:
    """What became of one take; a row of the run's summary.

    The two rms values are Fit.rms_start_m and Fit.rms_m.
    """

    take: str
    status: str  # "fitted" or "failed"
    sources: int = 0
    frames: int = 0
    fitted: int = 0
    converged: int = 0
    certified: int = 0
    rms_before_m: float = float("nan")
    rms_after_m: float = float("nan")
    worst_bone_error_m: float = float("nan")
    frames_per_s: float = float("nan")
    seconds: float = 0.0
    warnings: int = 0
    output: str = ""
    error: str = ""


def find_takes(pattern: str, base: Path) -> list[TakeFiles]:
    """Group the files that match a pattern with named fields into takes.

    Parameters
    ----------
    pattern : str
        A path with fields in braces and, where a part does not matter, ``*``:
        ``"takes/{subject}_{trial}_{source}.csv"``. Files that differ only in ``{source}`` are
        the sources of one take; the other fields, joined by ``_``, are its name.
    base : Path
        Folder that a relative pattern starts from.

    Raises
    ------
    ConfigError
        No file matches, or two files claim the same take and source.
    """
    matcher = _matcher(pattern)
    root = Path(pattern).anchor
    folder = Path(root) if root else base
    found: dict[str, dict[str, Path]] = {}
    for path in sorted(folder.glob(_FIELD.sub("*", pattern)[len(root) :])):
        named = matcher.fullmatch((path if root else path.relative_to(folder)).as_posix())
        if named is None or path.is_dir():
            continue
        values = named.groupdict()
        source = values.pop("source", "")
        name = "_".join(values.values()) or path.stem
        taken = found.setdefault(name, {})
        if source in taken:
            raise ConfigError(
                f"{taken[source]} and {path} are both source {source!r} of take {name!r}",
                hint="name the part of the path that differs: '{folder}/{take}_{source}.csv'",
            )
        taken[source] = path
    if not found:
        raise ConfigError(f"no files match {pattern!r} in {folder.resolve()}")
    return [TakeFiles(name, paths) for name, paths in found.items()]


def _matcher(pattern: str) -> re.Pattern[str]:
    """The pattern as a regular expression with its fields as groups."""
    names = _FIELD.findall(pattern)
    if len(set(names)) != len(names):
        raise ConfigError(f"the pattern {pattern!r} names a field twice")
    special = {"**/": "(?:.*/)?", "*": "[^/]*"}
    parts = re.split(r"(\{\w+\}|\*\*/|\*)", pattern.replace("\\", "/"))
    return re.compile(
        "".join(
            f"(?P<{part[1:-1]}>[^/]+?)"
            if _FIELD.fullmatch(part)
            else special.get(part) or re.escape(part)
            for part in parts
        )
    )


def read_sources(files: TakeFiles, settings: TakesConfig) -> list[Take]:
    """Read every source of a take.

    A file that holds several sources gives each of them.

    Raises
    ------
    InputError
        A file cannot be read.
    """
    return _sources(files, settings, read_takes)


def open_sources(
    files: TakeFiles, settings: TakesConfig, *, most_frames: int
) -> list[Take | LongTake]:
    """The same, those of more than ``most_frames`` frames opened only, where that can be done."""
    return _sources(files, settings, partial(open_takes, most_frames=most_frames))


def _sources(
    files: TakeFiles, settings: TakesConfig, read: Callable[..., list[_AnyTake]]
) -> list[_AnyTake]:
    takes: list[_AnyTake] = []
    for source, path in files.paths.items():
        inside = read(
            path,
            body=settings.body,
            units=settings.units,
            up=settings.up,
            rate_hz=settings.rate_hz,
        )
        if source and len(inside) == 1:
            inside = [replace(inside[0], source=source)]
        elif source:
            inside = [replace(take, source=f"{source}/{take.source}") for take in inside]
        takes += inside
    return takes


def run(
    config: RunConfig,
    *,
    base: Path,
    progress: Callable[[str], Progress] | None = None,
) -> Iterator[Outcome]:
    """Fit every take of a config, one after the other; a take that fails does not stop the rest.

    Parameters
    ----------
    config : RunConfig
    base : Path
        Folder that relative paths in the config start from.
    progress : callable, optional
        Given a take's name, returns the callback for its blocks of frames.

    Yields
    ------
    Outcome
        As each take ends. The output folder holds ``TAKE.h5`` and, in the end, ``summary.csv``.

    Raises
    ------
    FitpipeError
        Before the first take is read: no files match, or the output folder cannot be written.
    """
    folder = base / config.output.folder
    takes = find_takes(config.takes.pattern, base)
    check_writable(folder)
    config = _paths_from(base, config)
    with (folder / SUMMARY).open("w", newline="", encoding="utf-8") as file:
        summary = csv.writer(file)
        summary.writerow(column.name for column in fields(Outcome))
        for files in takes:
            report = progress(files.name) if progress else None
            outcome = run_take(files, config, folder / f"{files.name}.h5", progress=report)
            summary.writerow(asdict(outcome).values())
            file.flush()
            yield outcome


def run_take(
    files: TakeFiles, config: RunConfig, output: Path, *, progress: Progress | None = None
) -> Outcome:
    """Read, fit and save one take; whatever goes wrong with it is told in the outcome."""
    begin = time.perf_counter()
    try:
        most = config.calibrate.sample_frames
        takes = open_sources(files, config.takes, most_frames=most)
        before_fit = time.perf_counter()
        result = fit_to_file(
            takes,
            output,
            compression=config.output.compression,
            markerset=config.takes.markerset,
            subject=config.takes.subject,
            config=config.fit_config(),
            name=files.name,
            progress=progress,
        )
        fit_seconds = time.perf_counter() - before_fit
    except FitpipeError as error:
        return Outcome(files.name, "failed", error=str(error), seconds=time.perf_counter() - begin)
    except Exception as error:
        # a fault of ours or of a library costs this take, never the ones after it
        text = f"internal error: {type(error).__name__}: {error}"
        return Outcome(files.name, "failed", error=text, seconds=time.perf_counter() - begin)
    return _outcome(result, output, fit_seconds, time.perf_counter() - begin)


def _outcome(result: FitSummary, output: Path, fit_seconds: float, seconds: float) -> Outcome:
    return Outcome(
        take=result.name,
        status="fitted",
        sources=len(result.sources),
        frames=result.n_frames,
        fitted=result.n_fitted,
        converged=result.n_converged,
        certified=result.n_certified,
        rms_before_m=result.rms_start_m,
        rms_after_m=result.rms_m,
        worst_bone_error_m=result.worst_bone_m,
        frames_per_s=result.n_frames / fit_seconds,
        seconds=seconds,
        warnings=sum(finding.severity == "warning" for finding in result.log),
        output=str(output),
    )


def _paths_from(base: Path, config: RunConfig) -> RunConfig:
    """The config with the TOML files it names found from the config's folder."""

    def found(name: str) -> str:
        return str(base / name) if name.endswith(".toml") else name

    markerset = config.takes.markerset
    return config.model_copy(
        update={
            "takes": config.takes.model_copy(
                update={"markerset": found(markerset) if markerset else None}
            ),
            "skeleton": config.skeleton.model_copy(
                update={"preset": found(config.skeleton.preset)}
            ),
            "calibrate": config.calibrate.model_copy(
                update={
                    "bone_lengths": found(config.calibrate.bone_lengths),
                    "registration": found(config.calibrate.registration),
                }
            ),
        }
    )
