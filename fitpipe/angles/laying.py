"""Lays a preset of joint angles onto a skeleton, and tells all that does not fit."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from fitpipe.angles.definition import Definition, zero_axes
from fitpipe.config.angle_preset import (
    AnglePreset,
    BodyRow,
    BoneRow,
    SegmentRow,
    load_angle_preset,
)
from fitpipe.config.presets import list_presets
from fitpipe.errors import ConfigError, suggest
from fitpipe.records import Skeleton
from fitpipe.units import axis_vector

AUTO = "auto"
GENERAL = "general"


def define(skeleton: Skeleton, preset: str | Path | AnglePreset = AUTO) -> Definition:
    """Lay a preset onto a skeleton.

    Parameters
    ----------
    skeleton : Skeleton
    preset : str, path or AnglePreset
        ``"auto"`` takes the preset whose bones are exactly the skeleton's, else ``"general"``.

    Raises
    ------
    ConfigError
        There is no such preset, or it does not fit the skeleton; lists everything that is wrong.
    """
    if preset == AUTO:
        return _auto(skeleton)
    if not isinstance(preset, AnglePreset):
        preset = load_angle_preset(preset)
    if not preset.body and not preset.bone:
        preset = _general(skeleton, preset)
    return _Laid(skeleton, preset).definition()


def _auto(skeleton: Skeleton) -> Definition:
    joints = {skeleton.joints[child] for _, child in skeleton.bones}
    for name in list_presets("angles"):
        preset = load_angle_preset(name)
        if {row.joint for row in preset.bone} == joints and not _Laid(skeleton, preset).faults:
            return define(skeleton, preset)
    return define(skeleton, GENERAL)


def _general(skeleton: Skeleton, preset: AnglePreset) -> AnglePreset:
    """Rows for any skeleton: a body at every root that has bones, and every bone by itself."""
    children: dict[int, list[str]] = {}
    for parent, child in skeleton.bones:
        children.setdefault(parent, []).append(skeleton.joints[child])
    roots = [i for i, parent in enumerate(skeleton.parents) if parent < 0 and i in children]
    names = skeleton.joints
    bodies = [
        BodyRow(name=names[i], lines=tuple((names[i], child) for child in children[i]))
        for i in roots
    ]
    bones = [
        BoneRow(
            joint=skeleton.joints[child],
            parent=skeleton.joints[parent],
            twist="children" if len(children.get(child, ())) > 1 else "parent",
        )
        for parent, child in skeleton.bones
    ]
    return preset.model_copy(update={"body": tuple(bodies), "bone": tuple(bones)})


class _Laid:
    """The rows of a preset by the skeleton's bones, with everything that does not fit."""

    def __init__(self, skeleton: Skeleton, preset: AnglePreset) -> None:
        self.skeleton, self.preset = skeleton, preset
        self.faults: list[str] = []
        self.joints = [skeleton.joints[child] for _, child in skeleton.bones]
        self.bone_of = {joint: k for k, joint in enumerate(self.joints)}
        self.body_of: dict[str, str] = {}
        given = {row.joint: row for row in preset.bone}
        for name in given:
            if name not in self.bone_of:
                hint = suggest(name, self.joints)
                self.faults.append(f"no bone of {skeleton.name!r} ends at {name!r}; {hint}")
        self._lay_lines()
        rows = [given.get(joint) or BoneRow(joint=joint) for joint in self.joints]
        self.rows: list[SegmentRow] = [*preset.body, *rows]
        self.names = [body.name for body in preset.body] + self.joints
        twice = sorted({name for name in self.names if self.names.count(name) > 1})
        if twice:
            self.faults.append(f"two segments are called {', '.join(map(repr, twice))}")
        self.rest = np.array(
            [
                skeleton.rest_direction[child] if row.rest is None else row.rest
                for row, (_, child) in zip(rows, skeleton.bones, strict=True)
            ],
            dtype=np.float64,
        ).reshape(-1, 3)
        size = np.linalg.norm(self.rest, axis=1)
        for joint in np.array(self.joints)[~(size > 1e-9)]:
            self.faults.append(f"{joint}: rest has length zero")
        self.rest /= np.where(size > 1e-9, size, 1.0)[:, None]
        if not self.faults:
            self.parents = [self._parent(s) for s in range(len(self.names))]
            self._check_loops()
            self.below = [
                tuple(k for k, (parent, _) in enumerate(skeleton.bones) if parent == child)
                for _, child in skeleton.bones
            ]
            self.hinged = [self._hinged(k) for k in range(len(self.joints))]
            self._check_rows()

    def definition(self) -> Definition:
        if self.faults:
            raise ConfigError(
                f"the angles preset {self.preset.name!r} does not fit the skeleton "
                f"{self.skeleton.name!r}",
                faults=self.faults,
            )
        return Definition(
            preset=self.preset,
            skeleton=self.skeleton,
            rows=tuple(self.rows),
            segments=tuple(self.names),
            parents=tuple(self.parents),
            line_owner=np.array(self.line_owner, dtype=np.int64),
            line_joint=self.line_joint,
            line_bone=self.line_bone,
            rest=self.rest,
            hinged=tuple(self.hinged),
            below=tuple(self.below),
        )

    def _lay_lines(self) -> None:
        """Every line as a sum of joints and of bones; which body a bone belongs to."""
        skeleton = self.skeleton
        lines = [(i, line) for i, body in enumerate(self.preset.body) for line in body.lines]
        self.line_owner = [owner for owner, _ in lines]
        self.line_joint = np.zeros((len(lines), skeleton.n_joints))
        self.line_bone = np.zeros((len(lines), skeleton.n_bones))
        for row, (owner, ends) in enumerate(lines):
            body = self.preset.body[owner].name
            for sign, end in zip((-1.0, 1.0), ends, strict=True):
                joints = (end,) if isinstance(end, str) else end
                for joint in joints:
                    if joint not in skeleton.joints:
                        hint = suggest(joint, skeleton.joints)
                        self.faults.append(f"{body}: no joint {joint!r}; {hint}")
                        continue
                    share = sign / len(joints)
                    at = skeleton.joint_index(joint)
                    self.line_joint[row, at] += share
                    while skeleton.parents[at] >= 0:
                        self.line_bone[row, self.bone_of[skeleton.joints[at]]] += share
                        at = skeleton.parents[at]
            # shares of the bones above both ends cancel, up to rounding
            self.line_bone[row, np.abs(self.line_bone[row]) < 1e-9] = 0.0
            for bone in np.flatnonzero(self.line_bone[row]).tolist():
                other = self.body_of.setdefault(self.joints[bone], body)
                if other != body:
                    self.faults.append(f"{self.joints[bone]!r} belongs to {other} and {body}")

    def _parent(self, segment: int) -> int:
        name = self.rows[segment].parent
        if name is None:
            bone = segment - len(self.preset.body)
            if bone < 0:
                return -1
            joint = self.skeleton.joints[self.skeleton.bones[bone][0]]
            name = self.body_of.get(self.joints[bone], joint)
            if name not in self.names:
                return -1
        if name not in self.names:
            self.faults.append(
                f"{self.names[segment]}: no segment {name!r}; {suggest(name, self.names)}"
            )
            return -1
        return self.names.index(name)

    def _check_loops(self) -> None:
        for segment, name in enumerate(self.names):
            seen, up = {segment}, self.parents[segment]
            while up >= 0 and up not in seen:
                seen.add(up)
                up = self.parents[up]
            if up >= 0:
                self.faults.append(f"{name}: the parents go round in a circle")

    def _hinged(self, bone: int) -> int:
        """The bone that bends about this one's hinge."""
        row = self.rows[len(self.preset.body) + bone]
        if not isinstance(row, BoneRow) or row.twist != "hinge":
            return -1
        own = len(self.preset.body) + bone
        bends = [k for k in self.below[bone] if self.parents[len(self.preset.body) + k] == own]
        if len(bends) != 1:
            self.faults.append(
                f"{self.joints[bone]}: a hinge needs one bone after it that is relative to it, "
                f"found {len(bends)}"
            )
            return -1
        if row.axis is None:
            self.faults.append(f"{self.joints[bone]}: a hinge needs its axis")
            return -1
        first = self.rows[len(self.preset.body) + bends[0]].sequence[0]
        if first != row.axis:
            self.faults.append(
                f"{self.joints[bends[0]]}: its first turn is about {first}, expected the axis of "
                f"the hinge, {row.axis}"
            )
        for k in (bone, bends[0]):
            if abs(self.rest[k] @ axis_vector(row.axis)) > 1e-6:
                self.faults.append(
                    f"{self.joints[k]}: its rest direction is not at right angles to the hinge's "
                    f"axis {row.axis}"
                )
        return bends[0]

    def _check_rows(self) -> None:
        labels = [row.label or name for row, name in zip(self.rows, self.names, strict=True)]
        twice = sorted({label for label in labels if labels.count(label) > 1})
        if twice:
            self.faults.append(f"two segments have the label {', '.join(map(repr, twice))}")
        for segment, (name, row) in enumerate(zip(self.names, self.rows, strict=True)):
            unknown = [angle for angle in row.limits_deg if angle not in row.angles]
            if unknown:
                self.faults.append(
                    f"{name}: limits for {', '.join(map(repr, unknown))}, expected some of "
                    f"{', '.join(map(repr, row.angles))}"
                )
            if row.limits_deg and isinstance(row, BoneRow):
                self._check_limited(segment, row)

    def _check_limited(self, segment: int, row: BoneRow) -> None:
        """Limits only where the turns follow from the joints of the limb alone."""
        bone = segment - len(self.preset.body)
        parent = self.rows[self.parents[segment]] if self.parents[segment] >= 0 else None
        third = zero_axes(row, self.rest[bone])[:, "xyz".index(row.sequence[2][1])]
        names = [angle for angle in row.angles if angle in row.limits_deg]
        if row.joint in self.body_of:
            self.faults.append(f"{row.joint}: no limits for bones of a body; limit the body")
        elif row.twist == "children" or (
            isinstance(parent, BoneRow) and parent.twist == "children"
        ):
            self.faults.append(f"{row.joint}: no limits at bones whose twist 'children' tell")
        elif bone in self.hinged:
            if names != [row.angles[0]]:
                self.faults.append(f"{row.joint}: after a hinge only {row.angles[0]!r} has limits")
        elif abs(third @ self.rest[bone]) < 1 - 1e-9:
            self.faults.append(
                f"{row.joint}: for limits the last axis, {row.sequence[2]}, must lie along the bone"
            )
        elif row.twist == "parent" and row.angles[2] in row.limits_deg:
            self.faults.append(f"{row.joint}: nothing shows {row.angles[2]!r}; no limits for it")
