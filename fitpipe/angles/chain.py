"""Chains and trees of joints, and where a set of joint values puts them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from fitpipe.angles._arrays import Parts, build, check, named
from fitpipe.angles.joint import BASE, Effector, Joint
from fitpipe.arrays import FloatArray, frozen
from fitpipe.errors import SolveError, suggest
from fitpipe.kernels.ik_links import forward_many
from fitpipe.records import Skeleton
from fitpipe.records.checks import Faults


class Placed(NamedTuple):
    """Where `Chain.forward` puts everything; leading axes are those of ``q``."""

    tip_m: FloatArray
    """(..., effector, 3)"""
    joint_m: FloatArray
    """(..., joint, 3) centres of all joints, fixed ones too"""
    rotation: FloatArray
    """(..., joint, 3, 3) world from joint"""


@dataclass(frozen=True, eq=False)
class Chain:
    """Joints that carry each other, and the effectors that are to reach something.

    The joint values ``q`` (radians for hinges, metres for slides) follow the list of joints, three
    for each ball. ``dof_names`` names them.

    Parameters
    ----------
    joints : sequence of Joint
        Every joint after the one that carries it.
    effectors : sequence of Effector, optional
        By default the centre of every joint that carries no other.
    base_m : (3,), metres
    base_rotation : (3, 3)
        World from base.
    is_planar : bool
        The chain moves in the x-y plane of its base: Jacobians keep the rows x and y, and z for
        orientation; targets may have two coordinates.

    Raises
    ------
    RecordError
        Lists every fault at once.
    """

    joints: Sequence[Joint]
    effectors: Sequence[Effector] = ()
    base_m: npt.ArrayLike = (0.0, 0.0, 0.0)
    base_rotation: npt.ArrayLike = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))
    is_planar: bool = False

    def __post_init__(self) -> None:
        joints = tuple(self.joints)
        effectors = tuple(self.effectors)
        names, parents = named(joints)
        if not effectors:
            effectors = tuple(Effector(name) for name in names if name not in parents)
        check(joints, effectors)
        base, rotation = frozen(self.base_m), frozen(self.base_rotation)
        faults = Faults("chain")
        if faults.shape("base_m", base, (3,)):
            faults.finite("base_m", base)
        if faults.shape("base_rotation", rotation, (3, 3)):
            proper = np.allclose(rotation @ rotation.T, np.eye(3), atol=1e-9)
            faults.unless(
                proper and np.linalg.det(rotation) > 0, "base_rotation is not a rotation matrix"
            )
        faults.raise_if_any()
        for name, value in (
            ("joints", joints),
            ("effectors", effectors),
            ("base_m", base),
            ("base_rotation", rotation),
        ):
            object.__setattr__(self, name, value)

    @cached_property
    def parts(self) -> Parts:
        """The arrays behind the chain, as the kernels read them."""
        return build(
            self.joints, self.effectors, np.array(self.base_m), np.array(self.base_rotation)
        )

    @classmethod
    def planar(
        cls,
        lengths_m: Sequence[float],
        *,
        limits_rad: Sequence[tuple[float, float]] | None = None,
    ) -> Chain:
        """Arm in the x-y plane: one hinge about z at the start of each bone, straight along x.

        Parameters
        ----------
        lengths_m : sequence of float, metres
        limits_rad : sequence of (lower, upper), optional
            One pair for each hinge.

        Raises
        ------
        RecordError
            No bone, a length that is not positive, or another number of limits.
        """
        faults = Faults("planar chain")
        lengths = [float(length) for length in lengths_m]
        faults.unless(len(lengths) > 0, "lengths_m is empty, expected one or more")
        bad = [f"{length:g}" for length in lengths if not 0 < length < np.inf]
        faults.unless(not bad, f"lengths_m holds {', '.join(bad)}, expected > 0")
        limits = [(None, None)] * len(lengths) if limits_rad is None else list(limits_rad)
        faults.unless(
            len(limits) == len(lengths),
            f"limits_rad has {len(limits)} pairs, expected one per bone ({len(lengths)})",
        )
        faults.raise_if_any()
        joints = [
            Joint(f"joint{i + 1}", offset_m=(before, 0, 0), lower=low, upper=high)
            for i, (before, (low, high)) in enumerate(
                zip([0.0, *lengths[:-1]], limits, strict=True)
            )
        ]
        return cls(joints, [Effector(joints[-1].name, (lengths[-1], 0, 0), "hand")], is_planar=True)

    @classmethod
    def from_points(cls, points_m: npt.ArrayLike) -> Chain:
        """Ball joints at all points but the last, which is the effector; bones in between.

        Parameters
        ----------
        points_m : (point, 3), metres
            Two or more; the first is the base. The given pose has all joint values zero.

        Raises
        ------
        RecordError
        """
        points = np.asarray(points_m, dtype=float)
        faults = Faults("chain from points")
        if faults.shape("points_m", points, (None, 3)):
            faults.finite("points_m", points)
            faults.unless(
                len(points) > 1, f"points_m has {len(points)} points, expected two or more"
            )
        faults.raise_if_any()
        bones = np.diff(points, axis=0)
        joints = [
            Joint(f"joint{i + 1}", kind="ball", offset_m=tuple(offset))
            for i, offset in enumerate([np.zeros(3), *bones[:-1]])
        ]
        return cls(joints, [Effector(joints[-1].name, tuple(bones[-1]))], base_m=points[0])

    @classmethod
    def from_skeleton(
        cls,
        skeleton: Skeleton,
        effectors: Sequence[str],
        *,
        hinges: Mapping[str, Sequence[float]] | None = None,
        free_root: bool = True,
    ) -> Chain:
        """Ball joint at every joint of a skeleton that carries another; the others are fixed.

        Parameters
        ----------
        skeleton : Skeleton
            With bone lengths; its rest directions are the pose with all joint values zero.
        effectors : sequence of str
            Joints that are to reach a target.
        hinges : mapping of joint name to axis (3,), optional
            Joints that turn about one axis only.
        free_root : bool
            Roots may move (three slides before their ball).

        Raises
        ------
        SolveError
            The skeleton has no lengths, or a name is not one of its joints.
        """
        hinges = dict(hinges or {})
        unknown = [name for name in (*effectors, *hinges) if name not in skeleton.joints]
        if unknown:
            raise SolveError(
                f"skeleton {skeleton.name!r} has no joint {unknown[0]!r}",
                hint=suggest(unknown[0], skeleton.joints),
            )
        if skeleton.bone_length_m is None or np.any(np.isnan(skeleton.bone_length_m)):
            raise SolveError(
                f"skeleton {skeleton.name!r} lacks bone lengths, which a chain is made of",
                hint="use the skeleton of a fit, or give bone_length_m",
            )
        length = {child: skeleton.bone_length_m[k] for k, (_, child) in enumerate(skeleton.bones)}
        joints: list[Joint] = []
        todo = [i for i, parent in enumerate(skeleton.parents) if parent < 0]
        while todo:
            i = todo.pop(0)
            name, up = skeleton.joints[i], skeleton.parents[i]
            children = [j for j, parent in enumerate(skeleton.parents) if parent == i]
            todo += children
            offset = tuple(skeleton.rest_direction[i] * length[i]) if up >= 0 else (0.0, 0.0, 0.0)
            carrier = skeleton.joints[up] if up >= 0 else BASE
            if up < 0 and free_root:
                for axis, unit in zip("xyz", np.eye(3), strict=True):
                    slide = f"{name}.slide_{axis}"
                    joints.append(Joint(slide, carrier, "prismatic", axis=tuple(unit)))
                    carrier = slide
            if name in hinges:
                joints.append(Joint(name, carrier, "revolute", hinges[name], offset))
            else:
                joints.append(
                    Joint(name, carrier, "ball" if children else "fixed", offset_m=offset)
                )
        return cls(joints, [Effector(name) for name in effectors])

    @property
    def dof(self) -> int:
        """Number of joint values."""
        return len(self.parts.dof_names)

    @property
    def dof_names(self) -> tuple[str, ...]:
        """Name of each joint value: the joint's, with ``.x``, ``.y``, ``.z`` for a ball."""
        return self.parts.dof_names

    @property
    def lower(self) -> FloatArray:
        """Lower limits (dof,); -inf where there is none."""
        return frozen(self.parts.links.lower)

    @property
    def upper(self) -> FloatArray:
        """Upper limits (dof,); inf where there is none."""
        return frozen(self.parts.links.upper)

    @property
    def reach_m(self) -> float:
        """Longest way from the base to an effector along the bones."""
        return float(self.parts.links.reach)

    @cached_property
    def neutral(self) -> FloatArray:
        """The joint values (dof,) within the limits that are nearest to zero."""
        return frozen(np.clip(np.zeros(self.dof), self.lower, self.upper))

    def check_q(self, q: npt.ArrayLike, name: str = "q") -> FloatArray:
        """Joint values as an array (..., dof).

        Raises
        ------
        SolveError
            Another number of values, or values that are not finite.
        """
        array = np.asarray(q, dtype=float)
        if array.ndim == 0 or array.shape[-1] != self.dof:
            raise SolveError(
                f"{name} has shape {array.shape}, expected (..., {self.dof})",
                hint=f"the joint values are: {', '.join(self.dof_names)}",
            )
        if not np.all(np.isfinite(array)):
            raise SolveError(f"{name} has values that are not finite")
        return array

    def forward(self, q: npt.ArrayLike) -> Placed:
        """Where the joint values put effectors and joints.

        Parameters
        ----------
        q : (..., dof), radians or metres
            One pose or any number of them; limits are not looked at.

        Returns
        -------
        Placed
            ``tip_m`` (..., effector, 3), ``joint_m`` (..., joint, 3), ``rotation``
            (..., joint, 3, 3).

        Raises
        ------
        SolveError
            See `check_q`.
        """
        q = self.check_q(q)
        lead = q.shape[:-1]
        R, centre, _, tip = self.link_poses(q.reshape(-1, self.dof))
        rotation = np.empty((len(R), len(self.joints), 3, 3))
        joint = np.empty((len(R), len(self.joints), 3))
        for k, (link, offset) in enumerate(
            zip(self.parts.joint_link, self.parts.joint_offset_m, strict=True)
        ):
            rotation[:, k] = R[:, link] if link >= 0 else self.base_rotation
            joint[:, k] = (centre[:, link] if link >= 0 else self.base_m) + rotation[:, k] @ offset
        return Placed(
            tip.reshape(*lead, *tip.shape[1:]),
            joint.reshape(*lead, *joint.shape[1:]),
            rotation.reshape(*lead, *rotation.shape[1:]),
        )

    def link_poses(self, q: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """Frames (pose, dof, 3, 3), centres and axes (pose, dof, 3), tips (pose, effector, 3)."""
        q = np.ascontiguousarray(q)
        n = len(q)
        R = np.empty((n, self.dof, 3, 3))
        centre, axis = np.empty((n, self.dof, 3)), np.empty((n, self.dof, 3))
        tip = np.empty((n, len(self.effectors), 3))
        forward_many(self.parts.links, q, R, centre, axis, tip)
        return R, centre, axis, tip
