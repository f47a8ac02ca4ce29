"""Takes with known truth: motions of a rigid skeleton, and sensors that observe them."""

from fitpipe.simulate.body import Motion
from fitpipe.simulate.clock import SensorClock
from fitpipe.simulate.files import simulated_files
from fitpipe.simulate.lapses import Event, Lapses
from fitpipe.simulate.motion import punch, reach_and_turn, stand_still, walk
from fitpipe.simulate.sensor import DepthSensor, observe
from fitpipe.simulate.takes import MOTIONS, SimulatedTake, simulate

__all__ = [
    "MOTIONS",
    "DepthSensor",
    "Event",
    "Lapses",
    "Motion",
    "SensorClock",
    "SimulatedTake",
    "observe",
    "punch",
    "reach_and_turn",
    "simulate",
    "simulated_files",
    "stand_still",
    "walk",
]
