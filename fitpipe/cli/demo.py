"""``fitpipe demo``: the main job on the takes that come with fitpipe, against the truth."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from fitpipe.arrays import FloatArray
    from fitpipe.batch import TakeJob
    from fitpipe.records import Fit

DEFAULT_FOLDER = Path("results") / "demo"


def demo(
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Folder for the results.")
    ] = DEFAULT_FOLDER,
) -> None:
    """Fit the two demo takes and compare the fits with the true motion."""
    from fitpipe.batch import make_plan
    from fitpipe.cli.run import print_outcomes, run_takes
    from fitpipe.cli.tables import table
    from fitpipe.config import load_run_config
    from fitpipe.output import load_fit

    folder = home()
    path = folder / "configs" / "demo.toml"
    config = load_run_config(path, {"output.folder": str(output.absolute())})
    print("Two takes of a simulated person, each seen by two depth sensors. The very first run")
    print("compiles the fit, which takes some seconds; later ones start at once.\n", flush=True)
    plan = make_plan(config, command=shlex.join(["fitpipe", *sys.argv[1:]]))
    ended = run_takes(plan, config.batch)
    print_outcomes(plan, ended)
    done = {one.outcome.take for one in ended if one.outcome.status == "fitted"}
    jobs = [job for job in plan.runs[0].jobs if job.name in done]
    if jobs:
        print(
            "\nAgainst the true motion (error: mean distance to the true joints; bones: how far\n"
            "the length of a bone strays from its median, rms):\n"
        )
        rows = [row for job in jobs for row in _truth_rows(job, load_fit(job.output), folder)]
        print(table(["take", "error", "bones", "joints given"], rows))
    if len(jobs) < len(ended):
        sys.exit(1)


def home() -> Path:
    """Folder with configs/ and data/: inside an installed package, else the checkout around it."""
    import fitpipe

    package = Path(fitpipe.__file__).parent
    inside = package / "demo_files"
    return inside if inside.is_dir() else package.parent


def _truth_rows(job: TakeJob, fit: Fit, folder: Path) -> Iterator[list[str]]:
    """Error and bone steadiness of each sensor, of their mean and of the fit."""
    import numpy as np

    from fitpipe.batch import read_sources
    from fitpipe.cli.tables import mm
    from fitpipe.io import read_take
    from fitpipe.solve import pose_problem, registered, weights

    truth = read_take(folder / "data" / "truth" / f"{fit.name}.csv").position_m
    takes = read_sources(job)
    observation = registered(takes, fit.calibration)
    mean = pose_problem(observation, weights(takes, None), fit.skeleton).target
    mean = np.where(fit.weight.sum(axis=1)[..., None] > 0, mean, np.nan)
    estimates = [
        *((f"sensor {name}", observation[:, s]) for s, name in enumerate(fit.sources)),
        ("mean of both", mean),
        ("fit", fit.position),
    ]
    for name, position in estimates:
        error = np.linalg.norm(position - truth, axis=-1)
        given = ~np.isnan(error)
        yield [
            f"{fit.name}: {name}",
            mm(float(error[given].mean())),
            mm(_bone_spread(position, fit)),
            f"{given.mean():.1%}",
        ]


def _bone_spread(position_m: FloatArray, fit: Fit) -> float:
    """Rms deviation of bone lengths from their median over the take, metres."""
    import numpy as np

    parent, child = np.array(fit.skeleton.bones).T
    length = np.linalg.norm(position_m[:, child] - position_m[:, parent], axis=-1)
    return float(np.sqrt(np.nanmean((length - np.nanmedian(length, axis=0)) ** 2)))
