"""``fitpipe config``: configs made, checked, described, and read back from outputs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from fitpipe.cli.options import Settings

app = typer.Typer(no_args_is_help=True, help="Make, check and show the configs of runs.")

Config = Annotated[Path, typer.Argument(help="TOML file.")]
Target = Annotated[Path | None, typer.Argument(help="File to write. Default: the terminal.")]


@app.command()
def init(file: Target = None) -> None:
    """Write a config to start from, with a comment on every key."""
    from fitpipe.config.template import config_template

    _give(config_template(), file)


@app.command()
def check(config: Config, settings: Settings = None) -> None:
    """Say whether a config can be run, and how many takes it finds."""
    from fitpipe.batch import make_plan
    from fitpipe.cli.settings import parse_settings
    from fitpipe.config import load_run_config

    plan = make_plan(load_run_config(config, parse_settings(settings)))
    for note in plan.notes:
        print(f"note: {note}")
    runs = f" in {len(plan.runs)} runs" if len(plan.runs) > 1 else ""
    print(f"{config}: {plan.n_jobs} takes{runs}, results to {plan.folder}")


@app.command()
def schema(file: Target = None) -> None:
    """Write the JSON Schema of configs, for editors."""
    from fitpipe.config.schema import run_schema

    _give(json.dumps(run_schema(), indent=1) + "\n", file)


@app.command()
def show(
    output: Annotated[Path, typer.Argument(help="A file that fitpipe has written.")],
    file: Target = None,
) -> None:
    """Write the config an output was made with; it runs, into a folder results beside it."""
    import tomli_w

    from fitpipe.batch.origin import job_of_output

    job = job_of_output(output)
    _give(job.config_text + "\n" + tomli_w.dumps({"output": {"folder": "results"}}), file)


def _give(text: str, file: Path | None) -> None:
    if file is None:
        print(text, end="")
        return
    from fitpipe.errors import OutputError
    from fitpipe.output.atomic import write_atomically

    if file.exists():
        raise OutputError("is there already, and is left as it is", path=file)
    write_atomically(file, text.encode())
    print(f"{file}: written")
