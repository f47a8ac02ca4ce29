"""Segments of markerless systems in C3D: 4x4 matrices in a group ROTATION, as Theia3D writes."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from fitpipe.arrays import FloatArray
from fitpipe.errors import InputError
from fitpipe.io.c3d_sections import BLOCK, Header, Parameters, floats
from fitpipe.records import Finding

_CELLS = 17  # a matrix by columns, then its residual
_SUFFIX = "_4X4"
_WORLD = "worldbody"


def has_segments(parameters: Parameters) -> bool:
    """Whether a file holds segment matrices."""
    return bool(parameters.count("ROTATION", "USED"))


def read_segments(
    path: Path, content: bytes, header: Header, parameters: Parameters, findings: list[Finding]
) -> tuple[list[str], FloatArray]:
    """Names and origins (time, segment, 3) of the segments, in the file's unit.

    Raises
    ------
    InputError
        The matrices are not where the parameters say.
    """
    n = parameters.count("ROTATION", "USED") or 0
    block = parameters.count("ROTATION", "DATA_START") or 0
    start = (block - 1) * BLOCK
    n_bytes = 4 * _CELLS * n
    n_claimed = parameters.count("POINT", "FRAMES") or header.last_frame - header.first_frame + 1
    n_whole = (len(content) - start) // n_bytes if block > 1 else 0
    n_frames = min(n_claimed, n_whole)
    if n_frames < 1:
        raise InputError(
            f"no frames: {n} segments are said to start at byte {max(start, 0)}, the file has "
            f"{len(content)}",
            path=path,
            hint="copy or export the file again",
        )
    if n_whole < n_claimed:
        findings.append(
            Finding(f"truncated C3D: {n_claimed} frames announced, {n_whole} held", "those read")
        )
    raw = content[start : start + n_frames * n_bytes]
    cells = floats(raw, header.processor)
    matrices = cells.reshape(n_frames, n, _CELLS)
    # columns of the matrix one after another: the fourth is the origin
    origin = np.where((matrices[..., 16] < 0)[..., None], np.nan, matrices[..., 12:15])
    labels = [name.removesuffix(_SUFFIX) for name in parameters.strings("ROTATION", "LABELS")]
    labels += [f"segment {i + 1}" for i in range(len(labels), n)]
    keep = [i for i in range(n) if labels[i].lower() != _WORLD]
    findings.append(
        Finding("the file holds segments, no points", "their origins read as points", "note")
    )
    return [labels[i] for i in keep], origin[:, keep]
