"""Writes small files with planted values, one function per format."""

from __future__ import annotations

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
