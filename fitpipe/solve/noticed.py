"""What is worth telling about a fit before and after it is made."""

from __future__ import annotations

import numpy as np

from fitpipe.arrays import BoolArray
from fitpipe.records import Finding, Skeleton


def never_seen(is_seen: BoolArray, skeleton: Skeleton) -> list[Finding]:
    """Says which joints no source ever saw; `is_seen` (joint,)."""
    if is_seen.all():
        return []
    names = ", ".join(np.array(skeleton.joints)[~is_seen])
    return [Finding(f"never seen by any source: {names}", "absent unless bones hold them", "note")]


def contradictions(n: int) -> list[Finding]:
    """Says in how many frames no pose has all the lengths."""
    if not n:
        return []
    return [
        Finding(
            f"bones and rigid pairs have lengths that contradict each other in {n} frames",
            "errors of the lengths kept least in squares",
            otherwise="give lengths that agree (bone_length_m), or leave the rigid pair out",
        )
    ]
