"""Joints and effectors turned into the arrays that the kernels read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from fitpipe.angles.joint import BASE, DOF, Effector, Joint
from fitpipe.arrays import BoolArray, FloatArray
from fitpipe.kernels.ik_fabrik import Points
from fitpipe.kernels.ik_links import Links
from fitpipe.records.checks import Faults

# How much less a joint heeds each further bone when it reaches forward. The bones further on
# alone decide a twist about the next one, and steer hinges that cannot follow that one.
FURTHER = 0.2


class Parts(NamedTuple):
    """What `Chain` keeps of its joints and effectors."""

    links: Links
    points: Points
    dof_names: tuple[str, ...]
    joint_dof: tuple[tuple[int, ...], ...]  # per joint, its places in q
    joint_link: tuple[int, ...]  # per joint, the link whose frame is the joint's; -1 the base
    joint_offset_m: FloatArray  # (joint, 3) the joint's centre in that link's frame


def named(joints: Sequence[Joint]) -> tuple[list[str], list[str]]:
    """Names of all joints and of their parents, with the defaults filled in."""
    names = [joint.name or f"joint{i + 1}" for i, joint in enumerate(joints)]
    parents = [joint.parent or (names[i - 1] if i else BASE) for i, joint in enumerate(joints)]
    return names, parents


def check(joints: Sequence[Joint], effectors: Sequence[Effector]) -> None:
    """Raise one RecordError that lists everything wrong with the joints and effectors."""
    faults = Faults("chain")
    faults.unless(len(joints) > 0, "joints is empty, expected one or more")
    faults.unless(len(effectors) > 0, "effectors is empty, expected one or more")
    names, parents = named(joints)
    faults.unique("joints", [*names, BASE])
    for i, (joint, name, parent) in enumerate(zip(joints, names, parents, strict=True)):
        faults.unless(
            parent == BASE or parent in names[:i],
            f"joint {name!r} has parent {parent!r}, expected 'base' or a joint before it",
        )
        if not faults.unless(
            joint.kind in DOF, f"joint {name!r} is {joint.kind!r}, expected one of {', '.join(DOF)}"
        ):
            continue
        vectors = {"axis": joint.axis, "offset_m": joint.offset_m}
        for what, vector in vectors.items():
            array = np.asarray(vector, dtype=float)
            if faults.shape(f"{what} of joint {name!r}", array, (3,)):
                faults.finite(f"{what} of joint {name!r}", array)
        faults.unless(
            bool(np.linalg.norm(np.asarray(joint.axis, dtype=float)) > 0),
            f"axis of joint {name!r} has length zero",
        )
        n = DOF[joint.kind]
        for what in ("lower", "upper"):
            shape = np.shape(getattr(joint, what))
            faults.unless(
                shape in ((), (n,)),
                f"{what} of joint {name!r} has shape {shape}, expected one number or {n}",
            )
        try:
            low, high = limits(joint)
        except ValueError:
            continue  # the shape is told above
        faults.unless(
            bool(np.all(low <= high)),
            f"limits of joint {name!r} are [{low}, {high}]: lower > upper",
        )
    for effector in effectors:
        faults.unless(
            effector.joint in names,
            f"effector on {effector.joint!r}, expected one of {', '.join(names)}",
        )
        array = np.asarray(effector.offset_m, dtype=float)
        if faults.shape(f"offset_m of the effector on {effector.joint!r}", array, (3,)):
            faults.finite(f"offset_m of the effector on {effector.joint!r}", array)
    faults.unless(any(DOF.get(joint.kind, 1) for joint in joints), "no joint can move")
    faults.raise_if_any()


def limits(joint: Joint) -> tuple[FloatArray, FloatArray]:
    """Limits of each of a joint's values; infinite where there are none."""
    n = DOF[joint.kind]
    low = -np.inf if joint.lower is None else joint.lower
    high = np.inf if joint.upper is None else joint.upper
    return (
        np.array(np.broadcast_to(np.asarray(low, dtype=float), (n,))),
        np.array(np.broadcast_to(np.asarray(high, dtype=float), (n,))),
    )


def build(
    joints: Sequence[Joint],
    effectors: Sequence[Effector],
    base_m: FloatArray,
    R_world_base: FloatArray,
) -> Parts:
    """Arrays of checked joints: one link per degree of freedom, parents first."""
    names, parents = named(joints)
    # a joint without freedom is a place in the frame of the link before it
    carried_by: dict[str, tuple[int, FloatArray]] = {BASE: (-1, np.zeros(3))}
    parent: list[int] = []
    slides: list[bool] = []
    axis: list[FloatArray] = []
    offset: list[FloatArray] = []
    lower: list[float] = []
    upper: list[float] = []
    dof_names: list[str] = []
    joint_dof: list[tuple[int, ...]] = []
    for joint, name, up in zip(joints, names, parents, strict=True):
        link, place = carried_by[up]
        place = place + np.asarray(joint.offset_m, dtype=float)
        axes = np.eye(3) if joint.kind == "ball" else np.atleast_2d(np.asarray(joint.axis, float))
        first = len(parent)
        low, high = limits(joint)
        for k in range(DOF[joint.kind]):
            parent.append(link)
            slides.append(joint.kind == "prismatic")
            axis.append(axes[k] / np.linalg.norm(axes[k]))
            offset.append(place)
            lower.append(low[k])
            upper.append(high[k])
            dof_names.append(f"{name}.{'xyz'[k]}" if joint.kind == "ball" else name)
            link, place = len(parent) - 1, np.zeros(3)
        joint_dof.append(tuple(range(first, len(parent))))
        carried_by[name] = (link, place)
    tip_joint = np.array([carried_by[e.joint][0] for e in effectors])
    tip_offset = np.array(
        [carried_by[e.joint][1] + np.asarray(e.offset_m, dtype=float) for e in effectors]
    )
    n = len(parent)
    above = np.zeros((n, n), dtype=bool)  # above[j, i]: i carries j, or is j
    for j in range(n):
        above[j] = above[parent[j]] if parent[j] >= 0 else False
        above[j, j] = True
    moves = np.array([above[j] if j >= 0 else np.zeros(n, bool) for j in tip_joint])
    up_of, offset_of = np.array(parent), np.array(offset)
    centre, near, far, reach = _bounds(
        up_of, np.array(slides), offset_of, np.array(lower), np.array(upper), tip_joint, tip_offset
    )
    links = Links(
        parent=up_of,
        slides=np.array(slides),
        axis=np.array(axis),
        offset=offset_of,
        lower=np.array(lower),
        upper=np.array(upper),
        unit=np.where(slides, reach, 1.0),
        tip_joint=tip_joint,
        tip_offset=tip_offset,
        moves=moves,
        R_world_base=np.ascontiguousarray(R_world_base),
        base=np.array(base_m),
        centre=base_m + centre @ R_world_base.T,
        near=near,
        far=far,
        reach=reach,
    )
    return Parts(
        links,
        _points(links, above),
        tuple(dof_names),
        tuple(joint_dof),
        tuple(carried_by[name][0] for name in names),
        np.array([carried_by[name][1] for name in names]),
    )


def _bounds(
    parent: FloatArray,
    slides: BoolArray,
    offset: FloatArray,
    lower: FloatArray,
    upper: FloatArray,
    tip_joint: FloatArray,
    tip_offset: FloatArray,
) -> tuple[FloatArray, FloatArray, FloatArray, float]:
    """First turning centre, least and greatest distance from it of every tip, and the reach.

    Triangle inequality on the bones between base and tip; the centre is in the base's frame.
    """
    n_tips = len(tip_joint)
    centre, near, far = np.zeros((n_tips, 3)), np.zeros(n_tips), np.zeros(n_tips)
    span = 0.0
    for e in range(n_tips):
        bones = [float(np.linalg.norm(tip_offset[e]))]
        slack = 0.0
        j = int(tip_joint[e])
        while j >= 0:
            if slides[j]:
                slack += max(abs(lower[j]), abs(upper[j]))
            if parent[j] < 0:
                centre[e] = offset[j]
            else:
                bones.append(float(np.linalg.norm(offset[j])))
            j = int(parent[j])
        total = sum(bones)
        # a margin for rounding, so that a straight arm still counts as in reach
        far[e] = (total + slack) * (1 + 1e-9)
        near[e] = max(0.0, (2 * max(bones) - total - slack) * (1 - 1e-9))
        span = max(span, total + (slack if np.isfinite(slack) else 0.0))
    return centre, near, far, span if span > 0 else 1.0


def _points(links: Links, above: BoolArray) -> Points:
    """Who is joined to whom, for `reach`."""
    n, n_tips = links.parent.size, links.tip_joint.size
    up = np.concatenate([links.parent, links.tip_joint])
    below = np.zeros((n, n + n_tips), dtype=bool)
    below[:, :n] = above.T & ~np.eye(n, dtype=bool)
    below[:, n:] = links.moves.T
    same = [
        bool(k < n and not links.slides[k] and np.all(links.offset[k] == 0)) for k in range(n)
    ] + [bool(np.all(links.tip_offset[e] == 0)) for e in range(n_tips)]

    def next_points(i: int) -> list[int]:
        found: list[int] = []
        for c in np.flatnonzero(up == i):
            if not same[c]:
                found.append(int(c))
            elif c < n:
                found += next_points(int(c))
        return found

    heed = np.zeros(below.shape)
    for i in range(n):
        level, weight = next_points(i), 1.0
        while level:
            heed[i, level] = weight
            level = [c for up_c in level if up_c < n for c in next_points(up_c)]
            weight *= FURTHER
    last = np.arange(n)
    for i in range(n - 2, -1, -1):
        hinges = not links.slides[i] and not links.slides[i + 1]
        if hinges and links.parent[i + 1] == i and same[i + 1]:
            last[i] = last[i + 1]
    return Points(up=up, last=last, heed=heed, below=below)
