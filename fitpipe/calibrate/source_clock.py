"""What every source's clock shows against the reference's: given, or told by the motion."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, cast

from fitpipe.calibrate.clock import Clock
from fitpipe.calibrate.clocks import ClockFit, NoCommonMotionError, clocks_overlap, estimate_clock
from fitpipe.calibrate.long_clock import Windows, estimate_long_clock
from fitpipe.calibrate.timing import tick_s
from fitpipe.config import CalibrateConfig
from fitpipe.errors import CalibrationError, suggest
from fitpipe.records import Finding, LongTake, Take

_SURE: Final = 3.0  # standard deviations by which an offset must differ from zero
_NEGLIGIBLE_S: Final = 0.005  # ... and by this much, or a quarter of a tick where that is less
_NOTABLE_S: Final = 0.1
_VAGUE_S: Final = 0.01
_BETTER: Final = 1.3  # evidence for another offset over that for the one taken


def find_clocks(
    takes: Sequence[Take | LongTake],
    settings: CalibrateConfig,
    *,
    windows: Sequence[Windows] = (),
    n_windows: int = 0,
) -> tuple[list[Clock], list[Finding]]:
    """The clock of every source against that of the first.

    An estimated offset is left at zero where the clocks overlap and it is within three standard
    deviations of zero, or below 5 ms (a quarter of a tick, if less). Clocks that overlap are left
    as they are where the motion does not tell their offset; clocks that do not overlap need one.

    Parameters
    ----------
    takes : sequence of Take
        With the same labels, each on its own clock.
    settings : CalibrateConfig
        ``time_offset``, ``clock_drift`` and ``max_gap_s`` matter.
    windows : sequence of callable, optional
        One per take, as `estimate_long_clock` wants them: for takes too long to be looked at as a
        whole.
    n_windows : int

    Returns
    -------
    clocks : list of Clock
        One per take; ``Clock.set_back`` puts a take on the reference's clock.
    findings : list of Finding
        Offsets that are to be applied, or could not be told.

    Raises
    ------
    CalibrationError
        Clocks do not overlap and the motion tells no offset, or an offset is given for a source
        that does not exist.
    """
    reference, *others = takes
    t0_s = float(reference.time_s[0])
    given = _given(settings.time_offset, takes)
    clocks, findings = [Clock(t0_s)], []
    for take in others:
        if given is not None:
            clocks.append(Clock(t0_s, given.get(take.source, 0.0)))
            continue
        clock, remarks = _estimated(
            reference, take, settings, (windows[len(clocks)], n_windows) if windows else None
        )
        clocks.append(clock)
        findings += remarks
    return clocks, findings


def _given(
    time_offset: str | float | Mapping[str, float], takes: Sequence[Take | LongTake]
) -> dict[str, float] | None:
    """Offset by source; None where it is to be estimated."""
    if time_offset == "estimate":
        return None
    if isinstance(time_offset, str):
        return {}
    if not isinstance(time_offset, Mapping):
        return {take.source: float(time_offset) for take in takes[1:]}
    names = [take.source for take in takes]
    faults = [
        f"{name!r} is no source of this take; {suggest(name, names)}"
        for name in time_offset
        if name not in names
    ]
    if time_offset.get(names[0], 0) != 0:
        faults.append(f"{names[0]!r} is the reference, whose offset is 0")
    if faults:
        raise CalibrationError("time_offset does not fit the sources", faults=faults)
    return dict(time_offset)


def _estimated(
    reference: Take | LongTake,
    take: Take | LongTake,
    settings: CalibrateConfig,
    windows: tuple[Windows, int] | None,
) -> tuple[Clock, list[Finding]]:
    t0_s = float(reference.time_s[0])
    meet = clocks_overlap(reference, take)

    def estimate(*, with_drift: bool) -> ClockFit:
        gap = settings.max_gap_s
        if windows is not None:
            return estimate_long_clock(*windows, t0_s, max_gap_s=gap, with_drift=with_drift)
        whole = cast("tuple[Take, Take]", (reference, take))
        return estimate_clock(*whole, max_gap_s=gap, with_drift=with_drift)

    try:
        fit = estimate(with_drift=settings.clock_drift)
        if settings.clock_drift and abs(fit.drift) <= _SURE * fit.drift_sd:
            fit = estimate(with_drift=False)
    except NoCommonMotionError as error:
        if not meet:
            raise NoCommonMotionError(
                f"{error.problem}; as they are, the clocks do not overlap (reference "
                f"{_range(reference)}, {take.source} {_range(take)})",
                hint="give the offset: calibrate.time_offset = seconds, or a table by source",
            ) from error
        # a still take is the same at any offset, so there it does no harm
        finding = Finding(
            error.problem, "clocks taken as they are", "note" if error.is_still else "warning"
        )
        return Clock(t0_s, offset_sd_s=float("nan")), [finding]
    tick = min(tick_s(reference.time_s), tick_s(take.time_s))
    least = max(_SURE * fit.offset_sd_s, min(_NEGLIGIBLE_S, tick / 4))
    if meet and abs(fit.offset_s) <= least and fit.drift == 0:
        doubt = _repeats(take, fit, meet) if fit.other_evidence > _BETTER else []
        return Clock(t0_s, offset_sd_s=fit.offset_sd_s), doubt
    return Clock(t0_s, fit.offset_s, fit.offset_sd_s, fit.drift), _remarks(take, fit, meet)


def _remarks(take: Take | LongTake, fit: ClockFit, meet: bool) -> list[Finding]:
    source = f"source {take.source!r}"
    side = "ahead of" if fit.offset_s > 0 else "behind"
    drift = f" and gains {fit.drift * 1e6:.0f} ± {fit.drift_sd * 1e6:.0f} µs a second"
    findings = [
        Finding(
            f"{source}: its clock is {abs(fit.offset_s):.4f} ± {fit.offset_sd_s:.4f} s {side} the "
            f"reference's{drift if fit.drift else ''} (correlation {fit.correlation:.2f} over "
            f"{fit.overlap_s:.1f} s)",
            "stamps moved by that",
            "note" if meet and abs(fit.offset_s) < _NOTABLE_S else "warning",
            "calibrate.time_offset = 'none' takes clocks as they are",
        )
    ]
    if fit.offset_sd_s > _VAGUE_S and fit.drift == 0:
        findings.append(
            Finding(
                f"{source}: one offset does not fit the whole take well",
                otherwise="calibrate.clock_drift = true if its clock runs at another rate",
            )
        )
    return findings + _repeats(take, fit, meet)


def _repeats(take: Take | LongTake, fit: ClockFit, meet: bool) -> list[Finding]:
    if fit.other_offset_s is None:
        return []
    is_better = fit.other_evidence > _BETTER
    return [
        Finding(
            f"source {take.source!r}: the motion repeats, so that an offset of "
            f"{fit.other_offset_s:.2f} s fits {'better' if is_better else 'nearly as well'}",
            "took the one nearest to the clocks" if meet else "took the one that fits best",
            "note" if meet and abs(fit.offset_s) < _NOTABLE_S and not is_better else "warning",
            "give it: calibrate.time_offset",
        )
    ]


def _range(take: Take | LongTake) -> str:
    return f"{take.time_s[0]:.3f} to {take.time_s[-1]:.3f} s"
