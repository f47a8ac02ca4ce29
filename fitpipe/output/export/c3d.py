"""C3D through ezc3d: joints as points, with the residual that the format has for each sample."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np

import fitpipe
from fitpipe.arrays import FloatArray
from fitpipe.output.export.clock import even_clock
from fitpipe.output.export.formats import (
    Content,
    ExportFormat,
    Written,
    absences,
    count,
    plain_names,
)
from fitpipe.records import Finding, Fit, JointStatus
from fitpipe.units import METRES_PER

_LABELS = 255  # names in one parameter; the others go to LABELS2
_STEPS = 255  # a residual is stored as one byte
_WIDEST_STEP_M = 1e-3
_INTO_STEP = 0.25  # ezc3d cuts a residual down to whole steps
_LONGEST_NAME = 127
_LAST_START = 0xFFFF - 1  # the number of the first frame has 16 bits


def _write(content: Content) -> Written:
    import ezc3d

    fit, metres = content.fit, METRES_PER[content.unit]
    clock = even_clock(fit)
    names, findings = plain_names(fit.skeleton.joints, longest=_LONGEST_NAME)
    residual_m, step_m, more = _residuals(fit)
    is_there = clock.frame >= 0
    is_seen = (fit.status != JointStatus.ABSENT)[clock.frame] & is_there[:, None]
    position = np.where(is_seen[..., None], fit.position[clock.frame], 0.0) / metres
    residual = np.where(is_seen, residual_m[clock.frame] / metres, -1.0)

    file = ezc3d.c3d()
    point = file["parameters"]["POINT"]
    point["UNITS"]["value"] = [content.unit]
    point["RATE"]["value"] = [clock.rate_hz]
    point["SCALE"]["value"] = [-step_m / metres]
    point["LABELS"]["value"] = names[:_LABELS]
    for block in range(1, -(-len(names) // _LABELS)):
        part = names[block * _LABELS : (block + 1) * _LABELS]
        file.add_parameter("POINT", f"LABELS{block + 1}", part)
    if content.up:
        file.add_parameter("POINT", "X_SCREEN", ["+X"])
        file.add_parameter("POINT", "Y_SCREEN", [content.up.upper()])
    file.add_parameter("MANUFACTURER", "SOFTWARE", ["fitpipe"])
    file.add_parameter("MANUFACTURER", "VERSION_LABEL", [fitpipe.__version__])
    first = round(clock.start_s * clock.rate_hz)
    first = first if 0 <= first <= _LAST_START else 0
    file["header"]["points"]["first_frame"] = first
    file["data"]["points"] = np.concatenate(
        [np.moveaxis(position, (0, 1, 2), (2, 1, 0)), np.ones((1, len(names), len(position)))]
    )
    file["data"]["meta_points"]["residuals"] = residual.T[None]
    shift_s = first / clock.rate_hz - clock.start_s
    if abs(shift_s) > 1e-6:
        what = f"the take starts at {clock.start_s:g} s"
        more.append(Finding(what, f"frame {first + 1} stands for {first / clock.rate_hz:g} s"))
    gaps = absences(fit, "residual -1")
    return _bytes(file), [*findings, *clock.findings, *more, *gaps]


def _residuals(fit: Fit) -> tuple[FloatArray, float, list[Finding]]:
    """Residual of every sample for the format, (time, joint), its step, and what was cut off.

    The mean over the sources; 0 marks what no source saw, so whatever one saw has a step or more.
    """
    n_seen = np.isfinite(fit.residual).sum(axis=1)
    total = np.nansum(fit.residual, axis=1)
    mean = np.divide(total, n_seen, out=np.zeros(n_seen.shape), where=n_seen > 0)
    largest = float(mean.max(initial=0.0))
    step_m = min(max(largest / _STEPS, 1e-6), _WIDEST_STEP_M)
    is_observed = fit.status == JointStatus.OBSERVED
    steps = np.where(is_observed, np.clip(np.rint(mean / step_m), 1, _STEPS), 0.0)
    n_cut = int((is_observed & (mean > step_m * (_STEPS + 0.5))).sum())
    found = []
    if n_cut:
        limit = f"{step_m * _STEPS * 1e3:g} mm"
        found = [
            Finding(f"{count(n_cut, 'residual')} above {limit}", f"written as {limit}", "note")
        ]
    return np.where(steps > 0, (steps + _INTO_STEP) * step_m, 0.0), step_m, found


def _bytes(file: object) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "export.c3d"
        file.write(str(path))  # type: ignore[attr-defined]
        return path.read_bytes()


FORMAT = ExportFormat(
    name="c3d",
    suffix=".c3d",
    keeps="positions in single precision, joint names, rate, unit; absent samples have residual "
    "-1, carried and interpolated ones 0, observed ones the mean residual of the sources in 255 "
    "steps of at most 1 mm",
    loses="time stamps (a rate and the number of the first frame stand for them), which source "
    "saw what, carried and interpolated told apart, statuses of frames, weights, bones and their "
    "lengths, calibration, log, provenance",
    units=("mm", "cm", "m"),
    write=_write,
)
