"""Every error fitpipe raises for a user's input: facts as fields, one sentence as text."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from pathlib import Path


class FitpipeError(Exception):
    """A fault in what the user gave: what is wrong, where, and what to try.

    Parameters
    ----------
    problem : str
        What is wrong, with what was expected and what came.
    path : path-like, optional
        The file it is about.
    place : str, optional
        Where in the file or record: ``"line 3"``, ``"[solve] tolerance_m"``.
    hint : str, optional
        What to try.
    faults : sequence of str
        Every single fault, where one check found several.
    """

    def __init__(
        self,
        problem: str,
        *,
        path: str | Path | None = None,
        place: str | None = None,
        hint: str | None = None,
        faults: Sequence[str] = (),
    ) -> None:
        self.problem = problem
        self.path = None if path is None else Path(path)
        self.place = place
        self.hint = hint
        self.faults = tuple(faults)
        super().__init__(self._text())

    def _text(self) -> str:
        where = ", ".join(str(part) for part in (self.path, self.place) if part is not None)
        text = f"{where}: {self.problem}" if where else self.problem
        if self.faults:
            text += "".join(f"\n  - {fault}" for fault in self.faults)
        if self.hint:
            joint = "\n  " if self.faults else "; "
            text += f"{joint}{self.hint}"
        return text

    def __reduce__(self) -> tuple[object, ...]:
        # keyword-only fields do not survive the default pickling that worker processes use
        return (_rebuild, (type(self), self.__dict__))


def _rebuild(kind: type[FitpipeError], fields: dict[str, object]) -> FitpipeError:
    error = kind.__new__(kind)
    error.__dict__.update(fields)
    error.args = (error._text(),)
    return error


class InputError(FitpipeError):
    """A file that cannot be read as a take."""


class RecordError(FitpipeError):
    """Arrays that do not make a valid record (take, skeleton, calibration, fit)."""


class ConfigError(FitpipeError):
    """A config that cannot be used."""


class MappingError(FitpipeError):
    """Labels that do not lead to the skeleton's joints."""


class CalibrationError(FitpipeError):
    """Sources that cannot be brought together, or bones that cannot be measured."""


class DegenerateCloudError(CalibrationError):
    """The points lie on a line or coincide, so no rotation is determined."""


class SolveError(FitpipeError):
    """A problem that cannot be posed: no joint observed, no length for a bone."""


class OutputError(FitpipeError):
    """A result that cannot be written, or a file that is not a whole fit."""


class BatchError(FitpipeError):
    """A run over many takes that cannot start or go on."""


class FolderInUseError(BatchError):
    """Another run writes into the same folder."""


class WorkerLostError(BatchError):
    """The process that fitted a take ended: it crashed, was killed, or ran out of memory."""


class TakeTimeoutError(BatchError):
    """A take was not fitted in the time it was given."""


class MissingExtraError(FitpipeError):
    """A feature that needs an optional dependency."""


def require_extra(feature: str, package: str, extra: str) -> MissingExtraError:
    """Error that says which extra brings a missing package."""
    return MissingExtraError(
        f"{feature} needs the package {package}, which is not installed",
        hint=f'try: pip install "fitpipe[{extra}]"',
    )


def nearest_names(name: str, known: Iterable[str], *, n: int = 3) -> list[str]:
    """The known names closest in spelling to ``name``, best first; letter case is ignored."""
    by_lower = {candidate.lower(): candidate for candidate in known}
    return [by_lower[hit] for hit in difflib.get_close_matches(name.lower(), by_lower, n=n)]


def suggest(name: str, known: Iterable[str]) -> str:
    """``did you mean 'x'?`` for the nearest known name, else the list of what is known."""
    known = list(known)
    near = nearest_names(name, known, n=1)
    if near:
        return f"did you mean {near[0]!r}?"
    return "known: " + (", ".join(known) if known else "none")
