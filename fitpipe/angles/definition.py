"""What joint angles mean: every segment of a skeleton, its parent, axes and zero pose."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from fitpipe.arrays import BoolArray, FloatArray, IntArray
from fitpipe.config.angle_preset import AnglePreset, BoneRow, SegmentRow
from fitpipe.records import Skeleton
from fitpipe.units import axis_vector

_PASSES = 1.25 * np.pi  # so far beyond half a turn angles of joints run on


@dataclass(frozen=True, eq=False)
class Definition:
    """What the angles of a skeleton mean.

    Segments are the bodies, then the bones in the order of ``Skeleton.bones``; a bone's segment has
    the name of its child joint.
    """

    preset: AnglePreset
    skeleton: Skeleton
    rows: tuple[SegmentRow, ...]
    segments: tuple[str, ...]
    parents: tuple[int, ...]  # index of the segment an angle is relative to, -1 the world
    line_owner: IntArray  # (line,) the body that a line turns with
    line_joint: FloatArray  # (line, joint) a line is the sum of so much of every joint's place
    line_bone: FloatArray  # (line, bone) and of so much of every bone
    rest: FloatArray  # (bone, 3) unit vector, the zero pose
    hinged: tuple[int, ...]  # per bone, the bone that bends about its hinge; -1 without
    below: tuple[tuple[int, ...], ...]  # per bone, the bones at its end

    @property
    def n_bodies(self) -> int:
        """Number of body frames."""
        return len(self.preset.body)

    @cached_property
    def members(self) -> tuple[tuple[int, ...], ...]:
        """Per body, the bones between the joints of its lines."""
        return tuple(
            tuple(np.flatnonzero(self.line_bone[self.line_owner == body].any(axis=0)).tolist())
            for body in range(self.n_bodies)
        )

    def line_rest_m(self, bone_length_m: FloatArray) -> FloatArray:
        """The lines in the zero pose, (line, 3), metres; NaN where a bone's length is not known."""
        bones = bone_length_m[:, None] * self.rest
        unknown = np.isnan(bone_length_m)
        lines = self.line_bone @ np.where(unknown[:, None], 0.0, bones)
        lines[(self.line_bone[:, unknown] != 0).any(axis=1)] = np.nan
        return np.asarray(lines)

    def bone_row(self, bone: int) -> BoneRow:
        """What the preset says of a bone."""
        row = self.rows[self.n_bodies + bone]
        assert isinstance(row, BoneRow)  # noqa: S101 - bones follow the bodies
        return row

    @cached_property
    def order(self) -> IntArray:
        """Segment indices with every parent before its children."""
        return np.argsort([len(self.above(s)) for s in range(len(self.segments))], kind="stable")

    def above(self, segment: int) -> list[int]:
        """The segments that carry a segment, nearest first."""
        found: list[int] = []
        while self.parents[segment] >= 0:
            segment = self.parents[segment]
            found.append(segment)
        return found

    @cached_property
    def basis(self) -> FloatArray:
        """Axes of the segments in the zero pose, as columns: (segment, 3, 3)."""
        basis = np.tile(np.eye(3), (len(self.segments), 1, 1))
        for bone in range(self.skeleton.n_bones):
            basis[self.n_bodies + bone] = zero_axes(self.bone_row(bone), self.rest[bone])
        return basis

    def most_rad(self, segment: int) -> float:
        """Angle at which those of a segment go back by a full turn: see `continuous_euler`."""
        if self.parents[segment] < 0:
            return np.inf
        is_hinged = segment >= self.n_bodies and self.hinge_of(segment - self.n_bodies) >= 0
        return np.pi if is_hinged else _PASSES

    @cached_property
    def is_limited(self) -> BoolArray:
        """Which angles have limits: (segment, 3)."""
        return np.asarray(np.isfinite(self.limit_rad).all(axis=-1))

    @cached_property
    def axes(self) -> FloatArray:
        """Axes of the turns in the zero pose, positive turns right-handed: (segment, 3, 3)."""
        signed = [[axis_vector(axis) for axis in row.sequence] for row in self.rows]
        return np.asarray(np.einsum("sij,skj->ski", self.basis, np.reshape(signed, (-1, 3, 3))))

    def body_of(self, bone: int) -> int:
        """The body that a bone belongs to, -1 if none."""
        return next((b for b, members in enumerate(self.members) if bone in members), -1)

    def body_between(self, a: int, b: int) -> int | None:
        """The body whose bones alone join two joints; None if there is none."""
        bone_of = {child: k for k, (_, child) in enumerate(self.skeleton.bones)}

        def to_root(joint: int) -> set[int]:
            found = set()
            while joint in bone_of:
                found.add(bone_of[joint])
                joint = self.skeleton.parents[joint]
            return found

        between = to_root(a) ^ to_root(b)
        return next((i for i, own in enumerate(self.members) if between <= set(own)), None)

    def hinge_of(self, bone: int) -> int:
        """The bone about whose hinge this one bends, -1 if none."""
        return self.hinged.index(bone) if bone in self.hinged else -1

    @cached_property
    def limit_rad(self) -> FloatArray:
        """Lowest and highest value of each angle: (segment, 3, 2), infinite where there is none.

        Where only others of a segment are limited, the second is held to a quarter turn either
        way: (a, b, c) and (a + pi, pi - b, c + pi) are the same turns; that tells which is meant.
        """
        limits = np.empty((len(self.rows), 3, 2))
        limits[..., 0], limits[..., 1] = -np.inf, np.inf
        for s, row in enumerate(self.rows):
            for i, name in enumerate(row.angles):
                if name in row.limits_deg:
                    limits[s, i] = np.radians(row.limits_deg[name])
            if row.limits_deg and row.angles[1] not in row.limits_deg:
                limits[s, 1] = -np.pi / 2, np.pi / 2
        return limits


def zero_axes(row: SegmentRow, rest: FloatArray) -> FloatArray:
    """Axes of a bone's segment in the zero pose, as columns (3, 3)."""
    if not isinstance(row, BoneRow) or row.along is None:
        return np.eye(3)
    return _swing(axis_vector(row.along), rest)


def _swing(start: FloatArray, end: FloatArray) -> FloatArray:
    """Smallest rotation (3, 3) that turns one unit vector into another, not its opposite."""
    cross = np.cross(start, end)
    K = np.array([[0, -cross[2], cross[1]], [cross[2], 0, -cross[0]], [-cross[1], cross[0], 0]])
    return np.asarray(np.eye(3) + K + K @ K / (1 + start @ end))
