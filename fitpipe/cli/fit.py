"""``fitpipe fit``: one take, from its files to an HDF5 file."""

from __future__ import annotations

import shlex
import sys
from collections import Counter
from pathlib import Path
from typing import Annotated, Any

import typer

from fitpipe.cli.options import (
    Body,
    KeepZeros,
    MarkerSetName,
    RateHz,
    Settings,
    SkeletonName,
    Static,
    Subject,
    Units,
    Up,
)

Files = Annotated[
    list[Path], typer.Argument(help="The take's files, one per source; the first is the reference.")
]
Output = Annotated[Path, typer.Option("--output", "-o", help="The HDF5 file to write.")]


def fit(
    files: Files,
    output: Output,
    skeleton: SkeletonName = None,
    markerset: MarkerSetName = None,
    subject: Subject = None,
    static: Static = None,
    body: Body = None,
    units: Units = None,
    up: Up = None,
    rate_hz: RateHz = None,
    keep_zeros: KeepZeros = False,
    settings: Settings = None,
) -> None:
    """Fit rigid skeletons to one take and write them to an HDF5 file."""
    from fitpipe.batch import TakeFile, TakeJob, write_take
    from fitpipe.cli.progress import frame_bar
    from fitpipe.cli.settings import parse_settings
    from fitpipe.cli.tables import mm
    from fitpipe.config import FitConfig, make_config, with_settings
    from fitpipe.output import check_writable, refuse_other_files, refuse_same

    given = parse_settings(settings) | ({"skeleton.preset": skeleton} if skeleton else {})
    config = make_config(FitConfig, with_settings({}, given))
    check_writable(output.parent)
    refuse_same(output, [*files, static], "one of the files to be fitted")
    refuse_other_files(output)
    options: dict[str, Any] = {
        "body": body,
        "units": units,
        "up": up,
        "rate_hz": rate_hz,
        "keep_zeros": keep_zeros or None,
    }
    names = Counter(path.name for path in files)
    job = TakeJob(
        name=output.stem,
        files=tuple(
            # by its path where two would have the same name (a/x.csv and b/x.csv)
            TakeFile(source=str(path) if names[path.name] > 1 else "", path=str(path), **options)
            for path in files
        ),
        subject=subject,
        markerset=markerset,
        static=None if static is None else str(static),
        fit=config,
        output=str(output),
        command=shlex.join(["fitpipe", *sys.argv[1:]]),
    )
    with frame_bar(config) as bar:
        result = write_take(job, progress=bar(output.stem))
    for finding in result.log:
        print(f"{finding.severity}: {finding}")
    print(
        f"{output}: {result.n_fitted} of {result.n_frames} frames fitted, "
        f"{result.n_certified} certified, {len(result.sources)} sources, "
        f"rms {mm(result.rms_start_m)} before, {mm(result.rms_m)} after, "
        f"worst bone error {result.worst_bone_m:.1e} m"
    )
