"""What is worth telling about a fit before and after it is made."""

from __future__ import annotations

import numpy as np

from fitpipe.arrays import ByteArray, FloatArray
from fitpipe.records import Finding, FrameStatus, Skeleton


def never_seen(weight: FloatArray, skeleton: Skeleton) -> list[Finding]:
    """Says which joints no source ever saw."""
    unseen = ~(weight > 0).any(axis=(0, 1))
    if not unseen.any():
        return []
    names = ", ".join(np.array(skeleton.joints)[unseen])
    return [Finding(f"never seen by any source: {names}", "absent unless bones hold them", "note")]


def contradictions(frame_status: ByteArray) -> list[Finding]:
    """Says in how many frames no pose has all the lengths."""
    n = int((frame_status == FrameStatus.COMPROMISE).sum())
    if not n:
        return []
    return [
        Finding(
            f"bones and rigid pairs have lengths that contradict each other in {n} frames",
            "errors of the lengths kept least in squares",
            otherwise="give lengths that agree (bone_length_m), or leave the rigid pair out",
        )
    ]
