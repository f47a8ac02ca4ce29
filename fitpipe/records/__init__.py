"""What passes between the stages: frozen records, checked once when they are made."""

from fitpipe.records.calibration import BoneLengths, Calibration, SourceTransform
from fitpipe.records.finding import Finding
from fitpipe.records.fit import Fit
from fitpipe.records.fit_summary import FitSummary
from fitpipe.records.long_take import LongTake
from fitpipe.records.skeleton import Skeleton
from fitpipe.records.skeleton_angles import SkeletonAngles
from fitpipe.records.status import Doubt, FrameStatus, JointStatus, LimitStatus, TwistStatus
from fitpipe.records.take import Origin, Take

__all__ = [
    "BoneLengths",
    "Calibration",
    "Doubt",
    "Finding",
    "Fit",
    "FitSummary",
    "FrameStatus",
    "JointStatus",
    "LimitStatus",
    "LongTake",
    "Origin",
    "Skeleton",
    "SkeletonAngles",
    "SourceTransform",
    "Take",
    "TwistStatus",
]
