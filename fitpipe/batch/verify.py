"""Makes an output again from what it says of itself, and tells what differs."""

from __future__ import annotations

import platform
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

import numpy as np

from fitpipe.batch.fingerprint import file_sha256, identity
from fitpipe.batch.job import TakeJob
from fitpipe.batch.origin import job_of_output
from fitpipe.errors import BatchError, FitpipeError, InputError

if TYPE_CHECKING:
    from fitpipe.pipeline import Progress
    from fitpipe.records import Fit

Verdict = Literal["bit-equal", "within tolerance", "different"]
TOLERANCE: Final = 1e-9  # metres, and whatever other unit a number has


@dataclass(frozen=True)
class Verification:
    """How an output compares with the same fit made now.

    Parameters
    ----------
    path : Path
    verdict : {"bit-equal", "within tolerance", "different"}
        Over every number and text of the fit; not over its provenance.
    tolerance : float
    differences : mapping of str to str
        What differs in each variable that is not equal bit for bit.
    changed : tuple of str
        Inputs and versions that are not those the output was made from.
    """

    path: Path
    verdict: Verdict
    tolerance: float
    differences: Mapping[str, str]
    changed: tuple[str, ...]


def verify(
    path: str | Path,
    *,
    inputs: Path | None = None,
    tolerance: float = TOLERANCE,
    progress: Progress | None = None,
) -> Verification:
    """Fit a take again from its inputs and the config in its output, and compare.

    Parameters
    ----------
    path : path-like
        The output.
    inputs : Path, optional
        Folder to look for the inputs in, by their names, instead of where they were.
    tolerance : float
        Largest difference of a number that counts as none, relative where numbers exceed 1.
    progress : callable, optional
        As in `fitpipe.fit`.

    Raises
    ------
    FitpipeError
        The output is damaged, its inputs are gone, or they can no longer be fitted.
    """
    from fitpipe.batch.take import fit_take
    from fitpipe.output import load_fit

    path = Path(path)
    before = load_fit(path)
    job = job_of_output(path).model_copy(update={"name": before.name})
    if inputs is not None:
        files = tuple(
            file.model_copy(update={"path": str(inputs / Path(file.path).name)})
            for file in job.files
        )
        static = job.static and str(inputs / Path(job.static).name)
        job = job.model_copy(update={"files": files, "static": static})
    changed = (
        *_changed_inputs(job, before.provenance, path),
        *_changed_versions(before.provenance),
    )
    try:
        now = fit_take(job, progress=progress)
    except FitpipeError as error:
        raise BatchError(f"cannot be fitted again: {error}", path=path, faults=changed) from error
    differences, is_close = _differences(before, now, tolerance)
    verdict: Verdict = "within tolerance" if is_close else "different"
    if not differences:
        verdict = "bit-equal"
    return Verification(path, verdict, tolerance, differences, changed)


def _changed_inputs(job: TakeJob, provenance: Mapping[str, Any], path: Path) -> list[str]:
    """Inputs with other bytes than the output was made from."""
    before = provenance.get("identity")
    rows = before["inputs"] if isinstance(before, Mapping) else provenance.get("inputs", [])
    changed, gone = [], []
    for file, row in zip(job.files, rows, strict=True):
        try:
            now = file_sha256(Path(file.path))
        except InputError as error:
            gone.append(str(error))
            continue
        if now != row["sha256"]:
            changed.append(f"input {file.path}: was {row['sha256']}, is {now}")
    if gone:
        raise InputError(
            "cannot be made again without its inputs",
            path=path,
            faults=gone,
            hint="give the folder they are in now with --inputs",
        )
    made_in_python = {"takes.static": provenance.get("static")}
    known = before.get("config", {}) if isinstance(before, Mapping) else made_in_python
    for key, sha256 in _named_files(job).items():
        was = known.get(key)
        if isinstance(was, Mapping) and was.get("sha256") != sha256:
            changed.append(f"{key}: the file it names was {was.get('sha256')}, is {sha256}")
    return changed


def _named_files(job: TakeJob) -> dict[str, str]:
    """Hashes of presets and files that the settings name."""
    config = identity(job)["config"]
    return {key: value["sha256"] for key, value in config.items() if isinstance(value, dict)}


def _changed_versions(provenance: Mapping[str, Any]) -> list[str]:
    now = {"python": platform.python_version()}
    changed = []
    for name, was in provenance.get("versions", {}).items():
        if name not in now:
            try:
                now[name] = version(name)
            except PackageNotFoundError:
                now[name] = "not installed"
        if now[name] != was:
            changed.append(f"{name}: was {was}, is {now[name]}")
    here = f"{platform.system()} {platform.machine()}"
    was = provenance.get("platform", here)
    return changed if was == here else [*changed, f"platform: was {was}, is {here}"]


def _differences(before: Fit, now: Fit, tolerance: float) -> tuple[dict[str, str], bool]:
    """What differs, by variable, and whether all of it is within the tolerance."""
    from fitpipe.output.schema import schema_variables

    old, new = ({v.name: v.values for v in schema_variables(fit)} for fit in (before, now))
    told: dict[str, str] = {}
    is_close = True
    for name in sorted({*old, *new}):
        if name not in old or name not in new:
            # a variable that only one version of fitpipe writes says nothing about the numbers
            told[name] = "is not in the file" if name in new else "is not made any more"
            continue
        fault, close = _difference(old[name], new[name], tolerance)
        if fault:
            told[name] = fault
            is_close &= close
    return told, is_close


def _difference(old: Any, new: Any, tolerance: float) -> tuple[str, bool]:
    """What differs between two arrays, empty if nothing; and whether it is within tolerance."""
    if old.shape != new.shape:
        return f"shape {old.shape} -> {new.shape}", False
    if old.dtype.kind != "f" or new.dtype.kind != "f":
        n = int(np.count_nonzero(old != new))
        return (f"{n} of {old.size} values differ" if n else ""), n == 0
    if old.dtype == new.dtype and old.tobytes() == new.tobytes():
        return "", True
    if not np.array_equal(np.isnan(old), np.isnan(new)):
        return "values are missing at other places", False
    off = np.abs(old - new) / np.maximum(1.0, np.abs(old))
    largest = float(np.nanmax(off, initial=0.0))
    n = int(np.count_nonzero(off > 0))
    if n == 0:
        return "", True  # NaN of other bits, or a zero of other sign
    return f"{n} of {old.size} values differ, by up to {largest:.2g}", largest <= tolerance
