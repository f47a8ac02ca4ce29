"""Joint angles of a skeleton from the positions of its joints."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from fitpipe.angles.body_frames import body_frames
from fitpipe.angles.definition import Definition
from fitpipe.angles.euler import continuous_euler, is_near_lock, principal_euler
from fitpipe.angles.laying import AUTO, define
from fitpipe.angles.limits import limit_status
from fitpipe.arrays import BoolArray, ByteArray, FloatArray, frozen
from fitpipe.config.angle_preset import AnglePreset
from fitpipe.errors import SolveError
from fitpipe.kernels.rotations import products, relative_rotations, some_perpendicular
from fitpipe.kernels.segment_turns import (
    carry_frames,
    choose_sides,
    continue_quaternions,
    follow_parent,
    quaternions,
)
from fitpipe.records import Skeleton, SkeletonAngles, TwistStatus
from fitpipe.units import axis_vector

_MOST_RAD = np.radians(30)  # by which an unseen twist may change in a frame to catch up
_POINT_M = 1e-9  # a bone shorter than this has no direction


def skeleton_angles(
    position_m: FloatArray,
    skeleton: Skeleton,
    bone_length_m: FloatArray | None = None,
    *,
    preset: str | Path | AnglePreset = AUTO,
) -> SkeletonAngles:
    """How every bone is turned in every frame, and the angles between neighbours.

    Parameters
    ----------
    position_m : ndarray, shape (time, joint, 3), metres
        Of a rigid skeleton, in time order; NaN where a joint is absent.
    skeleton : Skeleton
    bone_length_m : ndarray, shape (bone,) or (link,), metres, optional
        Default: the skeleton's, else the median over the frames.
    preset : str, path or AnglePreset
        What the angles mean; ``"auto"`` takes the preset made for the skeleton's joints, else
        ``"general"``.

    Returns
    -------
    SkeletonAngles
        ``forward()`` gives back the positions, as exactly as the bones keep their lengths.

    Raises
    ------
    SolveError
        The arrays do not fit the skeleton.
    ConfigError
        The preset does not exist or does not fit the skeleton.
    """
    position = np.asarray(position_m, dtype=np.float64)
    if position.ndim != 3 or position.shape[1:] != (skeleton.n_joints, 3):
        raise SolveError(
            f"position_m has shape {position.shape}, expected (time, {skeleton.n_joints}, 3)"
        )
    definition = define(skeleton, preset)
    return measure(position, definition, _lengths(position, skeleton, bone_length_m))


def measure(
    position_m: FloatArray,
    definition: Definition,
    bone_length_m: FloatArray,
    *,
    is_doubted: BoolArray | None = None,
) -> SkeletonAngles:
    """`skeleton_angles` once the definition and the lengths (bone,) are known.

    Where ``is_doubted`` (time, bone), a hinge's plane is not believed and its twist carried over.
    """
    skeleton = definition.skeleton
    n_time, n_segments = len(position_m), len(definition.segments)
    frames = _Frames(position_m, definition, bone_length_m, is_doubted)
    world = np.empty((n_time, n_segments, 4))
    euler = np.empty((n_time, n_segments, 3))
    for segment in definition.order.tolist():
        R = frames.add(segment)
        world[:, segment] = _quaternions(R)
        euler[:, segment] = continuous_euler(
            frames.relative(segment, R),
            definition.rows[segment].sequence,
            most_rad=definition.most_rad(segment),
        )
    anchor, anchor_position = _anchors(position_m, skeleton, bone_length_m)
    return SkeletonAngles(
        skeleton=skeleton,
        preset=definition.preset.name,
        segments=definition.segments,
        segment_label=tuple(
            row.label or name
            for row, name in zip(definition.rows, definition.segments, strict=True)
        ),
        segment_parent=definition.parents,
        sequence=tuple(row.sequence for row in definition.rows),
        angle_names=tuple(row.angles for row in definition.rows),
        basis=definition.basis,
        rest_direction=definition.rest,
        bone_length_m=bone_length_m,
        anchor=anchor,
        anchor_position_m=anchor_position,
        world_wxyz=world,
        euler_rad=euler,
        is_gimbal=is_near_lock(euler, np.radians(definition.preset.gimbal_deg)),
        twist_status=frames.status,
        limit_rad=definition.limit_rad,
        limit_status=limit_status(euler, frames.status, definition),
    )


class _Frames:
    """World frames of the segments, made one after the other; kept while others build on them."""

    def __init__(
        self,
        position_m: FloatArray,
        definition: Definition,
        length_m: FloatArray,
        is_doubted: BoolArray | None,
    ) -> None:
        bones = np.array(definition.skeleton.bones, dtype=np.int64).reshape(-1, 2)
        step = position_m[:, bones[:, 1]] - position_m[:, bones[:, 0]]
        size = np.linalg.norm(step, axis=-1)
        self.definition, self.length_m, self.position_m = definition, length_m, position_m
        self.is_point = size < _POINT_M  # (time, bone)
        self.direction = step / np.where(self.is_point, np.nan, size)[..., None]
        self.is_there = ~np.isnan(size)
        self.is_doubted = np.zeros(size.shape, np.bool_) if is_doubted is None else is_doubted
        n_time, n_segments = len(position_m), len(definition.segments)
        self.R: dict[int, FloatArray] = {}
        self.children = [definition.parents.count(segment) for segment in range(n_segments)]
        self.no_parent = np.broadcast_to(np.eye(3), (n_time, 3, 3))
        self.status: ByteArray = np.full((n_time, n_segments), TwistStatus.ABSENT, np.uint8)
        self.straight = np.sin(np.radians(definition.preset.straight_deg))

    def add(self, segment: int) -> FloatArray:
        """World frames (time, 3, 3) of a segment whose parent was added; NaN where absent."""
        bone = segment - self.definition.n_bodies
        R = self._body(segment) if bone < 0 else self._bone(segment, bone)
        if self.children[segment]:
            self.R[segment] = R
        return R

    def relative(self, segment: int, R: FloatArray) -> FloatArray:
        """A segment's turns against its parent, about its own axes in the zero pose.

        The last child lets go of the parent.
        """
        up, basis = self.definition.parents[segment], self.definition.basis[segment]
        if up < 0:
            return np.asarray(basis.T @ R @ basis)
        self.children[up] -= 1
        parent = self.R[up] if self.children[up] else self.R.pop(up)
        found = np.empty_like(R)
        relative_rotations(parent, R, basis, found)
        return found

    def _body(self, body: int) -> FloatArray:
        own = self.definition.line_owner == body
        R, fixed, told = body_frames(
            self._lines(own),
            self.definition.line_rest_m(self.length_m)[own],
            self._parent_frames(body),
        )
        self._tell(body, ~np.isnan(R[:, 0, 0]), fixed, told)
        return R

    def _lines(self, which: BoolArray) -> FloatArray:
        """Lines (time, line, 3) of a body; NaN where one of their joints is absent."""
        shares = self.definition.line_joint[which]
        lines = np.empty((len(self.position_m), len(shares), 3))
        for i, share in enumerate(shares):
            joints = np.flatnonzero(share)
            lines[:, i] = np.einsum("j,tjc->tc", share[joints], self.position_m[:, joints])
        return lines

    def _bone(self, segment: int, bone: int) -> FloatArray:
        up = self._parent_frames(segment)
        there = self.is_there[:, bone] & ~self.is_point[:, bone]
        local = _apply(np.swapaxes(up, -1, -2), self.direction[:, bone])
        rest = self.definition.rest[bone]
        kind = self.definition.bone_row(bone).twist
        axis = np.empty(3)
        some_perpendicular(rest, axis)
        frame = np.full((len(local), 3, 3), np.nan)
        seen: BoolArray = np.zeros(len(local), np.bool_)
        if kind == "hinge" and self.definition.hinged[bone] >= 0:
            axis = axis_vector(str(self.definition.bone_row(bone).axis))
            frame, seen = self._by_hinge(bone, up, local, there, axis)
        elif kind == "children":
            frame, seen = self._by_children(bone, up, local, there)
        hinge = self.definition.hinge_of(bone)
        shared = self.status[:, self.definition.n_bodies + hinge]
        if seen.any():
            carry_frames(local, there, seen, rest, axis, frame)
        else:
            most = np.full(len(local), _MOST_RAD)
            if hinge >= 0:
                # in the plane of the hinge the smallest turn is about its axis
                axis = axis_vector(str(self.definition.bone_row(hinge).axis))
                most[shared == TwistStatus.MEASURED] = np.pi
            follow_parent(local, there, rest, axis, most, frame)
        # a bone of length zero turns with its parent
        point = self.is_there[:, bone] & self.is_point[:, bone]
        frame[point] = np.eye(3)
        self._tell(segment, there | point, seen & there, there & seen.any())
        if hinge >= 0:
            # the plane of a hinge fixes both of its bones
            self.status[there, segment] = np.where(
                shared[there] == TwistStatus.ABSENT, TwistStatus.TRANSPORTED, shared[there]
            )
        found = np.empty_like(frame)
        products(np.ascontiguousarray(up), frame, found)
        return found

    def _tell(self, segment: int, there: BoolArray, seen: BoolArray, told: BoolArray) -> None:
        status = np.where(told, TwistStatus.CARRIED, TwistStatus.TRANSPORTED)
        status = np.where(seen, TwistStatus.MEASURED, status)
        self.status[:, segment] = np.where(there, status, TwistStatus.ABSENT)

    def _parent_frames(self, segment: int) -> FloatArray:
        """The parent's frames (time, 3, 3), from the nearest frame where it has one."""
        up = self.definition.parents[segment]
        if up < 0:
            return self.no_parent
        R = self.R[up]
        known = np.flatnonzero(~np.isnan(R[:, 0, 0]))
        if known.size == 0:
            return self.no_parent
        if known.size == len(R):
            return R
        before = np.searchsorted(known, np.arange(len(R)), side="right") - 1
        return R[known[np.maximum(before, 0)]]

    def _by_hinge(
        self, bone: int, up: FloatArray, local: FloatArray, there: BoolArray, axis: FloatArray
    ) -> tuple[FloatArray, BoolArray]:
        """Frames with the hinge's axis across the plane of both bones, and where there is one."""
        bends = self.definition.hinged[bone]
        normal = np.cross(self.direction[:, bone], self.direction[:, bends])
        sine = np.nan_to_num(np.linalg.norm(normal, axis=-1))
        cosine = np.einsum("ti,ti->t", self.direction[:, bone], self.direction[:, bends])
        seen = there & (sine > self.straight) & ~self.is_doubted[:, bone]
        normal = _apply(np.swapaxes(up, -1, -2), normal / np.where(seen, sine, np.nan)[:, None])
        bend = np.arctan2(sine, cosine)
        rest = self.definition.rest[bone]
        # columns of both triads: (direction, axis, direction x axis)
        now = np.stack([local, normal, np.cross(local, normal)], axis=-1)
        zero = np.stack([rest, axis, np.cross(rest, axis)], axis=-1)
        twist, most = np.zeros(len(local)), 0.0
        if self.definition.bone_row(bone).side == "parent":
            twist, most = self._twist(bone, now @ zero.T)
        sign = np.zeros(len(local), np.int8)
        choose_sides(local, normal, bend, there, seen, twist, most, sign)
        now[..., 1:] *= sign[:, None, None]
        return now @ zero.T, seen

    def _twist(self, bone: int, frame: FloatArray) -> tuple[FloatArray, float]:
        """How far a limb is turned about itself from the middle of its range; the range's half."""
        segment = self.definition.n_bodies + bone
        basis = self.definition.basis[segment]
        turned = principal_euler(basis.T @ frame @ basis, self.definition.rows[segment].sequence)[
            :, 2
        ]
        if not self.definition.is_limited[segment, 2]:
            return turned, np.pi / 2
        low, high = self.definition.limit_rad[segment, 2]
        return turned - (low + high) / 2, min(np.pi / 2, (high - low) / 2)

    def _by_children(
        self, bone: int, up: FloatArray, local: FloatArray, there: BoolArray
    ) -> tuple[FloatArray, BoolArray]:
        """Frames in which the bones at the end lie best, and where they tell the twist."""
        below = list(self.definition.below[bone])
        rest = self.definition.rest[bone]
        weight = np.nan_to_num(self.length_m[below]) ** 2
        children = np.einsum("tji,tbj->tbi", up, np.nan_to_num(self.direction[:, below]))
        frame = np.full((len(local), 3, 3), np.nan)
        u = self.definition.rest[below]
        across = u - np.outer(u @ rest, rest)
        axis = np.empty(3)
        some_perpendicular(rest, axis)
        other = np.cross(rest, axis)
        # the smallest turn from rest to the direction, or any turn between opposite ones
        e = _swings(rest, local)
        x, y = _apply(e, axis), _apply(e, other)
        flat = np.einsum("tbi,tki->tbk", children, np.stack([x, y], axis=1))
        a, b = across @ axis, across @ other
        cosine = np.einsum("b,b,tb->t", weight, a, flat[..., 0]) + np.einsum(
            "b,b,tb->t", weight, b, flat[..., 1]
        )
        sine = np.einsum("b,b,tb->t", weight, a, flat[..., 1]) - np.einsum(
            "b,b,tb->t", weight, b, flat[..., 0]
        )
        seen = there & (np.hypot(cosine, sine) > self.straight**2 * weight.sum())
        twist = np.arctan2(sine, cosine)[:, None]
        m = np.cos(twist) * x + np.sin(twist) * y
        now = np.stack([local, m, np.cross(local, m)], axis=-1)
        frame[seen] = (now @ np.stack([rest, axis, other], axis=-1).T)[seen]
        return frame, seen


def _apply(R: FloatArray, vector: FloatArray) -> FloatArray:
    return np.asarray(np.einsum("tij,...j->ti" if vector.ndim == 1 else "tij,tj->ti", R, vector))


def _swings(start: FloatArray, end: FloatArray) -> FloatArray:
    """Smallest rotations (time, 3, 3) from one unit vector to others (time, 3)."""
    cross = np.cross(start, end)
    cosine = end @ start
    K = np.zeros((len(end), 3, 3))
    K[:, 0, 1], K[:, 0, 2], K[:, 1, 2] = -cross[:, 2], cross[:, 1], -cross[:, 0]
    K -= np.swapaxes(K, 1, 2)
    opposite = 1 + cosine < 1e-9
    R = np.eye(3) + K + K @ K / np.where(opposite, 1.0, 1 + cosine)[:, None, None]
    axis = np.empty(3)
    some_perpendicular(start, axis)
    R[opposite] = 2 * np.outer(axis, axis) - np.eye(3)
    return R


def _quaternions(R: FloatArray) -> FloatArray:
    wxyz = np.empty((len(R), 4))
    quaternions(R, wxyz)
    continue_quaternions(wxyz)
    return wxyz


def _lengths(position: FloatArray, skeleton: Skeleton, given: FloatArray | None) -> FloatArray:
    if given is None:
        given = skeleton.bone_length_m
    if given is not None:
        length = np.asarray(given, dtype=np.float64)
        if length.shape not in ((skeleton.n_bones,), (skeleton.n_links,)):
            raise SolveError(
                f"bone_length_m has shape {length.shape}, expected ({skeleton.n_bones},), one "
                "length per bone"
            )
        return frozen(length[: skeleton.n_bones])
    bones = np.array(skeleton.bones, dtype=np.int64).reshape(-1, 2)
    size = np.linalg.norm(position[:, bones[:, 1]] - position[:, bones[:, 0]], axis=-1)
    length = np.full(skeleton.n_bones, np.nan)
    seen = ~np.isnan(size).all(axis=0)
    length[seen] = np.nanmedian(size[:, seen], axis=0)
    return frozen(length)


def _anchors(
    position: FloatArray, skeleton: Skeleton, length_m: FloatArray
) -> tuple[tuple[int, ...], FloatArray]:
    """Joints that no bone places, and where they are in the frames where none does."""
    is_there = ~np.isnan(position[..., 0])
    starts = is_there.copy()
    for k, (parent, child) in enumerate(skeleton.bones):
        if not np.isnan(length_m[k]):
            starts[:, child] &= ~is_there[:, parent]
    roots = [i for i, parent in enumerate(skeleton.parents) if parent < 0]
    others = [i for i in np.flatnonzero(starts.any(axis=0)).tolist() if i not in roots]
    anchor = (*roots, *others)
    kept = np.where(starts[:, list(anchor), None], position[:, list(anchor)], np.nan)
    return anchor, kept
