"""A skeleton as nested nodes, each turned against the one around it: what animation formats hold.

A node stands at a joint and turns all that hangs on it. Where several bones leave one joint they
turn independently, so each gets a node of its own at the same place, without length; the joint's
node itself turns with the body frame (pelvis, thorax) that those bones belong to.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace

import numpy as np

from fitpipe.arrays import BoolArray, FloatArray
from fitpipe.output.export.formats import count, frame_ranges, plain_names
from fitpipe.records import Finding, Fit, Skeleton, SkeletonAngles
from fitpipe.records.skeleton_angles import rotate

_SAME_M = 1e-6
_STILL = np.array([1.0, 0.0, 0.0, 0.0])
_INVERSE = np.array([1.0, -1.0, -1.0, -1.0])
_RIGID = -1  # a node that turns with the one around it
_WORLD = "world"
_FILL = "solve.temporal = 'trajectory' fills gaps by the motion around them"


@dataclass(frozen=True, slots=True)
class Node:
    """One node.

    Parameters
    ----------
    name : str
    parent : int
        Node around it; -1 for the outermost. Parents come first.
    offset_m : (float, float, float), metres
        From the parent, along the parent's axes.
    joint : int
        Joint of the skeleton that stands here; -1 for a node without one.
    segment : int
        Segment of the angles that it turns with; -1 for none.
    moves : bool
        Whether it has a place of its own in every frame; its offset is zero.
    """

    name: str
    parent: int
    offset_m: tuple[float, float, float]
    joint: int
    segment: int
    moves: bool = False


@dataclass(frozen=True, eq=False)
class Rig:
    """Nodes and their motion.

    Parameters
    ----------
    nodes : tuple of Node
    local_wxyz : ndarray, shape (time, node, 4)
        Unit quaternions, parent node from node; no gaps.
    place_m : dict of int to ndarray, shape (time, 3), metres
        Where nodes that move are, in the frame of the fit.
    """

    nodes: tuple[Node, ...]
    local_wxyz: FloatArray
    place_m: dict[int, FloatArray]

    def forward(self) -> FloatArray:
        """Where all nodes are: (time, node, 3), metres."""
        place = np.zeros((len(self.local_wxyz), len(self.nodes), 3))
        world = np.tile(_STILL, (*place.shape[:2], 1))
        for n, node in enumerate(self.nodes):
            around = world[:, node.parent] if node.parent >= 0 else world[:, n]
            if node.moves:
                place[:, n] = self.place_m[n]
            elif node.parent >= 0:
                offset = np.array(node.offset_m)
                place[:, n] = place[:, node.parent] + rotate(around, offset)
            world[:, n] = multiply(around, self.local_wxyz[:, n])
        return place


def make_rig(fit: Fit, angles: SkeletonAngles, *, forbidden: str = "") -> tuple[Rig, list[Finding]]:
    """The fit as nodes, with the last known turn held where one is not known.

    Parameters
    ----------
    fit : Fit
    angles : SkeletonAngles
        Of the fit's positions.
    forbidden : str
        Characters that names must not have.

    Returns
    -------
    rig : Rig
    findings : list of Finding
        What was held, left out, renamed or cannot be reached by rigid bones.
    """
    names, findings = plain_names(fit.skeleton.joints, forbidden=forbidden)
    is_kept = _kept(fit, angles.bone_length_m)
    nodes = _nodes(fit.skeleton, angles, is_kept, names)
    movers = [n for n, node in enumerate(nodes) if node.moves]
    local = _locals(nodes, angles)
    still = Rig(nodes, local, {n: np.zeros((fit.n_frames, 3)) for n in movers})
    rig = replace(still, place_m=_places(still, fit))
    return rig, [*findings, *_left_out(fit, is_kept), *told_held(fit, is_kept), *_off(rig, fit)]


def _kept(fit: Fit, length_m: FloatArray) -> BoolArray:
    """Joints (joint,) that are there in some frame, or that bones of known length lead through."""
    skeleton = fit.skeleton
    seen = np.asarray(~np.isnan(fit.position[..., 0]).all(axis=0))
    kept = seen.copy()
    bound = _bound(skeleton, length_m)
    below = np.zeros(skeleton.n_joints, np.int64)
    for joint in skeleton.topological_order[::-1].tolist():
        if kept[joint] and bound[joint]:
            kept[skeleton.parents[joint]] = True
            below[skeleton.parents[joint]] += 1
    for joint in skeleton.topological_order.tolist():
        is_top = not (bound[joint] and kept[skeleton.parents[joint]])
        if is_top and not seen[joint] and below[joint] < 2:
            kept[joint] = False
    return kept


def _bound(skeleton: Skeleton, length_m: FloatArray) -> BoolArray:
    """Whether a bone of known length leads from the parent to each joint."""
    bound = np.zeros(skeleton.n_joints, np.bool_)
    bound[[child for _, child in skeleton.bones]] = ~np.isnan(length_m)
    return bound


def _nodes(
    skeleton: Skeleton, angles: SkeletonAngles, is_kept: BoolArray, names: list[str]
) -> tuple[Node, ...]:
    first = angles.n_bodies
    bone_of = {child: k for k, (_, child) in enumerate(skeleton.bones)}
    bound = _bound(skeleton, angles.bone_length_m)
    below: dict[int, list[int]] = {joint: [] for joint in range(skeleton.n_joints)}
    tops = []
    for joint in np.flatnonzero(is_kept).tolist():
        parent = skeleton.parents[joint]
        if bound[joint] and is_kept[parent]:
            below[parent].append(joint)
        else:
            tops.append(joint)
    taken = set(names)
    nodes: list[Node] = []

    def add(joint: int, around: int, offset: tuple[float, float, float]) -> None:
        children = below[joint]
        own = len(nodes)
        segment = _turn_at(angles, [first + bone_of[child] for child in children])
        nodes.append(Node(names[joint], around, offset, joint, segment, joint in tops))
        for child in children:
            bone = bone_of[child]
            carrier = own
            if len(children) > 1:
                carrier = len(nodes)
                name = _unused(f"{names[joint]}_{names[child]}", taken)
                nodes.append(Node(name, own, (0.0, 0.0, 0.0), -1, first + bone))
            x, y, z = (angles.bone_length_m[bone] * angles.rest_direction[bone]).tolist()
            add(child, carrier, (x, y, z))

    if len(tops) != 1:
        nodes.append(Node(_unused(_WORLD, taken), -1, (0.0, 0.0, 0.0), -1, _RIGID))
    for joint in tops:
        add(joint, -1 if len(tops) == 1 else 0, (0.0, 0.0, 0.0))
    return tuple(nodes)


def _turn_at(angles: SkeletonAngles, bones: list[int]) -> int:
    """The segment that the node of a joint turns with, from those of the bones that leave it."""
    if len(bones) < 2:
        return bones[0] if bones else _RIGID
    ((segment, _),) = Counter(angles.segment_parent[bone] for bone in bones).most_common(1)
    return segment


def _unused(name: str, taken: set[str]) -> str:
    number, new = 2, name
    while new in taken:
        new, number = f"{name}_{number}", number + 1
    taken.add(new)
    return new


def _locals(nodes: tuple[Node, ...], angles: SkeletonAngles) -> FloatArray:
    """Turns of all nodes against those around them; the last known one where one is missing."""
    n_time = angles.n_frames
    local = np.tile(_STILL, (n_time, len(nodes), 1))
    world = local.copy()
    for n, node in enumerate(nodes):
        around = world[:, node.parent] if node.parent >= 0 else np.tile(_STILL, (n_time, 1))
        if node.segment != _RIGID:
            turn = multiply(around * _INVERSE, angles.world_wxyz[:, node.segment])
            turn = held(turn)
            if not np.isnan(turn[0, 0]):
                local[:, n] = _running_on(turn)
        world[:, n] = multiply(around, local[:, n])
    return local


def _places(still: Rig, fit: Fit) -> dict[int, FloatArray]:
    """Where the nodes that move are: such that the first joint below them that is there is met."""
    reach = still.forward()
    places = {}
    top: dict[int, int] = {}
    for n, node in enumerate(still.nodes):
        top[n] = n if node.moves else top.get(node.parent, -1)
    for mover in still.place_m:
        own = [n for n, node in enumerate(still.nodes) if top[n] == mover and node.joint >= 0]
        wanted = fit.position[:, [still.nodes[n].joint for n in own]] - reach[:, own]
        first = np.argmax(~np.isnan(wanted[..., 0]), axis=1)
        places[mover] = held(wanted[np.arange(fit.n_frames), first])
    return places


def held(values: FloatArray) -> FloatArray:
    """Rows (time, ...) with the last known one where one is NaN, at the start the first known."""
    known = np.flatnonzero(~np.isnan(values[:, 0]))
    if known.size in (0, len(values)):
        return values
    before = np.searchsorted(known, np.arange(len(values)), side="right") - 1
    return values[known[np.maximum(before, 0)]]


def _running_on(wxyz: FloatArray) -> FloatArray:
    """Quaternions (time, 4) of signs that do not jump; the first one with w >= 0."""
    sign = np.where(np.sum(wxyz[1:] * wxyz[:-1], axis=1) < 0, -1.0, 1.0)
    start = [-1.0 if wxyz[0, 0] < 0 else 1.0]
    return wxyz * np.cumprod(np.concatenate([start, sign]))[:, None]


def multiply(a: FloatArray, b: FloatArray) -> FloatArray:
    """Products (..., 4) of quaternions wxyz: first b, then a."""
    w = a[..., :1] * b[..., :1] - np.sum(a[..., 1:] * b[..., 1:], axis=-1, keepdims=True)
    xyz = a[..., :1] * b[..., 1:] + b[..., :1] * a[..., 1:] + np.cross(a[..., 1:], b[..., 1:])
    return np.concatenate([w, xyz], axis=-1)


def _left_out(fit: Fit, is_kept: BoolArray) -> list[Finding]:
    if is_kept.all():
        return []
    who = ", ".join(np.array(fit.skeleton.joints)[~is_kept])
    return [Finding(f"joints without any position: {who}", "left out", "note")]


def told_held(fit: Fit, is_kept: BoolArray) -> list[Finding]:
    """Says in which frames turns are held, because the format cannot show that there are none."""
    absent = np.asarray(np.isnan(fit.position[..., 0]) & is_kept)
    empty = np.asarray(absent[:, is_kept].all(axis=1))
    found = []
    if empty.any():
        frames = np.flatnonzero(empty)
        what = f"{count(frames.size, 'frame')} without a skeleton ({frame_ranges(frames)})"
        found.append(Finding(what, "the last pose is held", otherwise=_FILL))
    for joint in np.flatnonzero((absent & ~empty[:, None]).any(axis=0)):
        frames = np.flatnonzero(absent[:, joint] & ~empty)
        name = fit.skeleton.joints[joint]
        what = f"{name} is absent in {count(frames.size, 'frame')} ({frame_ranges(frames)})"
        found.append(Finding(what, "its bone is held as last turned", otherwise=_FILL))
    return found


def _off(rig: Rig, fit: Fit) -> list[Finding]:
    """Says which joints rigid bones do not reach, as where rigid pairs contradict them."""
    at = rig.forward()
    nodes = [n for n, node in enumerate(rig.nodes) if node.joint >= 0]
    error = np.linalg.norm(
        at[:, nodes] - fit.position[:, [rig.nodes[n].joint for n in nodes]], axis=-1
    )
    off = np.nan_to_num(error) > _SAME_M
    if not off.any():
        return []
    what = f"{count(int(off.sum()), 'joint sample')} up to {np.nanmax(error) * 1e3:.3g} mm off"
    return [Finding(what, "written where bones of constant length lead")]
