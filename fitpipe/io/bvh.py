"""BVH motion files: joint positions by forward kinematics of the file's own skeleton."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from fitpipe.arrays import BoolArray, FloatArray
from fitpipe.errors import InputError
from fitpipe.io.claims import unit_by_height
from fitpipe.io.raw import Format, RawTake, ReadOptions
from fitpipe.io.table import read_numbers
from fitpipe.io.textfile import FileHead
from fitpipe.records import Finding

if TYPE_CHECKING:
    from scipy.spatial.transform import Rotation

_MOTION = re.compile(r"^[ \t]*MOTION[ \t]*$", re.MULTILINE)
_TOKEN = re.compile(r"[{}]|[^\s{}]+")
_AXES = {"xrotation": "X", "yrotation": "Y", "zrotation": "Z"}
_SHIFTS = ("xposition", "yposition", "zposition")
_MOST_JOINTS = 2000
# the CMU database counts in units of 56.4 mm, which as inches would make people of 0.7 m
_SMALLEST_M = 1.0


@dataclass(slots=True)
class _Joint:
    """One joint of the hierarchy; its channels are columns of the motion."""

    name: str
    parent: int
    offset: list[float] = field(default_factory=lambda: [0.0, 0.0, 0.0])
    channels: list[str] = field(default_factory=list)
    first_column: int = 0


def _sniff(head: FileHead) -> bool:
    first = next((line.strip() for line in head.lines if line.strip()), "")
    return first.upper() == "HIERARCHY"


def _read(head: FileHead, options: ReadOptions) -> list[RawTake]:
    del options
    text = head.read_text().replace("\r\n", "\n").replace("\r", "\n")
    split = _MOTION.search(text)
    if split is None:
        raise InputError(
            "is not a whole BVH file: no line MOTION follows the hierarchy",
            path=head.path,
            hint="the file may have been cut; export it again",
        )
    joints = _hierarchy(head, text[: split.start()])
    first_line = text[: split.end()].count("\n") + 2
    motion, seconds, findings = _motion(head, text[split.end() :], joints, first_line)
    position = _positions(joints, motion)
    labels = [joint.name for joint in joints]
    return [
        RawTake(
            labels=labels,
            position=position,
            rate_hz=1 / seconds if seconds > 0 else 0.0,
            assumed_unit=unit_by_height(labels, position, smallest_m=_SMALLEST_M),
            has_no_gaps=True,
            metadata={"points": "joints, by forward kinematics"},
            findings=findings,
        )
    ]


def _hierarchy(head: FileHead, text: str) -> list[_Joint]:
    """Joints and end sites, parents before children."""
    tokens = _TOKEN.findall(text)
    joints: list[_Joint] = []
    open_joints: list[int] = []
    n_columns = 0
    at = 1

    def wrong(came: str) -> InputError:
        return InputError(
            f"the hierarchy makes no sense at {came!r}, expected ROOT, JOINT, End Site, OFFSET, "
            "CHANNELS or a brace",
            path=head.path,
            hint="export the file again",
        )

    try:
        while at < len(tokens):
            word = tokens[at].upper()
            if word in ("ROOT", "JOINT", "END"):
                until = tokens.index("{", at)
                parent = open_joints[-1] if open_joints else -1
                name = " ".join(tokens[at + 1 : until])
                if word == "END":
                    name = f"{joints[parent].name}_End"
                joints.append(_Joint(name, parent))
                open_joints.append(len(joints) - 1)
                at = until + 1
            elif word == "OFFSET":
                joints[open_joints[-1]].offset = [float(value) for value in tokens[at + 1 : at + 4]]
                at += 4
            elif word == "CHANNELS":
                n = int(tokens[at + 1])
                joint = joints[open_joints[-1]]
                if joint.channels:
                    raise wrong("a second CHANNELS of one joint")
                joint.channels = [name.lower() for name in tokens[at + 2 : at + 2 + n]]
                joint.first_column = n_columns
                n_columns += n
                if len(joint.channels) != n or not set(joint.channels) <= {*_AXES, *_SHIFTS}:
                    raise wrong(" ".join(tokens[at : at + 2 + n]))
                at += 2 + n
            elif word == "}":
                open_joints.pop()
                at += 1
            else:
                raise wrong(tokens[at])
            if len(joints) > _MOST_JOINTS:
                raise InputError(
                    f"the hierarchy has more than {_MOST_JOINTS} joints", path=head.path
                )
    except (IndexError, ValueError):
        raise wrong(tokens[min(at, len(tokens) - 1)]) from None
    if open_joints or not joints or any(not np.isfinite(joint.offset).all() for joint in joints):
        raise InputError(
            "the hierarchy is not whole: a brace or a joint is missing",
            path=head.path,
            hint="export the file again",
        )
    return joints


def _motion(
    head: FileHead, text: str, joints: list[_Joint], first_line: int
) -> tuple[FloatArray, float, list[Finding]]:
    """Channel values (frame, column), seconds per frame, and what was odd."""
    lines = text.splitlines()
    n_claimed: int | None = None
    seconds = 0.0
    data = 0
    for i, line in enumerate(lines[:10]):
        words = line.split()
        if not words:
            continue
        try:
            if words[0].lower() == "frames:":
                n_claimed = int(float(words[1]))
            elif [word.lower() for word in words[:2]] == ["frame", "time:"]:
                seconds = float(words[2].replace(",", "."))
            else:
                break
        except (IndexError, ValueError, OverflowError):
            raise InputError(
                f"{line.strip()!r} says no number", path=head.path, place="MOTION"
            ) from None
        data = i + 1
    rows = [line for line in lines[data:] if line.strip()]
    n_columns = sum(len(joint.channels) for joint in joints)
    if not rows:
        raise InputError("no frames: the file has a skeleton and no motion", path=head.path)
    widths = [len(row.split()) for row in rows]
    whole = [row for row, width in zip(rows, widths, strict=True) if width == n_columns]
    findings = []
    if not whole:
        raise InputError(
            f"the skeleton has {n_columns} channels, the rows of the motion {widths[0]} values",
            path=head.path,
            place=f"line {first_line + data}",
        )
    if len(whole) < len(rows):
        findings.append(
            Finding(f"{len(rows) - len(whole)} rows have not {n_columns} values", "dropped")
        )
    if n_claimed is not None and n_claimed != len(rows):
        findings.append(
            Finding(f"the file announces {n_claimed} frames and holds {len(rows)}", "used those")
        )
    table, odd = read_numbers(
        whole, n_columns=n_columns, separator=" ", first_row=first_line + data
    )
    return table, seconds, findings + odd


def _positions(joints: list[_Joint], motion: FloatArray) -> FloatArray:
    """World positions (time, joint, 3): R_world = R_parent · R_1 · R_2 · R_3 in channel order."""
    n = len(motion)
    position = np.empty((n, len(joints), 3))
    turns: list[Rotation | None] = []
    turn_known: list[BoolArray] = []
    for j, joint in enumerate(joints):
        columns = motion[:, joint.first_column : joint.first_column + len(joint.channels)]
        shift = np.tile(np.array(joint.offset), (n, 1))
        for k, channel in enumerate(joint.channels):
            if channel in _SHIFTS:
                # a position channel stands instead of that part of the offset
                shift[:, _SHIFTS.index(channel)] = columns[:, k]
        axes = "".join(_AXES[channel] for channel in joint.channels if channel in _AXES)
        angles = columns[:, [k for k, channel in enumerate(joint.channels) if channel in _AXES]]
        known = np.asarray(np.isfinite(angles).all(axis=1))
        own = _turn(axes, np.where(known[:, None], angles, 0.0))
        if joint.parent < 0:
            position[:, j] = shift
            turns.append(own)
            turn_known.append(known)
            continue
        above, above_known = turns[joint.parent], turn_known[joint.parent]
        moved = shift if above is None else above.apply(shift)
        # a turn that is missing leaves all below it unknown
        moved = np.where(above_known[:, None], moved, np.nan)
        position[:, j] = position[:, joint.parent] + moved
        turns.append(own if above is None else above if own is None else above * own)
        turn_known.append(above_known & known)
    return position


def _turn(axes: str, angles_deg: FloatArray) -> Rotation | None:
    """Turns about one axis after another, each about the axis as it has been turned."""
    from scipy.spatial.transform import Rotation

    turn: Rotation | None = None
    for k, axis in enumerate(axes):
        one = Rotation.from_euler(axis, angles_deg[:, k : k + 1], degrees=True)
        turn = one if turn is None else turn * one
    return turn


FORMAT = Format("bvh", (".bvh",), _sniff, _read)
