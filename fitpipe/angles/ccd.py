"""Cyclic coordinate descent: each joint in turn, from the tips to the base, does its best.

With several effectors a joint takes the value that minimises the weighted sum of squared distances
of all effectors it moves; that value has a closed form, and its limits are exact.
"""

from __future__ import annotations

from fitpipe.angles.settings import Settings
from fitpipe.kernels import ik_descent

SETTINGS = Settings(ik_descent.CCD, max_iterations=5000)
