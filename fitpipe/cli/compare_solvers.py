"""``fitpipe compare-solvers``: every formulation and search on the same takes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fitpipe.cli.options import Body, MarkerSetName, RateHz, Settings, SkeletonName, Units, Up

if TYPE_CHECKING:
    from fitpipe.arrays import FloatArray
    from fitpipe.config import FitConfig
    from fitpipe.records import Take
    from fitpipe.solve import Problem
    from fitpipe.solve.compare import Score

LEGEND = """converged: bones exact and forces balanced,
within the stop step; bones: largest error in a frame; error: mean distance to the true
joints. The first row is the compiled kernel, the others the loop of the solver family."""


def compare_solvers(
    files: Annotated[
        list[Path] | None,
        typer.Argument(help="A take's files, one per source. Default: the takes of the demo."),
    ] = None,
    truth: Annotated[
        Path | None,
        typer.Option(help="A take of the true joints, in the first source's frame and frames."),
    ] = None,
    skeleton: SkeletonName = None,
    markerset: MarkerSetName = None,
    frames: Annotated[
        int, typer.Option(min=1, help="At most this many frames of each take, evenly spread.")
    ] = 120,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, lengths in metres.")] = False,
    body: Body = None,
    units: Units = None,
    up: Up = None,
    rate_hz: RateHz = None,
    settings: Settings = None,
) -> None:
    """Fit the same takes with every solver, equal weights for all observations, and compare."""
    from fitpipe.cli.settings import parse_settings
    from fitpipe.cli.sources import read_sources
    from fitpipe.config import FitConfig, make_config, with_settings
    from fitpipe.errors import ConfigError
    from fitpipe.io import read_take

    given = parse_settings(settings)
    options: dict[str, Any] = {"body": body, "units": units, "up": up, "rate_hz": rate_hz}
    of_files = options | {"truth": truth, "skeleton": skeleton, "markerset": markerset}
    if files:
        config = make_config(FitConfig, with_settings({}, given))
        takes = read_sources(files, **options)
        true = None if truth is None else read_take(truth, units=units, up=up)
        pairs = [_posed(takes, true, frames, config, skeleton=skeleton, markerset=markerset)]
    elif any(value is not None for value in of_files.values()):
        names = ", ".join(f"--{key.replace('_', '-')}" for key, value in of_files.items() if value)
        raise ConfigError(f"{names} given without files", hint="name the take's files")
    else:
        pairs = list(_demo_problems(frames, given))
    scores = _compare([problem for problem, _ in pairs], [true for _, true in pairs])
    if as_json:
        print(json.dumps([_as_json(score) for score in scores], indent=1))
    else:
        _print_scores(scores)


def _demo_problems(
    n_frames: int, given: dict[str, Any]
) -> Iterator[tuple[Problem, FloatArray | None]]:
    """The demo's takes and what is true of them."""
    from fitpipe.batch import make_plan, read_sources
    from fitpipe.cli.demo import home
    from fitpipe.config import load_run_config
    from fitpipe.io import read_take

    path = home() / "configs" / "demo.toml"
    config = load_run_config(path, given)
    for job in make_plan(config).runs[0].jobs:
        true = read_take(home() / "data" / "truth" / f"{job.name}.csv")
        yield _posed(read_sources(job), true, n_frames, job.fit)


def _posed(
    takes: list[Take], true: Take | None, n_frames: int, config: FitConfig, **options: Any
) -> tuple[Problem, FloatArray | None]:
    """The problem of a take with equal weights, and the true joints, at some of its frames."""
    from dataclasses import replace

    import numpy as np

    from fitpipe import pipeline
    from fitpipe.config import WeightsConfig
    from fitpipe.errors import InputError
    from fitpipe.mapping import map_take
    from fitpipe.solve.compare import thinned

    equal = [
        take
        if take.confidence is None
        else replace(take, confidence=np.where(take.confidence > 0, 1.0, 0.0))
        for take in takes
    ]
    config = config.model_copy(update={"weights": WeightsConfig.plain()})
    problem = pipeline.pose(equal, config=config, **options).problem
    n_all = len(problem.constant)
    rows = np.unique(np.linspace(0, n_all - 1, min(n_frames, n_all)).round().astype(np.int64))
    if true is None:
        return thinned(problem, rows), None
    joints = map_take(true, None, problem.skeleton).position_m
    if len(joints) != n_all:
        raise InputError(
            f"the truth has {len(joints)} frames, the take {n_all}", path=true.origin.path
        )
    return thinned(problem, rows), joints[rows]


def _compare(problems: list[Problem], truths: list[FloatArray | None]) -> list[Score]:
    """Run all solvers, with a bar on a terminal."""
    from tqdm import tqdm

    from fitpipe.config import FitConfig
    from fitpipe.pipeline import load_kernels
    from fitpipe.solve.compare import compare_solvers, solver_settings

    solvers = solver_settings()
    load_kernels(FitConfig())
    scores = compare_solvers(problems, truths, solvers)
    return list(tqdm(scores, total=len(solvers), unit=" solvers", disable=None, leave=False))


def _as_json(score: Score) -> dict[str, Any]:
    from dataclasses import asdict

    plain = {key: None if value != value else value for key, value in asdict(score).items()}
    return plain | {"settings": score.settings.model_dump()}


def _print_scores(scores: list[Score]) -> None:
    """A row for each solver."""
    from fitpipe.cli.tables import mm, table

    rows = []
    for score in scores:
        solve = score.settings
        rows.append(
            [
                solve.formulation,
                solve.curvature,
                solve.line_search + (", reverse" if solve.reverse else ""),
                mm(solve.stop_step_m, 4),
                f"{score.converged:.1%}",
                f"{score.iterations:.1f}",
                f"{score.median_bone_m * 1e3:.2g} mm",
                f"{score.worst_bone_m * 1e3:.2g} mm",
                f"{score.objective_m2 * 1e6:.0f} mm²",
                f"{score.objective_ratio - 1:+.2%}",
                mm(score.error_m, 2),
                f"{score.frames_per_s:,.0f}",
            ]
        )
    headings = [
        "formulation", "curvature", "search", "stop step", "converged", "iterations",
        "bones, median", "bones, worst", "J0", "to the first", "error", "frames/s",
    ]  # fmt: skip
    print(table(headings, rows))
    print(f"\n{scores[0].frames} frames, equal weights, one core.", LEGEND)
