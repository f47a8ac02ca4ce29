"""Fits of a simulated walk, with gaps."""

from __future__ import annotations

import numpy as np
import pytest

import fitpipe as fp
from fitpipe.simulate import walk

ABSENT_FRAMES = [11, 12]
HELD = {"HandRight": [0, 1, 5], "Head": [3], "FootLeft": [11, 12, 20]}


@pytest.fixture(scope="session")
def walk_fit() -> fp.Fit:
    """Thirty frames; two without any joint, some end joints missing in others."""
    motion = walk(30, 30.0)
    position = motion.position_m.copy()
    position[ABSENT_FRAMES] = np.nan
    for joint, frames in HELD.items():
        position[frames, motion.skeleton.joint_index(joint)] = np.nan
    take = fp.Take("truth", motion.skeleton.joints, position, motion.time_s)
    return fp.fit(take, name="walk", config={"weights": {"jumps": False}})
