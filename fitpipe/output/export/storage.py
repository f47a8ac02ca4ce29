"""OpenSim storage files: joint angles over time, .mot in degrees and .sto in radians."""

from __future__ import annotations

import re
from functools import partial

import numpy as np

from fitpipe.arrays import FloatArray
from fitpipe.output.export.formats import Content, ExportFormat, Written, plain_names
from fitpipe.output.export.rig import held, told_held
from fitpipe.output.export.trc import number_rows
from fitpipe.records import Finding, SkeletonAngles

_DIGITS = 9
_ABOUT = """Units are S.I. units (second, meters, Newtons, ...)
If the header above contains a line with 'inDegrees', this indicates whether rotational values are \
in degrees (yes) or radians (no)."""


def _write(content: Content, *, in_degrees: bool) -> Written:
    fit, angles = content.fit, content.angles()
    names, columns, findings = _columns(angles, in_degrees)
    (name,), _ = plain_names([fit.name])
    head = [
        name,
        "version=1",
        f"nRows={fit.n_frames}",
        f"nColumns={len(names) + 1}",
        f"inDegrees={'yes' if in_degrees else 'no'}",
        "",
        _ABOUT,
        "",
        "endheader",
        "\t".join(["time", *names]),
    ]
    # OpenSim's class Storage stops at the first NaN and says nothing
    rows = number_rows(np.stack([held(c[:, None])[:, 0] for c in columns.T], axis=1), _DIGITS)
    lines = [f"{time!r}\t{row}" for time, row in zip(fit.time_s.tolist(), rows, strict=True)]
    text = "\n".join([*head, *lines]) + "\n"
    is_seen = np.asarray(~np.isnan(fit.position[..., 0]).all(axis=0))
    return text.encode(), [*findings, *told_held(fit, is_seen)]


def _columns(
    angles: SkeletonAngles, in_degrees: bool
) -> tuple[list[str], FloatArray, list[Finding]]:
    """Names and values of all columns but the time; segments never seen are left out."""
    names, columns = [], []
    for anchor, joint in enumerate(angles.anchor):
        place = angles.anchor_position_m[:, anchor]
        if not np.isnan(place).all():
            names += [f"{angles.skeleton.joints[joint]}_t{axis}" for axis in "xyz"]
            columns.append(place)
    unseen = []
    for s, segment in enumerate(angles.segments):
        turn = angles.euler_rad[:, s]
        if np.isnan(turn).all():
            unseen.append(segment)
            continue
        names += [f"{angles.segment_label[s]} {angle}" for angle in angles.angle_names[s]]
        columns.append(np.degrees(turn) if in_degrees else turn)
    plain, findings = plain_names([re.sub(r"\s+", "_", name) for name in names], what="column")
    if unseen:
        findings.append(Finding(f"segments never seen: {', '.join(unseen)}", "left out", "note"))
    return plain, np.concatenate(columns, axis=1), findings


def _format(name: str, unit: str, *, in_degrees: bool) -> ExportFormat:
    return ExportFormat(
        name=name,
        suffix=f".{name}",
        keeps=f"joint angles in {unit} (inDegrees={'yes' if in_degrees else 'no'}) as the page of "
        "joint angles defines them, place of the root in metres, time of every frame",
        loses="which angles are absent (the last one is held: OpenSim would stop at a NaN), "
        "bone lengths, so the positions; quaternions, flags of gimbal lock and twist; "
        "statuses, residuals and weights, calibration, log, provenance",
        units=("m",),
        write=partial(_write, in_degrees=in_degrees),
        expects_y_up=True,
    )


MOT = _format("mot", "degrees", in_degrees=True)
STO = _format("sto", "radians", in_degrees=False)
