"""Takes with known truth: motions of a rigid skeleton, and sensors that observe them."""

from fitpipe.simulate.body import Motion
from fitpipe.simulate.motion import reach_and_turn, walk
from fitpipe.simulate.sensor import DepthSensor, observe

__all__ = ["DepthSensor", "Motion", "observe", "reach_and_turn", "walk"]
