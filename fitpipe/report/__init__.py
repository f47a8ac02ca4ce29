"""What fits are worth: errors against a reference, steadiness, coverage."""

from fitpipe.report.metrics import (
    Comparison,
    ErrorSummary,
    acceleration_jitter,
    bone_spread,
    compare_positions,
    joint_error,
    rigid_alignment,
    summarise,
)

__all__ = [
    "Comparison",
    "ErrorSummary",
    "acceleration_jitter",
    "bone_spread",
    "compare_positions",
    "joint_error",
    "rigid_alignment",
    "summarise",
]
