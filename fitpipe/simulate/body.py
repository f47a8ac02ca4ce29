"""An adult's proportions on the kinect20 skeleton, and its forward kinematics."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
from scipy.interpolate import CubicSpline
from scipy.spatial.transform import Rotation

from fitpipe.arrays import FloatArray, frozen
from fitpipe.records import Skeleton
from fitpipe.records.checks import Faults

STATURE_M: Final = 1.75

# Joint minus its parent, metres, in a person of 1.75 m who stands with hanging arms. Segment
# lengths follow Drillis and Contini as given by Winter (2009, fig. 4.1); the Kinect's own joints
# (HipCenter, Spine, HandLeft, FootLeft) are put where that sensor reports them.
_STANDING_M: Final[dict[str, tuple[float, float, float]]] = {
    "HipCenter": (0.0, 0.978, 0.0),  # above the floor
    "Spine": (0.0, 0.08, -0.01),
    "ShoulderCenter": (0.0, 0.39, -0.02),
    "Head": (0.0, 0.20, 0.04),
    "Shoulder": (0.17, -0.06, 0.0),
    "Elbow": (0.0, -0.31, 0.0),
    "Wrist": (0.0, -0.255, 0.0),
    "Hand": (0.0, -0.08, 0.0),
    "Hip": (0.085, -0.05, 0.0),
    "Knee": (0.0, -0.43, 0.0),
    "Ankle": (0.0, -0.43, 0.0),
    "Foot": (0.02, -0.045, 0.13),
}


@dataclass(frozen=True, eq=False)
class Motion:
    """A rigid skeleton in motion: the truth that simulated sensors observe.

    Parameters
    ----------
    position_m : ndarray, shape (time, joint, 3), metres
        World frame: right-handed, +Y up, floor at y = 0.
    time_s : ndarray, shape (time,), seconds
        Strictly increasing.
    skeleton : Skeleton
        Its bone lengths are those of every frame.

    Raises
    ------
    RecordError
        Lists every fault of the arrays at once.
    """

    position_m: FloatArray
    time_s: FloatArray
    skeleton: Skeleton

    def __post_init__(self) -> None:
        faults = Faults("motion")
        position, time_s = frozen(self.position_m), frozen(self.time_s)
        if faults.shape("time_s", time_s, (None,)) and faults.finite("time_s", time_s):
            faults.unless(len(time_s) > 0, "time_s is empty, expected one or more frames")
            faults.unless(bool(np.all(np.diff(time_s) > 0)), "time_s does not increase")
        shape = (len(time_s), self.skeleton.n_joints, 3)
        if faults.shape("position_m", position, shape):
            faults.finite("position_m", position)
        faults.raise_if_any()
        object.__setattr__(self, "position_m", position)
        object.__setattr__(self, "time_s", time_s)

    def at(self, time_s: FloatArray) -> Motion:
        """The same motion at other instants, between the first frame and the last.

        Bones turn along cubic splines through the frames and keep their lengths.

        Raises
        ------
        RecordError
            An instant lies outside the motion.
        """
        faults = Faults("motion")
        first, last = float(self.time_s[0]), float(self.time_s[-1])
        outside = (time_s < first - 1e-9) | (time_s > last + 1e-9)
        faults.unless(
            not bool(np.any(outside)),
            f"{int(np.count_nonzero(outside))} instants lie outside its {first:g} to {last:g} s",
        )
        faults.raise_if_any()
        if len(self.time_s) == 1:
            return Motion(np.repeat(self.position_m, len(time_s), axis=0), time_s, self.skeleton)
        step_m = self.position_m.copy()
        parents = np.array(self.skeleton.parents)
        child = np.flatnonzero(parents >= 0)
        step_m[:, child] -= self.position_m[:, parents[child]]
        position = CubicSpline(self.time_s, step_m)(time_s)
        length_m = np.linalg.norm(step_m[0], axis=-1)
        for joint_i in self.skeleton.topological_order.tolist():
            parent = parents[joint_i]
            if parent >= 0:
                step = position[:, joint_i]
                turned = step / np.maximum(np.linalg.norm(step, axis=-1, keepdims=True), 1e-12)
                position[:, joint_i] = position[:, parent] + length_m[joint_i] * turned
        return Motion(position, time_s, self.skeleton)


def side_of(joint: str) -> tuple[str, int]:
    """Name without its side, and +1 for left, -1 for right, 0 for neither."""
    for side, sign in (("Left", 1), ("Right", -1)):
        if joint.endswith(side):
            return joint.removesuffix(side), sign
    return joint, 0


def standing_offsets(skeleton: Skeleton, stature_m: float) -> FloatArray:
    """Joint minus parent (the root: minus the floor below it) of a standing person.

    Shape (joint, 3), metres: +Y up, facing +Z, the person's left at +X.
    """
    offsets = np.empty((skeleton.n_joints, 3))
    for joint_i, joint in enumerate(skeleton.joints):
        name, sign = side_of(joint)
        x, y, z = _STANDING_M[name]
        offsets[joint_i] = (x * sign, y, z)
    return offsets * (stature_m / STATURE_M)


def pose(
    skeleton: Skeleton,
    offset_m: FloatArray,
    *,
    root_m: FloatArray,
    turn: Mapping[str, Rotation],
) -> FloatArray:
    """Joint positions from how each bone is turned against its parent bone.

    Parameters
    ----------
    skeleton : Skeleton
    offset_m : ndarray, shape (joint, 3), metres
        Joint minus parent, all bones unturned.
    root_m : ndarray, shape (time, 3), metres
    turn : mapping of joint to Rotation (time)
        The turn of the bone that ENDS at the joint, in the frame of its parent bone; that of the
        root turns the whole person. Bones left out keep to their parent bone.

    Returns
    -------
    position_m : ndarray, shape (time, joint, 3), metres
    """
    n_frames = len(root_m)
    still = Rotation.from_rotvec(np.zeros((n_frames, 3)))
    position = np.empty((n_frames, skeleton.n_joints, 3))
    bone: dict[int, Rotation] = {}
    for joint_i in skeleton.topological_order.tolist():
        own = turn.get(skeleton.joints[joint_i], still)
        parent = skeleton.parents[joint_i]
        if parent < 0:
            bone[joint_i] = own
            position[:, joint_i] = root_m
        else:
            bone[joint_i] = bone[parent] * own
            position[:, joint_i] = position[:, parent] + bone[joint_i].apply(offset_m[joint_i])
    return position
