"""``fitpipe run``: every take of a config."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fitpipe.cli.options import Settings

if TYPE_CHECKING:
    from fitpipe.batch import Ended, Item, Plan
    from fitpipe.config import BatchConfig

_MOST_ROWS = 60


def run(
    config: Annotated[Path, typer.Argument(help="TOML file; configs/demo.toml is an example.")],
    settings: Settings = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Folder for the results.")
    ] = None,
    workers: Annotated[
        int | None,
        typer.Option(min=0, help="Processes side by side; 0: none but this. Default: all cores."),
    ] = None,
    scheduler: Annotated[
        str | None,
        typer.Option(help="Dask scheduler, tcp://host:8786; or local, for one of its own."),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what would be done, and do nothing.")
    ] = False,
    force: Annotated[
        bool, typer.Option("--force", help="Fit takes again that are done already.")
    ] = False,
    log_file: Annotated[Path | None, typer.Option(help="Append what happens to this file.")] = None,
) -> None:
    """Fit every take that a config names; a take that fails is reported and the rest go on.

    Takes that an earlier run has done from the same input, settings and version are kept.
    """
    from fitpipe.batch import make_plan, survey
    from fitpipe.cli.logfile import logged_to
    from fitpipe.cli.settings import parse_settings
    from fitpipe.config import load_run_config

    given = parse_settings(settings)
    options = {
        "output.folder": None if output is None else str(output.absolute()),
        "batch.workers": workers,
        "batch.scheduler": scheduler,
    }
    given |= {key: value for key, value in options.items() if value is not None}
    run_config = load_run_config(config, given)
    plan = make_plan(run_config, command=shlex.join(["fitpipe", *sys.argv[1:]]))
    for note in plan.notes:
        print(f"note: {note}", file=sys.stderr)
    if dry_run:
        print_plan(plan, survey(plan, force=force))
        return
    with logged_to(log_file):
        ended = run_takes(plan, run_config.batch, force=force)
    print_outcomes(plan, ended)
    if any(one.outcome.status == "failed" for one in ended):
        sys.exit(1)


def run_takes(plan: Plan, settings: BatchConfig, *, force: bool = False) -> list[Ended]:
    """Run with a bar over the takes and one over the frames of each, on a terminal."""
    from fitpipe import batch
    from fitpipe.batch.interrupt import Interrupted
    from fitpipe.cli.progress import TakeBars

    ended = []
    with TakeBars() as bars:
        try:
            going = batch.run(plan, settings, force=force, begun=bars.begin, report=bars.report)
            with closing(going):
                for one in going:
                    ended.append(one)
                    bars.done(one)
        except Interrupted as stop:
            left = plan.n_jobs - len(ended)
            bars.write(f"stopped ({stop}): {left} takes are left; run again to go on with them")
            sys.exit(128 + stop.signum)
    return ended


def print_plan(plan: Plan, items: Sequence[Item]) -> None:
    """One line a take: what would be done with it, and why."""
    from collections import Counter

    from fitpipe.batch import strangers
    from fitpipe.cli.tables import table

    rows = [
        [
            f"{item.run.name}/{item.job.name}" if item.run.name else item.job.name,
            str(item.standing),
            f"{len(item.job.files)}",
            Path(item.job.output).relative_to(plan.folder).as_posix(),
        ]
        for item in items
    ]
    print(table(["take", "state", "files", "output"], rows, left=(0, 1, 3)))
    counts = Counter(item.standing.kind for item in items)
    told = ", ".join(f"{n} {kind}" for kind, n in counts.items())
    print(f"\n{len(items)} takes: {told}; {len(items) - counts['done']} to fit into {plan.folder}")
    for path in strangers(plan):
        print(f"note: {path} belongs to no take of this config")


def print_outcomes(plan: Plan, ended: Sequence[Ended]) -> None:
    """One line a take or a run of a grid, then where the results are."""
    from fitpipe.batch import strangers
    from fitpipe.batch.grid import GRID
    from fitpipe.batch.summary import SUMMARY

    fitted = [one for one in ended if one.outcome.status == "fitted"]
    is_grid = bool(plan.runs[0].name)
    (_print_runs if is_grid else _print_takes)(plan, ended)
    kept = sum(one.outcome.kept for one in fitted)
    told = f" ({kept} kept from an earlier run)" if kept else ""
    print(
        f"\n{len(fitted)} takes fitted{told}, {len(ended) - len(fitted)} failed; "
        f"results and {GRID if is_grid else SUMMARY} in {plan.folder}"
    )
    for one in ended:
        if one.outcome.stale:
            print(f"note: {one.outcome.stale} is of an earlier run with other input or settings")
    for path in strangers(plan):
        print(f"note: {path} belongs to no take of this config")


def _print_takes(plan: Plan, ended: Sequence[Ended]) -> None:
    from fitpipe.cli.tables import mm, table

    order = {job.name: i for i, job in enumerate(plan.runs[0].jobs)}
    done = sorted(
        (one.outcome for one in ended if one.outcome.status == "fitted"),
        key=lambda outcome: order[outcome.take],
    )
    rows = [
        [
            o.take,
            f"{o.frames}",
            f"{o.sources}",
            f"{o.fitted}",
            f"{o.certified}",
            mm(o.rms_before_m),
            mm(o.rms_after_m),
            f"{o.worst_bone_error_m:.1e} m",
            "kept" if o.kept else f"{o.frames_per_s:,.0f}",
            f"{o.warnings}",
        ]
        for o in done[:_MOST_ROWS]
    ]
    headings = [
        "take", "frames", "sources", "fitted", "certified", "rms before", "rms after",
        "worst bone", "frames/s", "warnings",
    ]  # fmt: skip
    if rows:
        print(table(headings, rows))
    if len(done) > _MOST_ROWS:
        print(f"... and {len(done) - _MOST_ROWS} more")


def _print_runs(plan: Plan, ended: Sequence[Ended]) -> None:
    from fitpipe.batch.grid import grid_row
    from fitpipe.cli.tables import mm, table

    rows = []
    for one_run in plan.runs:
        row = grid_row(one_run, [one.outcome for one in ended if one.run is one_run])
        rows.append(
            [
                one_run.name,
                f"{row['takes_fitted']}",
                f"{row['takes_failed']}",
                f"{row['frames_fitted']}",
                f"{row['certified_share']:.2%}",
                mm(row["rms_before_m"]),
                mm(row["rms_after_m"]),
                f"{row['worst_bone_error_m']:.1e} m",
            ]
        )
    headings = [
        "run", "takes", "failed", "frames", "certified", "rms before", "rms after", "worst bone",
    ]  # fmt: skip
    print(table(headings, rows))
