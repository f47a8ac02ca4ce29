"""Acclaim ASF and AMC: known, and refused with what to do instead."""

from __future__ import annotations

from fitpipe.errors import InputError
from fitpipe.io.raw import Format, RawTake, ReadOptions
from fitpipe.io.textfile import FileHead

_KEYS = (":fully-specified", ":degrees", ":version", ":units")


def _sniff(head: FileHead) -> bool:
    lines = [line.strip().lower() for line in head.lines[:20]]
    return head.suffix in (".asf", ".amc") and any(line.startswith(_KEYS) for line in lines)


def _read(head: FileHead, options: ReadOptions) -> list[RawTake]:
    del options
    what = "a skeleton" if head.suffix == ".asf" else "joint angles"
    raise InputError(
        f"is an Acclaim file that holds {what} without the other half",
        path=head.path,
        hint="convert the pair of ASF and AMC to BVH or C3D, for instance in Blender",
    )


FORMAT = Format("acclaim", (".asf", ".amc"), _sniff, _read)
