"""Brings sources into one frame and onto one clock, and measures the subject's bones."""

from fitpipe.calibrate.lengths import estimate_lengths, lengths_from_names, read_lengths
from fitpipe.calibrate.registration import align_rigid, register
from fitpipe.calibrate.timing import onto_clock

__all__ = [
    "align_rigid",
    "estimate_lengths",
    "lengths_from_names",
    "onto_clock",
    "read_lengths",
    "register",
]
