"""TRC: a tab-separated table of marker trajectories, as OpenSim and Cortex read it."""

from __future__ import annotations

import math

import numpy as np

from fitpipe.arrays import FloatArray
from fitpipe.output.export.clock import rate_of
from fitpipe.output.export.formats import Content, ExportFormat, Written, absences, plain_names
from fitpipe.units import METRES_PER

_NANOMETRE_DIGITS = 9
_KEYS = (
    "DataRate", "CameraRate", "NumFrames", "NumMarkers", "Units", "OrigDataRate",
    "OrigDataStartFrame", "OrigNumFrames",
)  # fmt: skip


def _write(content: Content) -> Written:
    fit, metres = content.fit, METRES_PER[content.unit]
    names, findings = plain_names(fit.skeleton.joints)
    (file_name,), _ = plain_names([content.file_name])
    n_joints = len(names)
    rate = f"{rate_of(fit)[0]:.9g}"
    values = (rate, rate, fit.n_frames, n_joints, content.unit, rate, 1, fit.n_frames)
    head = [
        ["PathFileType", "4", "(X/Y/Z)", file_name],
        _KEYS,
        [str(value) for value in values],
        ["Frame#", "Time", *(field for name in names for field in (name, "", ""))],
        ["", "", *(f"{axis}{i + 1}" for i in range(n_joints) for axis in "XYZ")],
        [],
    ]
    decimals = round(_NANOMETRE_DIGITS + math.log10(metres))
    rows = number_rows(fit.position.reshape(fit.n_frames, -1) / metres, decimals)
    lines = ["\t".join(line) for line in head]
    lines += [
        f"{i}\t{time!r}\t{row}"
        for i, (time, row) in enumerate(zip(fit.time_s.tolist(), rows, strict=True), start=1)
    ]
    return ("\n".join(lines) + "\n").encode(), findings + absences(fit, "NaN")


def number_rows(table: FloatArray, decimals: int) -> list[str]:
    """Rows of numbers with fixed decimals, joined by tabs; NaN as OpenSim reads it."""
    line = "\t".join([f"%.{decimals}f"] * table.shape[1])
    has_gap = np.asarray(np.isnan(table).any(axis=1))
    return [
        (line % tuple(row)).replace("nan", "NaN") if gap else line % tuple(row)
        for row, gap in zip(table.tolist(), has_gap.tolist(), strict=True)
    ]


FORMAT = ExportFormat(
    name="trc",
    suffix=".trc",
    keeps="positions to the nanometre, joint names, time of every frame, rate, unit; absent "
    "samples are NaN",
    loses="statuses of joints and frames, residuals and weights, bones and their lengths, "
    "calibration, log, provenance",
    units=("mm", "cm", "m"),
    write=_write,
    expects_y_up=True,
)
