"""C3D files: labelled points with residuals, whatever the processor and number type."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from fitpipe.arrays import FloatArray
from fitpipe.errors import InputError
from fitpipe.io.c3d_sections import (
    BLOCK,
    KEY,
    PROCESSORS,
    Header,
    Parameters,
    frame_bytes,
    read_header,
    read_parameters,
    read_points,
)
from fitpipe.io.c3d_segments import has_segments, read_segments
from fitpipe.io.raw import Format, RawTake, ReadOptions
from fitpipe.io.textfile import FileHead
from fitpipe.records import Finding

_SATURATED = 0xFFFF  # counts in the header are 16 bit
_FEWEST_SHARE = 0.01  # fewer of the frames announced than this: the header is not to be believed
_WIDEST = 1e6  # counts beyond are no coordinates in any unit of length
# parameters of POINT that list trajectories which are no positions, as TYPE_GROUPS has them
_NOT_POSITIONS = ("ANGLES", "FORCES", "MOMENTS", "POWERS", "SCALARS", "REACTIONS")


@dataclass(frozen=True, slots=True)
class _Layout:
    """Where the points are."""

    n_points: int
    n_analog: int
    n_frames: int
    start: int
    scale: float


def _sniff(head: FileHead) -> bool:
    start = head.start
    return len(start) > 1 and start[1] == KEY and (head.suffix == ".c3d" or not head.is_text)


def _read(head: FileHead, options: ReadOptions) -> list[RawTake]:
    del options
    path = head.path
    content = head.read_bytes()
    header = read_header(path, content)
    parameters = read_parameters(content, header)
    findings: list[Finding] = []
    if "POINT" not in parameters.groups:
        findings.append(Finding("the parameters hold no group POINT", "the header's counts used"))
    if parameters.broken_at is not None:
        findings.append(
            Finding(
                f"the parameters make no sense from byte {parameters.broken_at} on",
                "those before it used",
            )
        )
    if not parameters.count("POINT", "USED") and has_segments(parameters):
        labels, position = read_segments(path, content, header, parameters, findings)
    else:
        labels, position = _points(path, content, header, parameters, findings)
    rate = _rate(header, parameters, findings)
    units = parameters.strings("POINT", "UNITS")
    return [
        RawTake(
            labels=labels,
            position=position,
            rate_hz=rate,
            first_frame=_first_frame(header, parameters),
            unit=units[0] if units else None,
            screen_up=_screen_up(parameters),
            metadata=_metadata(header, parameters, rate),
            findings=findings,
        )
    ]


def _points(
    path: Path, content: bytes, header: Header, parameters: Parameters, findings: list[Finding]
) -> tuple[list[str], FloatArray]:
    """Names and positions (time, point, 3) of the points, without what is no position."""
    layout = _layout(path, content, header, parameters, findings)
    position, fourth = read_points(
        content,
        header,
        start=layout.start,
        n_frames=layout.n_frames,
        n_points=layout.n_points,
        n_analog=layout.n_analog,
        scale=layout.scale,
    )
    if not _is_plausible(position):
        raise InputError(
            "is a damaged C3D: most of its coordinates are no numbers a body could have",
            path=path,
            hint="export the file again",
        )
    # a negative fourth word marks a sample that was not seen, whatever its coordinates
    position = np.where((fourth < 0)[..., None], np.nan, position)
    labels = _labels(parameters, layout.n_points, findings)
    keep = _positions_only(parameters, labels, findings)
    if not keep:
        raise InputError("no 3D points: all trajectories are model outputs", path=path)
    if len(keep) < len(labels):
        position = position[:, keep]
    return [labels[i] for i in keep], position


def _layout(
    path: Path, content: bytes, header: Header, parameters: Parameters, findings: list[Finding]
) -> _Layout:
    """Where the points are, with every count held against the size of the file."""
    used = parameters.count("POINT", "USED")
    n_points = header.n_points if used is None else used
    if used is None:
        findings.append(Finding("POINT:USED is absent", f"the header's {n_points} points used"))
    if n_points == 0:
        raise InputError(_no_points(header), path=path)
    scale = _scale(path, header, parameters, findings)
    blocks = (header.data_block, parameters.count("POINT", "DATA_START") or 0)
    starts = [(block - 1) * BLOCK for block in blocks if block > 1]
    start = next((byte for byte in starts if byte < len(content)), None)
    if start is None:
        # a file without frames ends where its data would start
        if (starts and min(starts) == len(content)) or _claimed(header, parameters) == 0:
            raise InputError("no frames: the file names points and holds no data", path=path)
        raise InputError(
            f"truncated C3D: the data are said to start at byte {min(starts, default=0)}, "
            f"the file has {len(content)}",
            path=path,
            hint="copy or export the file again",
        )
    room = len(content) - start
    if start < header.parameter_byte:
        room = header.parameter_byte - start
    claimed = _claimed(header, parameters)
    n_analog = header.n_analog
    other = _analog_by_parameters(parameters)
    n_whole = room // frame_bytes(n_points, n_analog, scale)
    if other != n_analog and n_whole < claimed <= room // frame_bytes(n_points, other, scale):
        findings.append(
            Finding(
                f"the header announces {n_analog} analogue samples a frame, the parameters {other}",
                "went by the parameters, whose frames fit the file",
            )
        )
        n_analog, n_whole = other, room // frame_bytes(n_points, other, scale)
    if claimed == 0 or n_whole == 0 < claimed <= 1:
        raise InputError("no frames: the file names points and holds no data", path=path)
    if n_whole < max(1.0, _FEWEST_SHARE * claimed):
        raise InputError(
            f"truncated C3D: the header announces {claimed} frames, the file holds {n_whole} "
            "whole ones",
            path=path,
            hint="copy or export the file again",
        )
    if n_whole < claimed:
        findings.append(
            Finding(
                f"truncated C3D: the header announces {claimed} frames, the file holds {n_whole} "
                "whole ones",
                f"those {n_whole} read",
                "warning",
                "copy or export the file again to have all",
            )
        )
    n_frames = min(claimed, n_whole)
    if claimed == _SATURATED and n_whole > claimed:
        n_frames = n_whole
        findings.append(
            Finding(
                f"the header cannot count beyond {_SATURATED} frames",
                f"the {n_whole} frames that the file holds read",
                "note",
            )
        )
    return _Layout(n_points, n_analog, n_frames, start, scale)


def _scale(path: Path, header: Header, parameters: Parameters, findings: list[Finding]) -> float:
    given = parameters.numbers("POINT", "SCALE")
    scale = float(given[0]) if given.size else header.scale
    if not given.size:
        findings.append(Finding("POINT:SCALE is absent", f"the header's {scale:g} used", "note"))
    if not math.isfinite(scale) or scale == 0:
        if math.isfinite(header.scale) and header.scale != 0:
            findings.append(
                Finding(f"POINT:SCALE is {scale:g}", f"the header's {header.scale:g} used")
            )
            return header.scale
        raise InputError(
            f"is a damaged C3D: its scale is {scale:g}, expected a number other than 0",
            path=path,
            hint="export the file again",
        )
    return scale


def _claimed(header: Header, parameters: Parameters) -> int:
    """Frames that the file says it holds; the wider counters win over the header's 16 bits."""
    long_count = parameters.count("POINT", "LONG_FRAMES")
    if long_count:
        return long_count
    n_frames = header.last_frame - header.first_frame + 1
    last = _field(parameters, "ACTUAL_END_FIELD")
    if header.last_frame == _SATURATED and last is not None:
        first = _field(parameters, "ACTUAL_START_FIELD") or header.first_frame
        n_frames = max(n_frames, last - first + 1)
    counted = parameters.count("POINT", "FRAMES")
    if n_frames <= 0 and counted:
        return counted
    if header.last_frame == _SATURATED and n_frames <= _SATURATED:
        return max(n_frames, counted or 0, _SATURATED if header.first_frame <= 1 else 0)
    return max(0, n_frames)


def _field(parameters: Parameters, name: str) -> int | None:
    """A frame number in two 16-bit words of TRIAL."""
    low, high = (parameters.count("TRIAL", name, place) for place in (0, 1))
    return None if low is None else low + 0x10000 * (high or 0)


def _analog_by_parameters(parameters: Parameters) -> int:
    """Analogue samples a frame by USED and the two rates; 0 if they do not tell."""
    used = parameters.count("ANALOG", "USED") or 0
    rates = [parameters.numbers(group, "RATE") for group in ("ANALOG", "POINT")]
    if not used or any(not rate.size or not rate[0] > 0 for rate in rates):
        return 0
    ratio = float(rates[0][0] / rates[1][0])
    return used * round(ratio) if math.isfinite(ratio) and ratio < _SATURATED else 0


def _is_plausible(position: np.ndarray) -> bool:
    """Whether some coordinates at least are of a size that a length can have."""
    some = position[:: max(1, len(position) // 100)]
    with np.errstate(invalid="ignore"):
        size = np.abs(some)
    is_zero = size == 0
    usual = (size < _WIDEST) & (size > 1e-9)
    return bool((usual | is_zero).mean() > 0.5)


def _no_points(header: Header) -> str:
    if header.n_points:
        return (
            f"no 3D points: the header announces {header.n_points} points, the parameters give none"
        )
    return "no 3D points: the file holds analogue channels or events only"


def _labels(parameters: Parameters, n_points: int, findings: list[Finding]) -> list[str]:
    """Names from LABELS, LABELS2, ... paired with the points by index."""
    blocks = ["LABELS", *(f"LABELS{i}" for i in range(2, 100))]
    names = [name for block in blocks for name in parameters.strings("POINT", block)]
    if any(names[n_points:]) or len(names) < n_points:
        extra = len(names) - n_points
        done = f"{extra} names left out" if extra > 0 else f"{-extra} points got placeholder names"
        findings.append(Finding(f"the file has {n_points} points and {len(names)} labels", done))
    names += [f"point {i + 1}" for i in range(len(names), n_points)]
    return names[:n_points]


def _positions_only(
    parameters: Parameters, labels: list[str], findings: list[Finding]
) -> list[int]:
    """Columns that are positions: without the angles, forces, ... a model wrote among them."""
    kinds = {name.lower(): set(parameters.strings("POINT", name)) for name in _NOT_POSITIONS}
    counts = {kind: sum(label in members for label in labels) for kind, members in kinds.items()}
    outputs: set[str] = set().union(*kinds.values())
    told = ", ".join(f"{count} {kind}" for kind, count in counts.items() if count)
    if told:
        n_out = sum(label in outputs for label in labels)
        findings.append(
            Finding(f"{n_out} trajectories are model outputs ({told})", "left out", "note")
        )
    return [i for i, label in enumerate(labels) if label not in outputs]


def _rate(header: Header, parameters: Parameters, findings: list[Finding]) -> float:
    given = parameters.numbers("POINT", "RATE")
    if given.size:
        return float(given[0])
    if header.rate_hz > 0:
        findings.append(
            Finding(
                "POINT:RATE, the frame rate, is absent",
                f"the header's {header.rate_hz:g} Hz used",
                "warning",
                "rate_hz= or --rate-hz overrides",
            )
        )
    return header.rate_hz


def _first_frame(header: Header, parameters: Parameters) -> int:
    """Number of the first frame, counted from 0."""
    field = _field(parameters, "ACTUAL_START_FIELD")
    if header.first_frame == _SATURATED and field is not None:
        return max(0, field - 1)
    return max(0, header.first_frame - 1)


def _screen_up(parameters: Parameters) -> str:
    """The axis the file shows upright on a screen, its only hint about up.

    Without its sign: Qualisys writes -Z (and X_SCREEN -X) for laboratories where +Z is up.
    """
    screen = parameters.strings("POINT", "Y_SCREEN")
    return screen[0].lstrip("+-") if screen else ""


def _metadata(header: Header, parameters: Parameters, rate: float) -> dict[str, str]:
    facts = {"processor": PROCESSORS[header.processor]}
    for group, name, key in (
        ("SUBJECTS", "NAMES", "subject"),
        ("SUBJECTS", "MARKER_SETS", "marker_set"),
        ("MANUFACTURER", "COMPANY", "manufacturer"),
        ("MANUFACTURER", "SOFTWARE", "software"),
        ("MANUFACTURER", "VERSION_LABEL", "software_version"),
    ):
        values = [value for value in parameters.strings(group, name) if value]
        if values:
            facts[key] = ", ".join(values)
    events = _events(parameters)
    if events:
        facts["events"] = events
    facts["first_frame"] = str(_first_frame(header, parameters) + 1)
    if rate > 0:
        facts["rate_hz"] = f"{rate:.9g}"
    return facts


def _events(parameters: Parameters) -> str:
    """``"Left Foot Strike 1.25 s; ..."`` in order of time."""
    labels, contexts = (parameters.strings("EVENT", name) for name in ("LABELS", "CONTEXTS"))
    times = parameters.numbers("EVENT", "TIMES")
    at_s = 60 * times[: times.size // 2 * 2 : 2] + times[1::2]  # pairs of minutes and seconds
    n_used = parameters.count("EVENT", "USED")
    at_s = at_s if n_used is None else at_s[:n_used]
    found = []
    for i in np.argsort(at_s, kind="stable"):
        who = f"{contexts[i]} " if i < len(contexts) and contexts[i] else ""
        what = labels[i] if i < len(labels) else "event"
        found.append(f"{who}{what} {at_s[i]:.3f} s")
    return "; ".join(found)


FORMAT = Format("c3d", (".c3d",), _sniff, _read)
