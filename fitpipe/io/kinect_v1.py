"""Text of the Kinect v1: one line per joint (``Head;x;y;z``), twenty lines a frame."""

from __future__ import annotations

import numpy as np

from fitpipe.io.raw import Format, RawTake, ReadOptions
from fitpipe.io.table import sniff_decimal
from fitpipe.io.textfile import FileHead
from fitpipe.records import Finding

_NOMINAL_HZ = 30.0
_FIELDS = 4
_JOINT_WORDS = {"head", "hipcenter", "spine", "shouldercenter", "hip-center"}


def _fields(line: str) -> list[str]:
    return [field.strip() for field in line.rstrip().rstrip(";").split(";")]


def _sniff(head: FileHead) -> bool:
    some = [line for line in head.lines[:25] if line.strip()]
    first = {_fields(line)[0].lower() for line in some}
    return (
        bool(some)
        and all(len(_fields(line)) == _FIELDS for line in some[:20])
        and bool(first & _JOINT_WORDS)
    )


def _read(head: FileHead, options: ReadOptions) -> list[RawTake]:
    lines = [line for line in head.text_lines() if line.strip()]
    decimal = sniff_decimal(lines, ";")
    labels: list[str] = []
    frames: list[dict[str, list[float]]] = []
    odd = 0
    for line in lines:
        name, *cells = _fields(line)
        try:
            xyz = [float(cell.replace(decimal, ".")) for cell in cells]
        except ValueError:
            xyz = []
        if len(xyz) != _FIELDS - 1 or not name:
            odd += 1
            continue
        if name not in labels:
            labels.append(name)
        # a joint that comes again begins the next frame
        if not frames or name in frames[-1]:
            frames.append({})
        frames[-1][name] = xyz
    position = np.full((len(frames), len(labels), 3), np.nan)
    for i, frame in enumerate(frames):
        for name, xyz in frame.items():
            position[i, labels.index(name)] = xyz
    findings = []
    if odd:
        findings.append(Finding(f"{odd} lines are not a joint with three numbers", "dropped"))
    if options.rate_hz is None:
        findings.append(
            Finding(
                "the file holds neither time nor rate",
                f"the nominal {_NOMINAL_HZ:g} Hz of a Kinect used",
                "warning",
                "rate_hz= or --rate-hz overrides",
            )
        )
    return [
        RawTake(
            labels=labels,
            position=position,
            rate_hz=_NOMINAL_HZ if options.rate_hz is None else None,
            unit="m",
            up="+y",
            metadata={"sensor": "Kinect v1"},
            findings=findings,
        )
    ]


FORMAT = Format("kinect-v1", (".txt", ".csv"), _sniff, _read)
