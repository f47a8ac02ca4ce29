"""What a frame's fit and a joint's position are worth. The numbers are part of the file format."""

from __future__ import annotations

from enum import IntEnum


class FrameStatus(IntEnum):
    """How the fit of one frame ended."""

    NO_DATA = 0
    """Nothing was observed that a skeleton could be fitted to; every position is NaN."""
    CERTIFIED = 1
    """Converged, and proven to be the global optimum (formulation.md section 4, certificate)."""
    STATIONARY = 2
    """Converged, but a better optimum elsewhere is not ruled out."""
    STALLED = 3
    """No step improves the objective although the gradient is not zero."""
    ITERATION_LIMIT = 4
    """Stopped at ``solve.max_iterations`` before the step fell below the tolerance."""
    COMPROMISE = 5
    """The lengths contradict each other: their squared errors are least, then the objective."""

    @property
    def is_converged(self) -> bool:
        """Whether the frame ended at an optimum, certified or not."""
        return self in (FrameStatus.CERTIFIED, FrameStatus.STATIONARY)


class JointStatus(IntEnum):
    """Where a joint's position comes from."""

    ABSENT = 0
    """No position: nothing observed it and no bones on both sides hold it."""
    OBSERVED = 1
    """At least one source saw it in this frame."""
    CARRIED = 2
    """No source saw it; it is held by bones between observed joints."""
    INTERPOLATED = 3
    """No source's observation was used in this frame; carried by the motion around it."""


class Doubt(IntEnum):
    """Why an observation counts less than its confidence says, or not at all."""

    NONE = 0
    """Nothing speaks against it; or there is no observation."""
    JUMP = 1
    """It jumps off its own track: taken as missing."""
    BONES = 2
    """The bones at it are off their usual length: its weight is reduced."""
    FLIPPED = 3
    """The source takes left for right, against the other sources: weight 0."""


class TwistStatus(IntEnum):
    """What tells how a segment is turned about its own long axis."""

    ABSENT = 0
    """The segment has no orientation: one of its joints is absent."""
    MEASURED = 1
    """Points beside the axis: a body frame of three points, the plane of a bent hinge."""
    CARRIED = 2
    """The frames around, where it was measured: the limb is straight, or a point is missing."""
    TRANSPORTED = 3
    """Nothing: the segment turns with its parent by the smallest turn that leads to its axis."""


class LimitStatus(IntEnum):
    """How a segment's angles stand to the limits of the preset."""

    NONE = 0
    """It has no limits, or no angles in this frame."""
    WITHIN = 1
    """All angles lie within their limits."""
    AT = 2
    """One is on its limit and none beyond."""
    BEYOND = 3
    """One exceeds its limit."""
