"""Chains the tests share: arms with and without limits, a tree, a body."""

from __future__ import annotations

import numpy as np

from fitpipe.angles import Chain, Effector, Joint
from fitpipe.simulate import walk

PI = np.pi


def arm7(limited: bool = True) -> Chain:
    """Seven hinges, alternately along and across the arm."""
    along, across = (0, 0, 1), (0, 1, 0)
    offsets = [(0, 0, 0.34), (0, 0, 0), (0, 0, 0.4), (0, 0, 0), (0, 0, 0.4), (0, 0, 0), (0, 0, 0.1)]
    limits = np.radians([170, 120, 170, 120, 170, 120, 175])
    joints = [
        Joint(
            axis=across if i % 2 else along,
            offset_m=offset,
            lower=-limit if limited else None,
            upper=limit if limited else None,
        )
        for i, (offset, limit) in enumerate(zip(offsets, limits, strict=True))
    ]
    return Chain(joints, [Effector("joint7", (0.02, 0, 0.06))])


def tree() -> Chain:
    """A slide carries a ball; from it two arms, one with a slide in it, and a loose end."""
    joints = [
        Joint("rail", kind="prismatic", axis=(1, 0, 0), lower=-0.5, upper=0.5),
        Joint("trunk", kind="ball", offset_m=(0, 0.2, 0)),
        Joint("left", "trunk", kind="ball", offset_m=(0.3, 0.4, 0)),
        Joint("left elbow", "left", axis=(0, 1, 0), offset_m=(0.3, 0, 0)),
        Joint("right", "trunk", kind="ball", offset_m=(-0.3, 0.4, 0)),
        Joint("piston", "right", "prismatic", (-1, 0, 0), (-0.3, 0, 0), 0.0, 0.2),
        Joint("ornament", "trunk", "fixed", offset_m=(0, 0.6, 0)),
    ]
    hands = [Effector("left elbow", (0.25, 0, 0.05)), Effector("piston", (-0.2, 0, 0))]
    return Chain(joints, hands, base_m=(0.1, -0.2, 0.3), base_rotation=turned())


def turned() -> np.ndarray:
    """A rotation that is no quarter turn about anything."""
    c, s = np.cos(0.7), np.sin(0.7)
    return np.array([[c, -s, 0], [s, c, 0], [0, 0, 1.0]]) @ [[1, 0, 0], [0, s, -c], [0, c, s]]


def crane() -> Chain:
    """Arms of 1.0 and 0.75 m on a swivel hinge about the vertical (y)."""
    joints = [
        Joint("swivel", axis=(0, 1, 0)),
        Joint("boom", axis=(0, 0, 1), offset_m=(0, 0.3, 0)),
        Joint("jib", axis=(0, 0, 1), offset_m=(1.0, 0, 0)),
    ]
    return Chain(joints, [Effector("jib", (0.75, 0, 0))])


def leg(*, ball_knee: bool = False) -> Chain:
    """Thigh of 0.42 m and shank of 0.40 m hanging from a ball; the knee bends backwards only."""
    limits = {} if ball_knee else {"lower": 0.0, "upper": 2.6}
    joints = [
        Joint("hip", kind="ball"),
        Joint(
            "knee",
            kind="ball" if ball_knee else "revolute",
            axis=(1, 0, 0),
            offset_m=(0, -0.42, 0),
            **limits,
        ),
    ]
    return Chain(joints, [Effector("knee", (0, -0.40, 0))])


def body() -> Chain:
    """The 20-joint skeleton with five effectors, hinges at elbows and knees, free to move."""
    hinges = {
        "ElbowLeft": (0, 1, 0),
        "ElbowRight": (0, 1, 0),
        "KneeLeft": (1, 0, 0),
        "KneeRight": (1, 0, 0),
    }
    ends = ["Head", "HandLeft", "HandRight", "FootLeft", "FootRight"]
    return Chain.from_skeleton(walk(2, 30.0).skeleton, ends, hinges=hinges)


def some_q(chain: Chain, n: int, *, seed: int = 0, spread: float = 1.0) -> np.ndarray:
    """Random joint values within the limits, or within `spread` x pi (m) where there are none."""
    low = np.where(np.isfinite(chain.lower), chain.lower, -spread * PI)
    high = np.where(np.isfinite(chain.upper), chain.upper, spread * PI)
    return np.random.default_rng(seed).uniform(low, high, (n, chain.dof))
