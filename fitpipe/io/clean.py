"""The one place where raw arrays become a checked take in metres, and every repair is told."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import cast

import numpy as np

from fitpipe.arrays import BoolArray, FloatArray
from fitpipe.errors import InputError
from fitpipe.io.axes import infer_up, up_from_labels
from fitpipe.io.clock import frame_times
from fitpipe.io.raw import RawTake, ReadOptions, stem
from fitpipe.records import Finding, Origin, Take
from fitpipe.records.finding import Severity
from fitpipe.units import METRES_PER, parse_axis, parse_length_unit, rotation_to_y_up

_UNLABELLED = re.compile(
    r"^(\*\d*|(unlabell?ed|unidentified|unnamed|uname|unknown)[ _*:-]*\d*)$", re.IGNORECASE
)
_MISSING_CODE = -9999.0  # no take reaches that far: Kinect and QTM exports write it for "missing"
_FARTHEST = 1e9  # in any unit: infinite, or a slip
_AT_ORIGIN_M = 0.01  # a point this close before and after an exact zero passes the origin
_TOO_WIDE_M = 20.0
_TOO_NARROW_M = 0.005
_FEW_POINTS = 5  # fewer points may well be close together


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
    keep, labels = labelled(raw, path, findings)
    position = np.array(raw.position[:, keep], dtype=np.float64)
    confidence = None if raw.confidence is None else np.array(raw.confidence[:, keep])

    zero = drop_codes(position, labels, findings)
    if not np.isfinite(position).all(axis=-1).any():
        zeros = f", {zero.sum()} samples are exactly (0, 0, 0)" if zero.any() else ""
        raise InputError(
            f"no valid sample: all {position.shape[0]} frames of all {len(labels)} points are "
            f"missing{zeros}",
            path=path,
        )
    unit = _unit(raw, position, path, options, findings)
    position *= METRES_PER[unit]
    findings += zero_findings(still_zero(zero, position), labels)
    _check_size(position, unit, findings)

    time_s, rows = frame_times(raw, len(position), path, options, findings)
    position = position[rows]
    if confidence is not None:
        confidence = in_unit_range(confidence[rows], position, findings)
    up_claimed = _claimed_axis(raw.up)
    up = _up(tuple(labels), position, up_claimed, options, path, findings)
    if options.up is not None:
        position = position @ rotation_to_y_up(up).T
        up = "+y"

    metadata = dict(raw.metadata)
    if raw.body:
        metadata["body"] = raw.body
    if up_claimed:
        metadata["up_claimed"] = up_claimed
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


def labelled(raw: RawTake, path: Path, findings: list[Finding]) -> tuple[list[int], list[str]]:
    """Columns to keep and their unique names."""
    names = [label.strip() for label in raw.labels]
    loose = [name for name in names if _UNLABELLED.match(name)]
    keep = [i for i, name in enumerate(names) if not _UNLABELLED.match(name)]
    if loose:
        findings.append(
            Finding(f"{len(loose)} unlabelled points ({_some(loose)})", "left out", "note")
        )
    if not keep:
        raise InputError(f"no 3D points with a name; {len(loose)} unlabelled ones", path=path)
    kept = [names[i] or f"point {i + 1}" for i in keep]
    blank = [f"point {i + 1}" for i in keep if not names[i]]
    if blank:
        findings.append(Finding(f"{len(blank)} points have no name", f"named {_some(blank)}"))
    twice = [name for name, count in Counter(kept).items() if count > 1]
    if twice:
        unique = _unique(kept)
        renamed = [new for old, new in zip(kept, unique, strict=True) if old != new]
        findings.append(
            Finding(
                f"labels that occur more than once: {_some(twice)}",
                f"the later ones renamed {_some(renamed)}",
            )
        )
        kept = unique
    return keep, kept


def _unique(names: Sequence[str]) -> list[str]:
    taken = set(names)
    seen: Counter[str] = Counter()
    unique = []
    for name in names:
        seen[name] += 1
        new = name
        while seen[name] > 1 and new in taken:
            new = f"{name}_{seen[name]}"
            if new in taken:
                seen[name] += 1
        taken.add(new)
        unique.append(new)
    return unique


def drop_codes(position: FloatArray, labels: list[str], findings: list[Finding]) -> BoolArray:
    """Set samples that cannot be positions to NaN, in place; which were exactly zero."""
    # most takes hold none of these: a look at all numbers at once is quick
    if (
        np.fmax(np.fmax.reduce(position, axis=None), -np.fmin.reduce(position, axis=None))
        > _FARTHEST
    ):
        wild = np.asarray((np.abs(position) > _FARTHEST).any(axis=-1))
        position[wild] = np.nan
        findings.append(
            Finding(
                f"{wild.sum()} samples have coordinates beyond {_FARTHEST:g}", "taken as missing"
            )
        )
    coded = _all_are(position, _MISSING_CODE)
    if coded.any():
        position[coded] = np.nan
        who = _some([labels[i] for i in np.flatnonzero(coded.any(axis=0))])
        findings.append(
            Finding(f"{coded.sum()} samples are the code -9999: {who}", "taken as missing", "note")
        )
    zero = _all_are(position, 0.0)
    position[zero] = np.nan
    return zero


def _all_are(position: FloatArray, value: float) -> BoolArray:
    """Samples (time, point) all of whose coordinates are that value."""
    same = position == value
    return np.asarray(same[..., 0] & same[..., 1] & same[..., 2])


def still_zero(zero: BoolArray, position_m: FloatArray) -> BoolArray:
    """Put back zeros of a point that passes the origin, in place; which are left as missing."""
    if not zero.any():
        return zero
    near = np.linalg.norm(position_m, axis=-1) < _AT_ORIGIN_M
    edge = np.full((1, near.shape[1]), len(near) > 1)
    passing = np.vstack([edge, near[:-1]]) & np.vstack([near[1:], edge])
    position_m[zero & passing] = 0.0
    return np.asarray(zero & ~passing)


def zero_findings(zero: BoolArray, labels: Sequence[str]) -> list[Finding]:
    """What to tell of samples that are zero and taken as missing."""
    if not zero.any():
        return []
    findings = []
    always = zero.all(axis=0)
    for kind, severity, what in (
        (zero & ~always, "warning", "{n} samples are exactly (0, 0, 0): {who}"),
        (zero & always, "note", "points that are (0, 0, 0) in every frame: {who}"),
    ):
        if kind.any():
            who = _some([labels[int(i)] for i in np.flatnonzero(kind.any(axis=0))])
            told = what.format(n=kind.sum(), who=who)
            findings.append(Finding(told, "taken as missing", cast("Severity", severity)))
    return findings


def _unit(
    raw: RawTake,
    position: FloatArray,
    path: Path,
    options: ReadOptions,
    findings: list[Finding],
) -> str:
    """Canonical unit of the numbers."""
    claimed = None if raw.unit is None else parse_length_unit(raw.unit)
    hint = f"say which with units= (--units): {', '.join(METRES_PER)}"
    if options.units is not None:
        given = parse_length_unit(options.units)
        if given is None:
            raise InputError(f"units {options.units!r} is not a length unit", path=path, hint=hint)
        if claimed is not None and claimed != given:
            findings.append(
                Finding(f"the file claims {claimed}, units={given} was given", f"read as {given}")
            )
        return given
    if claimed is not None:
        return claimed
    if raw.unit is not None and raw.unit.strip():
        raise InputError(f"the unit {raw.unit!r} is not known", path=path, hint=hint)
    if raw.assumed_unit is None:
        raise InputError("the file claims no length unit", path=path, hint=hint)
    spread = _spread(position) * METRES_PER[raw.assumed_unit]
    if spread > _TOO_WIDE_M:
        raise InputError(
            f"the file claims no length unit, and as {raw.assumed_unit} the points would lie "
            f"{spread:.0f} m apart",
            path=path,
            hint=f"{hint} (probably mm)",
        )
    findings.append(
        Finding(
            "the file claims no length unit",
            f"read as {raw.assumed_unit}, which is the size of a body",
            "note",
            "units= or --units overrides",
        )
    )
    return raw.assumed_unit


def _check_size(position_m: FloatArray, unit: str, findings: list[Finding]) -> None:
    """Tell if a body of that size cannot be."""
    spread = _spread(position_m)
    narrow = position_m.shape[1] >= _FEW_POINTS and spread < _TOO_NARROW_M
    if spread > _TOO_WIDE_M or narrow:
        findings.append(
            Finding(
                f"read in {unit}, the points lie {spread:.3g} m from their middle",
                "kept",
                "warning",
                "give the right unit with units= or --units",
            )
        )


def _spread(position: FloatArray) -> float:
    """Median distance of the points of a frame from the middle of that frame."""
    seen = np.asarray(np.isfinite(position).all(axis=-1))
    rows = np.flatnonzero(seen.any(axis=1))
    rows = rows[:: max(1, len(rows) // 1000)]  # a thousand frames tell the size of a body
    some = np.where(seen[rows, :, None], position[rows], np.nan)
    middle = np.nanmedian(some, axis=1, keepdims=True)
    return float(np.nanmedian(np.linalg.norm(some - middle, axis=-1)))


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
    observed = np.isfinite(position).all(axis=-1)
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


def _claimed_axis(claim: str) -> str:
    return (parse_axis(claim) or "") if claim else ""


def _up(
    labels: tuple[str, ...],
    position: FloatArray,
    claimed: str,
    options: ReadOptions,
    path: Path,
    findings: list[Finding],
) -> str:
    """The up axis to go by: given, else told by head and feet, else claimed."""
    anatomy = up_from_labels(labels, position)
    if options.up is not None:
        given = parse_axis(options.up)
        if given is None:
            raise InputError(
                f"up axis {options.up!r} is not known",
                path=path,
                hint="give up= (--up) as one of +x, -x, +y, -y, +z, -z",
            )
        if anatomy and anatomy != given:
            findings.append(
                Finding(f"up={given} was given, head and feet say {anatomy}", f"turned by {given}")
            )
        return given
    if anatomy and claimed and anatomy != claimed:
        findings.append(
            Finding(
                f"the file claims {claimed} as up, head and feet say {anatomy}",
                f"taken as {anatomy}",
                "note",
                "up= or --up overrides",
            )
        )
    return anatomy or claimed


def _some(names: Sequence[str], most: int = 5) -> str:
    shown = ", ".join(names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"
