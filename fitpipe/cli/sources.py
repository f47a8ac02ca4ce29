"""The takes of the files that a command names."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from fitpipe.records import LongTake, Take

    _AnyTake = TypeVar("_AnyTake", Take, Take | LongTake)


def read_sources(files: Sequence[Path], **options: Any) -> list[Take]:
    """Every take of the files; ``options`` are those of ``fitpipe.io.read_takes``.

    Sources get the name of their path where two would have the same (a/x.csv and b/x.csv).
    """
    from fitpipe.io import read_takes

    return _told_apart([take for path in files for take in read_takes(path, **options)])


def open_sources(
    files: Sequence[Path], *, most_frames: int, **options: Any
) -> list[Take | LongTake]:
    """The same, those of more than ``most_frames`` frames opened only, where that can be done."""
    from fitpipe.io import open_takes

    opened = [open_takes(path, most_frames=most_frames, **options) for path in files]
    return _told_apart([take for takes in opened for take in takes])


def _told_apart(takes: list[_AnyTake]) -> list[_AnyTake]:
    names = [take.source for take in takes]
    return [
        replace(take, source=take.origin.path) if names.count(take.source) > 1 else take
        for take in takes
    ]


def read_static(file: Path | None, **options: Any) -> Take | None:
    """The static trial, read like the takes; None if none is given."""
    from fitpipe.io import read_take

    return None if file is None else read_take(file, **options)
