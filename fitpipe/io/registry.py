"""Finds the format of a file by its ending and its content, and reads it into takes."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path

from fitpipe.errors import InputError, suggest
from fitpipe.io import (
    arrays,
    asf_amc,
    bvh,
    c3d,
    csv_long,
    csv_wide,
    dlc,
    hdf5,
    json_bodies,
    kinect,
    kinect_v1,
    motive,
    mvnx,
    npy,
    parquet,
    qtm,
    sto,
    trc,
    vicon,
)
from fitpipe.io.clean import to_take
from fitpipe.io.raw import Format, RawTake, ReadOptions
from fitpipe.io.textfile import FileHead, read_head
from fitpipe.records import Take

# in the order in which they are asked; the most general one last
FORMATS: tuple[Format, ...] = (
    c3d.FORMAT,
    trc.FORMAT,
    hdf5.FORMAT,
    hdf5.CLASSIC,
    arrays.NPZ,
    npy.FORMAT,
    parquet.FORMAT,
    bvh.FORMAT,
    mvnx.FORMAT,
    sto.FORMAT,
    json_bodies.OPENCAP,
    json_bodies.AZURE,
    json_bodies.OTHER,
    asf_amc.FORMAT,
    motive.FORMAT,
    vicon.FORMAT,
    qtm.FORMAT,
    dlc.FORMAT,
    kinect.MULTITRACK,
    kinect.LABANOTATION,
    kinect.KERAAL,
    kinect_v1.FORMAT,
    csv_long.FORMAT,
    csv_wide.FORMAT,
)


def find_format(head: FileHead) -> Format:
    """The format of a file.

    Raises
    ------
    InputError
        Neither ending nor content is known; says what can be read.
    """
    by_suffix = [known for known in FORMATS if head.suffix in known.suffixes]
    for known in (*by_suffix, *FORMATS):
        if known.sniff(head):
            return known
    if by_suffix:
        # its reader can say best what is wrong with the content
        return by_suffix[-1]
    suffixes = sorted({suffix for known in FORMATS for suffix in known.suffixes})
    ending = f"the ending {head.suffix!r}" if head.suffix else "a name without an ending"
    raise InputError(
        f"{ending} is not known, and the content is of no known format",
        path=head.path,
        hint=f"readable are {', '.join(suffixes)} (text also with .gz)",
    )


def read_takes(
    path: str | Path,
    *,
    source: str | None = None,
    body: str | None = None,
    units: str | None = None,
    up: str | None = None,
    rate_hz: float | None = None,
    keep_zeros: bool = False,
) -> list[Take]:
    """Read every take in a file: one per source and body.

    Parameters
    ----------
    path : path-like
        Any of the formats of docs/formats.md; text and C3D also gzipped.
    source, body : str, optional
        Keep only this source or body. In a file that names no source, ``source`` names the take.
    units : str, optional
        Length unit of the numbers (``"mm"``), or metres per unit (``"0.0254"``); overrides what
        the file claims.
    up : str, optional
        Axis that points up in the file (``"+z"``); the take is turned to +Y up.
    rate_hz : float, optional
        Frames per second; overrides the file's rate and time stamps.
    keep_zeros : bool
        Take positions that are exactly (0, 0, 0) for positions, not for missing samples.

    Returns
    -------
    list of Take
        In metres and seconds, in the order of the file; ``repairs`` tells what was odd.

    Raises
    ------
    InputError
        The file cannot be read as takes; says what was expected, what came and what to try.
    """
    path = Path(path)
    options = ReadOptions(units=units, up=up, rate_hz=rate_hz, keep_zeros=keep_zeros)
    head = read_head(path)
    file_format = find_format(head)
    raws = file_format.read(head, options)
    return cleaned(raws, path, file_format, source, body, options)


def cleaned(
    raws: Sequence[RawTake],
    path: Path,
    file_format: Format,
    source: str | None,
    body: str | None,
    options: ReadOptions,
) -> list[Take]:
    """The takes that `read_takes` gives, from what the format's reader found."""
    asked = what_was_asked(raws, source, body, options)
    raws = named_source(raws, source)
    raws = pick(path, raws, "source", source)
    raws = pick(path, raws, "body", body)
    with path.open("rb") as file:
        sha256 = hashlib.file_digest(file, "sha256").hexdigest()
    takes = [
        to_take(raw, path=path, file_format=file_format.name, sha256=sha256, options=options)
        for raw in raws
    ]
    return [replace(take, origin=replace(take.origin, asked=asked)) for take in takes]


def read_take(
    path: str | Path,
    *,
    source: str | None = None,
    body: str | None = None,
    units: str | None = None,
    up: str | None = None,
    rate_hz: float | None = None,
    keep_zeros: bool = False,
) -> Take:
    """Read the one take in a file.

    Parameters, conversions and errors are those of `read_takes`.

    Raises
    ------
    InputError
        The file holds several sources or bodies and ``source`` / ``body`` picks none of them.
    """
    takes = read_takes(
        path,
        source=source,
        body=body,
        units=units,
        up=up,
        rate_hz=rate_hz,
        keep_zeros=keep_zeros,
    )
    if len(takes) == 1:
        return takes[0]
    held = [_place(take.source, take.origin.metadata.get("body", "")) for take in takes]
    raise InputError(
        f"holds {len(takes)} takes, expected one: {', '.join(held)}",
        path=path,
        hint="pick one with source= and body=, or use read_takes",
    )


def _place(source: str, body: str) -> str:
    return f"source {source!r} body {body!r}" if body else f"source {source!r}"


def what_was_asked(
    raws: Sequence[RawTake], source: str | None, body: str | None, options: ReadOptions
) -> dict[str, str | float]:
    """What the user said about a file, for ``Origin.asked``; a name given to a source is none."""
    is_picked = any(raw.source for raw in raws)
    told = {"source": source if is_picked else None, "body": body, **asdict(options)}
    return {key: value for key, value in told.items() if value not in (None, False)}


def named_source(raws: Sequence[RawTake], source: str | None) -> Sequence[RawTake]:
    """Give the sources of a file that names none the name the user gave."""
    if source is not None and all(not raw.source for raw in raws):
        for raw in raws:
            raw.source = source
    return raws


def pick(path: Path, raws: Sequence[RawTake], field: str, wanted: str | None) -> Sequence[RawTake]:
    if wanted is None:
        return raws
    # readers name a plain number 0 sensor0 or body0
    spellings = (wanted, f"sensor{wanted}" if field == "source" else f"body{wanted}")
    picked = [raw for raw in raws if getattr(raw, field) in spellings]
    if not picked:
        names = list(dict.fromkeys(getattr(raw, field) or "(unnamed)" for raw in raws))
        raise InputError(
            f"has no {field} {wanted!r}, only {', '.join(map(repr, names))}",
            path=path,
            hint=suggest(wanted, names),
        )
    return picked
