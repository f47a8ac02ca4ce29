"""Who fits the takes: this process, workers on this machine, or the workers of a Dask scheduler.

All of them do the same with a job (`fitpipe.batch.take.run_take`), so results are the same bit for
bit. Each is a generator of outcomes as takes end; closed early, it ends what is under way.
"""

from __future__ import annotations

import os
import queue
import threading
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import CancelledError, Executor, Future, ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Final

from fitpipe.batch.isolation import Report, Worker, fit_isolated
from fitpipe.batch.job import TakeJob
from fitpipe.batch.outcome import Outcome
from fitpipe.config import BatchConfig
from fitpipe.errors import BatchError, WorkerLostError

Fitted = Generator[tuple[TakeJob, Outcome], None, None]
FitAll = Callable[[Sequence[TakeJob], Report | None], Fitted]

_POLL_S: Final = 0.5  # Windows delivers no Ctrl-C to a thread that waits without end


@contextmanager
def executor(n_jobs: int, settings: BatchConfig, lease: Path, run: str) -> Iterator[FitAll]:
    """What fits takes as the config says, ready to begin; see `BatchConfig`.

    Parameters
    ----------
    n_jobs : int
        How many takes there are.
    settings : BatchConfig
    lease, run : Path and str
        As in the jobs.

    Raises
    ------
    FitpipeError
        A cluster was asked for that cannot do the work.
    """
    if settings.scheduler and n_jobs:
        from fitpipe.batch.cluster import connected, fit_on_dask

        with connected(settings, lease, run) as client:
            yield partial(fit_on_dask, client, settings)
        return
    n_workers = min(n_cores() if settings.workers is None else settings.workers, n_jobs)
    if n_workers == 0:  # asked for, or nothing to do
        yield fit_here
    else:
        yield partial(fit_in_processes, n_workers, timeout_s=settings.take_timeout_s)


def n_cores() -> int:
    """Cores that this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not Linux
        return os.cpu_count() or 1


def fit_here(jobs: Sequence[TakeJob], report: Report | None = None) -> Fitted:
    """Fit one take after the other in this process; a crash in C code ends it."""
    if not jobs:
        return  # before the solver is imported
    from fitpipe.batch.take import run_take
    from fitpipe.pipeline import load_kernels

    for job in {job.fit.solve: job for job in jobs}.values():
        load_kernels(job.fit)
    for job in jobs:
        yield job, run_take(job, progress=partial(report, job) if report else None)


def fit_in_processes(
    n_workers: int,
    jobs: Sequence[TakeJob],
    report: Report | None = None,
    *,
    timeout_s: float | None = None,
) -> Fitted:
    """Fit takes side by side, each thread of this process having a worker process of its own."""
    threads = max(1, n_cores() // n_workers)
    own = threading.local()
    workers: list[Worker] = []
    first = _First()
    is_over = False

    def begin() -> None:
        own.worker = Worker()
        workers.append(own.worker)
        if is_over:
            own.worker.close()

    def call(job: TakeJob) -> Outcome:
        job = job.model_copy(update={"threads": threads})
        with first.turn() as loaded:
            return fit_isolated(own.worker, job, timeout_s=timeout_s, report=report, loaded=loaded)

    with ThreadPoolExecutor(n_workers, "fitpipe", begin) as pool:
        try:
            # a few more than workers, so that none waits for the next take to be handed out
            yield from outcomes(pool, call, jobs, window=2 * n_workers)
        finally:
            is_over = True
            pool.shutdown(wait=False, cancel_futures=True)
            for worker in workers:
                worker.close()


class _First:
    """Lets one worker load the kernels before the others, which find them compiled on the disk."""

    def __init__(self) -> None:
        self._is_loaded = threading.Event()
        self._lock = threading.Lock()

    @contextmanager
    def turn(self) -> Iterator[Callable[[], None]]:
        """Waits while another worker loads; gives what is to be called when this one has."""
        has_lock = False

        def loaded() -> None:
            nonlocal has_lock
            self._is_loaded.set()
            if has_lock:
                has_lock = False
                self._lock.release()

        if not self._is_loaded.is_set():
            self._lock.acquire()
            has_lock = True
            if self._is_loaded.is_set():
                loaded()
        try:
            yield loaded
        finally:
            if has_lock:
                self._lock.release()


def outcomes(
    pool: Executor,
    call: Callable[[TakeJob], Outcome],
    jobs: Sequence[TakeJob],
    *,
    window: int,
) -> Fitted:
    """Have a pool call ``call`` for every job, at most ``window`` of them waiting at a time.

    Raises
    ------
    BatchError
        The pool gave takes up that nobody cancelled: its scheduler is gone.
    """
    rest = iter(jobs)
    waiting: dict[Future[Outcome], TakeJob] = {}
    done: queue.SimpleQueue[Future[Outcome]] = queue.SimpleQueue()
    try:
        while True:
            while len(waiting) < window and (job := next(rest, None)) is not None:
                future = pool.submit(call, job)
                waiting[future] = job
                future.add_done_callback(done.put)
            if not waiting:
                return
            try:
                future = done.get(timeout=_POLL_S)
            except queue.Empty:
                continue
            job = waiting.pop(future)
            yield job, _outcome(future, job)
    finally:
        for future in waiting:
            future.cancel()


def _outcome(future: Future[Outcome], job: TakeJob) -> Outcome:
    try:
        return future.result()
    except CancelledError:
        raise BatchError(
            "the scheduler gave up the takes it had, or cannot be reached any more",
            hint="run again when it is back: takes that are done are kept",
        ) from None
    except Exception as error:
        # what the pool itself could not do for a take, such as a Dask worker that died too often
        lost = WorkerLostError(f"given up: {type(error).__name__}: {error}")
        return Outcome.failed(job.name, lost, attempts=1)
