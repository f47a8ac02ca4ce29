"""C3D through ezc3d: points, their gaps and names, the clock, and what the file says of itself."""

from __future__ import annotations

import struct
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from fitpipe.arrays import FloatArray
from fitpipe.errors import InputError
from fitpipe.io.c3d_mend import (
    has_nan_rate,
    has_point_rate,
    missing_analog_parameters,
    with_integer_offsets,
    with_rate,
)
from fitpipe.io.raw import Format, RawTake, ReadOptions
from fitpipe.io.textfile import FileHead
from fitpipe.records import Finding

_BLOCK = 512
_KEY = 0x50  # second byte of the header and of the parameter section
_PROCESSORS = {84: "Intel", 85: "DEC", 86: "SGI/MIPS"}
_SATURATED = 0xFFFF  # frame numbers in the header are 16 bit
# parameters of POINT that list trajectories which are no positions, as TYPE_GROUPS has them
_NOT_POSITIONS = ("ANGLES", "FORCES", "MOMENTS", "POWERS", "SCALARS", "REACTIONS")


@dataclass(frozen=True, slots=True)
class _Header:
    """The few header words that show whether the file is whole."""

    processor: int
    n_points: int
    first_frame: int
    last_frame: int

    @property
    def n_frames(self) -> int:
        return max(0, self.last_frame - self.first_frame + 1)


def _sniff(head: FileHead) -> bool:
    start = head.start
    return len(start) > 1 and start[1] == _KEY and (head.suffix == ".c3d" or not head.is_text)


def _read(head: FileHead, options: ReadOptions) -> list[RawTake]:
    path = head.path
    header = _header(head)
    storage, findings = _load(head, options)
    point = storage["parameters"]["POINT"]
    data = storage["data"]
    position = np.moveaxis(np.asarray(data["points"])[:3], (0, 1, 2), (2, 1, 0))
    residual = np.asarray(data["meta_points"]["residuals"])[0].T
    n_frames, n_points = position.shape[:2]
    if n_points == 0:
        raise InputError(_no_points(storage, header), path=path)
    if n_frames == 0:
        raise InputError("no frames: the file names points and holds no data", path=path)
    if n_frames < header.n_frames:
        raise InputError(
            f"truncated C3D: the header announces {header.n_frames} frames, "
            f"the file holds {n_frames} whole ones",
            path=path,
            hint="copy or export the file again",
        )
    # a negative residual marks a sample that was not seen, whatever its coordinates
    position = np.where((residual < 0)[..., None], np.nan, position)

    labels = _labels(point, n_points, findings)
    keep = _positions_only(point, labels, findings)
    if not keep:
        raise InputError("no 3D points: all trajectories are model outputs", path=path)
    rate, first = _clock(storage, header)
    if rate and not has_point_rate(head):
        findings.append(Finding("POINT:RATE is absent", f"the header's {rate:g} Hz used"))
    units = _strings(point, "UNITS")
    return [
        RawTake(
            labels=[labels[i] for i in keep],
            position=position[:, keep],
            rate_hz=rate,
            first_frame=first,
            unit=units[0] if units else None,
            up=_screen_up(point),
            metadata=_metadata(storage, header, rate),
            findings=findings,
        )
    ]


def _header(head: FileHead) -> _Header:
    """Check the start of the file before ezc3d is let loose on it."""
    path, start = head.path, head.start
    if head.is_gzip:
        raise InputError("is a gzipped C3D, which is not read", path=path, hint="unpack it first")
    size = path.stat().st_size
    if size < _BLOCK:
        raise InputError(f"truncated C3D: {size} bytes, a header has {_BLOCK}", path=path)
    if start[1] != _KEY:
        raise InputError(
            f"is not a C3D file: its second byte is {start[1]:#04x}, expected {_KEY:#04x}",
            path=path,
        )
    parameters = (start[0] - 1) * _BLOCK
    if parameters < _BLOCK or parameters + 4 > size:
        raise InputError(
            f"truncated C3D: the parameters are said to start at byte {parameters}, "
            f"the file has {size}",
            path=path,
        )
    processor = start[parameters + 3]
    if processor not in _PROCESSORS:
        raise InputError(
            f"is a damaged C3D: processor type {processor}, expected 84 (Intel), 85 (DEC) or "
            "86 (SGI/MIPS)",
            path=path,
        )
    if processor == 86:
        raise InputError(
            "SGI/MIPS (big-endian) byte order is not read",
            path=path,
            hint="convert the file to Intel byte order, for example with Mokka",
        )
    n_points, n_analog, first, last = struct.unpack_from("<HHHH", start, 2)
    missing = missing_analog_parameters(head) if n_analog else []
    if missing:
        what = " nor ".join(f"ANALOG:{name}" for name in missing)
        raise InputError(
            f"is a damaged C3D: it has analogue channels and no {what}",
            path=path,
            hint="export the file again, without analogue channels if need be",
        )
    return _Header(processor, n_points, first, last)


def _load(head: FileHead, options: ReadOptions) -> tuple[Any, list[Finding]]:
    """Have ezc3d read the file, or a mended copy where ezc3d is known to stumble."""
    if has_nan_rate(head):
        if options.rate_hz is None:
            raise InputError(
                "the frame rate (POINT:RATE) is NaN",
                path=head.path,
                hint="give the frames per second with rate_hz= (--rate-hz)",
            )
        done = f"read with {options.rate_hz:g} Hz"
        return _load_copy(head, with_rate(head, options.rate_hz)), [
            Finding("the frame rate in the file is NaN", done)
        ]
    try:
        return _ezc3d(head.path, head.path), []
    except InputError as error:
        copy = with_integer_offsets(head) if "OFFSET" in error.problem else None
        if copy is None:
            raise
    done = "analogue offsets ignored; the points are as in the file"
    what = "ANALOG:OFFSET holds floats, expected integers"
    return _load_copy(head, copy), [Finding(what, done, "note")]


def _load_copy(head: FileHead, content: bytes) -> Any:
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "mended.c3d"
        copy.write_bytes(content)
        return _ezc3d(copy, head.path)


def _ezc3d(path: Path, named: Path) -> Any:
    """Read with ezc3d; whatever it throws becomes an error about the file ``named``."""
    import ezc3d

    try:
        return ezc3d.c3d(str(path))
    except (OSError, RuntimeError, ValueError, IndexError, KeyError, MemoryError) as error:
        said = " ".join(str(error).split()).removesuffix(": iostream error")
        said = said.split(". If you want to ignore")[0]
        raise InputError(
            f"is a damaged C3D, ezc3d says: {said or type(error).__name__}",
            path=named,
            hint="export the file again",
        ) from error


def _no_points(storage: Any, header: _Header) -> str:
    if storage["parameters"].get("ROTATION"):
        return "no 3D points: the file holds segment rotations only"
    if header.n_points:
        return (
            f"no 3D points: the header announces {header.n_points} points, the parameters give none"
        )
    return "no 3D points: the file holds analogue channels or events only"


def _strings(group: Any, name: str) -> list[str]:
    if name not in group:
        return []
    return [str(value).strip() for value in np.ravel(group[name]["value"])]


def _numbers(group: Any, name: str) -> FloatArray:
    if name not in group:
        return np.empty(0)
    try:
        return np.ravel(np.asarray(group[name]["value"], dtype=np.float64))
    except ValueError:
        return np.empty(0)


def _labels(point: Any, n_points: int, findings: list[Finding]) -> list[str]:
    """Names from LABELS, LABELS2, ... paired with the points by index."""
    blocks = ["LABELS", *(f"LABELS{i}" for i in range(2, 100))]
    names = [name for block in blocks if block in point for name in _strings(point, block)]
    if any(names[n_points:]) or len(names) < n_points:
        extra = len(names) - n_points
        done = f"{extra} names left out" if extra > 0 else f"{-extra} points got placeholder names"
        findings.append(Finding(f"the file has {n_points} points and {len(names)} labels", done))
    names += [f"point {i + 1}" for i in range(len(names), n_points)]
    return names[:n_points]


def _positions_only(point: Any, labels: list[str], findings: list[Finding]) -> list[int]:
    """Columns that are positions: without the angles, forces, ... a model wrote among them."""
    kinds = {name.lower(): set(_strings(point, name)) for name in _NOT_POSITIONS}
    counts = {kind: sum(label in members for label in labels) for kind, members in kinds.items()}
    outputs: set[str] = set().union(*kinds.values())
    told = ", ".join(f"{count} {kind}" for kind, count in counts.items() if count)
    if told:
        n_out = sum(label in outputs for label in labels)
        findings.append(
            Finding(f"{n_out} trajectories are model outputs ({told})", "left out", "note")
        )
    return [i for i, label in enumerate(labels) if label not in outputs]


def _clock(storage: Any, header: _Header) -> tuple[float | None, int]:
    """Rate and number of the first frame, counted from 0."""
    parameters = storage["parameters"]
    rates = _numbers(parameters["POINT"], "RATE")
    rate = float(rates[0]) if rates.size else None
    first = max(0, header.first_frame - 1)
    trial = parameters.get("TRIAL", {})
    field = _numbers(trial, "ACTUAL_START_FIELD")
    if len(field) >= 2 and header.first_frame == _SATURATED:
        first = max(0, int(field[0]) % (_SATURATED + 1) + (_SATURATED + 1) * int(field[1]) - 1)
    return rate, first


def _screen_up(point: Any) -> str:
    """The axis the file shows upright on a screen, its only claim about up.

    Without its sign: Qualisys writes -Z (and X_SCREEN -X) for laboratories where +Z is up.
    """
    screen = _strings(point, "Y_SCREEN")
    return screen[0].lstrip("+-") if screen else ""


def _metadata(storage: Any, header: _Header, rate: float | None) -> dict[str, str]:
    parameters = storage["parameters"]
    facts = {"processor": _PROCESSORS[header.processor]}
    for group, name, key in (
        ("SUBJECTS", "NAMES", "subject"),
        ("SUBJECTS", "MARKER_SETS", "marker_set"),
        ("MANUFACTURER", "COMPANY", "manufacturer"),
        ("MANUFACTURER", "SOFTWARE", "software"),
        ("MANUFACTURER", "VERSION_LABEL", "software_version"),
    ):
        if group in parameters:
            values = [value for value in _strings(parameters[group], name) if value]
            if values:
                facts[key] = ", ".join(values)
    if "EVENT" in parameters:
        events = _events(parameters["EVENT"])
        if events:
            facts["events"] = events
    facts["first_frame"] = str(header.first_frame)
    if rate is not None:
        facts["rate_hz"] = f"{rate:.9g}"
    return facts


def _events(group: Any) -> str:
    """``"Left Foot Strike 1.25 s; ..."`` in order of time."""
    labels, contexts = _strings(group, "LABELS"), _strings(group, "CONTEXTS")
    times = np.asarray(group["TIMES"]["value"], dtype=float) if "TIMES" in group else np.empty(0)
    if times.ndim != 2 or times.shape[0] != 2:
        return ""
    at_s = 60 * times[0] + times[1]  # minutes and seconds
    found = []
    for i in np.argsort(at_s, kind="stable"):
        who = f"{contexts[i]} " if i < len(contexts) and contexts[i] else ""
        what = labels[i] if i < len(labels) else "event"
        found.append(f"{who}{what} {at_s[i]:.3f} s")
    return "; ".join(found)


FORMAT = Format("c3d", (".c3d",), _sniff, _read)
