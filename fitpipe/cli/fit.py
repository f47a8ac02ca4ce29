"""``fitpipe fit``: one take, from its files to an HDF5 file."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fitpipe.cli.options import Body, RateHz, Settings, Units, Up

if TYPE_CHECKING:
    from fitpipe.records import Take

Files = Annotated[
    list[Path], typer.Argument(help="The take's files, one per source; the first is the reference.")
]
Output = Annotated[Path, typer.Option("--output", "-o", help="The HDF5 file to write.")]


def fit(
    files: Files,
    output: Output,
    skeleton: Annotated[
        str | None, typer.Option(help="Skeleton preset or TOML file. Default: kinect20.")
    ] = None,
    markerset: Annotated[
        str | None, typer.Option(help="Marker set preset or TOML file. Default: labels are joints.")
    ] = None,
    subject: Annotated[
        str | None, typer.Option(help="Whose labels, where a file has several subjects.")
    ] = None,
    body: Body = None,
    units: Units = None,
    up: Up = None,
    rate_hz: RateHz = None,
    settings: Settings = None,
) -> None:
    """Fit rigid skeletons to one take and write them to an HDF5 file."""
    from fitpipe import output as results
    from fitpipe import pipeline
    from fitpipe.cli.progress import frame_bar
    from fitpipe.cli.settings import parse_settings
    from fitpipe.cli.tables import mm
    from fitpipe.config import FitConfig, make_config, with_settings
    from fitpipe.io import read_takes

    config = make_config(FitConfig, with_settings({}, parse_settings(settings)))
    results.check_writable(output.parent)
    options: dict[str, Any] = {"body": body, "units": units, "up": up, "rate_hz": rate_hz}
    takes = distinct([take for path in files for take in read_takes(path, **options)])
    with frame_bar(config) as bar:
        result = pipeline.fit(
            takes,
            skeleton=skeleton,
            markerset=markerset,
            subject=subject,
            config=config,
            name=output.stem,
            progress=bar(output.stem),
        )
    result.save(output)
    for finding in result.log:
        print(f"{finding.severity}: {finding}")
    print(
        f"{output}: {int(result.is_fitted.sum())} of {result.n_frames} frames fitted, "
        f"{int(result.is_certified.sum())} certified, {len(takes)} sources, "
        f"rms {mm(result.rms_start_m)} before, {mm(result.rms_m)} after, "
        f"worst bone error {result.worst_bone_m:.1e} m"
    )


def distinct(takes: list[Take]) -> list[Take]:
    """Sources named by their path where two would have the same name (a/x.csv and b/x.csv)."""
    names = [take.source for take in takes]
    return [
        replace(take, source=take.origin.path) if names.count(take.source) > 1 else take
        for take in takes
    ]
