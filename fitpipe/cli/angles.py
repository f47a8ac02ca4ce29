"""``fitpipe angles``: joint angles of fits that are already there."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from fitpipe.angles import Range

Files = Annotated[list[Path], typer.Argument(help="Files of fits; the angles are put into them.")]
Preset = Annotated[
    str | None,
    typer.Option(help="What the angles mean: preset or TOML file. Default: by the skeleton."),
]
Csv = Annotated[
    Path | None, typer.Option("--csv", help="Also write them to this CSV file, degrees (one fit).")
]
Everything = Annotated[
    bool, typer.Option("--all", help="Show also angles that say nothing by themselves.")
]


def angles(
    files: Files, preset: Preset = None, csv_file: Csv = None, everything: Everything = False
) -> None:
    """Put joint angles into fits, in place of those they had, and tell each joint's range."""
    from dataclasses import replace

    from fitpipe.angles import define, log_of, measure, ranges
    from fitpipe.errors import ConfigError
    from fitpipe.output import check_writable, load_fit, refuse_same, save_fit, write_atomically
    from fitpipe.provenance import with_angles

    if csv_file is not None:
        if len(files) > 1:
            raise ConfigError(f"--csv is for one fit, {len(files)} were given")
        check_writable(csv_file.parent)
        refuse_same(csv_file, files, "the fit itself")
    # a path must lead to the file from wherever the fit is made again
    named = str(Path(preset).resolve()) if preset and preset.endswith(".toml") else preset or "auto"
    for path in files:
        fit = load_fit(path)
        definition = define(fit.skeleton, named)
        found = measure(fit.position, definition, fit.bone_length[: fit.skeleton.n_bones])
        provenance = with_angles(fit.provenance, named)
        log = log_of(found, fit.log)
        save_fit(replace(fit, angles=found, log=log, provenance=provenance), path)
        print(f"{path}: {fit.n_frames} frames, preset {found.preset}\n")
        print(_text(ranges(found, definition, everything=everything)))
        inputs = fit.provenance.get("inputs") or [{}]
        up = inputs[0].get("up", "")
        if up not in ("", "+y"):
            print(f"{up} points up, not +y: angles against the world ask for a fit with --up {up}")
        if csv_file is not None:
            table = found.to_dataframe(fit.time_s)
            write_atomically(csv_file, table.to_csv(index=False, lineterminator="\n").encode())


def _text(rows: list[Range]) -> str:
    from fitpipe.cli.tables import table

    headings = ["angle", "lowest", "highest", "range", "gimbal", "straight", "beyond"]
    cells = []
    for before, row in zip([None, *rows], rows, strict=False):
        is_first = before is None or before.joint != row.joint
        frames = [str(n or "-") for n in (row.n_gimbal, row.n_straight, row.n_beyond)]
        degrees = [row.low_deg, row.high_deg, row.high_deg - row.low_deg]
        cells.append(
            [
                f"{row.joint} {row.angle}",
                *("n/a" if value != value else f"{round(value, 1) + 0.0:.1f}" for value in degrees),
                *(frames if is_first else ["", "", ""]),
            ]
        )
    return table(headings, cells) + (
        "\ndegrees; frames near gimbal lock, with a straight limb (its turn about itself is "
        "carried over), beyond a limit\n"
    )
