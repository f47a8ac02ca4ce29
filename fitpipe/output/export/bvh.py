"""BVH: a hierarchy of offsets and its rotations, for animation programs."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from scipy.spatial.transform import Rotation

from fitpipe.arrays import FloatArray
from fitpipe.kernels.euler_branches import choose_branches
from fitpipe.output.export.clock import even_clock
from fitpipe.output.export.formats import Content, ExportFormat, Written
from fitpipe.output.export.rig import Node, Rig, held, make_rig
from fitpipe.output.export.trc import number_rows
from fitpipe.units import METRES_PER

_ORDER = "ZXY"  # each turn about the axes as the ones before left them
_CYCLIC = 1.0  # z, x, y: the parity that choose_branches asks for
_LOCKED = 1e-7
_DEGREE_DIGITS = 7
_POSITION = "Xposition Yposition Zposition"
_ROTATION = " ".join(f"{axis}rotation" for axis in _ORDER)
_FORBIDDEN = " {}"


def _write(content: Content) -> Written:
    fit, metres = content.fit, METRES_PER[content.unit]
    clock = even_clock(fit)
    rig, findings = make_rig(fit, content.angles(), forbidden=_FORBIDDEN)
    digits = round(9 + math.log10(metres))
    lines = ["HIERARCHY", *_hierarchy(rig.nodes, metres, digits), "MOTION"]
    lines += [f"Frames: {len(clock.frame)}", f"Frame Time: {1 / clock.rate_hz:.9f}"]
    # a missing frame holds the pose before it
    frame = held(np.where(clock.frame < 0, np.nan, clock.frame)[:, None])[:, 0].astype(np.int64)
    lines += _motion(rig, metres, digits)[frame].tolist()
    return ("\n".join(lines) + "\n").encode(), [*findings, *clock.findings]


def _hierarchy(nodes: tuple[Node, ...], metres: float, digits: int) -> Iterator[str]:
    """The lines that say which node hangs on which, and where."""
    below: dict[int, list[int]] = {n: [] for n in range(-1, len(nodes))}
    for n, node in enumerate(nodes):
        below[node.parent].append(n)

    def offset(node: Node) -> str:
        return " ".join(f"{value / metres:.{digits}f}" for value in node.offset_m)

    def lines(n: int, depth: int) -> Iterator[str]:
        node, tab = nodes[n], "\t" * depth
        yield f"{tab}{'JOINT' if depth else 'ROOT'} {node.name}"
        yield f"{tab}{{"
        yield f"{tab}\tOFFSET {offset(node)}"
        both = node.moves or depth == 0
        channels = f"6 {_POSITION} {_ROTATION}" if both else f"3 {_ROTATION}"
        yield f"{tab}\tCHANNELS {channels}"
        for child in below[n]:
            yield from lines(child, depth + 1)
        if not below[n]:
            yield from (f"{tab}\tEnd Site", f"{tab}\t{{", f"{tab}\t\tOFFSET 0 0 0", f"{tab}\t}}")
        yield f"{tab}}}"

    yield from lines(0, 0)


def _motion(rig: Rig, metres: float, digits: int) -> np.ndarray:
    """One line of numbers for every frame of the fit."""
    n_time = len(rig.local_wxyz)
    parts = []
    for n, node in enumerate(rig.nodes):
        if node.moves or n == 0:
            place = rig.place_m.get(n, np.zeros((n_time, 3)))
            parts.append(number_rows(place / metres, digits))
        parts.append(number_rows(np.degrees(_euler(rig.local_wxyz[:, n])), _DEGREE_DIGITS))
    return np.array(["\t".join(row).replace("\t", " ") for row in zip(*parts, strict=True)], object)


def _euler(wxyz: FloatArray) -> FloatArray:
    """Turns (time, 3) about z, x, y, radians, that run on over time."""
    R = Rotation.from_quat(wxyz, scalar_first=True).as_matrix()
    # R = Rz(a) Rx(b) Ry(c); in gimbal lock only a + c or a - c is known, and c is taken as 0
    locked = np.hypot(R[:, 2, 0], R[:, 2, 2]) < _LOCKED
    a = np.arctan2(-R[:, 0, 1], R[:, 1, 1])
    b = np.arctan2(R[:, 2, 1], np.hypot(R[:, 2, 0], R[:, 2, 2]))
    c = np.arctan2(-R[:, 2, 0], R[:, 2, 2])
    a = np.where(locked, np.arctan2(R[:, 1, 0], R[:, 0, 0]), a)
    euler = np.stack([a, b, np.where(locked, 0.0, c)], axis=-1)
    choose_branches(np.ones(len(euler), np.bool_), locked, _CYCLIC, euler)
    return euler


FORMAT = ExportFormat(
    name="bvh",
    suffix=".bvh",
    keeps="positions to less than a micrometre, as turns of bones of constant length; joint names, "
    "hierarchy, bone lengths (as offsets), rate",
    loses="which samples are absent (the last turn is held), time stamps, the unit (it has none; "
    "centimetres unless told otherwise), all statuses, residuals and weights, calibration, log, "
    "provenance",
    units=("cm", "m", "mm"),
    write=_write,
    expects_y_up=True,
)
