"""The closed form of two bones as joint values of a chain, within its limits."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.spatial.transform import Rotation

from fitpipe.angles.chain import Chain
from fitpipe.angles.problem import Problem
from fitpipe.angles.result import CODES, IkResult, IkStatus
from fitpipe.angles.two_bone import inner_angle
from fitpipe.arrays import FloatArray
from fitpipe.errors import SolveError

TURN = 2 * np.pi
SAME_M = 1e-9  # candidates this close to each other count as equally near the target
SQUARE = 1e-9


class Limb(NamedTuple):
    """Two bones in the frame of the base, in the pose where all joint values are zero."""

    root_m: FloatArray  # centre of the first joint
    bones: tuple[FloatArray, FloatArray]
    shoulder: int  # joint values before the elbow: 1 hinge, 2 swivel and hinge, 3 ball
    swivel: FloatArray  # axis of the swivel hinge
    hinge: FloatArray  # axis about which the elbow bends
    is_ball: bool  # whether the elbow is a ball


def solve_two_bone(
    problem: Problem, pole_m: npt.ArrayLike | None, tolerance_m: float, *, follow: bool = False
) -> IkResult:
    """See `solve_ik`; raises SolveError where the chain is not two bones."""
    chain = problem.chain
    limb = as_limb(chain)
    n = problem.n_targets
    pole = None
    if pole_m is not None:
        pole = np.asarray(pole_m, dtype=float)
        if pole.shape not in ((3,), (n, 3)) or not np.all(np.isfinite(pole)):
            raise SolveError(f"pole_m has shape {pole.shape}, expected finite (3,) or ({n}, 3)")
        pole = np.broadcast_to(pole, (n, 3))
    start = np.clip(problem.start, chain.lower, chain.upper)
    target = problem.goals.position[:, 0]
    seen = problem.goals.weight[:, 0] > 0
    q = np.empty_like(start)
    if follow:
        for t in range(n):
            one = slice(t, t + 1)
            before = start[:1] if t == 0 else q[t - 1 : t]
            q[one] = (
                before
                if not seen[t]
                else _solve(chain, limb, target[one], before, None if pole is None else pole[one])
            )
    else:
        q = np.where(seen[:, None], _solve(chain, limb, target, start, pole), start)
    tip = chain.forward(q).tip_m
    error = np.linalg.norm(tip[:, 0] - target, axis=-1)
    # the distance left if there were no limits: whether it is they that hold the tip back
    free = _distance_left(limb, np.linalg.norm(_in_base(chain, target) - limb.root_m, axis=-1))
    if limb.shoulder == 1:
        free = np.hypot(free, np.abs((_in_base(chain, target) - limb.root_m) @ limb.hinge))
    status = np.where(
        ~seen,
        CODES.index(IkStatus.NO_TARGET),
        np.where(
            error <= tolerance_m,
            CODES.index(IkStatus.REACHED),
            np.where(
                error <= free + 1e-6 * chain.reach_m,
                CODES.index(IkStatus.CLOSEST),
                CODES.index(IkStatus.AT_LIMIT),
            ),
        ),
    )
    return problem.result(q, tip, np.column_stack([np.zeros(n, dtype=np.int64), status]))


def as_limb(chain: Chain) -> Limb:
    """The chain as two bones, or SolveError with what two_bone can take."""
    links = chain.parts.links
    n = chain.dof
    bad = SolveError(
        "this chain is not two bones with joints that two_bone knows",
        hint="it takes one effector; at the root a hinge, a swivel hinge with a second hinge "
        "square to it, or a ball; at the elbow a hinge square to both bones, or a ball",
    )
    serial = np.array_equal(links.parent, np.arange(-1, n - 1))
    if len(chain.effectors) != 1 or not serial or links.slides.any() or links.tip_joint[0] != n - 1:
        raise bad
    starts = [k for k in range(n) if k == 0 or np.any(links.offset[k] != 0)]
    # a swivel may stand below its hinge, on the same axis
    if len(starts) == 3 and starts[:2] == [0, 1] and _along(links.offset[1], links.axis[0]):
        starts.pop(1)
    if len(starts) != 2:
        raise bad
    shoulder, elbow = starts[1], n - starts[1]
    bones = (links.offset[shoulder], links.tip_offset[0])
    root = links.offset[: starts[1]].sum(axis=0)
    hinge = links.axis[shoulder] if elbow == 1 else _square_to(bones[0])
    square = all(abs(hinge @ bone) < SQUARE * chain.reach_m for bone in bones)
    if elbow not in (1, 3) or min(np.linalg.norm(bone) for bone in bones) == 0:
        raise bad
    if elbow == 3 and not np.array_equal(links.axis[shoulder:], np.eye(3)):
        raise bad
    if shoulder == 1:
        fits = elbow == 1 and square and abs(links.axis[0] @ hinge) > 1 - SQUARE
    elif shoulder == 2:
        fits = (
            elbow == 1
            and square
            and abs(links.axis[1] @ hinge) > 1 - SQUARE
            and abs(links.axis[0] @ hinge) < SQUARE
        )
    else:
        fits = shoulder == 3 and np.array_equal(links.axis[:3], np.eye(3))
        fits = fits and (elbow == 3 or square)
    if not fits:
        raise bad
    if shoulder < 3:
        hinge = links.axis[shoulder - 1]
    return Limb(root, bones, shoulder, links.axis[0], hinge, elbow == 3)


def _along(vector: FloatArray, axis: FloatArray) -> bool:
    return bool(np.linalg.norm(np.cross(vector, axis)) <= SQUARE * np.linalg.norm(vector))


def _square_to(vector: FloatArray) -> FloatArray:
    other = np.eye(3)[np.argmin(np.abs(vector))]
    normal = np.cross(vector, other)
    return np.asarray(normal / np.linalg.norm(normal))


def _in_base(chain: Chain, point_m: FloatArray) -> FloatArray:
    return np.asarray((point_m - np.asarray(chain.base_m)) @ np.asarray(chain.base_rotation))


def _distance_left(limb: Limb, distance: FloatArray) -> FloatArray:
    first, second = (float(np.linalg.norm(bone)) for bone in limb.bones)
    return np.maximum(np.maximum(distance - first - second, abs(first - second) - distance), 0.0)


def _solve(
    chain: Chain, limb: Limb, target_m: FloatArray, start: FloatArray, pole_m: FloatArray | None
) -> FloatArray:
    """The best of all ways to bend: nearest to the target, then to the pole, then to the start."""
    way = _in_base(chain, target_m) - limb.root_m
    candidates = [
        _within(chain, q, start)
        for bend in (1.0, -1.0)
        for q in _bent(chain, limb, way, start, bend, pole_m)
    ]
    stack = np.array(candidates)  # (candidate, target, dof)
    placed = chain.forward(stack)
    error = np.linalg.norm(placed.tip_m[..., 0, :] - target_m, axis=-1)
    near = error <= error.min(axis=0) + SAME_M * chain.reach_m
    if pole_m is None:
        rank = np.linalg.norm(stack - start, axis=-1)
        away = _is_on_other_side(limb, stack, start)
        rank = rank + np.where(away, 1e3, 0.0)
    else:
        elbow = placed.joint_m[..., _elbow_place(chain, limb), :]
        # ties in the elbow's place (a ball bent either way) go to the smaller change
        rank = np.linalg.norm(elbow - pole_m, axis=-1)
        rank = rank + SAME_M * np.linalg.norm(stack - start, axis=-1)
    best = np.argmin(np.where(near, rank, np.inf), axis=0)
    return np.asarray(stack[best, np.arange(len(start))])


def _elbow_place(chain: Chain, limb: Limb) -> int:
    """Place of the elbow among the chain's joints."""
    return next(k for k, dof in enumerate(chain.parts.joint_dof) if limb.shoulder in dof)


def _is_on_other_side(limb: Limb, q: FloatArray, start: FloatArray) -> FloatArray:
    """Whether a hinged elbow would change the side it bends to; a straight one has no side."""
    if limb.is_ball:
        return np.zeros(q.shape[:-1])
    rest = _rest_bend(limb)
    now, then = (np.sin(v[..., -1] + rest) for v in (start, q))
    return np.where(np.abs(now) > 1e-6, now * then < 0, then < 0)


def _rest_bend(limb: Limb) -> float:
    """Angle of the second bone from the first about the hinge, with all joint values zero."""
    a, b = limb.bones
    return float(np.arctan2(limb.hinge @ np.cross(a, b), a @ b))


def _bent(
    chain: Chain,
    limb: Limb,
    way: FloatArray,
    start: FloatArray,
    bend: float,
    pole_m: FloatArray | None,
) -> list[FloatArray]:
    """Joint values that bend to one side of the hinge, limits not yet applied to the root."""
    first, second = (float(np.linalg.norm(bone)) for bone in limb.bones)
    flat = way - np.outer(way @ limb.hinge, limb.hinge) if limb.shoulder == 1 else way
    distance = np.linalg.norm(flat, axis=-1)
    elbow = bend * (np.pi - inner_angle(distance, first, second)) - _rest_bend(limb)
    if not limb.is_ball:
        elbow = _within_one(elbow, start[:, -1], chain.lower[-1], chain.upper[-1])
    turn = Rotation.from_rotvec(elbow[:, None] * limb.hinge)
    hand = limb.bones[0] + turn.apply(limb.bones[1])  # in the frame of the upper bone
    if limb.shoulder == 1:
        return [np.column_stack([_turn_between(hand, flat, limb.hinge, start[:, 0]), elbow])]
    if limb.shoulder == 2:
        return _on_swivel(limb, way, hand, elbow, start)
    return _on_ball(chain, limb, way, hand, elbow, start, pole_m)


def _turn_between(
    a: FloatArray, b: FloatArray, axis: FloatArray, instead: FloatArray
) -> FloatArray:
    """Angle about ``axis`` from vectors to vectors; ``instead`` where one of them is zero."""
    sine, cosine = np.cross(a, b) @ axis, np.sum(a * b, axis=-1) - (a @ axis) * (b @ axis)
    some = np.hypot(sine, cosine) > 1e-24
    return np.where(some, np.arctan2(sine, cosine), instead)


def _on_swivel(
    limb: Limb, way: FloatArray, hand: FloatArray, elbow: FloatArray, start: FloatArray
) -> list[FloatArray]:
    """Both ways to turn the plane of the bones through the target: facing it, or backing it."""
    ahead = np.cross(limb.hinge, limb.swivel)  # where the plane faces before the swivel turns
    height = way @ limb.swivel
    level = way - np.outer(height, limb.swivel)
    far = np.linalg.norm(level, axis=-1)
    facing = _turn_between(np.broadcast_to(ahead, way.shape), level, limb.swivel, start[:, 0])
    found = []
    for back in (False, True):
        flat = np.outer(-far if back else far, ahead) + np.outer(height, limb.swivel)
        lift = _turn_between(hand, flat, limb.hinge, start[:, 1])
        found.append(np.column_stack([facing + (np.pi if back else 0.0), lift, elbow]))
    return found


def _on_ball(
    chain: Chain,
    limb: Limb,
    way: FloatArray,
    hand: FloatArray,
    elbow: FloatArray,
    start: FloatArray,
    pole_m: FloatArray | None,
) -> list[FloatArray]:
    """Aim the upper bone's frame at the target, the elbow towards the pole or where it was."""
    before = Rotation.from_euler("XYZ", start[:, :3])
    towards = _safe_unit(way, before.apply(_safe_unit(hand, limb.bones[0])))
    if pole_m is None:
        side = before.apply(limb.bones[0].copy())
    else:
        side = _in_base(chain, pole_m) - limb.root_m
    found = []
    for sign in (1.0, -1.0):
        # the hinge square to the plane of target and pole; else as near as can be to where it was
        normal = np.cross(towards, side)
        small = np.linalg.norm(normal, axis=-1) < 1e-9 * (1 + np.linalg.norm(side, axis=-1))
        old = before.apply(np.array(limb.hinge))
        normal = np.where(small[:, None], old, sign * normal)
        normal = normal - np.sum(normal * towards, axis=-1, keepdims=True) * towards
        normal = _safe_unit(normal, np.array([_square_to(v) for v in towards]))
        upper = _frame(towards, normal) * _frame(_safe_unit(hand, limb.bones[0]), limb.hinge).inv()
        values = _euler(upper, start[:, :3])
        if limb.is_ball:
            turn = Rotation.from_rotvec(elbow[:, None] * limb.hinge)
            found.append(np.hstack([values, _euler(turn, start[:, 3:])]))
        else:
            found.append(np.column_stack([values, elbow]))
    return found


def _safe_unit(vector: FloatArray, instead: FloatArray) -> FloatArray:
    size = np.linalg.norm(vector, axis=-1, keepdims=True)
    spare = instead / np.linalg.norm(instead, axis=-1, keepdims=True)
    return np.where(size > 1e-12, vector / np.where(size > 1e-12, size, 1.0), spare)


def _frame(x: FloatArray, z: FloatArray) -> Rotation:
    z = np.broadcast_to(z, x.shape)
    return Rotation.from_matrix(np.stack([x, np.cross(z, x), z], axis=-1))


def _euler(turn: Rotation, start: FloatArray) -> FloatArray:
    """Angles about x, y, z (R = Rx Ry Rz): of the two sets that exist, the one nearer to start."""
    R = turn.as_matrix()
    x = np.arctan2(-R[:, 1, 2], R[:, 2, 2])
    y = np.arctan2(R[:, 0, 2], np.hypot(R[:, 1, 2], R[:, 2, 2]))
    # z from what x leaves over, which also holds in gimbal lock
    s, c = np.sin(x), np.cos(x)
    z = np.arctan2(c * R[:, 1, 0] + s * R[:, 2, 0], c * R[:, 1, 1] + s * R[:, 2, 1])
    one = np.column_stack([x, y, z])
    two = np.column_stack([x + np.pi, np.pi - y, z + np.pi])
    one, two = (v - TURN * np.round((v - start) / TURN) for v in (one, two))
    nearer = np.abs(two - start).sum(axis=1) < np.abs(one - start).sum(axis=1)
    return np.where(nearer[:, None], two, one)


def _within_one(value: FloatArray, start: FloatArray, lower: float, upper: float) -> FloatArray:
    """An angle within its limits: by whole turns if that will do, else the nearer limit."""
    value = value - TURN * np.round((value - start) / TURN)
    if np.isfinite(lower):
        value = np.where(value < lower, value + TURN * np.ceil((lower - value) / TURN), value)
    if np.isfinite(upper):
        value = np.where(value > upper, value - TURN * np.ceil((value - upper) / TURN), value)
    if not np.isfinite(lower):
        return value
    # what is still below lies in the gap between the limits: the nearer end of the gap
    to_lower, to_upper = (lower - value) % TURN, (value - upper) % TURN
    return np.where(value < lower, np.where(to_lower <= to_upper, lower, upper), value)


def _within(chain: Chain, q: FloatArray, start: FloatArray) -> FloatArray:
    columns = [
        _within_one(q[:, j], start[:, j], float(chain.lower[j]), float(chain.upper[j]))
        for j in range(chain.dof)
    ]
    return np.column_stack(columns)
