"""When a sensor looks, and what its own clock shows then."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from fitpipe.arrays import FloatArray
from fitpipe.records.checks import Faults

# Shortest and longest tick in periods: the ticks of recorded dual-Kinect sessions run from 13 to
# 94 ms about a period of 35 ms.
_SHORTEST: Final = 0.4
_LONGEST: Final = 2.8


@dataclass(frozen=True)
class SensorClock:
    """The ticks of a sensor, and its clock against the true time.

    Parameters
    ----------
    rate_hz : float, frames per second
        One over the mean tick (a little less where uneven ticks are cut at their shortest).
    offset_s : float, seconds
        What the clock shows at the true time 0.
    drift_ppm : float, parts per million
        How much too fast the clock runs.
    tick_jitter_s : float, seconds
        Standard deviation of the ticks; 0 for even ones.

    Raises
    ------
    RecordError
        Lists every argument out of its range.
    """

    rate_hz: float = 30.0
    offset_s: float = 0.0
    drift_ppm: float = 0.0
    tick_jitter_s: float = 0.0

    def __post_init__(self) -> None:
        faults = Faults("sensor clock")
        faults.unless(0 < self.rate_hz < np.inf, f"rate_hz is {self.rate_hz:g}, expected above 0")
        faults.unless(
            0 <= self.tick_jitter_s < np.inf,
            f"tick_jitter_s is {self.tick_jitter_s:g}, expected 0 or more",
        )
        faults.unless(bool(np.isfinite(self.offset_s)), "offset_s is not finite")
        faults.unless(
            abs(self.drift_ppm) < 1e5,
            f"drift_ppm is {self.drift_ppm:g}, expected between -100000 and 100000",
        )
        faults.raise_if_any()

    def instants(
        self, duration_s: float, *, start_s: float = 0.0, seed: int | np.random.Generator
    ) -> FloatArray:
        """True times at which the sensor looks, from ``start_s`` to ``duration_s``, seconds."""
        rng = np.random.default_rng(seed)
        period = 1 / self.rate_hz
        # as many as fit with even ticks; uneven ones are drawn for longer, then cut
        n_even = max(int(np.floor((duration_s - start_s) * self.rate_hz * (1 + 1e-12))), 0)
        if self.tick_jitter_s == 0:
            return np.asarray(start_s + np.arange(n_even + 1) * period, dtype=np.float64)
        n_drawn = 2 * n_even + 100
        ticks = rng.normal(period, self.tick_jitter_s, n_drawn)
        ticks = np.clip(ticks, _SHORTEST * period, _LONGEST * period)
        times = start_s + np.concatenate(([0.0], np.cumsum(ticks)))
        return np.asarray(times[times <= max(duration_s, start_s)])

    def shown(self, true_s: FloatArray) -> FloatArray:
        """What the clock shows at true times, seconds."""
        return self.offset_s + true_s * (1 + self.drift_ppm * 1e-6)
