"""Which frames of a take are looked at together: samples of a long one, and blocks of any."""

from __future__ import annotations

from fitpipe.records import LongTake, Take
from fitpipe.records.long_take import joined
from fitpipe.solve.frames import BLOCK

_N_STRETCHES = 16  # that a long take is sampled by

AnyTake = Take | LongTake


def sampled(n_frames: int, most_frames: int) -> list[tuple[int, int]]:
    """First frame, and the one after the last, of the stretches a take is calibrated on.

    All of it where it has at most that many frames, else evenly spaced stretches of as many in all.
    """
    if n_frames <= most_frames:
        return [(0, n_frames)]
    length = max(most_frames // _N_STRETCHES, 1)
    step = (n_frames - length) / (_N_STRETCHES - 1)
    starts = [round(k * step) for k in range(_N_STRETCHES)]
    return [(start, start + length) for start in starts]


def sample(take: AnyTake, most_frames: int) -> Take:
    """The take itself, or its sampled stretches as one take."""
    return joined([take.frames(*part) for part in sampled(take.n_frames, most_frames)])


def blocks(n_frames: int, most_frames: int) -> list[tuple[int, int]]:
    """The frames that are fitted together: all of a take of at most that many, else blocks."""
    if n_frames <= most_frames:
        return [(0, n_frames)]
    starts = list(range(0, n_frames, BLOCK))
    if len(starts) > 1 and n_frames - starts[-1] < BLOCK // 2:  # no crumbs
        starts.pop()
    return list(zip(starts, [*starts[1:], n_frames], strict=True))
