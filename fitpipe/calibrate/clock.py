"""A source's clock against the reference's."""

from __future__ import annotations

from dataclasses import dataclass, replace

from fitpipe.arrays import FloatArray
from fitpipe.records import SourceTransform, Take


@dataclass(frozen=True, slots=True)
class Clock:
    """A source's clock: ``t_source = t_ref + offset + drift (t_ref - t0)``.

    ``t0_s`` is the first instant of the reference; ``offset_sd_s`` is 0 where the offset was given
    and NaN where it could not be estimated.
    """

    t0_s: float
    offset_s: float = 0.0
    offset_sd_s: float = 0.0
    drift: float = 0.0

    def set_back(self, take: Take) -> Take:
        """The take with its stamps on the reference's clock."""
        if self.offset_s == self.drift == 0:
            return take
        return replace(take, time_s=self.set_back_s(take.time_s))

    def set_back_s(self, time_s: FloatArray) -> FloatArray:
        """Stamps of the source on the reference's clock, seconds."""
        if self.offset_s == self.drift == 0:
            return time_s
        return self.t0_s + (time_s - self.t0_s - self.offset_s) / (1 + self.drift)

    def written_into(self, transform: SourceTransform) -> SourceTransform:
        """The transform with this clock written into it."""
        return replace(
            transform,
            time_offset_s=self.offset_s,
            time_offset_sd_s=self.offset_sd_s,
            clock_drift=self.drift,
        )
