"""What became of a take: a row of the run's summary."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

if TYPE_CHECKING:
    from fitpipe.records import FitSummary

_FILES: Final = ("output", "stale")
Status = Literal["fitted", "failed", "pending"]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one take.

    Parameters
    ----------
    take : str
    status : {"fitted", "failed", "pending"}
        "pending" if it was not reached yet.
    sources, frames, fitted, converged, certified : int
        Number of sources; of frames in all, and of those that ended so.
    rms_before_m, rms_after_m : float, metres
        Fit.rms_start_m and Fit.rms_m.
    worst_bone_error_m : float, metres
        Largest deviation of any bone from its length.
    frames_per_s, seconds : float
        Of the fit alone; and for reading, fitting and writing.
    warnings : int
        Findings that may change the numbers.
    attempts : int
        How often the take was begun.
    kept : bool
        Whether an earlier run had fitted it, from the same input, settings and version.
    output : str
        The file, empty unless "fitted".
    stale : str
        A file of this take from another input, setting or version that is still there.
    error_class, error : str
        What failed.
    fingerprint : str
        SHA-256 over what the result depends on; see `fitpipe.batch.fingerprint`.
    output_sha256 : str
        SHA-256 of the file's bytes under its seal.
    """

    take: str
    status: Status
    sources: int = 0
    frames: int = 0
    fitted: int = 0
    converged: int = 0
    certified: int = 0
    rms_before_m: float = math.nan
    rms_after_m: float = math.nan
    worst_bone_error_m: float = math.nan
    frames_per_s: float = math.nan
    seconds: float = math.nan
    warnings: int = 0
    attempts: int = 0
    kept: bool = False
    output: str = ""
    stale: str = ""
    error_class: str = ""
    error: str = ""
    fingerprint: str = ""
    output_sha256: str = ""

    @classmethod
    def failed(cls, take: str, error: BaseException, **more: Any) -> Outcome:
        """The outcome of a take that an error ended."""
        from fitpipe.errors import FitpipeError

        kind, text = type(error).__name__, str(error)
        if isinstance(error, MemoryError):
            kind, text = "MemoryError", f"out of memory ({text})" if text else "out of memory"
        elif not isinstance(error, FitpipeError):
            text = f"internal error: {kind}: {text}"
        return cls(take, "failed", error_class=kind, error=text, **more)

    @classmethod
    def of_fit(cls, fit: FitSummary, **more: Any) -> Outcome:
        """The outcome of a take that was fitted; ``more`` is what the fit does not tell."""
        return cls(
            take=fit.name,
            status="fitted",
            sources=len(fit.sources),
            frames=fit.n_frames,
            fitted=fit.n_fitted,
            converged=fit.n_converged,
            certified=fit.n_certified,
            rms_before_m=fit.rms_start_m,
            rms_after_m=fit.rms_m,
            worst_bone_error_m=fit.worst_bone_m,
            warnings=sum(finding.severity == "warning" for finding in fit.log),
            fingerprint=str(fit.provenance.get("fingerprint", "")),
            **more,
        )

    def to_row(self, folder: Path | None = None) -> dict[str, Any]:
        """The fields by name, with None for NaN; files relative to ``folder`` if it is given."""
        values = {name: getattr(self, name) for name in self.__slots__}
        row: dict[str, Any] = {k: None if v != v else v for k, v in values.items()}
        if folder is not None:
            for name in _FILES:
                row[name] = row[name] and Path(row[name]).relative_to(folder).as_posix()
        return row

    @classmethod
    def from_row(cls, row: Mapping[str, Any], folder: Path | None = None) -> Outcome:
        """The outcome that `to_row` gave; TypeError or ValueError if it is none."""
        known = {field.name: field for field in fields(cls)}
        values: dict[str, Any] = {
            name: math.nan if value is None else value
            for name, value in row.items()
            if name in known
        }
        outcome = cls(**values)
        for name, field in known.items():
            kind = type(field.default) if name not in ("take", "status") else str
            value = getattr(outcome, name)
            if not isinstance(value, kind) and not (kind is float and isinstance(value, int)):
                raise TypeError(f"{name} is {value!r}, expected {kind.__name__}")
        if folder is None:
            return outcome
        paths: dict[str, Any] = {
            n: str(folder / getattr(outcome, n)) for n in ("output", "stale") if row.get(n)
        }
        return replace(outcome, **paths)
