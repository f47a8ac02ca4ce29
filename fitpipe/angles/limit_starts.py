"""Frames beyond the joint limits as the kernels take them: variables, boxes, and the start."""

from __future__ import annotations

import numpy as np

from fitpipe.angles.definition import Definition
from fitpipe.angles.euler import turn
from fitpipe.angles.limits import judged, nearest_to_limits
from fitpipe.arrays import BoolArray, FloatArray, IntArray
from fitpipe.kernels import limited_pose as pose
from fitpipe.records import LimitStatus, SkeletonAngles, TwistStatus

_SIDE_RAD = np.radians(75)  # how far a limb may turn about itself from where the frames around say
_STRAIGHT_SHARE = 0.7  # of the bend up to which a limb is straight, for each of two angles
_FLAT = 1e-9  # sine of a bend below which there is no plane


class Starts:
    """What the frames to be fitted anew have in common, and each of them as a start.

    Parameters
    ----------
    definition : Definition
    body : limited_pose.Body
    angles : SkeletonAngles
        As measured.
    around : SkeletonAngles
        The same, with the twist of the limbs in question carried over from the frames around.
    position_m : ndarray, shape (time, joint, 3), metres
    frames : ndarray of int, shape (frame,)
        Which frames.
    is_held : bool
        Limbs that are straight stay so, limbs that exceed their limits become so, and bones that
        do not fix their body keep their places.
    """

    def __init__(
        self,
        definition: Definition,
        body: pose.Body,
        angles: SkeletonAngles,
        around: SkeletonAngles,
        position_m: FloatArray,
        frames: IntArray,
        *,
        is_held: bool,
    ) -> None:
        self.definition, self.body, self.angles = definition, body, angles
        self.position_m, self.is_held = position_m[frames], is_held
        self.anchor_m = angles.anchor_position_m[frames]
        self.wxyz = around.world_wxyz[frames]
        # a limb is bent where its plane was believed, or is doubted although it shows one
        self.status = angles.twist_status[frames]
        self.is_beyond = angles.limit_status[frames] == LimitStatus.BEYOND
        self.up = _parent_frames(around, frames)
        # a segment without its parent has a direction but no angles
        self.has_angles = ~np.isnan(around.euler_rad[frames, :, 0])
        counts = judged(self.status, definition)
        self.euler, _ = nearest_to_limits(
            np.nan_to_num(around.euler_rad[frames]), definition.limit_rad, counts
        )
        # lines that are there, and that are made of bones that are
        placed = ~np.isnan(self.position_m[..., 0])
        ends = np.array(definition.skeleton.bones, dtype=np.int64).reshape(-1, 2)
        is_bone = placed[:, ends[:, 0]] & placed[:, ends[:, 1]]
        is_seen = ~_any(definition.line_joint, ~placed)
        is_seen &= ~np.isnan(definition.line_rest_m(angles.bone_length_m)[:, 0])
        self.is_line = is_seen & ~_any(definition.line_bone, ~is_bone)
        # the frame of a body without a bone between its joints cannot follow them
        is_lost = is_seen & ~self.is_line
        self.is_whole = np.ones((len(frames), definition.n_bodies), np.bool_)
        for owner in range(definition.n_bodies):
            self.is_whole[:, owner] = ~is_lost[:, definition.line_owner == owner].any(axis=1)
        self.stiff = {definition.body_between(*pair) for pair in definition.skeleton.rigid_pairs}

    def of(
        self, i: int, target_m: FloatArray, stiffness: FloatArray
    ) -> tuple[pose.Frame, pose.State]:
        """Frame i of them and its start, in which no angle has been set back to its limits yet."""
        definition, body = self.definition, self.body
        n_segments = len(definition.segments)
        placed = ~np.isnan(self.position_m[i, :, 0])
        state: pose.State = pose.new_state(n_segments, len(body.anchor), len(placed))
        there = ~np.isnan(self.wxyz[i, :, 0])
        turns = _matrices(self.wxyz[i, there])
        state.local[there] = np.swapaxes(self.up[i, there], -1, -2) @ turns
        state.angle[:] = self.euler[i]
        state.anchor[:] = np.nan_to_num(self.anchor_m[i])
        low, high = np.full((n_segments, 3), -np.inf), np.full((n_segments, 3), np.inf)
        kind = np.full(n_segments, pose.ABSENT)
        for s in np.flatnonzero(there).tolist():
            kind[s] = self._kind(i, s)
            if kind[s] in (pose.EULER, pose.EULER_TWO, pose.HINGE, pose.SWING_EULER):
                low[s], high[s] = np.moveaxis(definition.limit_rad[s], -1, 0)
            if self.is_held and self._is_to_be_straight(i, s):
                self._keep_straight(1 if kind[s] == pose.HINGE else 2, low[s], high[s])
        for bone in range(definition.skeleton.n_bones):
            if kind[definition.n_bodies + bone] in (pose.EULER, pose.TWIST):
                self._bend(bone, state, kind, low, high)
        frame = pose.Frame(
            kind=kind,
            up=self.up[i],
            is_placed=placed,
            is_anchored=~np.isnan(self.anchor_m[i, :, 0]),
            target=np.where((stiffness > 0)[:, None], target_m, 0.0),
            stiffness=np.where(placed, stiffness, 0.0),
            is_line=self.is_line[i],
            low=low,
            high=high,
        )
        return frame, state

    def _kind(self, i: int, s: int) -> int:
        """What the variables of a segment are."""
        definition = self.definition
        limited = bool(definition.is_limited[s].any() and self.has_angles[i, s])
        bone = s - definition.n_bodies
        owner = s if bone < 0 else definition.body_of(bone)
        is_seen = self.status[i, s if owner < 0 else owner] == TwistStatus.MEASURED
        if owner >= 0:
            is_seen = is_seen and bool(self.is_whole[i, owner])
        if owner >= 0 and not is_seen and self.is_held:
            return pose.FIXED
        if bone < 0:
            return pose.EULER if limited else pose.BALL
        if owner >= 0:
            if owner in self.stiff:
                return pose.FIXED
            return pose.MEMBER if is_seen else pose.SWING
        if definition.hinged[bone] >= 0:
            if is_seen:
                return pose.EULER if limited else pose.TWIST
            return pose.EULER_TWO if limited else pose.SLIDE
        if definition.hinge_of(bone) >= 0:
            if is_seen:
                return pose.HINGE
            if self.is_held and not limited:
                return pose.FIXED
        if definition.bone_row(bone).twist == "children":
            return pose.BALL
        return pose.SWING_EULER if limited else pose.SWING

    def _is_to_be_straight(self, i: int, s: int) -> bool:
        """Whether a segment bends about a hinge and is straight, or beyond a limit."""
        hinge = self.definition.hinge_of(max(0, s - self.definition.n_bodies))
        if s < self.definition.n_bodies or hinge < 0:
            return False
        is_straight = self.status[i, s] != TwistStatus.MEASURED
        upper = hinge + self.definition.n_bodies
        return bool(is_straight or self.is_beyond[i, [s, upper]].any())

    def _keep_straight(self, n_turns: int, low: FloatArray, high: FloatArray) -> None:
        """Narrow the box (3,) of a segment to a straight limb, where its limits allow that."""
        bend = _STRAIGHT_SHARE * np.radians(self.definition.preset.straight_deg)
        for i in range(n_turns):
            if low[i] <= bend and high[i] >= -bend:
                low[i], high[i] = max(low[i], -bend), min(high[i], bend)

    def _bend(
        self, bone: int, state: pose.State, kind: IntArray, low: FloatArray, high: FloatArray
    ) -> None:
        """Turn a bent limb about itself until its hinge lies across its plane.

        From the carried twist by at most a quarter turn; and it may leave that by little more.
        """
        definition, body = self.definition, self.body
        s, t = definition.n_bodies + bone, definition.n_bodies + definition.hinged[bone]
        if definition.hinged[bone] < 0 or kind[t] != pose.HINGE:
            return
        axis = body.axes[t, 0]
        carried = state.local[s] @ axis
        direction = state.local[s] @ body.rest[s]
        bends = state.local[s] @ state.local[t] @ body.rest[t]
        normal = np.cross(direction, bends)
        size = np.linalg.norm(normal)
        if size > _FLAT:
            normal *= (1.0 if normal @ carried >= 0 else -1.0) / size
            side = float(np.arctan2(direction @ np.cross(carried, normal), carried @ normal))
            state.local[s] = turn(direction, np.asarray(side)) @ state.local[s]
        else:
            side = 0.0
        along = state.local[s].T @ bends
        flexion = np.arctan2(axis @ np.cross(body.rest[t], along), body.rest[t] @ along)
        state.angle[t] = [flexion, 0.0, 0.0]
        state.local[t] = turn(axis, flexion)
        if kind[s] == pose.TWIST:
            state.angle[s, 2] = side
            low[s, 2], high[s, 2] = -_SIDE_RAD, _SIDE_RAD
            return
        sense = 1.0 if body.axes[s, 2] @ body.rest[s] > 0 else -1.0
        carried_angle = state.angle[s, 2]
        state.angle[s, 2] += sense * side
        middle = np.clip(carried_angle, low[s, 2], high[s, 2])
        low[s, 2] = max(low[s, 2], middle - _SIDE_RAD)
        high[s, 2] = min(high[s, 2], middle + _SIDE_RAD)


def _any(shares: FloatArray, is_gone: BoolArray) -> BoolArray:
    """Whether anything with a share (line, part) is gone (frame, part): (frame, line)."""
    return np.asarray((is_gone.astype(float) @ np.abs(shares).T) > 0)


def _parent_frames(angles: SkeletonAngles, frames: IntArray) -> FloatArray:
    """World frames of the segments' parents, (frame, segment, 3, 3).

    Where a parent is absent, its frame in the nearest frame before (or the first) that has it.
    """
    ups = np.tile(np.eye(3), (len(frames), len(angles.segments), 1, 1))
    for s, up in enumerate(angles.segment_parent):
        if up < 0:
            continue
        known = np.flatnonzero(~np.isnan(angles.world_wxyz[:, up, 0]))
        if known.size:
            at = known[np.maximum(np.searchsorted(known, frames, side="right") - 1, 0)]
            ups[:, s] = _matrices(angles.world_wxyz[at, up])
    return ups


def _matrices(wxyz: FloatArray) -> FloatArray:
    """Rotations (..., 3, 3) of unit quaternions (..., 4)."""
    from scipy.spatial.transform import Rotation  # slow to import, and few need it

    return np.asarray(Rotation.from_quat(wxyz, scalar_first=True).as_matrix())
