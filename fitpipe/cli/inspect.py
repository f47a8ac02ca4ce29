"""``fitpipe inspect``: what is in a file, everything odd, and what it would map to."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fitpipe.cli.options import Body, RateHz, Units, Up

if TYPE_CHECKING:
    from fitpipe.io.inspect import FileReport

_MOST_GAPS = 12


def inspect(
    files: Annotated[list[Path], typer.Argument(help="Files of any readable format.")],
    body: Body = None,
    units: Units = None,
    up: Up = None,
    rate_hz: RateHz = None,
) -> None:
    """Say what is in files: labels, rate, units, axes, gaps, everything odd, and marker set."""
    from fitpipe.errors import FitpipeError
    from fitpipe.io.inspect import inspect_file

    failed = False
    for path in files:
        try:
            reports = inspect_file(path, body=body, units=units, up=up, rate_hz=rate_hz)
        except FitpipeError as error:
            failed = True
            print(f"error: {error}\n", file=sys.stderr)
            continue
        for report in reports:
            print("\n".join(_lines(report)) + "\n")
    if failed:
        sys.exit(2)


def _lines(report: FileReport) -> Iterator[str]:
    """The report as text, one fact a line."""
    from fitpipe.mapping import propose_markersets

    who = f", source {report.source}" + (f", body {report.body}" if report.body else "")
    yield f"{report.path} ({report.format}{who})"
    even = "even" if report.is_uniform else "UNEVEN ticks; the rate is that of the median tick"
    yield (
        f"  time      {report.n_frames} frames, {report.rate_hz:.6g} Hz, "
        f"{report.duration_s:.3f} s, {even}"
    )
    claimed = report.rate_claimed_hz
    if claimed is not None and abs(claimed - report.rate_hz) > 1e-3 * claimed:
        yield f"            the file claims {claimed:.6g} Hz"
    yield f"  unit      {report.unit}"
    size = " x ".join(f"{extent:.2f}" for extent in report.size_m)
    yield f"  size      {size} m (x y z, over all samples)"
    yield (
        f"  up        claimed {report.up_claimed or 'nothing'}, "
        f"inferred {report.up_inferred or 'nothing'}"
    )
    yield f"  points    {len(report.points)}: {', '.join(report.labels)}"
    yield f"  gaps      {report.gap_share:.2%} of all samples"
    gappy = sorted(
        (point for point in report.points if point.gap_share), key=lambda point: -point.gap_share
    )
    for point in gappy[:_MOST_GAPS]:
        yield (
            f"            {point.label}: {point.gap_share:.1%}, longest {point.longest_gap} frames"
        )
    if len(gappy) > _MOST_GAPS:
        yield f"            and {len(gappy) - _MOST_GAPS} more points with gaps"
    for name, value in report.metadata:
        yield f"  {name:<9} {value}"
    for finding in report.findings:
        yield f"  {finding.severity:<9} {finding}"
    proposals = propose_markersets(report.labels)
    if not proposals:
        yield "  maps to   no marker set that comes with fitpipe; write one (see README)"
    for place, proposal in enumerate(proposals[:3]):
        yield f"  {'maps to' if place == 0 else '      or'}   {proposal}"
