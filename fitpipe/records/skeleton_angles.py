"""Joint angles of a fitted skeleton over time."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fitpipe.arrays import BoolArray, ByteArray, FloatArray, frozen
from fitpipe.records.checks import Faults
from fitpipe.records.skeleton import Skeleton

if TYPE_CHECKING:
    import pandas as pd

# the arrays along time
_PER_FRAME = (
    "anchor_position_m", "world_wxyz", "euler_rad", "is_gimbal", "twist_status", "limit_status",
)  # fmt: skip


@dataclass(frozen=True, eq=False)
class SkeletonAngles:
    """How every segment of a skeleton is turned, in every frame.

    Segments are body frames (pelvis, thorax), which several bones fix together, and then one for
    every bone, in the order of ``Skeleton.bones``, named by its child joint. In the zero pose all
    segments' frames are parallel to the world. Bones place the joints::

        x[child] = x[parent] + R_world[bone] @ (length[bone] * rest_direction[bone])

    Parameters
    ----------
    skeleton : Skeleton
    preset : str
        Name of the preset that defines the angles.
    segments : tuple of str
        Names, bodies first.
    segment_label : tuple of str
        Names for people: ``"left knee"``.
    segment_parent : tuple of int
        Segment that ``local_wxyz`` and ``euler_rad`` are relative to; -1 is the world.
    sequence : tuple of (str, str, str)
        Per segment the signed axes of the three turns, each about the axis as the turns before
        left it: ``("-x", "+z", "-y")``. Axes are those of ``basis``.
    angle_names : tuple of (str, str, str)
        Per segment what the turns are called.
    basis : ndarray, shape (segment, 3, 3)
        The axes of ``sequence`` in the zero pose, as columns. Identity but for segments whose
        axes lie along the bone.
    rest_direction : ndarray, shape (bone, 3)
        Unit vectors from parent to child in the zero pose.
    bone_length_m : ndarray, shape (bone,), metres
        NaN for a bone that binds nothing.
    anchor : tuple of int
        Joints placed by their own position: the roots first, then those that in some frame have
        one while their parent has none; every joint where the frames were made block by block.
    anchor_position_m : ndarray, shape (time, anchor, 3), metres
        NaN in frames in which the bone to the parent places the joint.
    world_wxyz : ndarray, shape (time, segment, 4)
        Unit quaternions, world from segment; NaN where absent. Signs run on over time.
    euler_rad : ndarray, shape (time, segment, 3), radians
        The turns of ``sequence`` that make up ``local_wxyz``, running on over time.
    is_gimbal : ndarray of bool, shape (time, segment)
        The middle turn is near a quarter turn, where the two others cannot be told apart well.
    twist_status : ndarray of uint8, shape (time, segment)
        TwistStatus: what tells how the segment is turned about its own axis.
    limit_rad : ndarray, shape (segment, 3, 2), radians
        Lowest and highest value of each turn; infinite where there is no limit.
    limit_status : ndarray of uint8, shape (time, segment)
        LimitStatus.
    local_before_wxyz : ndarray, shape (segment, 4), optional
        ``local_wxyz`` in the frames before these, whose signs run on; NaN where there is none.

    Raises
    ------
    RecordError
        Lists every array whose shape does not fit.
    """

    skeleton: Skeleton
    preset: str
    segments: tuple[str, ...]
    segment_label: tuple[str, ...]
    segment_parent: tuple[int, ...]
    sequence: tuple[tuple[str, str, str], ...]
    angle_names: tuple[tuple[str, str, str], ...]
    basis: FloatArray
    rest_direction: FloatArray
    bone_length_m: FloatArray
    anchor: tuple[int, ...]
    anchor_position_m: FloatArray
    world_wxyz: FloatArray
    euler_rad: FloatArray
    is_gimbal: BoolArray
    twist_status: ByteArray
    limit_rad: FloatArray
    limit_status: ByteArray
    local_before_wxyz: FloatArray | None = None

    def __post_init__(self) -> None:
        faults = Faults("skeleton angles")
        n_bones, n_segments = self.skeleton.n_bones, len(self.segments)
        n_time = len(self.world_wxyz)
        for name in ("segment_label", "segment_parent", "sequence", "angle_names"):
            n = len(getattr(self, name))
            faults.unless(n == n_segments, f"{name} has {n} entries, expected {n_segments}")
        shapes: dict[str, tuple[int, ...]] = {
            "basis": (n_segments, 3, 3),
            "rest_direction": (n_bones, 3),
            "bone_length_m": (n_bones,),
            "anchor_position_m": (n_time, len(self.anchor), 3),
            "world_wxyz": (n_time, n_segments, 4),
            "euler_rad": (n_time, n_segments, 3),
            "is_gimbal": (n_time, n_segments),
            "twist_status": (n_time, n_segments),
            "limit_rad": (n_segments, 3, 2),
            "limit_status": (n_time, n_segments),
        }
        types = {"is_gimbal": np.bool_, "twist_status": np.uint8, "limit_status": np.uint8}
        for name, shape in shapes.items():
            array = frozen(getattr(self, name), types.get(name, np.float64))
            faults.shape(name, array, shape)
            object.__setattr__(self, name, array)
        faults.raise_if_any()

    @property
    def n_frames(self) -> int:
        """Number of frames."""
        return len(self.world_wxyz)

    @property
    def per_frame(self) -> dict[str, NDArray[Any]]:
        """The arrays whose first axis is time, by name."""
        return {name: getattr(self, name) for name in _PER_FRAME}

    @property
    def n_bodies(self) -> int:
        """Number of body frames; bone k is segment ``n_bodies + k``."""
        return len(self.segments) - self.skeleton.n_bones

    @property
    def root_position_m(self) -> FloatArray:
        """Position of the (first) root, shape (time, 3), metres; NaN where absent."""
        return self.anchor_position_m[:, 0]

    @property
    def bone_world_wxyz(self) -> FloatArray:
        """The bones' part of ``world_wxyz``: (time, bone, 4)."""
        return self.world_wxyz[:, self.n_bodies :]

    @cached_property
    def local_wxyz(self) -> FloatArray:
        """Parent segment from segment, (time, segment, 4); NaN where either is absent."""
        # here, so that reading a fit, or finding that a run is done, does not wait for Numba
        from fitpipe.kernels.rotations import relative_quaternions
        from fitpipe.kernels.segment_turns import continue_quaternions

        local = np.array(self.world_wxyz)
        own = np.empty((self.n_frames, 4))
        for segment, up in enumerate(self.segment_parent):
            if up >= 0:
                relative_quaternions(self.world_wxyz[:, up], self.world_wxyz[:, segment], own)
            else:
                own[:] = self.world_wxyz[:, segment]
            continue_quaternions(own)
            if self.local_before_wxyz is not None:
                first = np.argmax(~np.isnan(own[:, 0]))
                own *= -1.0 if own[first] @ self.local_before_wxyz[segment] < 0 else 1.0
            local[:, segment] = own
        return frozen(local)

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """Name of every angle, segment by segment: ``"left_knee_flexion_deg"``."""
        return tuple(
            re.sub(r"\W+", "_", f"{label} {angle}".lower()) + "_deg"
            for label, angles in zip(self.segment_label, self.angle_names, strict=True)
            for angle in angles
        )

    def to_dataframe(self, time_s: FloatArray) -> pd.DataFrame:
        """One row per frame: frame, time_s, then every angle in degrees (see ``columns``).

        Parameters
        ----------
        time_s : ndarray, shape (time,), seconds
        """
        import pandas as pd

        degrees = np.degrees(self.euler_rad.reshape(self.n_frames, -1))
        table = pd.DataFrame(degrees, columns=pd.Index(self.columns))
        table.insert(0, "frame", np.arange(self.n_frames))
        table.insert(1, "time_s", time_s)
        return table

    def forward(self) -> FloatArray:
        """Joint positions (time, joint, 3), metres, from the bones' turns; NaN where absent."""
        position = np.full((self.n_frames, self.skeleton.n_joints, 3), np.nan)
        position[:, list(self.anchor)] = self.anchor_position_m
        offset = self.bone_length_m[:, None] * self.rest_direction
        bone_of = {child: k for k, (_, child) in enumerate(self.skeleton.bones)}
        for joint in self.skeleton.topological_order.tolist():
            if joint in bone_of:
                k = bone_of[joint]
                step = rotate(self.bone_world_wxyz[:, k], offset[k])
                placed = position[:, self.skeleton.parents[joint]] + step
                own = position[:, joint]
                position[:, joint] = np.where(np.isnan(own), placed, own)
        return position


def rotate(wxyz: FloatArray, vector: FloatArray) -> FloatArray:
    """Vectors (..., 3) turned by unit quaternions (..., 4)."""
    w, xyz = wxyz[..., :1], wxyz[..., 1:]
    t = 2 * np.cross(xyz, np.broadcast_to(vector, xyz.shape))
    return np.asarray(vector + w * t + np.cross(xyz, t))
