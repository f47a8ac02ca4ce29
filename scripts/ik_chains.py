"""The three chains that bench_ik.py solves."""

from __future__ import annotations

import numpy as np

from fitpipe.angles import Chain, Effector, Joint
from fitpipe.simulate import walk


def arm7() -> Chain:
    """Seven hinges in the proportions of a light industrial arm, with its limits."""
    offset_m = [0.34, 0.0, 0.40, 0.0, 0.40, 0.0, 0.126]
    limits = np.radians([170, 120, 170, 120, 170, 120, 175])
    joints = [
        Joint(axis=(0, i % 2, 1 - i % 2), offset_m=(0, 0, z), lower=-limit, upper=limit)
        for i, (z, limit) in enumerate(zip(offset_m, limits, strict=True))
    ]
    return Chain(joints, [Effector("joint7", (0.0, 0.0, 0.06))])


def planar3() -> Chain:
    return Chain.planar([1.0, 0.8, 0.5])


def body() -> Chain:
    """The 20 joints of the Kinect v1: 40 joint values, five effectors, free to move in space."""
    sideways, across = (0.0, 1.0, 0.0), (1.0, 0.0, 0.0)
    hinges = {
        "ElbowLeft": sideways,
        "ElbowRight": sideways,
        "KneeLeft": across,
        "KneeRight": across,
    }
    ends = ["Head", "HandLeft", "HandRight", "FootLeft", "FootRight"]
    return Chain.from_skeleton(walk(2, 30.0).skeleton, ends, hinges=hinges)


def random_poses(chain: Chain, n: int, seed: int) -> np.ndarray:
    """Joint values within the limits; within 1 m and 60 degrees where a body has none."""
    free_body = bool(chain.parts.links.slides.any())
    free = np.where(chain.parts.links.slides, 1.0, np.radians(60 if free_body else 180))
    low = np.where(np.isfinite(chain.lower), chain.lower, -free)
    high = np.where(np.isfinite(chain.upper), chain.upper, free)
    return np.random.default_rng(seed).uniform(low, high, (n, chain.dof))


CHAINS = {
    "7-joint arm with limits": arm7,
    "planar arm, 3 bones": planar3,
    "20-joint body, 5 effectors": body,
}
