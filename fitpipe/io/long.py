"""Opens takes that are too long to hold, to be read stretch by stretch: HDF5 arrays, wide tables.

What concerns the take as a whole (unit, up axis, labels, time stamps) is settled when it is opened,
on evenly spaced frames of it; every stretch is then cleaned as `clean.to_take` cleans a whole take.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from fitpipe.arrays import BoolArray, FloatArray, IntArray
from fitpipe.io import csv_wide, hdf5
from fitpipe.io.clean import (
    drop_codes,
    in_unit_range,
    is_percent,
    labelled,
    still_zero,
    to_take,
    zero_findings,
)
from fitpipe.io.clock import frame_times
from fitpipe.io.raw import ReadOptions
from fitpipe.io.registry import cleaned, find_format, named_source, pick, what_was_asked
from fitpipe.io.spool import Stored, stored_blocks
from fitpipe.io.textfile import read_head
from fitpipe.records import Finding, LongTake, Take
from fitpipe.units import metres_per, parse_axis, rotation_to_y_up

_N_STRETCHES = 64  # that tell the unit and the up axis ...
_STRETCH = 16  # ... of so many rows each
_LEAST_BYTES_PER_FRAME = 24  # smaller files are not worth asking how long they are
_BLOCK = 65_536  # frames in which confidences are looked through


def open_takes(
    path: str | Path,
    *,
    most_frames: int,
    source: str | None = None,
    body: str | None = None,
    units: str | None = None,
    up: str | None = None,
    rate_hz: float | None = None,
    keep_zeros: bool = False,
) -> list[Take | LongTake]:
    """Every take in a file, those of more than ``most_frames`` frames without reading them.

    HDF5 arrays of one person and wide tables (CSV, TSV, gzipped or not) are copied as numbers into
    a temporary file, of which any stretch is then read. Files of other formats are read as a whole.

    Parameters
    ----------
    path : path-like
    most_frames : int
    source, body, units, up, rate_hz, keep_zeros
        As of `read_takes`.

    Returns
    -------
    list of Take and LongTake

    Raises
    ------
    InputError
        As of `read_takes`; of a LongTake also when its frames are read.
    """
    path = Path(path)
    options = ReadOptions(units=units, up=up, rate_hz=rate_hz, keep_zeros=keep_zeros)
    head = read_head(path)
    known = find_format(head)
    opened: list[Stored] | None = None
    if known is hdf5.FORMAT and path.stat().st_size > _LEAST_BYTES_PER_FRAME * most_frames:
        found = hdf5.open_rows(head, most_frames)
        if not isinstance(found, Stored):
            return list(cleaned(found, path, known, source, body, options))
        opened = [found]
    elif known is csv_wide.FORMAT and csv_wide.estimated_rows(head) > most_frames:
        opened = stored_blocks(csv_wide.read_blocks(head), path)
    if opened is None:
        raws = known.read(head, options)
        return list(cleaned(raws, path, known, source, body, options))
    raws = [stored.raw for stored in opened]
    asked = what_was_asked(raws, source, body, options)
    raws = pick(path, named_source(raws, source), "source", source)
    raws = pick(path, raws, "body", body)
    with path.open("rb") as file:
        sha256 = hashlib.file_digest(file, "sha256").hexdigest()
    wanted = [stored for stored in opened if any(stored.raw is raw for raw in raws)]
    takes = [_long_take(stored, path, known.name, sha256, options) for stored in wanted]
    return [replace(take, origin=replace(take.origin, asked=asked)) for take in takes]


def _long_take(
    rows: Stored, path: Path, file_format: str, sha256: str, options: ReadOptions
) -> LongTake:
    """Settle what concerns the whole take."""
    raw = rows.raw
    keep_zeros = options.keep_zeros or raw.has_no_gaps
    last = max(rows.n_rows - _STRETCH, 0)
    starts = np.unique(np.linspace(0, last, _N_STRETCHES).round().astype(np.int64)).tolist()
    sampled = np.concatenate([rows.position(i, i + _STRETCH) for i in starts])
    # what is odd about single samples is told when they are read
    zero = drop_codes(sampled, list(raw.labels), [], keep_zeros=keep_zeros)
    always_zero = np.asarray(zero.all(axis=0))
    sampled[~np.isfinite(sampled).all(axis=-1)] = np.nan
    sample = replace(raw, position=sampled, time_s=None, frame=None, rate_hz=1.0, confidence=None)
    told = to_take(
        sample,
        path=path,
        file_format=file_format,
        sha256=sha256,
        options=replace(options, rate_hz=None),
    )
    keep, labels = labelled(sample, path, [])[:2]
    findings: list[Finding] = []
    time_s, kept = frame_times(raw, rows.n_rows, path, options, findings)
    percent = _percent(rows, keep, findings)
    turn = None
    if options.up is not None:
        turn = rotation_to_y_up(parse_axis(options.up) or "")
    origin = replace(told.origin, rate_claimed_hz=raw.rate_hz)
    cleaning = _Cleaning(
        rows,
        kept,
        keep,
        labels,
        metres_per(told.origin.unit),
        turn,
        percent,
        keep_zeros,
        always_zero[keep],
    )

    def read(begin: int, end: int) -> Take:
        findings: list[Finding] = []
        position, confidence = cleaning.frames(begin, end, findings)
        return Take(
            told.source,
            told.labels,
            position,
            time_s[begin:end],
            confidence,
            origin,
            tuple(findings),
        )

    return LongTake(told.source, told.labels, time_s, read, origin, (*told.repairs, *findings))


@dataclass(frozen=True)
class _Cleaning:
    """What is done to every stretch, settled for the whole take."""

    rows: Stored
    kept: IntArray  # (time,) rows that are frames
    columns: list[int]
    labels: list[str]
    metres_per_unit: float
    turn: FloatArray | None
    percent: bool
    keep_zeros: bool
    always_zero: BoolArray  # (point,)

    def frames(
        self, begin: int, end: int, findings: list[Finding]
    ) -> tuple[FloatArray, FloatArray | None]:
        """Positions in metres and confidences of some frames."""
        rows = self.kept[begin:end]
        # a row more on either side tells whether a zero is a point that passes the origin
        low, high = max(int(rows[0]) - 1, 0), min(int(rows[-1]) + 2, self.rows.n_rows)
        own = rows - low
        position = self.rows.position(low, high)[:, self.columns]
        met: list[Finding] = []
        zero = drop_codes(position, self.labels, met, keep_zeros=self.keep_zeros)
        if met:  # count those of the frames themselves
            own_rows = self.rows.position(low, high)[own][:, self.columns]
            drop_codes(own_rows, self.labels, findings, keep_zeros=self.keep_zeros)
        position *= self.metres_per_unit
        findings += zero_findings(still_zero(zero, position)[own], self.always_zero, self.labels)
        position = position[own]
        if self.turn is not None:
            position = position @ self.turn.T
        confidence = self.rows.confidence(low, high)
        if confidence is None:
            return position, None
        confidence = confidence[own][:, self.columns]
        return position, in_unit_range(confidence, position, findings, percent=self.percent)


def _percent(rows: Stored, columns: Sequence[int], findings: list[Finding]) -> bool:
    """Whether the confidences are per cent, as `in_unit_range` decides for a whole take."""
    highest = 0.0
    for begin in range(0, rows.n_rows, _BLOCK):
        block = rows.confidence(begin, min(begin + _BLOCK, rows.n_rows))
        if block is None:
            return False
        highest = max(highest, float(np.fmax.reduce(block[:, columns], axis=None, initial=0.0)))
    if not is_percent(highest):
        return False
    findings.append(Finding(f"confidence reaches {highest:g}", "taken as percent"))
    return True
