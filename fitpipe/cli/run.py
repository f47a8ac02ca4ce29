"""``fitpipe run``: every take of a config."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fitpipe.cli.options import Settings

if TYPE_CHECKING:
    from fitpipe.batch import Outcome
    from fitpipe.config import RunConfig


def run(
    config: Annotated[Path, typer.Argument(help="TOML file; configs/demo.toml is an example.")],
    settings: Settings = None,
) -> None:
    """Fit every take that a config names; a take that fails is reported and the rest go on."""
    from fitpipe.cli.settings import parse_settings
    from fitpipe.config import load_run_config

    run_config = load_run_config(config, parse_settings(settings))
    outcomes = run_takes(run_config, config.parent)
    print_outcomes(outcomes, config.parent / run_config.output.folder)
    if any(outcome.status == "failed" for outcome in outcomes):
        sys.exit(1)


def run_takes(config: RunConfig, base: Path) -> list[Outcome]:
    """Run with a bar over the takes and one over the frames of each, on a terminal."""
    from tqdm import tqdm

    from fitpipe import batch
    from fitpipe.cli.progress import frame_bar

    takes = batch.find_takes(config.takes.pattern, base)
    outcomes = []
    with (
        tqdm(total=len(takes), desc="takes", unit=" takes", disable=None, leave=False) as overall,
        frame_bar(config.fit_config()) as bar,
    ):
        for outcome in batch.run(config, base=base, progress=bar):
            outcomes.append(outcome)
            overall.update()
            if outcome.status == "failed":
                tqdm.write(f"failed: take {outcome.take}: {outcome.error}", file=sys.stderr)
    return outcomes


def print_outcomes(outcomes: list[Outcome], folder: Path) -> None:
    """One line a take, then where the results are."""
    from fitpipe.batch import SUMMARY
    from fitpipe.cli.tables import mm, table

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
            f"{o.frames_per_s:,.0f}",
            f"{o.warnings}",
        ]
        for o in outcomes
        if o.status == "fitted"
    ]
    headings = [
        "take", "frames", "sources", "fitted", "certified", "rms before", "rms after",
        "worst bone", "frames/s", "warnings",
    ]  # fmt: skip
    if rows:
        print(table(headings, rows))
    n_failed = len(outcomes) - len(rows)
    print(f"\n{len(rows)} takes fitted, {n_failed} failed; results and {SUMMARY} in {folder}")
