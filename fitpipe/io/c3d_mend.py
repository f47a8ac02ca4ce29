"""Mends a copy of a C3D file where one odd parameter, of no use here, keeps ezc3d from reading it.

Only two byte patterns are touched, and the points never: a frame rate that is NaN, and analogue
offsets stored as floats.
"""

from __future__ import annotations

import math
import re
import struct

from fitpipe.io.textfile import FileHead

_HEADER_RATE = 20  # byte offset of the frame rate in the header
# A parameter is: name length (negative if locked), group, name, 2 bytes to the next parameter,
# type (4: float), number of dimensions, dimensions, data.
_POINT_GROUP = re.compile(rb"[\x05\xfb]([\x80-\xff])POINT")
_ANALOG_GROUP = re.compile(rb"[\x06\xfa]([\x80-\xff])ANALOG")
_ANALOG_NEEDS = {
    "OFFSET": re.compile(rb"[\x06\xfa]([\x01-\x7f])OFFSET"),
    "SCALE": re.compile(rb"[\x05\xfb]([\x01-\x7f])SCALE"),
}
_RATE = re.compile(rb"[\x04\xfc]([\x01-\x7f])RATE..\x04\x00(....)", re.DOTALL)
_FLOAT_OFFSET = re.compile(rb"[\x06\xfa][\x01-\x7f]OFFSET..(\x04)\x01(.)", re.DOTALL)
_INT16 = b"\x02"
_MOST_AS_PAIRS = 127  # a dimension is one byte, and every float becomes two 16-bit zeros


def has_point_rate(head: FileHead) -> bool:
    """Whether the POINT group has a RATE; ezc3d fills it in from the header if it has none."""
    return _has(head, _POINT_GROUP, _RATE)


def missing_analog_parameters(head: FileHead) -> list[str]:
    """Parameters without which ezc3d crashes on a file that has analogue channels."""
    return [
        name for name, pattern in _ANALOG_NEEDS.items() if not _has(head, _ANALOG_GROUP, pattern)
    ]


def _has(head: FileHead, group: re.Pattern[bytes], parameter: re.Pattern[bytes]) -> bool:
    numbers = {256 - match[1][0] for match in group.finditer(head.start)}
    return any(match[1][0] in numbers for match in parameter.finditer(head.start))


def has_nan_rate(head: FileHead) -> bool:
    """Whether a frame rate in the file is NaN (Intel files; DEC floats have no NaN)."""
    return any(math.isnan(_float(match[2])) for match in _RATE.finditer(head.start))


def with_rate(head: FileHead, rate_hz: float) -> bytes:
    """The file's bytes with ``rate_hz`` in place of every frame rate that is NaN."""
    start = bytearray(head.start)
    for match in _RATE.finditer(head.start):
        if math.isnan(_float(match[2])):
            struct.pack_into("<f", start, match.start(2), rate_hz)
    if math.isnan(_float(head.start[_HEADER_RATE : _HEADER_RATE + 4])):
        struct.pack_into("<f", start, _HEADER_RATE, rate_hz)
    return bytes(start) + head.path.read_bytes()[len(start) :]


def with_integer_offsets(head: FileHead) -> bytes | None:
    """The file's bytes with zero integers for analogue offsets stored as floats; None if none are.

    The offsets of analogue channels say nothing about the points.
    """
    start = bytearray(head.start)
    for match in _FLOAT_OFFSET.finditer(head.start):
        n_channels = match[2][0]
        if n_channels <= _MOST_AS_PAIRS:
            start[match.start(1) : match.end(1)] = _INT16
            start[match.start(2)] = 2 * n_channels
            start[match.end() : match.end() + 4 * n_channels] = bytes(4 * n_channels)
    if start == head.start:
        return None
    return bytes(start) + head.path.read_bytes()[len(start) :]


def _float(four: bytes) -> float:
    return float(struct.unpack("<f", four)[0])
