from __future__ import annotations

import numpy as np
import pytest


@pytest.fixture
def walk_m() -> np.ndarray:
    """Positions (20, 4, 3) in metres, +Y up, walking along +Z; no coordinate repeats."""
    time_s = np.arange(20) / 100
    start = np.array([[0.01, 1.7, 2.0], [0.02, 0.95, 2.01], [0.1, 0.05, 2.1], [-0.1, 0.06, 1.9]])
    drift = np.stack([0.02 * np.sin(9 * time_s), 0.01 * np.cos(7 * time_s), 1.2 * time_s], axis=-1)
    return start + drift[:, None]
