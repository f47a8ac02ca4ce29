"""Writes small files with planted values, one function per format."""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

LABELS = ("Head", "Hip", "LFoot", "RFoot")


def trc_text(
    position: np.ndarray,
    labels: Sequence[str] = LABELS,
    *,
    rate: float = 100.0,
    keys: dict[str, object] | None = None,
    drop: Sequence[str] = (),
    cell: Callable[[float], str] = lambda value: "" if np.isnan(value) else f"{value:.6f}",
    row_end: str = "",
    name_tabs: int = 3,
) -> str:
    """A TRC file; ``keys`` overrides header values, ``drop`` leaves keys out."""
    n = len(position)
    header: dict[str, object] = {
        "DataRate": rate, "CameraRate": rate, "NumFrames": n, "NumMarkers": len(labels),
        "Units": "m", "OrigDataRate": rate, "OrigDataStartFrame": 1, "OrigNumFrames": n,
    }  # fmt: skip
    header.update(keys or {})
    header = {key: value for key, value in header.items() if key not in drop}
    axes = "\t".join(f"{axis}{i + 1}" for i in range(len(labels)) for axis in "XYZ")
    lines = [
        "PathFileType\t4\t(X/Y/Z)\twalk.trc",
        "\t".join(header),
        "\t".join(str(value) for value in header.values()),
        "Frame#\tTime\t" + ("\t" * name_tabs).join(labels),
        "\t\t" + axes,
        "",
    ]
    for i, row in enumerate(position):
        cells = "\t".join(cell(value) for value in row.ravel())
        lines.append(f"{i + 1}\t{i / rate:.6f}\t{cells}{row_end}")
    return "\n".join(lines) + "\n"


def wide_csv(
    position: np.ndarray,
    labels: Sequence[str] = LABELS,
    *,
    spelling: str = "{label}_{axis}",
    separator: str = ",",
    decimal: str = ".",
    time: str | None = "time",
    rate: float = 100.0,
) -> str:
    """A wide table with a chosen spelling of the column names."""
    names = [spelling.format(label=label, axis=axis) for label in labels for axis in "xyz"]
    lines = [separator.join(([time] if time else []) + names)]
    for i, row in enumerate(position):
        cells = [f"{i / rate:.6f}"] if time else []
        cells += ["" if np.isnan(value) else f"{value:.9f}" for value in row.ravel()]
        lines.append(separator.join(cell.replace(".", decimal) for cell in cells))
    return "\n".join(lines) + "\n"


def write_c3d(
    path: Path,
    position: np.ndarray,
    labels: Sequence[str] = LABELS,
    *,
    unit: str | None = "mm",
    rate: float = 100.0,
    missing: np.ndarray | None = None,
    first_frame: int = 0,
    groups: dict[str, Sequence[str]] | None = None,
    n_analog: int = 0,
) -> Path:
    """A C3D file through ezc3d, which writes positions as they are given."""
    import ezc3d

    n_frames, n_points = position.shape[:2]
    c3d: Any = ezc3d.c3d()
    c3d["parameters"]["POINT"]["RATE"]["value"] = [rate]
    c3d["parameters"]["POINT"]["LABELS"]["value"] = list(labels)
    c3d["parameters"]["POINT"]["UNITS"]["value"] = [] if unit is None else [unit]
    for name, members in (groups or {}).items():
        c3d.add_parameter("POINT", name, list(members))
    points = np.ones((4, n_points, n_frames))
    points[:3] = np.moveaxis(position, (0, 1, 2), (2, 1, 0))
    c3d["data"]["points"] = points
    residual = np.zeros((1, n_points, n_frames))
    if missing is not None:
        residual[0] = np.where(missing.T, -1.0, 0.0)
    c3d["data"]["meta_points"]["residuals"] = residual
    c3d["header"]["points"]["first_frame"] = first_frame
    if n_analog:
        c3d["parameters"]["ANALOG"]["RATE"]["value"] = [rate]
        c3d["parameters"]["ANALOG"]["LABELS"]["value"] = [f"EMG{i}" for i in range(n_analog)]
        c3d["data"]["analogs"] = np.ones((1, n_analog, n_frames))
    c3d.write(str(path))
    return path


def c3d_bytes(
    position: np.ndarray,
    labels: Sequence[str],
    processor: str,
    kind: str,
    *,
    missing: np.ndarray,
    rate: float = 100.0,
) -> bytes:
    """A C3D file with the POINT group only, in the byte order and number type asked for."""
    code, order = {"Intel": (84, "<"), "DEC": (85, "<"), "SGI/MIPS": (86, ">")}[processor]

    def real(values: Any) -> bytes:
        if processor != "DEC":
            return np.asarray(values, f"{order}f4").tobytes()
        bits = (np.asarray(values, "<f4").ravel() * np.float32(4)).view("<u2").reshape(-1, 2)
        return np.ascontiguousarray(bits[:, ::-1]).tobytes()

    def word(*values: int) -> bytes:
        return struct.pack(f"{order}{len(values)}H", *values)

    def parameter(name: str, kind_code: int, dims: Sequence[int], data: bytes) -> bytes:
        body = struct.pack("bB", kind_code, len(dims)) + bytes(dims) + data + b"\0"
        return struct.pack("bb", len(name), 1) + name.encode() + word(len(body) + 2) + body

    n_frames, n_points = position.shape[:2]
    scale = -1.0 if kind == "float" else 0.1
    width = max(map(len, labels))
    group = struct.pack("bb", 5, -1) + b"POINT" + word(3) + b"\0"
    records = group + b"".join(
        [
            parameter("USED", 2, [], word(n_points)),
            parameter("SCALE", 4, [], real([scale])),
            parameter("RATE", 4, [], real([rate])),
            parameter("UNITS", -1, [2], b"mm"),
            parameter(
                "LABELS", -1, [width, n_points], "".join(lb.ljust(width) for lb in labels).encode()
            ),
        ]
    )
    section = (b"\x01\x50" + bytes([2, code]) + records).ljust(1024, b"\0")
    head = b"\x02\x50" + word(n_points, 0, 1, n_frames, 0) + real([scale])
    head += word(4, 0) + real([rate])
    cells = np.concatenate([position, np.where(missing, -1, 0)[..., None]], axis=-1)
    if kind == "int":
        cells[..., :3] = np.round(cells[..., :3] / scale)
        data = cells.astype(f"{order}i2").tobytes()
    else:
        data = real(cells)
    return head.ljust(512, b"\0") + section + data
