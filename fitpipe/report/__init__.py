"""What fits are worth: errors against a reference, steadiness, coverage; pages and figures."""

from fitpipe.report import figures as plot
from fitpipe.report.batch_page import BatchRow, batch_page, fitted_row
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
from fitpipe.report.page import report_page, summary_html

__all__ = [
    "BatchRow",
    "Comparison",
    "ErrorSummary",
    "acceleration_jitter",
    "batch_page",
    "bone_spread",
    "compare_positions",
    "fitted_row",
    "joint_error",
    "plot",
    "report_page",
    "rigid_alignment",
    "summarise",
    "summary_html",
]
