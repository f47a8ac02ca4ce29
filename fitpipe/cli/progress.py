"""Progress on a terminal; silent where the output goes to a file or a pipe."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from fitpipe.cli.printable import printable
from fitpipe.config import FitConfig

if TYPE_CHECKING:
    from tqdm import tqdm

    from fitpipe.batch import Ended, Item, TakeJob
    from fitpipe.batch.isolation import Report
    from fitpipe.pipeline import Progress

_MOST_BARS = 8
_MOST_LINES = 5  # of an error, which may be one of many


@contextmanager
def frame_bar(config: FitConfig) -> Iterator[Callable[[str], Progress]]:
    """A bar over the frames of a take: give it the take's name, feed the callback it returns.

    The kernels the config needs are loaded first: no take's time holds their compilation.
    """
    from tqdm import tqdm

    from fitpipe.pipeline import load_kernels

    with tqdm(unit=" frames", disable=None, leave=False) as bar:
        bar.set_description("loading the fit (compiles once, in the first run)")
        load_kernels(config)

        def start(take: str) -> Progress:
            bar.reset()
            bar.set_description(take)

            def report(done: int, total: int) -> None:
                bar.total = total
                bar.update(done - bar.n)

            return report

        yield start


class TakeBars:
    """A bar over the takes of a run, and one over the frames of each that is being fitted.

    A context manager; silent where standard error is no terminal.
    """

    def __init__(self) -> None:
        from tqdm import tqdm

        self._tqdm = tqdm
        self._overall = tqdm(unit=" takes", disable=None, leave=False)
        self._bars: dict[str, tqdm[NoReturn]] = {}
        self._guard = threading.Lock()
        self.report: Report | None = None if self._overall.disable else self._report

    def __enter__(self) -> TakeBars:
        return self

    def __exit__(self, *_: object) -> None:
        with self._guard:
            for bar in (*self._bars.values(), self._overall):
                bar.close()

    def begin(self, items: Sequence[Item]) -> None:
        """Show how many takes there are."""
        self._overall.total = len(items)
        if any(item.standing.kind != "done" for item in items):
            self._overall.set_description("loading the fit (compiles once, in the first run)")

    def done(self, ended: Ended) -> None:
        """One take more has ended; one that failed is told."""
        self._overall.set_description("takes")
        self._overall.update()
        outcome = ended.outcome
        with self._guard:
            bar = self._bars.pop(str(ended.run.folder / outcome.take), None)
            if bar is not None:
                bar.close()
        if outcome.status == "failed":
            name = f"{ended.run.name}/{outcome.take}" if ended.run.name else outcome.take
            lines = f"failed: take {name}: {outcome.error}".splitlines()
            if len(lines) > _MOST_LINES:
                lines[1:] = [f"  ({len(lines) - 1} lines more in summary.csv)"]
            self.write("\n".join(lines))

    def write(self, text: str) -> None:
        """A line of text above the bars."""
        self._tqdm.write(printable(text), file=sys.stderr)

    def _report(self, job: TakeJob, done: int, total: int) -> None:
        """How far a take is; called from the threads that wait for its worker."""
        with self._guard:
            key = str(Path(job.output).with_name(job.name))
            if key not in self._bars:
                if done >= total:
                    return  # a take so short needs no bar
                self._overall.set_description("takes")
                if len(self._bars) >= _MOST_BARS:
                    return
                self._bars[key] = self._tqdm(desc=job.name, unit=" frames", leave=False)
            bar = self._bars[key]
            bar.total = total
            bar.update(done - bar.n)
