"""The table over the runs of a grid: one row for each combination of settings."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from fitpipe.batch.outcome import Outcome
from fitpipe.batch.plan import Run
from fitpipe.output.atomic import write_atomically

GRID: Final = "grid.csv"


def grid_row(run: Run, outcomes: Sequence[Outcome]) -> dict[str, Any]:
    """One run of a grid: its settings, and figures over its takes (NaN if none is fitted).

    Lengths are in metres: means over takes, each counting by its fitted frames; of the bone error
    the largest.
    """
    done = [outcome for outcome in outcomes if outcome.status == "fitted"]
    fitted = sum(outcome.fitted for outcome in done)

    def mean(name: str) -> float:
        terms = [getattr(o, name) * o.fitted for o in done if o.fitted]
        return sum(terms) / fitted if fitted else math.nan

    return {
        "run": run.name,
        **run.settings,
        "takes": len(outcomes),
        "takes_fitted": len(done),
        "takes_failed": sum(outcome.status == "failed" for outcome in outcomes),
        "frames": sum(outcome.frames for outcome in done),
        "frames_fitted": fitted,
        "converged_share": sum(o.converged for o in done) / fitted if fitted else math.nan,
        "certified_share": sum(o.certified for o in done) / fitted if fitted else math.nan,
        "rms_before_m": mean("rms_before_m"),
        "rms_after_m": mean("rms_after_m"),
        "worst_bone_error_m": max((o.worst_bone_error_m for o in done), default=math.nan),
        "warnings": sum(outcome.warnings for outcome in done),
    }


def write_grid(folder: Path, runs: Sequence[tuple[Run, Sequence[Outcome]]]) -> None:
    """Write ``grid.csv``: a row for each run, with the outcomes of its takes.

    Raises
    ------
    OutputError
        It cannot be written.
    """
    rows = [grid_row(run, outcomes) for run, outcomes in runs]
    text = io.StringIO()
    table = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
    table.writeheader()
    table.writerows({key: _cell(value) for key, value in row.items()} for row in rows)
    write_atomically(folder / GRID, text.getvalue().encode("utf-8", "backslashreplace"))


def _cell(value: Any) -> Any:
    """As TOML and JSON write it; empty where there is no number."""
    if isinstance(value, bool):
        return str(value).lower()
    return "" if value != value else value
