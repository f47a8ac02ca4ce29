"""The inverse-kinematics libraries that bench_ik.py compares, on the chains of fitpipe.angles.

A maker takes a chain and returns the peer's version and a function from a target and the starts to
try to joint values; it raises ImportError where the peer is not installed and ValueError where it
cannot take the chain.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import version
from typing import Any

import numpy as np

from fitpipe.angles import Chain

TOLERANCE_M = 1e-6
STEPS = 200  # of one start
LM_DAMPING = 0.1  # the best of 0, 1e-3, 1e-2, 0.1, 1 for mink and pink on these chains ...
LM_DAMPING_BODY = 0.01  # ... but for mink on one with several effectors

Solve = Callable[[np.ndarray, np.ndarray], np.ndarray]
FAR = 1e3  # a limit where there is none: both check that a start is inside


def ikpy(chain: Chain) -> tuple[str, Solve]:
    from ikpy.chain import Chain as IkpyChain
    from ikpy.link import URDFLink

    links = chain.parts.links
    if len(chain.effectors) > 1 or links.slides.any():
        raise ValueError("one effector, hinges only")
    limits = np.column_stack([chain.lower, chain.upper])
    parts: list[Any] = [
        URDFLink(
            name=name,
            origin_translation=links.offset[i],
            origin_orientation=np.zeros(3),
            rotation=links.axis[i],
            bounds=tuple(limits[i]),
        )
        for i, name in enumerate(chain.dof_names)
    ]
    parts.append(
        URDFLink(
            name="tip",
            origin_translation=links.tip_offset[0],
            origin_orientation=np.zeros(3),
            joint_type="fixed",
            rotation=None,
        )
    )
    peer = IkpyChain(parts, active_links_mask=[True] * chain.dof + [False])

    def solve(target: np.ndarray, starts: np.ndarray) -> np.ndarray:
        for q0 in starts:
            q = peer.inverse_kinematics(
                target[0],
                initial_position=np.append(q0, 0.0),
                tol=1e-12,  # its default leaves more than a micrometre
            )[:-1]
            if reached(chain, q, target):
                break
        return q

    return version("ikpy"), solve


def mink(chain: Chain) -> tuple[str, Solve]:
    import mink as peer
    import mujoco

    model = mujoco.MjModel.from_xml_string(mjcf(chain))
    lm_damping = LM_DAMPING if len(chain.effectors) == 1 else LM_DAMPING_BODY
    tasks = [
        peer.FrameTask(f"tip{e}", "site", 1.0, 0.0, lm_damping=lm_damping)
        for e in range(len(chain.effectors))
    ]
    limits = [peer.ConfigurationLimit(model)]
    configuration = peer.Configuration(model)
    # MuJoCo numbers joints branch by branch
    place = [int(model.joint(f"q{i}").qposadr[0]) for i in range(chain.dof)]

    def solve(target: np.ndarray, starts: np.ndarray) -> np.ndarray:
        for task, point in zip(tasks, target, strict=True):
            task.set_target(peer.SE3.from_translation(point))
        for q0 in starts:
            there = np.empty(chain.dof)
            there[place] = q0
            configuration.update(there)
            for _ in range(STEPS):
                left = max(np.linalg.norm(t.compute_error(configuration)[:3]) for t in tasks)
                if left <= TOLERANCE_M:
                    return configuration.q[place]
                velocity = peer.solve_ik(configuration, tasks, 1.0, "daqp", 1e-12, limits=limits)
                configuration.integrate_inplace(velocity, 1.0)
        return configuration.q[place]

    return version("mink"), solve


def mjcf(chain: Chain) -> str:
    """The chain as a MuJoCo model: one body per joint value."""
    links = chain.parts.links

    def text(vector: np.ndarray) -> str:
        return " ".join(repr(float(v)) for v in vector)

    def body(i: int) -> str:
        kind = "slide" if links.slides[i] else "hinge"
        limits = np.clip([links.lower[i], links.upper[i]], -FAR, FAR)
        tips = "".join(
            f'<site name="tip{e}" pos="{text(links.tip_offset[e])}"/>'
            for e in np.flatnonzero(links.tip_joint == i)
        )
        inner = "".join(body(int(j)) for j in np.flatnonzero(links.parent == i))
        return (
            f'<body pos="{text(links.offset[i])}"><joint name="q{i}" type="{kind}" limited="true" '
            f'axis="{text(links.axis[i])}" range="{text(limits)}"/>'
            f'<geom size="0.01" mass="1"/>{tips}{inner}</body>'
        )

    bodies = "".join(body(int(i)) for i in np.flatnonzero(links.parent < 0))
    return f'<mujoco><compiler angle="radian"/><worldbody>{bodies}</worldbody></mujoco>'


def pink(chain: Chain) -> tuple[str, Solve]:
    import pink as peer
    import pinocchio as pin
    from pink.limits import ConfigurationLimit
    from pink.tasks import FrameTask

    links = chain.parts.links
    model = pin.Model()
    ids: list[int] = []
    for i, name in enumerate(chain.dof_names):
        kind = (
            pin.JointModelPrismaticUnaligned if links.slides[i] else pin.JointModelRevoluteUnaligned
        )
        low, high = np.clip([[links.lower[i]], [links.upper[i]]], -FAR, FAR)
        up = 0 if links.parent[i] < 0 else ids[links.parent[i]]
        place = pin.SE3(np.eye(3), links.offset[i])
        ids.append(
            model.addJoint(
                up, kind(*links.axis[i]), place, name, np.array([1e3]), np.array([1e6]), low, high
            )
        )
    for e, offset in enumerate(links.tip_offset):
        place = pin.SE3(np.eye(3), offset)
        model.addFrame(pin.Frame(f"tip{e}", ids[links.tip_joint[e]], place, pin.FrameType.OP_FRAME))
    data = model.createData()
    tasks = [
        FrameTask(f"tip{e}", 1.0, 0.0, lm_damping=LM_DAMPING) for e in range(len(chain.effectors))
    ]
    limits = [ConfigurationLimit(model)]

    def solve(target: np.ndarray, starts: np.ndarray) -> np.ndarray:
        for task, point in zip(tasks, target, strict=True):
            task.set_target(pin.SE3(np.eye(3), point))
        for q0 in starts:
            configuration = peer.Configuration(model, data, q0.copy())
            for _ in range(STEPS):
                left = max(np.linalg.norm(t.compute_error(configuration)[:3]) for t in tasks)
                if left <= TOLERANCE_M:
                    return np.array(configuration.q)
                velocity = peer.solve_ik(
                    configuration, tasks, 1.0, "daqp", limits=limits, safety_break=False
                )
                configuration.integrate_inplace(velocity, 1.0)
        return np.array(configuration.q)

    return version("pin-pink"), solve


def reached(chain: Chain, q: np.ndarray, target: np.ndarray) -> bool:
    """Whether all tips are within the tolerance."""
    left = np.linalg.norm(chain.forward(q).tip_m - target, axis=-1)
    return bool(left.max() <= TOLERANCE_M)


PEERS = {"ikpy": ikpy, "mink": mink, "pink": pink}
