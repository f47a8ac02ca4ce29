"""Brings sources into one frame and onto one clock, weighs them, and measures the bones."""

from fitpipe.calibrate.align import align_rigid, align_robust
from fitpipe.calibrate.clocks import ClockFit, NoCommonMotionError, estimate_clock
from fitpipe.calibrate.fixed import read_transforms
from fitpipe.calibrate.flips import flip_findings, flipped_sources
from fitpipe.calibrate.found import find_lengths, find_transforms
from fitpipe.calibrate.lengths import estimate_lengths
from fitpipe.calibrate.noise import noise_course, noise_m, noise_weights, slow_error_m
from fitpipe.calibrate.registration import register, registered_as_given
from fitpipe.calibrate.screen import doubt_at, screen
from fitpipe.calibrate.source_clock import Clock, find_clocks
from fitpipe.calibrate.subject import lengths_from_names, read_lengths, subject_toml
from fitpipe.calibrate.swaps import mend_swaps
from fitpipe.calibrate.timing import onto_clock

__all__ = [
    "Clock",
    "ClockFit",
    "NoCommonMotionError",
    "align_rigid",
    "align_robust",
    "doubt_at",
    "estimate_clock",
    "estimate_lengths",
    "find_clocks",
    "find_lengths",
    "find_transforms",
    "flip_findings",
    "flipped_sources",
    "lengths_from_names",
    "mend_swaps",
    "noise_course",
    "noise_m",
    "noise_weights",
    "onto_clock",
    "read_lengths",
    "read_transforms",
    "register",
    "registered_as_given",
    "screen",
    "slow_error_m",
    "subject_toml",
]
