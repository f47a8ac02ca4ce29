"""A skeleton: joints joined by bones of constant length."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

import numpy as np

from fitpipe.arrays import FloatArray, IntArray, frozen
from fitpipe.config.skeleton_preset import load_skeleton_preset
from fitpipe.errors import RecordError, suggest
from fitpipe.records.checks import Faults

_DOWN = frozen((0.0, -1.0, 0.0))


@dataclass(frozen=True, eq=False)
class Skeleton:
    """Joints, the bones between them, and what else is known of them.

    Bones are ordered by their child joint: ``bones[k]`` is (parent, child) as joint indices.
    ``links`` are all pairs of joints that keep their distance: the bones, then the rigid pairs.

    Parameters
    ----------
    name : str
    joints : tuple of str
        Unique names.
    parents : tuple of int
        Index of each joint's parent, -1 for a root. Parents may come in any order; several
        roots make a forest (two people in one take).
    bone_length_m : ndarray, shape (link,), metres, optional
        Of the bones, then of the rigid pairs. None until it is measured or given; NaN for a single
        one that is not known.
    rest_direction : ndarray, shape (joint, 3) or (3,)
        Unit vector from the parent to the joint in a standing person (+Y up, facing +Z, the
        person's left at +X); where nothing else tells a bone's direction the fit starts here.
    mirror : tuple of (int, int)
        Joints that are left and right of each other.
    rigid_pairs : tuple of (int, int)
        Joints that keep their distance although no bone joins them (hip width).

    Raises
    ------
    RecordError
        Lists every fault at once.
    """

    name: str
    joints: tuple[str, ...]
    parents: tuple[int, ...]
    bone_length_m: FloatArray | None = None
    rest_direction: FloatArray = field(default_factory=lambda: _DOWN)
    mirror: tuple[tuple[int, int], ...] = ()
    rigid_pairs: tuple[tuple[int, int], ...] = ()

    def __post_init__(self) -> None:
        faults = Faults(f"skeleton {self.name!r}")
        joints = tuple(str(joint) for joint in self.joints)
        parents = tuple(int(parent) for parent in self.parents)
        n = len(joints)
        faults.unless(n > 0, "joints is empty, expected one or more names")
        faults.unique("joints", joints)
        if faults.unless(
            len(parents) == n, f"parents has {len(parents)} entries, expected one per joint ({n})"
        ):
            outside = [p for p in parents if not -1 <= p < n]
            if faults.unless(
                not outside, f"parents {outside} are not -1 or a joint index below {n}"
            ):
                loop = _joint_in_loop(parents)
                faults.unless(
                    loop is None,
                    f"parents go round in a circle at {joints[loop or 0]!r}; "
                    "give the closing bone as a rigid pair",
                )
        rest = frozen(self.rest_direction)
        rest = np.broadcast_to(rest, (n, 3)) if rest.shape == (3,) else rest
        if faults.shape("rest_direction", rest, (n, 3)) and faults.finite("rest_direction", rest):
            norm = np.linalg.norm(rest, axis=1)
            if faults.unless(
                bool(np.all(norm > 1e-9)), "rest_direction has a vector of length zero"
            ):
                # unit vectors stay as they are, so that a skeleton read back is the same one
                is_unit = np.abs(norm - 1) < 1e-12
                rest = frozen(rest / np.where(is_unit, 1.0, norm)[:, None])
        for what in ("mirror", "rigid_pairs"):
            pairs = tuple((int(i), int(j)) for i, j in getattr(self, what))
            bad = [
                pair for pair in pairs if pair[0] == pair[1] or not all(0 <= i < n for i in pair)
            ]
            faults.unless(not bad, f"{what} {bad} are not two different joint indices")
            object.__setattr__(self, what, pairs)
        length = None
        if self.bone_length_m is not None:
            length = frozen(self.bone_length_m)
            n_links = sum(parent >= 0 for parent in parents) + len(self.rigid_pairs)
            if faults.shape("bone_length_m", length, (n_links,)):
                bad_length = [f"{v:g}" for v in length if not (np.isnan(v) or 0 <= v < np.inf)]
                faults.unless(
                    not bad_length, f"bone_length_m holds {', '.join(bad_length)}, expected >= 0"
                )
        faults.raise_if_any()
        for name, value in (
            ("joints", joints),
            ("parents", parents),
            ("rest_direction", rest),
            ("bone_length_m", length),
        ):
            object.__setattr__(self, name, value)

    @classmethod
    def preset(cls, name: str | Path) -> Skeleton:
        """Skeleton from a preset's name (``"kinect20"``) or the path of a TOML file.

        Raises
        ------
        ConfigError
            No such preset, or the file does not describe a skeleton.
        RecordError
            Its joints do not make a skeleton.
        """
        preset = load_skeleton_preset(name)
        joints = [row.name for row in preset.joint]
        index = {joint: i for i, joint in enumerate(joints)}

        def at(joint: str) -> int:
            if joint not in index:
                raise RecordError(
                    f"skeleton {preset.name!r}: no joint {joint!r}", hint=suggest(joint, joints)
                )
            return index[joint]

        return cls(
            name=preset.name,
            joints=tuple(joints),
            parents=tuple(-1 if row.parent is None else at(row.parent) for row in preset.joint),
            rest_direction=np.array([row.rest for row in preset.joint]),
            mirror=tuple((at(a), at(b)) for a, b in preset.mirror),
            rigid_pairs=tuple((at(a), at(b)) for a, b in preset.rigid_pairs),
        )

    @property
    def n_joints(self) -> int:
        """Number of joints."""
        return len(self.joints)

    @cached_property
    def bones(self) -> tuple[tuple[int, int], ...]:
        """(parent, child) of every bone, ordered by child."""
        return tuple((p, child) for child, p in enumerate(self.parents) if p >= 0)

    @property
    def n_bones(self) -> int:
        """Number of bones."""
        return len(self.bones)

    @cached_property
    def links(self) -> tuple[tuple[int, int], ...]:
        """Pairs of joints that keep their distance: the bones, then the rigid pairs."""
        return self.bones + self.rigid_pairs

    @property
    def n_links(self) -> int:
        """Number of bones and rigid pairs."""
        return len(self.links)

    @cached_property
    def bone_names(self) -> tuple[str, ...]:
        """Names of the links: ``"HipLeft-KneeLeft"`` a bone, ``"HipLeft~HipRight"`` a pair."""
        signs = "-" * self.n_bones + "~" * len(self.rigid_pairs)
        return tuple(
            f"{self.joints[a]}{sign}{self.joints[b]}"
            for sign, (a, b) in zip(signs, self.links, strict=True)
        )

    @cached_property
    def mirrored_bones(self) -> tuple[tuple[int, int], ...]:
        """Pairs of link indices that are left and right of each other."""
        other = {i: i for i in range(self.n_joints)}
        for i, j in self.mirror:
            other[i], other[j] = j, i
        at = {frozenset(link): k for k, link in enumerate(self.links)}
        pairs = (
            (k, at.get(frozenset((other[a], other[b])), k)) for k, (a, b) in enumerate(self.links)
        )
        return tuple((k, m) for k, m in pairs if m > k)

    @cached_property
    def topological_order(self) -> IntArray:
        """Joint indices with every parent before its children."""
        depth = np.zeros(self.n_joints, dtype=np.int64)
        for joint in range(self.n_joints):
            up = joint
            while self.parents[up] >= 0:
                up = self.parents[up]
                depth[joint] += 1
        return np.argsort(depth, kind="stable")

    def joint_index(self, joint: str) -> int:
        """Index of a joint; RecordError with the nearest name if there is none."""
        if joint not in self.joints:
            raise RecordError(
                f"skeleton {self.name!r} has no joint {joint!r}", hint=suggest(joint, self.joints)
            )
        return self.joints.index(joint)

    def with_lengths(self, bone_length_m: FloatArray) -> Skeleton:
        """The same skeleton with lengths in metres, shape (link,)."""
        return replace(self, bone_length_m=bone_length_m)

    def __repr__(self) -> str:
        pairs = f", {len(self.rigid_pairs)} rigid pairs" if self.rigid_pairs else ""
        return f"<Skeleton {self.name!r}: {self.n_joints} joints, {self.n_bones} bones{pairs}>"


def _joint_in_loop(parents: tuple[int, ...]) -> int | None:
    """A joint from which following the parents never ends, or None."""
    for start in range(len(parents)):
        joint = start
        for _ in parents:
            joint = parents[joint]
            if joint < 0:
                break
        else:
            return start
    return None
