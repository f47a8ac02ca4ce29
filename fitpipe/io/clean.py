"""The one place where raw arrays become a checked take in metres, and every repair is told."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar, cast

import numpy as np

from fitpipe.arrays import BoolArray, FloatArray, all_of_xyz, any_of_xyz
from fitpipe.errors import InputError
from fitpipe.io.axes import infer_up
from fitpipe.io.claims import check_size, claimed_axis, length_unit, up_axis
from fitpipe.io.clock import frame_times
from fitpipe.io.raw import RawTake, ReadOptions, stem
from fitpipe.records import Finding, Origin, Take
from fitpipe.records.finding import Severity
from fitpipe.units import metres_per, rotation_to_y_up

_UNLABELLED = re.compile(
    r"^(\*\d*|(unlabell?ed|unidentified|unnamed|uname|unknown)[ _*:-]*\d*)$", re.IGNORECASE
)
_MISSING_CODE = -9999.0  # no take reaches that far: Kinect and QTM exports write it for "missing"
_FARTHEST = 1e9  # in any unit: infinite, or a slip
_AT_ORIGIN_M = 0.01  # a point this close before and after an exact zero passes the origin


def to_take(
    raw: RawTake, *, path: Path, file_format: str, sha256: str, options: ReadOptions
) -> Take:
    """Check a raw take and convert it: metres, seconds, unique labels, NaN for missing.

    Parameters
    ----------
    raw : RawTake
    path : Path
        The file it is from.
    file_format : str
        Name of its format.
    sha256 : str
        Of its bytes.
    options : ReadOptions
        What the user said about units, up axis and rate.

    Returns
    -------
    Take
        ``repairs`` tells everything odd that was met.

    Raises
    ------
    InputError
        There is no point, no frame or no valid sample, or unit or rate cannot be told.
    """
    if not raw.labels or raw.position.shape[1] == 0:
        raise InputError("no 3D points in the file", path=path)
    if raw.position.shape[0] == 0:
        raise InputError("no frames: the file has labels and no data", path=path)
    findings = list(raw.findings)
    keep, labels, repeated = labelled(raw, path, findings)
    position = np.array(raw.position[:, keep], dtype=np.float64)
    confidence = None if raw.confidence is None else np.array(raw.confidence[:, keep])

    keep_zeros = options.keep_zeros or raw.has_no_gaps
    zero = drop_codes(position, labels, findings, keep_zeros=keep_zeros)
    if not all_of_xyz(np.isfinite(position)).any():
        zeros = f", {zero.sum()} samples are exactly (0, 0, 0)" if zero.any() else ""
        raise InputError(
            f"no valid sample: all {position.shape[0]} frames of all {len(labels)} points are "
            f"missing{zeros}",
            path=path,
        )
    unit, (time_s, rows), up = _together(
        path,
        lambda: length_unit(raw, labels, position, path, options, findings),
        lambda: frame_times(raw, len(position), path, options, findings),
        lambda: up_axis(raw, labels, position, path, options, findings),
    )
    with np.errstate(invalid="ignore"):  # damaged bytes may be signalling NaNs
        position *= metres_per(unit)
    zero = still_zero(zero, position)
    findings += zero_findings(zero, np.asarray(zero.all(axis=0)), labels)
    check_size(labels, position, unit, findings)
    if len(rows) < len(position):
        position = position[rows]
    if confidence is not None:
        confidence = in_unit_range(confidence[rows], position, findings)
    if options.up is not None:
        position = position @ rotation_to_y_up(up).T
        up = "+y"

    metadata = dict(raw.metadata)
    if raw.body:
        metadata["body"] = raw.body
    claimed = claimed_axis(raw.up or raw.screen_up)
    if claimed:
        metadata["up_claimed"] = claimed
    if repeated:
        metadata["repeated_labels"] = ", ".join(repeated)
    take = Take(
        source=raw.source or stem(path),
        labels=tuple(labels),
        position_m=position,
        time_s=time_s,
        confidence=confidence,
        origin=Origin(
            path=str(path),
            format=file_format,
            unit=unit,
            up=up,
            rate_claimed_hz=raw.rate_hz,
            sha256=sha256,
            metadata=metadata,
        ),
        repairs=tuple(findings),
    )
    return take if up else replace(take, origin=replace(take.origin, up=infer_up(take)))


_T = TypeVar("_T")
_U = TypeVar("_U")
_V = TypeVar("_V")


def _together(
    path: Path, first: Callable[[], _T], second: Callable[[], _U], third: Callable[[], _V]
) -> tuple[_T, _U, _V]:
    """What three questions find; the errors of all are raised as one."""
    faults: list[InputError] = []
    answers: list[Any] = []
    for question in (first, second, third):
        try:
            answers.append(question())
        except InputError as error:
            faults.append(error)
    if len(faults) == 1:
        raise faults[0]
    if faults:
        raise InputError(
            "cannot be read as it stands",
            path=path,
            faults=[f"{e.problem}; {e.hint}" if e.hint else e.problem for e in faults],
        )
    return cast("tuple[_T, _U, _V]", tuple(answers))


def labelled(
    raw: RawTake, path: Path, findings: list[Finding]
) -> tuple[list[int], list[str], list[str]]:
    """Columns to keep, their unique names, and the names that stood over several columns."""
    names = [label.strip() for label in raw.labels]
    loose = [name for name in names if _UNLABELLED.match(name)]
    keep = [i for i, name in enumerate(names) if not _UNLABELLED.match(name)]
    if loose:
        findings.append(
            Finding(f"{len(loose)} unlabelled points ({_some(loose)})", "left out", "note")
        )
    if not keep:
        raise InputError(f"no 3D points with a name; {len(loose)} unlabelled ones", path=path)
    blank = [f"point {i + 1}" for i in keep if not names[i]]
    if blank:
        findings.append(Finding(f"{len(blank)} points have no name", f"named {_some(blank)}"))
    names = [name or f"point {i + 1}" for i, name in enumerate(names)]
    keep = _without_copies(raw.position, names, keep, findings)
    kept = [names[i] for i in keep]
    twice = [name for name, count in Counter(kept).items() if count > 1]
    if twice:
        unique = _unique(kept)
        renamed = [new for old, new in zip(kept, unique, strict=True) if old != new]
        findings.append(
            Finding(
                f"labels that occur more than once: {_some(twice)}",
                f"renamed {_some(renamed)}",
                "warning",
                "name the one to use in a marker set",
            )
        )
        kept = unique
    return keep, kept, twice


def _without_copies(
    position: FloatArray, names: Sequence[str], keep: Sequence[int], findings: list[Finding]
) -> list[int]:
    """Columns without those that repeat both the name and every number of another."""
    first: dict[str, list[int]] = {}
    copies: list[str] = []
    kept: list[int] = []
    for i in keep:
        others = first.setdefault(names[i], [])
        if any(np.array_equal(position[:, i], position[:, k], equal_nan=True) for k in others):
            copies.append(names[i])
            continue
        others.append(i)
        kept.append(i)
    if copies:
        findings.append(
            Finding(f"{len(copies)} columns repeat another one: {_some(copies)}", "left out")
        )
    return kept


def _unique(names: Sequence[str]) -> list[str]:
    """Names with a number after each that stands there more than once (``LKNE_1``, ``LKNE_2``)."""
    count = Counter(names)
    taken = set(names)
    number: Counter[str] = Counter()
    unique = []
    for name in names:
        new = name
        while count[name] > 1 and new in taken:
            number[name] += 1
            new = f"{name}_{number[name]}"
        taken.add(new)
        unique.append(new)
    return unique


def drop_codes(
    position: FloatArray, labels: list[str], findings: list[Finding], *, keep_zeros: bool
) -> BoolArray:
    """Set samples that cannot be positions to NaN, in place; which were exactly zero."""
    # most takes hold none: a look at all numbers at once is quick
    farthest = max(np.fmax.reduce(position, axis=None), -np.fmin.reduce(position, axis=None))
    if farthest > _FARTHEST:
        wild = any_of_xyz(np.abs(position) > _FARTHEST)
        position[wild] = np.nan
        findings.append(
            Finding(
                f"{wild.sum()} samples have coordinates beyond {_FARTHEST:g}", "taken as missing"
            )
        )
    coded = all_of_xyz(position == _MISSING_CODE)
    if coded.any():
        position[coded] = np.nan
        who = _some([labels[i] for i in np.flatnonzero(coded.any(axis=0))])
        findings.append(
            Finding(f"{coded.sum()} samples are the code -9999: {who}", "taken as missing", "note")
        )
    zero = all_of_xyz(position == 0) & (not keep_zeros)
    position[zero] = np.nan
    return zero


def still_zero(zero: BoolArray, position_m: FloatArray) -> BoolArray:
    """Put back zeros of a point that passes the origin, in place; which are left as missing."""
    if not zero.any():
        return zero
    near = np.linalg.norm(position_m, axis=-1) < _AT_ORIGIN_M
    edge = np.full((1, near.shape[1]), len(near) > 1)
    passing = np.vstack([edge, near[:-1]]) & np.vstack([near[1:], edge])
    position_m[zero & passing] = 0.0
    return np.asarray(zero & ~passing)


def zero_findings(zero: BoolArray, always: BoolArray, labels: Sequence[str]) -> list[Finding]:
    """What to tell of samples that are zero and taken as missing.

    Parameters
    ----------
    zero : ndarray of bool, shape (time, point)
    always : ndarray of bool, shape (point,)
        Points that are zero in all frames of the take.
    labels : sequence of str
    """
    if not zero.any():
        return []
    findings = []
    for kind, severity, what in (
        (zero & ~always, "warning", "{n} samples are exactly (0, 0, 0): {who}"),
        (zero & always, "note", "points that are (0, 0, 0) in every frame: {who}"),
    ):
        if kind.any():
            who = _some([labels[int(i)] for i in np.flatnonzero(kind.any(axis=0))])
            told = what.format(n=kind.sum(), who=who)
            otherwise = "keep_zeros=True or --keep-zeros takes them as positions"
            findings.append(
                Finding(told, "taken as missing", cast("Severity", severity), otherwise)
            )
    return findings


def is_percent(highest: float) -> bool:
    """Whether confidences that reach so high are per cent."""
    return 1.5 < highest <= 100


def in_unit_range(
    confidence: FloatArray,
    position: FloatArray,
    findings: list[Finding],
    *,
    percent: bool | None = None,
) -> FloatArray:
    """Confidence between 0 and 1, 0 where there is no position.

    Whether it is per cent is told by the highest one, unless that is known.
    """
    observed = all_of_xyz(np.isfinite(position))
    absent = np.asarray(observed & ~np.isfinite(confidence))
    if absent.any():
        findings.append(Finding(f"{absent.sum()} samples have no confidence", "taken as 1"))
    confidence = np.where(observed, np.where(absent, 1.0, confidence), 0.0)
    highest = float(confidence.max())
    if percent is None and (percent := is_percent(highest)):
        findings.append(Finding(f"confidence reaches {highest:g}", "taken as percent"))
    if percent:
        confidence = confidence / 100
    outside = (confidence < 0) | (confidence > 1)
    if outside.any():
        findings.append(Finding(f"{outside.sum()} confidences are outside 0 to 1", "clipped"))
    return np.clip(confidence, 0.0, 1.0)


def _some(names: Sequence[str], most: int = 5) -> str:
    shown = ", ".join(names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"
