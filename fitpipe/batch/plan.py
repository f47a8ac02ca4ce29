"""What a run is to do: every take of every combination of settings, as jobs."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import Any, Final

from fitpipe.batch.discovery import find_takes
from fitpipe.batch.job import TakeFile, TakeJob, check_names
from fitpipe.batch.manifest import read_manifest
from fitpipe.config import (
    FileRow,
    ReadingConfig,
    RunConfig,
    TakesConfig,
    Variant,
    check_overrides,
    expand_grid,
    override_tables,
    varied,
)
from fitpipe.config.layers import flat, nested, tidy_path
from fitpipe.errors import ConfigError

_READING: Final = tuple(ReadingConfig.model_fields)


@dataclass(frozen=True)
class Run:
    """The takes of one combination of settings; without a grid there is one, without a name."""

    name: str
    settings: Mapping[str, Any]  # of the grid, by dotted key
    folder: Path
    jobs: tuple[TakeJob, ...]


@dataclass(frozen=True)
class Plan:
    """All that a config asks for.

    Parameters
    ----------
    folder : Path
        The output folder; runs of a grid have theirs in it.
    runs : tuple of Run
    notes : tuple of str
        What the user may not have meant.
    """

    folder: Path
    runs: tuple[Run, ...]
    notes: tuple[str, ...] = ()

    @property
    def n_jobs(self) -> int:
        """Number of takes over all runs."""
        return sum(len(run.jobs) for run in self.runs)


def make_plan(config: RunConfig, *, command: str = "") -> Plan:
    """The jobs of a config. Reads the manifest and folders, no take; writes nothing.

    Parameters
    ----------
    config : RunConfig
        Relative paths in it start from the working folder.
    command : str
        What the user typed, kept in every output.

    Raises
    ------
    ConfigError
        No files are found, names cannot be used, or a setting of a take is wrong.
    """
    check_overrides(config)
    takes = _listed(config.takes)
    folder = Path(config.output.folder).absolute()
    runs = tuple(
        Run(
            variant.name,
            variant.settings,
            folder / variant.name,
            tuple(_jobs(variant, takes, folder / variant.name, command)),
        )
        for variant in expand_grid(config)
    )
    notes = tuple(
        f"[[override]] take = {row.take!r} matches no take"
        for row in config.override
        if not any(fnmatchcase(name, row.take) for name in takes)
    )
    return Plan(folder, runs, notes)


def _listed(takes: TakesConfig) -> dict[str, list[FileRow]]:
    """The rows of every take, by its name."""
    if takes.pattern:
        found = find_takes(takes.pattern, Path(takes.folder or "."))
        rows = [
            FileRow(take=files.name, source=source, path=str(path.absolute()))
            for files in found
            for source, path in files.paths.items()
        ]
        place = f"pattern {takes.pattern!r}"
    elif takes.manifest:
        rows, place = read_manifest(takes.manifest), takes.manifest
    else:
        rows, place = takes.file, "[[takes.file]]"
    listed: dict[str, list[FileRow]] = {}
    for row in rows:
        listed.setdefault(row.take, []).append(row)
    check_names(list(listed), dict.fromkeys(listed, place))
    _check_sources(listed, place)
    return listed


def _check_sources(listed: Mapping[str, list[FileRow]], place: str) -> None:
    faults = []
    for name, rows in listed.items():
        sources = Counter(row.source for row in rows if row.source)
        faults += [f"take {name!r} has source {s!r} twice" for s, n in sources.items() if n > 1]
        paths = Counter(row.path for row in rows)
        faults += [f"take {name!r} has the file {path} twice" for path, n in paths.items() if n > 1]
        subjects = {row.subject for row in rows if row.subject is not None}
        if len(subjects) > 1:
            faults.append(f"take {name!r} has several subjects: {', '.join(sorted(subjects))}")
        faults += [f"take {name!r}: {fault}" for fault in _option_conflicts(rows)]
    if faults:
        raise ConfigError("takes that contradict themselves", place=place, faults=faults)


def _option_conflicts(rows: list[FileRow]) -> list[str]:
    """Settings that two rows of one take give different values."""
    given: dict[str, Any] = {}
    conflicts = []
    for row in rows:
        for key, value in flat(nested(row.options)):
            if given.setdefault(key, value) != value:
                conflicts.append(f"{key} is {given[key]!r} in one row and {value!r} in another")
    return conflicts


def _jobs(
    variant: Variant, takes: Mapping[str, list[FileRow]], folder: Path, command: str
) -> Iterable[TakeJob]:
    configs: dict[str, RunConfig] = {}  # most takes share one
    for name, rows in takes.items():
        tables = [*override_tables(variant.config, name), *(r.options for r in rows if r.options)]
        key = json.dumps(tables, default=str)
        if key not in configs:
            configs[key] = varied(variant.config, tables, place=f"take {name!r}")
        config = configs[key]
        subject = next((row.subject for row in rows if row.subject is not None), None)
        yield TakeJob(
            name=name,
            files=tuple(_file(row, config.takes) for row in rows),
            subject=config.takes.subject if subject is None else subject,
            markerset=config.takes.markerset,
            static=config.takes.static,
            fit=config.fit_config(),
            output=str(folder / f"{name}.h5"),
            compression=config.output.compression,
            command=command,
        )


def _file(row: FileRow, takes: TakesConfig) -> TakeFile:
    """A row, with what it leaves open as the config says."""
    own = {key: getattr(row, key) for key in _READING}
    reading = {k: getattr(takes, k) if value is None else value for k, value in own.items()}
    path = Path(row.path).absolute()
    return TakeFile(source=row.source, path=str(_tidy_folder(path.parent) / path.name), **reading)


@cache
def _tidy_folder(folder: Path) -> Path:
    return Path(tidy_path(folder))
