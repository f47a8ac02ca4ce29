"""Which takes an earlier run has done already, and what has changed for the others."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from fitpipe.batch.fingerprint import differences, fingerprint, identity
from fitpipe.batch.job import TakeJob
from fitpipe.batch.outcome import Outcome
from fitpipe.errors import FitpipeError, InputError, OutputError

Kind = Literal["new", "done", "changed", "damaged", "forced"]


@dataclass(frozen=True)
class Standing:
    """How a take stands before the run.

    Parameters
    ----------
    kind : {"new", "done", "changed", "damaged", "forced"}
        There is no output; a whole one of the same input, settings and version; one of others;
        a file that is no whole output; or one that is to be made again anyway.
    why : tuple of str
        What has changed or is wrong.
    outcome : Outcome
        Of the earlier run if "done", else pending.
    """

    kind: Kind
    why: tuple[str, ...]
    outcome: Outcome

    def __str__(self) -> str:
        return f"{self.kind}: {'; '.join(self.why)}" if self.why else self.kind


def standing(
    job: TakeJob, row: Outcome | None, sha256: Callable[[Path], str], *, force: bool = False
) -> Standing:
    """How a take stands.

    Parameters
    ----------
    job : TakeJob
    row : Outcome, optional
        What an earlier run told of it; believed only as far as the output's bytes agree.
    sha256 : callable
        Hash of an input file.
    force : bool
        Make it again, whatever there is.
    """
    from fitpipe.output.checksum import sealed_sha256
    from fitpipe.output.read import load_fit, load_provenance
    from fitpipe.records import FitSummary

    output = Path(job.output)
    if not output.is_file():
        return Standing("new", (), Outcome(job.name, "pending"))
    pending = Outcome(job.name, "pending", stale=job.output)
    if force:
        return Standing("forced", (), pending)
    try:
        wanted = identity(job, sha256)
    except InputError as error:
        return Standing("changed", (str(error),), pending)
    print_wanted = fingerprint(wanted)
    try:
        sealed = sealed_sha256(output)
        if row and row.status == "fitted" and sealed == row.output_sha256 and sealed:
            found = row.fingerprint
        else:
            found = str(load_provenance(output).get("fingerprint", ""))
        if found == print_wanted:
            if not (row and sealed and sealed == row.output_sha256):
                fit = load_fit(output)
                row = Outcome.of_fit(FitSummary.of(fit), output_sha256=sealed or "")
            return Standing("done", (), replace(row, kept=True, output=job.output, attempts=0))
        before = load_provenance(output).get("identity")
    except (OutputError, OSError) as error:
        problem = error.problem if isinstance(error, FitpipeError) else str(error)
        return Standing("damaged", (problem,), pending)
    if not isinstance(before, dict):
        return Standing("changed", ("made without a record of what it depends on",), pending)
    return Standing("changed", tuple(differences(before, wanted)), pending)
