"""The command ``fitpipe``: thin verbs over pipeline and batch; the only room that prints."""

from __future__ import annotations

import sys
from importlib.metadata import version
from typing import Annotated

import typer

from fitpipe.cli.angles import angles
from fitpipe.cli.calibrate import calibrate
from fitpipe.cli.compare import compare
from fitpipe.cli.compare_solvers import compare_solvers
from fitpipe.cli.config import app as config
from fitpipe.cli.demo import demo
from fitpipe.cli.export import export
from fitpipe.cli.fit import fit
from fitpipe.cli.inspect import inspect
from fitpipe.cli.printable import printable
from fitpipe.cli.report import report
from fitpipe.cli.run import run
from fitpipe.cli.simulate import simulate
from fitpipe.cli.verify import verify
from fitpipe.errors import FitpipeError

app = typer.Typer(
    name="fitpipe",
    help="Turns motion-capture takes from one or several sensors into rigid skeletons.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


def _print_version(wanted: bool) -> None:
    if wanted:
        print(version("fitpipe"))
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version."
        ),
    ] = False,
) -> None:
    pass


COMMANDS = (
    demo,
    inspect,
    fit,
    run,
    verify,
    calibrate,
    compare,
    angles,
    export,
    report,
    simulate,
    compare_solvers,
)
for command in COMMANDS:
    app.command()(command)
app.add_typer(config, name="config")


def main() -> None:
    """Run the command line; a user's mistake ends with one message and exit code 2."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")  # a code page without τ must not end the run
    try:
        app()
    except FitpipeError as error:
        print(printable(f"error: {error}"), file=sys.stderr)
        sys.exit(2)
