"""Positions in JSON: bodies of OpenCap, and bodies of the Azure Kinect's offline processor."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from fitpipe.errors import InputError
from fitpipe.io.raw import Format, RawTake, ReadOptions
from fitpipe.io.textfile import FileHead


def _sniff_opencap(head: FileHead) -> bool:
    return head.is_text and b'"bodies"' in head.start and b'"translation"' in head.start


def _read_opencap(head: FileHead, options: ReadOptions) -> list[RawTake]:
    """Origins of the model's bodies, which are their proximal joints."""
    del options
    data = _load(head)
    path = head.path
    bodies = data.get("bodies") if isinstance(data, dict) else None
    if not isinstance(bodies, dict) or not bodies:
        raise InputError("no 3D points: no table 'bodies' with positions", path=path)
    columns = {name: _array(path, body, "translation") for name, body in bodies.items()}
    time_s = _array(path, data, "time")
    wrong = [name for name, xyz in columns.items() if xyz.shape != (len(time_s), 3)]
    if time_s.ndim != 1 or wrong:
        raise InputError(
            f"{', '.join(wrong[:5]) or 'time'}: not one position (x, y, z) for each of "
            f"{time_s.size} instants",
            path=path,
        )
    return [
        RawTake(
            labels=list(columns),
            position=np.stack(list(columns.values()), axis=1),
            time_s=time_s,
            unit="m",
            up="+y",
            has_no_gaps=True,
            metadata={"points": "origins of OpenSim bodies"},
        )
    ]


def _sniff_azure(head: FileHead) -> bool:
    return head.is_text and all(key in head.start for key in (b'"joint_positions"', b'"body_id"'))


def _read_azure(head: FileHead, options: ReadOptions) -> list[RawTake]:
    """One take per body; millimetres, the camera's axes with +Y down."""
    del options
    data = _load(head)
    path = head.path
    try:
        names = [str(name) for name in data["joint_names"]]
        frames = data["frames"]
        stamps: dict[str, list[float]] = {}
        rows: dict[str, list[Any]] = {}
        for frame in frames:
            for body in frame.get("bodies", ()):
                who = f"body{body['body_id']}"
                stamps.setdefault(who, []).append(float(frame["timestamp_usec"]))
                rows.setdefault(who, []).append(body["joint_positions"])
        arrays = {who: np.asarray(value, dtype=np.float64) for who, value in rows.items()}
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise InputError(
            f"is no whole recording of an Azure Kinect ({type(error).__name__}: {error})",
            path=path,
            hint="expected joint_names, and frames with timestamp_usec and bodies",
        ) from error
    if not arrays:
        raise InputError("no frames: nobody is in the file", path=path)
    start = min(min(times) for times in stamps.values())
    wrong = [who for who, xyz in arrays.items() if xyz.shape[1:] != (len(names), 3)]
    if wrong:
        raise InputError(f"{wrong[0]} has not {len(names)} positions in every frame", path=path)
    return [
        RawTake(
            labels=names,
            position=xyz,
            time_s=(np.array(stamps[who]) - start) / 1e6,
            unit="mm",
            up="-y",
            body=who if len(arrays) > 1 else "",
            metadata={"sensor": "Azure Kinect"},
        )
        for who, xyz in arrays.items()
    ]


def _sniff_other(head: FileHead) -> bool:
    return head.is_text and head.suffix == ".json"


def _read_other(head: FileHead, options: ReadOptions) -> list[RawTake]:
    del options
    if b'"positions"' in head.start[:200] and b'"Nose"' in head.start[:400]:
        raise InputError(
            "holds landmarks of an image: x and y are shares of its width and height, z a guess "
            "without a unit",
            path=head.path,
            hint="give world landmarks or triangulated points, in metres",
        )
    raise InputError(
        "is JSON of no known layout",
        path=head.path,
        hint="known are OpenCap's (time, bodies with translation) and the Azure Kinect's "
        "(joint_names, frames with bodies)",
    )


def _load(head: FileHead) -> Any:
    try:
        return json.loads(head.read_text())
    except (ValueError, RecursionError) as error:
        raise InputError(
            f"is no whole JSON file ({error})", path=head.path, hint="copy the file again"
        ) from error


def _array(path: Path, table: Any, key: str) -> Any:
    try:
        return np.asarray(table[key], dtype=np.float64)
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(f"no numbers under {key!r} ({type(error).__name__})", path=path) from error


OPENCAP = Format("opencap", (".json",), _sniff_opencap, _read_opencap)
AZURE = Format("azure-json", (".json",), _sniff_azure, _read_azure)
OTHER = Format("json", (".json",), _sniff_other, _read_other)
