"""Progress on a terminal; silent where the output goes to a file or a pipe."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from fitpipe.config import FitConfig
from fitpipe.pipeline import Progress, load_kernels


@contextmanager
def frame_bar(config: FitConfig) -> Iterator[Callable[[str], Progress]]:
    """A bar over the frames of a take: give it the take's name, feed the callback it returns.

    The kernels the config needs are loaded first: no take's time holds their compilation.
    """
    from tqdm import tqdm

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
