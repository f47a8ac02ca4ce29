"""Takes fitted by the workers of a Dask scheduler, on this machine or on many.

Each Dask worker keeps a process that does the fitting, so a crash or a timeout ends that one and
not the Dask worker. If a Dask worker itself dies, its scheduler gives the take to another.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from fitpipe.batch.executors import Fitted, n_cores, outcomes
from fitpipe.batch.isolation import Report, Worker, fit_isolated
from fitpipe.batch.job import TakeJob
from fitpipe.batch.lock import has_lease
from fitpipe.batch.outcome import Outcome
from fitpipe.config import BatchConfig
from fitpipe.errors import BatchError, require_extra

if TYPE_CHECKING:
    from distributed import Client

LOCAL: Final = "local"
_CONNECT_S: Final = 10.0
_WINDOW: Final = 1000  # takes the scheduler knows of at a time
_own = threading.local()


@contextmanager
def connected(settings: BatchConfig, lease: Path, run: str) -> Iterator[Client]:
    """A client of the scheduler that ``settings.scheduler`` names, or of one of our own.

    Raises
    ------
    MissingExtraError
        Dask is not installed.
    BatchError
        The scheduler cannot be reached, or a worker lacks fitpipe or does not see the files.
    """
    try:
        from distributed import Client, LocalCluster
    except ImportError as error:
        raise require_extra("batch.scheduler", "distributed", "cluster") from error

    with ExitStack() as stack:
        address: Any = settings.scheduler
        if address == LOCAL:
            n_workers = n_cores() if settings.workers is None else max(1, settings.workers)
            address = stack.enter_context(
                LocalCluster(
                    n_workers=n_workers,
                    threads_per_worker=1,
                    dashboard_address=None,
                    silence_logs=logging.CRITICAL,
                )
            )
        try:
            client = stack.enter_context(Client(address, timeout=_CONNECT_S, set_as_default=False))
        except (OSError, ValueError) as error:
            raise BatchError(
                f"the Dask scheduler {address} cannot be reached ({error})",
                hint="start one with: dask scheduler; its first lines tell the address",
            ) from error
        _check_workers(client, lease, run)
        yield client


def fit_on_dask(
    client: Client,
    settings: BatchConfig,
    jobs: Sequence[TakeJob],
    report: Report | None = None,
) -> Fitted:
    """Fit takes on the workers of a scheduler; nothing is reported of a take under way."""
    del report
    pool = client.get_executor(pure=False)
    call = partial(_fit_on_worker, timeout_s=settings.take_timeout_s)
    # one core for each: how many takes share a machine was said when its workers were started
    alone = [job.model_copy(update={"threads": 1}) for job in jobs]
    try:
        yield from outcomes(pool, call, alone, window=_WINDOW)
    finally:
        pool.shutdown(wait=False)


def _fit_on_worker(job: TakeJob, *, timeout_s: float | None) -> Outcome:
    """What a Dask worker does: each of its threads has a process of its own that fits."""
    if not hasattr(_own, "worker"):
        _own.worker = Worker()
    return fit_isolated(_own.worker, job, timeout_s=timeout_s)


def _check_workers(client: Client, lease: Path, run: str) -> None:
    """Make sure that workers run this fitpipe and see the output folder; waits for the first."""
    client.wait_for_workers(1)
    found = client.run(_probe, str(lease), run)
    ours = version("fitpipe")
    faults = [
        f"worker {worker} has fitpipe {theirs}, this is {ours}"
        for worker, (theirs, _) in found.items()
        if theirs != ours
    ]
    faults += [
        f"worker {worker} does not see the folder {lease.parent.parent}"
        for worker, (_, sees) in found.items()
        if not sees
    ]
    if faults:
        raise BatchError(
            "workers that cannot fit these takes",
            faults=faults,
            hint="install the same fitpipe everywhere, and keep takes and results on a disk that "
            "all machines share under the same path",
        )


def _probe(lease: str, run: str) -> tuple[str, bool]:
    return version("fitpipe"), has_lease(Path(lease), run)
