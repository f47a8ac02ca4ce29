"""The parts of a C3D file: header words, parameter records and frames of points.

Every count in the file is compared with the file's own size before anything is read by it.
Layout: The C3D File Format, User Guide (Motion Lab Systems, 2021), c3d.org.
"""

from __future__ import annotations

import math
import struct
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from fitpipe.arrays import FloatArray
from fitpipe.errors import InputError

BLOCK = 512
KEY = 0x50  # second byte of the file
PROCESSORS = {84: "Intel", 85: "DEC", 86: "SGI/MIPS"}
_NUMPY_TYPE = {1: "i1", 2: "i2", 4: "f4"}
_ITEM_BYTES = {-1: 1, 1: 1, 2: 2, 4: 4}
_LONGEST_NAME = 127


@dataclass(frozen=True, slots=True)
class Header:
    """The header words that tell where the data are and how much of it there should be."""

    processor: int
    n_points: int
    n_analog: int
    first_frame: int
    last_frame: int
    scale: float
    data_block: int
    rate_hz: float
    parameter_byte: int

    @property
    def order(self) -> str:
        """NumPy's sign for the byte order."""
        return ">" if self.processor == 86 else "<"

    @property
    def is_dec(self) -> bool:
        """Whether floats are those of a VAX."""
        return self.processor == 85


@dataclass(slots=True)
class Parameters:
    """Parameters by group and name; text as a list of str, numbers as a flat float array."""

    groups: dict[str, dict[str, Any]] = field(default_factory=dict)
    broken_at: int | None = None  # byte where the records stop making sense

    def numbers(self, group: str, name: str) -> FloatArray:
        """A parameter as numbers; empty if it is absent or text."""
        value = self.groups.get(group, {}).get(name)
        return value if isinstance(value, np.ndarray) else np.empty(0)

    def strings(self, group: str, name: str) -> list[str]:
        """A parameter as text; empty if it is absent or numbers."""
        value = self.groups.get(group, {}).get(name)
        return value if isinstance(value, list) else []

    def count(self, group: str, name: str, place: int = 0) -> int | None:
        """An unsigned 16-bit number; None if it is absent or not finite."""
        values = self.numbers(group, name)
        if place >= values.size or not math.isfinite(values[place]):
            return None
        return int(values[place]) % 0x10000 if values[place] < 0x10000 else int(values[place])

    def has(self, group: str, name: str) -> bool:
        """Whether there is such a parameter."""
        return name in self.groups.get(group, {})


def read_header(path: Path, content: bytes) -> Header:
    """The header words of a file.

    Raises
    ------
    InputError
        The file is shorter than a header, is no C3D, or points to parameters that are not there.
    """
    if len(content) < BLOCK:
        raise InputError(f"truncated C3D: {len(content)} bytes, a header has {BLOCK}", path=path)
    if content[1] != KEY:
        raise InputError(
            f"is not a C3D file: its second byte is {content[1]:#04x}, expected {KEY:#04x}",
            path=path,
        )
    at = (content[0] - 1) * BLOCK
    if at < BLOCK or at + 4 > len(content):
        raise InputError(
            f"truncated C3D: the parameters are said to start at byte {at}, "
            f"the file has {len(content)}",
            path=path,
        )
    processor = content[at + 3]
    if processor not in PROCESSORS:
        raise InputError(
            f"is a damaged C3D: processor type {processor}, expected 84 (Intel), 85 (DEC) or "
            "86 (SGI/MIPS)",
            path=path,
        )
    order = ">" if processor == 86 else "<"
    n_points, n_analog, first, last = struct.unpack_from(f"{order}HHHH", content, 2)
    (data_block,) = struct.unpack_from(f"{order}H", content, 16)
    scale, rate = floats(content[12:16] + content[20:24], processor)
    return Header(
        processor, n_points, n_analog, first, last, float(scale), data_block, float(rate), at
    )


def floats(content: bytes, processor: int) -> FloatArray:
    """32-bit floats of any processor, as float64."""
    if processor != 85:
        with np.errstate(invalid="ignore"):  # damaged bytes may be signalling NaNs
            return np.frombuffer(content, f"{'>' if processor == 86 else '<'}f4").astype(np.float64)
    # a VAX F float has its 16-bit halves exchanged and an exponent that is 2 higher
    words = np.frombuffer(content, "<u2").reshape(-1, 2)[:, ::-1]
    bits = np.ascontiguousarray(words).view("<u4").ravel()
    with np.errstate(invalid="ignore"):
        value = bits.view("<f4").astype(np.float64) / 4
    return np.where(bits & 0x7F800000, value, 0.0)


def read_parameters(content: bytes, header: Header) -> Parameters:
    """Every parameter record up to the first that does not make sense.

    Parameters
    ----------
    content : bytes
        The whole file.
    header : Header
    """
    found = Parameters()
    names: dict[int, str] = {}
    members: list[tuple[int, str, Any]] = []
    at = header.parameter_byte + 4
    while at + 4 <= len(content):
        length, group = struct.unpack_from("bb", content, at)
        if length == 0 or group == 0:
            break
        start = at + 2
        name_end = start + abs(length)
        if abs(length) > _LONGEST_NAME or name_end + 2 > len(content):
            found.broken_at = at
            break
        raw = content[start:name_end]
        if not all(32 <= byte < 127 for byte in raw):
            found.broken_at = at
            break
        name = raw.decode("ascii").strip().upper()
        (step,) = struct.unpack_from(f"{header.order}H", content, name_end)
        if group < 0:
            names[-group] = name
        else:
            value = _value(content, name_end + 2, header)
            if value is None:
                found.broken_at = at
                break
            members.append((group, name, value))
        if step == 0:
            break
        at = name_end + step
    for number, name in names.items():
        found.groups.setdefault(name, {})
        del number
    for group, name, value in members:
        found.groups.setdefault(names.get(group, f"GROUP {group}"), {}).setdefault(name, value)
    return found


def _value(content: bytes, at: int, header: Header) -> Any:
    """The value of the parameter record whose type byte is at ``at``; None if it cannot be."""
    if at + 2 > len(content):
        return None
    kind, n_dims = struct.unpack_from("bB", content, at)
    if kind not in _ITEM_BYTES or n_dims > 7 or at + 2 + n_dims > len(content):
        return None
    dims = list(content[at + 2 : at + 2 + n_dims])
    start = at + 2 + n_dims
    n_bytes = math.prod(dims) * _ITEM_BYTES[kind]
    if start + n_bytes > len(content):
        return None
    raw = content[start : start + n_bytes]
    if kind == -1:
        return _texts(raw, dims)
    if kind == 4:
        return floats(raw, header.processor)
    return np.frombuffer(raw, header.order + _NUMPY_TYPE[kind]).astype(np.float64)


def _texts(raw: bytes, dims: list[int]) -> list[str]:
    """Text of fixed width, split into its strings."""
    width = dims[0] if dims else 1
    if width == 0:
        return []
    parts = [raw[i : i + width] for i in range(0, len(raw), width)]
    return [_text(part) for part in parts]


def _text(raw: bytes) -> str:
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError:
        text = raw.decode("cp1252", errors="replace")
    return text.replace("\x00", " ").strip()


def read_points(
    content: bytes,
    header: Header,
    *,
    start: int,
    n_frames: int,
    n_points: int,
    n_analog: int,
    scale: float,
) -> tuple[FloatArray, FloatArray]:
    """Positions and fourth words of whole frames that are known to lie within the file.

    Parameters
    ----------
    content : bytes
    header : Header
    start : int
        Byte of the first frame.
    n_frames, n_points : int
    n_analog : int
        Analogue samples after the points of each frame.
    scale : float
        Unit per count; negative if the file holds floats.

    Returns
    -------
    position : ndarray, shape (time, point, 3)
        In the file's unit.
    fourth : ndarray, shape (time, point)
        Camera mask and residual; negative where a point was not seen.
    """  # fmt: skip
    width = 4 if scale < 0 else 2
    n_bytes = n_frames * frame_bytes(n_points, n_analog, scale)
    raw = memoryview(content)[start : start + n_bytes]
    rows = np.frombuffer(raw, np.uint8).reshape(n_frames, -1)[:, : 4 * n_points * width]
    if scale >= 0:
        counts = np.ascontiguousarray(rows).view(f"{header.order}i2")
        cells = counts.reshape(n_frames, n_points, 4)
        return cells[..., :3] * scale, cells[..., 3].astype(np.float64)
    if header.is_dec:
        values = floats(rows.tobytes(), header.processor)
    else:
        values = np.ascontiguousarray(rows).view(f"{header.order}f4")
    cells = values.reshape(n_frames, n_points, 4)
    with np.errstate(invalid="ignore"):
        return cells[..., :3].astype(np.float64), cells[..., 3].astype(np.float64)


def frame_bytes(n_points: int, n_analog: int, scale: float) -> int:
    """Bytes of one frame."""
    return (4 * n_points + n_analog) * (4 if scale < 0 else 2)
