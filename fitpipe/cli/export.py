"""``fitpipe export``: fits in the formats of other programs."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from fitpipe.errors import FitpipeError, OutputError


def export(
    files: Annotated[list[Path], typer.Argument(help="The HDF5 files of fits.")],
    to: Annotated[
        str | None,
        typer.Option(help="bvh, mot, sto, trc, csv, c3d, parquet, npz, glb. Default: as -o ends."),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="File to write, or folder. Default: beside each fit."),
    ] = None,
    units: Annotated[
        str | None, typer.Option(help="Length unit of a TRC, C3D or BVH file: mm, cm, m.")
    ] = None,
    up: Annotated[
        str | None, typer.Option(help="Axis that points up in the fit (z, -y); turned to +Y.")
    ] = None,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace files that -o does not name.")
    ] = False,
) -> None:
    """Write fits in the format of another program, and say what that format cannot hold."""
    from fitpipe import exporting

    failed = False
    for file, path, is_named in _paths(files, to, output):
        try:
            if path.exists() and not (is_named or overwrite):
                raise OutputError(
                    "is there already", path=path, hint="--overwrite replaces it, -o names another"
                )
            findings = exporting.export(file, path, to=to, up=up, units=units)
        except FitpipeError as error:
            failed = True
            print(f"error: {error}", file=sys.stderr)
            continue
        print(f"{path}: written")
        for finding in findings:
            print(f"  {finding.severity}: {finding}")
    if failed:
        sys.exit(2)


def _paths(files: list[Path], to: str | None, output: Path | None) -> list[tuple[Path, Path, bool]]:
    """Every fit, the file to write for it, and whether the user named that file."""
    from fitpipe.exporting import find_format

    is_folder = output is not None and (output.is_dir() or not output.suffix)
    if output is not None and len(files) == 1 and not is_folder:
        return [(files[0], output, True)]
    if to is None:
        raise OutputError(
            "no format to export to", hint="give --to trc, or the whole name with -o walk.trc"
        )
    suffix = find_format(None, to).suffix
    paths = [(output or file.parent) / f"{file.stem}{suffix}" for file in files]
    twice = sorted({str(path) for path in paths if paths.count(path) > 1})
    if twice:
        raise OutputError(
            f"several fits would be written to {', '.join(twice)}",
            hint="export them one by one, with -o",
        )
    return [(file, path, False) for file, path in zip(files, paths, strict=True)]
