"""Skeleton tables of the Kinect v2: 25 joints a row, metres, +Y up."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from fitpipe.arrays import FloatArray
from fitpipe.io.columns import understand
from fitpipe.io.csv_wide import groups, open_table, read_wide
from fitpipe.io.raw import Format, RawTake, ReadOptions
from fitpipe.io.table import read_numbers, sniff_separator
from fitpipe.io.textfile import FileHead
from fitpipe.records import Finding

JOINTS = (
    "SpineBase", "SpineMid", "Neck", "Head", "ShoulderLeft", "ElbowLeft", "WristLeft", "HandLeft",
    "ShoulderRight", "ElbowRight", "WristRight", "HandRight", "HipLeft", "KneeLeft", "AnkleLeft",
    "FootLeft", "HipRight", "KneeRight", "AnkleRight", "FootRight", "SpineShoulder", "HandTipLeft",
    "ThumbLeft", "HandTipRight", "ThumbRight",
)  # fmt: skip
"""Joint names in the order of the Kinect SDK v2 (JointType)."""

# what a tracking state is worth: not tracked, inferred, tracked
_STATE_CONFIDENCE = (0.0, 0.2, 1.0)
_TRACKER_PER_S = 1000.0  # Tracker_Time is in milliseconds
_TICKS_PER_S = 1e7  # Windows ticks of 100 ns
_NOMINAL_HZ = 30.0
# order of the rigid bodies in the optical tables that go with the Keraal Kinect recordings
_OPTICAL_BODIES = (
    "RForearm", "LForearm", "RArm", "LArm", "Chest", "RThigh", "LThigh", "RShoulder", "LShoulder",
    "RHand", "LHand", "RFoot", "LFoot", "Hips", "Head", "RTibia", "LTibia",
)  # fmt: skip
_OPTICAL_HZ = 60.0
_FACTS = {"Kinect_Id": "sensor", "Study_Id": "subject", "Scenario_Id": "scenario"}
_POSE = 7  # x y z, then a quaternion
_STATE = 4  # x y z, then a tracking state


def _sniff_multitrack(head: FileHead) -> bool:
    return bool(head.lines) and {"Tracker_Time", "Skeleton_Id"} <= {
        name.strip() for name in head.lines[0].split(",")
    }


def _read_multitrack(head: FileHead, options: ReadOptions) -> list[RawTake]:
    """One row per body and sensor; sensors are ``Skeleton_Id``, people ``Person_Id``."""
    del options
    table = open_table(head)
    columns = understand(table.names)
    order = [joint for joint in JOINTS if joint in columns.points]
    order += [label for label in columns.points if label not in order]
    points = {label: columns.points[label] for label in order}
    columns = replace(columns, points=points, time_unit=1.0)
    takes = read_wide(head, table, columns, unit="m", up="+y")
    # Absolute milliseconds, too long for seconds in a float64 to be exact: counted from the first
    # tick, which the sensors of the file share.
    stamps = np.concatenate([take.time_s for take in takes if take.time_s is not None])
    start_ms = float(stamps[np.isfinite(stamps)].min(initial=np.inf))
    facts = {
        key: table.text(table.names.index(name))
        for name, key in _FACTS.items()
        if name in table.names
    }
    for take, rows in zip(takes, groups(table, columns).values(), strict=True):
        if take.time_s is not None:
            take.time_s = (take.time_s - start_ms) / _TRACKER_PER_S
        take.metadata["clock_start_s"] = f"{start_ms / _TRACKER_PER_S:.3f}"
        for key, said in facts.items():
            take.metadata[key] = ", ".join(dict.fromkeys(said[i] for i in rows))
    return takes


def _n_numbers(head: FileHead, separator: str) -> int:
    """Numbers in the first line; 0 if it holds anything else."""
    line = next((line for line in head.lines if line.strip()), "")
    if sniff_separator([line]) != separator:
        return 0
    fields = [
        field for field in line.split(None if separator == " " else separator) if field.strip()
    ]
    try:
        return len([float(field) for field in fields])
    except ValueError:
        return 0


def _sniff_labanotation(head: FileHead) -> bool:
    return _n_numbers(head, ",") == 1 + _STATE * len(JOINTS)


def _read_labanotation(head: FileHead, options: ReadOptions) -> list[RawTake]:
    """Ticks, then x, y, z and tracking state of each joint."""
    del options
    n_columns = 1 + _STATE * len(JOINTS)
    lines = [line.rstrip().rstrip(",") for line in head.text_lines()]
    table, findings = _whole_rows(lines, n_columns, ",")
    joints = table[:, 1:].reshape(len(table), len(JOINTS), _STATE)
    state = joints[..., 3]
    known = np.isin(state, (0, 1, 2))
    if not known.all():
        findings.append(
            Finding(f"{(~known).sum()} tracking states are not 0, 1 or 2", "taken as 0")
        )
    confidence = np.take(_STATE_CONFIDENCE, np.where(known, state, 0).astype(int))
    ticks = table[:, 0]
    return [
        RawTake(
            labels=list(JOINTS),
            position=joints[..., :3],
            time_s=(ticks - ticks[0]) / _TICKS_PER_S,
            unit="m",
            confidence=confidence,
            up="+y",
            metadata={"clock_start_s": f"{ticks[0] / _TICKS_PER_S:.7f}"},
            findings=findings,
        )
    ]


def _sniff_keraal(head: FileHead) -> bool:
    return _n_numbers(head, " ") in (_POSE * len(JOINTS), _POSE * len(_OPTICAL_BODIES))


def _read_keraal(head: FileHead, options: ReadOptions) -> list[RawTake]:
    """Position and quaternion of each joint (Kinect) or rigid body (optical), no time."""
    is_kinect = _n_numbers(head, " ") == _POSE * len(JOINTS)
    labels = JOINTS if is_kinect else _OPTICAL_BODIES
    rate = _NOMINAL_HZ if is_kinect else _OPTICAL_HZ
    table, findings = _whole_rows(head.text_lines(), _POSE * len(labels), " ")
    if options.rate_hz is None:
        findings.append(
            Finding(
                "the file holds neither time nor rate",
                f"the nominal {rate:g} Hz of its kind used",
                "warning",
                "rate_hz= or --rate-hz overrides",
            )
        )
    return [
        RawTake(
            labels=list(labels),
            position=table.reshape(len(table), len(labels), _POSE)[..., :3],
            rate_hz=rate if options.rate_hz is None else None,
            unit="m" if is_kinect else "mm",
            up="+y" if is_kinect else "+z",
            metadata={"points": "joints" if is_kinect else "optical rigid bodies"},
            findings=findings,
        )
    ]


def _whole_rows(
    lines: list[str], n_columns: int, separator: str
) -> tuple[FloatArray, list[Finding]]:
    """Rows of exactly ``n_columns`` numbers; others are dropped and told."""
    split = None if separator == " " else separator
    rows = [(i, line) for i, line in enumerate(lines, start=1) if line.strip()]
    whole = [line for _, line in rows if len(line.split(split)) == n_columns]
    findings = []
    if len(whole) < len(rows):
        odd = [str(i) for i, line in rows if len(line.split(split)) != n_columns]
        findings.append(
            Finding(
                f"{len(odd)} rows have not {n_columns} columns: lines {', '.join(odd[:6])}",
                "dropped",
            )
        )
    table, cells = read_numbers(whole, n_columns=n_columns, separator=separator)
    return table, findings + cells


MULTITRACK = Format("kinect-multitrack", (".csv",), _sniff_multitrack, _read_multitrack)
LABANOTATION = Format("kinect-states", (".csv",), _sniff_labanotation, _read_labanotation)
KERAAL = Format("kinect-poses", (".txt",), _sniff_keraal, _read_keraal)
