"""What a result depends on: input bytes, the settings that matter, fitpipe's version.

Two takes with one identity get the same numbers, so a run keeps an output whose identity is that
of the plan. Threads, workers, paths and compression are no part of it; a file's name is, because a
source may be called by it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping
from importlib import resources
from pathlib import Path
from typing import Any, Final

import fitpipe
from fitpipe.batch.job import TakeJob
from fitpipe.config.layers import flat
from fitpipe.errors import InputError

Sha256 = Callable[[Path], str]

_NO_MATTER: Final = ("solve.threads",)
_PRESETS: Final = {
    "angles.preset": "angles",
    "skeleton.preset": "skeletons",
    "takes.markerset": "markersets",
}


def file_sha256(path: Path) -> str:
    """SHA-256 of a file's bytes, hexadecimal.

    Raises
    ------
    InputError
        It is not there or cannot be read.
    """
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except FileNotFoundError:
        raise InputError("no such file", path=path) from None
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", path=path) from error


def identity(job: TakeJob, sha256: Sha256 = file_sha256) -> dict[str, Any]:
    """What the job's result depends on; as plain values, equal for equal results.

    Parameters
    ----------
    job : TakeJob
    sha256 : callable
        Hash of a file; a cache may stand in.

    Raises
    ------
    InputError
        A file cannot be read.
    """
    return {
        "fitpipe": fitpipe.__version__,
        "take": job.name,
        "inputs": [
            {"source": file.source, "file": Path(file.path).name, "sha256": sha256(Path(file.path))}
            | file.model_dump(exclude={"source", "path"}, exclude_none=True)
            for file in job.files
        ],
        "config": {
            key: _by_content(key, value, sha256)
            for key, value in settings(job).items()
            if key not in _NO_MATTER
        },
    }


def settings(job: TakeJob) -> dict[str, Any]:
    """The job's settings by dotted key, those that are None left out."""
    takes = {"takes": {"subject": job.subject, "markerset": job.markerset, "static": job.static}}
    table = takes | job.fit.model_dump(mode="json")
    return {key: value for key, value in flat(table) if value is not None}


def fingerprint(identity: Mapping[str, Any]) -> str:
    """SHA-256 of an identity."""
    text = json.dumps(identity, sort_keys=True, ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()


def differences(before: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """What differs between two identities, one line each."""
    told = []
    if before.get("fitpipe") != now["fitpipe"]:
        told.append(f"fitpipe {before.get('fitpipe')} -> {now['fitpipe']}")
    if before.get("take") != now["take"]:
        told.append(f"name {before.get('take')!r} -> {now['take']!r}")
    told += _input_differences(before.get("inputs", []), now["inputs"])
    config = before.get("config", {})
    for key in sorted({*config, *now["config"]}):
        old, new = config.get(key), now["config"].get(key)
        if old == new:
            continue
        are_files = isinstance(old, dict) and isinstance(new, dict)
        said = "names other content" if are_files else f"{_told(old)} -> {_told(new)}"
        told.append(f"{key} {said}")
    return told


def _input_differences(before: list[dict[str, Any]], now: list[dict[str, Any]]) -> Iterator[str]:
    old_names, names = [[row.get("file") for row in rows] for rows in (before, now)]
    if old_names != names:
        yield f"files {', '.join(map(str, old_names))} -> {', '.join(map(str, names))}"
        return
    for old, new in zip(before, now, strict=True):
        if old.get("sha256") != new["sha256"]:
            yield f"input {new['file']} has other content"
        for key in sorted({*old, *new} - {"sha256", "file"}):
            if old.get(key) != new.get(key):
                yield f"{key} of {new['file']} {_told(old.get(key))} -> {_told(new.get(key))}"


def _told(value: Any) -> str:
    if value is None:
        return "(none)"
    if isinstance(value, dict) and "sha256" in value:
        return f"file {value['sha256'][:8]}..."
    return json.dumps(value, ensure_ascii=False)


def _by_content(key: str, value: Any, sha256: Sha256) -> Any:
    """A file that a setting names, by its content."""
    if isinstance(value, str) and (value.endswith(".toml") or key == "takes.static"):
        return {"sha256": sha256(Path(value))}
    if key in _PRESETS and isinstance(value, str):
        source = resources.files("fitpipe") / "presets" / _PRESETS[key] / f"{value}.toml"
        if source.is_file():
            return {"sha256": hashlib.sha256(source.read_bytes()).hexdigest()}
    return value
