"""Carries out a plan: keeps what is done, fits the rest, and tells of every take."""

from __future__ import annotations

import logging
from collections.abc import Callable, Generator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path

from fitpipe.batch.executors import executor
from fitpipe.batch.grid import write_grid
from fitpipe.batch.hashes import InputHashes
from fitpipe.batch.interrupt import Interrupts
from fitpipe.batch.isolation import Report
from fitpipe.batch.job import TakeJob
from fitpipe.batch.lock import LEASE, STATE, folder_lock
from fitpipe.batch.outcome import Outcome
from fitpipe.batch.plan import Plan, Run
from fitpipe.batch.resume import Standing, standing
from fitpipe.batch.summary import Summary, read_summary
from fitpipe.config import BatchConfig

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Item:
    """One take of one run of the plan, and how it stands."""

    run: Run
    job: TakeJob
    standing: Standing


@dataclass(frozen=True)
class Ended:
    """One take of one run of the plan, and what became of it."""

    run: Run
    outcome: Outcome


def survey(plan: Plan, *, force: bool = False, hashes: InputHashes | None = None) -> list[Item]:
    """How every take of a plan stands; writes nothing.

    Parameters
    ----------
    plan : Plan
    force : bool
        Take nothing as done.
    hashes : InputHashes, optional
        Default: those an earlier run in the folder has left.
    """
    hashes = hashes or InputHashes(plan.folder / STATE / "hashes.json")
    items = []
    for run in plan.runs:
        rows = read_summary(run.folder)
        items += [
            Item(run, job, standing(job, rows.get(job.name), hashes, force=force))
            for job in run.jobs
        ]
    return items


def strangers(plan: Plan) -> list[Path]:
    """Files in the output folders that look like outputs and belong to no take of the plan."""
    found = []
    for run in plan.runs:
        own = {Path(job.output).name for job in run.jobs}
        found += [path for path in sorted(run.folder.glob("*.h5")) if path.name not in own]
    return found


def run(
    plan: Plan,
    settings: BatchConfig | None = None,
    *,
    force: bool = False,
    begun: Callable[[list[Item]], None] | None = None,
    report: Report | None = None,
) -> Generator[Ended, None, None]:
    """Fit every take of a plan that is not done; a take that fails does not stop the others.

    Parameters
    ----------
    plan : Plan
    settings : BatchConfig, optional
        Who fits the takes.
    force : bool
        Fit those that are done as well.
    begun : callable, optional
        Given how every take stands, before the first is fitted.
    report : callable, optional
        Given a take's job, frames done and frames in all; not for takes fitted on a cluster.

    Yields
    ------
    Ended
        First the takes that are kept, then the others as each ends. The output folder holds
        ``TAKE.h5``, ``summary.csv`` and ``summary.jsonl``.

    Raises
    ------
    FitpipeError
        The folder cannot be written or is in use, or the cluster cannot be reached.
    Interrupted
        A signal ended the run. Nothing is half-written; the next run goes on from there.
    """
    from fitpipe.output.atomic import check_writable, sweep_parts

    settings = settings or BatchConfig()
    check_writable(plan.folder / STATE)
    with Interrupts() as interrupts, folder_lock(plan.folder) as name:
        lease = plan.folder / STATE / LEASE
        folders = list(dict.fromkeys([lease.parent, plan.folder, *(r.folder for r in plan.runs)]))
        for folder in folders:
            check_writable(folder)
            for part in sweep_parts(folder):
                _log.info("%s: left behind by a writer that ended early, removed", part)
        hashes = InputHashes(lease.with_name("hashes.json"))
        items = survey(plan, force=force, hashes=hashes)
        hashes.save()
        todo = [
            item.job.model_copy(update={"lease": str(lease), "run": name})
            for item in items
            if item.standing.kind != "done"
        ]
        # a cluster that cannot be reached leaves the summary as it is
        with executor(len(todo), settings, lease, name) as fit_all:
            book = _Book(plan, items)
            if begun:
                begun(items)
            try:
                yield from book.kept
                with closing(fit_all(todo, report)) as fitted:
                    for job, outcome in fitted:
                        with interrupts.held_off():
                            ended = book.enter(job, outcome)
                        yield ended
            finally:
                for folder in folders:
                    sweep_parts(folder)
                book.close()


class _Book:
    """Keeps the summaries of all runs of a plan."""

    def __init__(self, plan: Plan, items: Sequence[Item]) -> None:
        self._plan = plan
        self._runs = {job.output: run for run in plan.runs for job in run.jobs}
        self._rows = {item.job.output: item.standing.outcome for item in items}
        self._summaries: dict[Path, Summary] = {}
        self.kept = [
            Ended(item.run, item.standing.outcome) for item in items if item.standing.kind == "done"
        ]
        for run in plan.runs:
            summary = Summary(run.folder, [job.name for job in run.jobs])
            summary.begin(self._rows[job.output] for job in run.jobs)
            self._summaries[run.folder] = summary

    def enter(self, job: TakeJob, outcome: Outcome) -> Ended:
        """Write a take's outcome down; returns when it is on the disk."""
        if outcome.status == "failed":
            outcome = replace(outcome, stale=self._rows[job.output].stale)
            _log.warning("take %s failed: %s", job.name, outcome.error)
        else:
            _log.info("take %s fitted in %.3f s: %s", job.name, outcome.seconds, job.output)
        run = self._runs[job.output]
        self._rows[job.output] = outcome
        self._summaries[run.folder].add(outcome)
        return Ended(run, outcome)

    def close(self) -> None:
        """Write all summaries anew, in the order of the plan."""
        for summary in self._summaries.values():
            summary.write()
        if self._plan.runs[0].name:
            write_grid(
                self._plan.folder,
                [(run, [self._rows[job.output] for job in run.jobs]) for run in self._plan.runs],
            )
