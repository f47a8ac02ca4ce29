"""Brings sources into one frame and onto one clock, weighs them, and measures the bones."""

from fitpipe.calibrate.align import align_rigid, align_robust
from fitpipe.calibrate.clock import Clock
from fitpipe.calibrate.clocks import ClockFit, NoCommonMotionError, estimate_clock
from fitpipe.calibrate.fixed import read_transforms
from fitpipe.calibrate.flips import (
    flip_findings,
    flipped_lines,
    flipped_sources,
    girdle_lines,
    widest_girdle,
)
from fitpipe.calibrate.found import find_lengths, find_transforms
from fitpipe.calibrate.lengths import estimate_lengths
from fitpipe.calibrate.long_clock import Windows
from fitpipe.calibrate.noise import NoiseCourse, noise_m, noise_weights, slow_error_m
from fitpipe.calibrate.registration import register, registered_as_given
from fitpipe.calibrate.screen import (
    REACH_FRAMES,
    Doubted,
    Usual,
    doubt_at,
    screen,
    usual_tracks,
)
from fitpipe.calibrate.source_clock import find_clocks
from fitpipe.calibrate.subject import lengths_from_names, read_lengths, subject_toml
from fitpipe.calibrate.swaps import (
    Exchanged,
    SwapScan,
    mend_swaps,
    put_back,
    swap_findings,
    usual_jumps,
)
from fitpipe.calibrate.timing import Resampling, onto_clock, tick_s

__all__ = [
    "REACH_FRAMES",
    "Clock",
    "ClockFit",
    "Doubted",
    "Exchanged",
    "NoCommonMotionError",
    "NoiseCourse",
    "Resampling",
    "SwapScan",
    "Usual",
    "Windows",
    "align_rigid",
    "align_robust",
    "doubt_at",
    "estimate_clock",
    "estimate_lengths",
    "find_clocks",
    "find_lengths",
    "find_transforms",
    "flip_findings",
    "flipped_lines",
    "flipped_sources",
    "girdle_lines",
    "lengths_from_names",
    "mend_swaps",
    "noise_m",
    "noise_weights",
    "onto_clock",
    "put_back",
    "read_lengths",
    "read_transforms",
    "register",
    "registered_as_given",
    "screen",
    "slow_error_m",
    "subject_toml",
    "swap_findings",
    "tick_s",
    "usual_jumps",
    "usual_tracks",
    "widest_girdle",
]
