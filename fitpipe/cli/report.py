"""``fitpipe report``: pages to look at."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fitpipe.cli.options import Settings


def report(
    fits: Annotated[Path, typer.Argument(help="A fit (.h5), or the output folder of a run.")],
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="The page. Default: beside the fit; report.html."),
    ] = None,
    config: Annotated[
        Path | None, typer.Option(help="TOML file whose [report] says where the lights change.")
    ] = None,
    settings: Settings = None,
) -> None:
    """Draw a fit, or all fits of a folder, as HTML pages that need nothing else."""
    from tqdm import tqdm

    from fitpipe.cli.settings import parse_settings
    from fitpipe.config import load_report_config
    from fitpipe.reporting import report_folder, report_take

    limits = load_report_config(config, parse_settings(settings))
    if not fits.is_dir():
        print(f"wrote {report_take(fits, output, limits=limits)}")
        return
    with tqdm(desc="pages", unit=" takes", disable=None, leave=False) as bar:

        def show(done: int, total: int) -> None:
            bar.total = total
            bar.update(done - bar.n)

        page, n, n_without = report_folder(fits, output, limits=limits, progress=show)
    print(f"wrote {page}: {n} takes, {n_without} without a fit; the takes' pages are beside it")
