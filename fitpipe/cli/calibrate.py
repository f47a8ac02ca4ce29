"""``fitpipe calibrate``: a subject's bone lengths from any takes, for all others to use."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fitpipe.cli.options import (
    Body,
    MarkerSetName,
    RateHz,
    Settings,
    SkeletonName,
    Static,
    Subject,
    Units,
    Up,
)

if TYPE_CHECKING:
    from fitpipe.records import BoneLengths, Skeleton


def calibrate(
    files: Annotated[
        list[Path], typer.Argument(help="Takes of one subject, of any sensors and any motion.")
    ],
    output: Annotated[Path, typer.Option("--output", "-o", help="The TOML file to write.")],
    skeleton: SkeletonName = None,
    markerset: MarkerSetName = None,
    symmetric: Annotated[
        bool, typer.Option("--symmetric", help="Left and right bones get one length.")
    ] = False,
    subject: Subject = None,
    static: Static = None,
    body: Body = None,
    units: Units = None,
    up: Up = None,
    rate_hz: RateHz = None,
    settings: Settings = None,
) -> None:
    """Measure a subject's bones on any number of takes; fits use them as calibrate.bone_lengths."""
    from fitpipe import pipeline
    from fitpipe.calibrate import subject_toml
    from fitpipe.cli.settings import parse_settings
    from fitpipe.cli.sources import open_sources, read_static
    from fitpipe.config import FitConfig, make_config, with_settings
    from fitpipe.output import check_writable, refuse_same, write_atomically

    wanted = parse_settings(settings) | ({"calibrate.symmetric": True} if symmetric else {})
    config = make_config(FitConfig, with_settings({}, wanted))
    check_writable(output.parent)
    refuse_same(output, [*files, static], "one of the takes")
    options: dict[str, Any] = {"body": body, "units": units, "up": up, "rate_hz": rate_hz}
    takes = open_sources(files, most_frames=config.calibrate.sample_frames, **options)
    lengths, bones, findings = pipeline.measure_lengths(
        takes,
        skeleton=skeleton,
        markerset=markerset,
        subject=subject,
        static=read_static(static, **options),
        config=config,
    )
    names = ", ".join(path.name for path in files)
    comment = f"Bone lengths of one subject on skeleton {bones.name}, measured on {names}"
    write_atomically(output, subject_toml(lengths, bones, comment=comment).encode())
    for finding in findings:
        print(f"{finding.severity}: {finding}")
    _print_lengths(lengths, bones)
    print(f"\n{output}: use it with --set calibrate.bone_lengths={output}")


def _print_lengths(lengths: BoneLengths, skeleton: Skeleton) -> None:
    from fitpipe.cli.tables import mm, table

    columns = (lengths.length_m, lengths.low_m, lengths.high_m)
    rows = [
        [name, *(mm(float(column[k])) for column in columns), f"{lengths.n_samples[k]}"]
        for k, name in enumerate(skeleton.bone_names)
    ]
    print(table(["bone", "length", "95 % from", "to", "samples"], rows))
