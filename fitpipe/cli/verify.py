"""``fitpipe verify``: makes outputs again and says whether they are the same."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from fitpipe.batch.verify import Verification


def verify(
    outputs: Annotated[list[Path], typer.Argument(help="Files that fitpipe has written.")],
    inputs: Annotated[
        Path | None,
        typer.Option(help="Folder the inputs are in now, if not where they were."),
    ] = None,
    tolerance: Annotated[
        float | None,
        typer.Option(min=0, help="Largest difference that counts as none. Default: 1e-9."),
    ] = None,
) -> None:
    """Fit takes again from what their outputs say, and compare every number.

    Exit code 0: all bit-equal or within tolerance; 1: one is different; 2: one cannot be made
    again.
    """
    from fitpipe.batch.origin import job_of_output
    from fitpipe.batch.verify import TOLERANCE
    from fitpipe.batch.verify import verify as make_again
    from fitpipe.cli.printable import printable
    from fitpipe.cli.progress import frame_bar
    from fitpipe.errors import FitpipeError

    code = 0
    for path in outputs:
        try:
            with frame_bar(job_of_output(path).fit) as bar:
                found = make_again(
                    path,
                    inputs=inputs,
                    tolerance=TOLERANCE if tolerance is None else tolerance,
                    progress=bar(path.stem),
                )
        except FitpipeError as error:
            print(printable(f"error: {error}"), file=sys.stderr)
            code = 2
            continue
        _print(found)
        if found.verdict == "different":
            code = max(code, 1)
    sys.exit(code)


def _print(found: Verification) -> None:
    near = f" {found.tolerance:g}" if found.verdict == "within tolerance" else ""
    print(f"{found.path}: {found.verdict}{near}")
    for line in found.changed:
        print(f"  changed    {line}")
    for name, text in found.differences.items():
        print(f"  differs    {name}: {text}")
