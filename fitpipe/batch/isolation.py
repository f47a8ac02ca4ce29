"""Keeps what fits a take in a process of its own, so that its death costs that take alone.

Each worker has pipes of its own and nothing in common with the others: no lock that a killed one
could hold for ever, no queue that it could leave half-written. A worker is started with
``subprocess``, which also works inside a Dask worker, where ``multiprocessing`` does not.
"""

from __future__ import annotations

import json
import logging
import os
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import IO, Any, Final, cast

from fitpipe.batch.job import TakeJob
from fitpipe.batch.outcome import Outcome
from fitpipe.errors import TakeTimeoutError, WorkerLostError

Report = Callable[[TakeJob, int, int], None]  # the take, frames done, frames in all

_ATTEMPTS: Final = 2
_LOADING_S: Final = 900.0  # imports and, the first time ever, compilation on a slow machine
_START: Final = """
import json, sys
sys.path[:] = json.loads(sys.argv[1])
from fitpipe.batch.worker import main
main()
"""
_THREADS: Final = (  # how many threads the libraries below numpy and scipy start
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "NUMBA_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
)
_DYING_S: Final = 2.0
_LAST_WORDS: Final = 4096  # bytes
_MEANING: Final = {
    "SIGKILL": ": by hand, or because memory ran out",
    "SIGSEGV": ": a crash in C code",
}
_log = logging.getLogger(__name__)


class Worker:
    """A process that fits takes; started when it is first needed, and again after it died."""

    def __init__(self) -> None:
        self._child: _Child | None = None
        self._is_closed = False
        self._guard = threading.Lock()

    @property
    def is_closed(self) -> bool:
        """Whether it was told to end and start no more."""
        return self._is_closed

    def fit(
        self,
        job: TakeJob,
        *,
        timeout_s: float | None = None,
        report: Report | None = None,
        loaded: Callable[[], None] | None = None,
    ) -> Outcome:
        """Have one take fitted.

        Parameters
        ----------
        job : TakeJob
        timeout_s : float, optional
            Seconds from the time that the worker is ready.
        report : callable, optional
            Told how far the take is.
        loaded : callable, optional
            Called when the worker is ready.

        Raises
        ------
        WorkerLostError
            The process ended; says how.
        TakeTimeoutError
            Time was up, and the process was ended.
        """
        child = self._ready(job.threads)
        watch = _Watch(child.kill)
        try:
            watch.begin(_LOADING_S)
            child.send({"job": job.model_dump(mode="json"), "report": report is not None})
            while answer := child.answer():
                if "outcome" in answer:
                    return Outcome.from_row(answer["outcome"])
                if "loaded" in answer:
                    watch.begin(timeout_s)
                    if loaded:
                        loaded()
                elif report:
                    report(job, answer["done"], answer["total"])
        finally:
            watch.end()
        how = child.buried()
        if watch.was_up:
            raise TakeTimeoutError(f"not done within {watch.seconds:g} s, and ended")
        raise WorkerLostError(f"its process {how}")

    def close(self) -> None:
        """End the process at once, whatever it does; no other is started."""
        with self._guard:
            self._is_closed = True
            child, self._child = self._child, None
        if child is not None:
            child.kill()
            child.buried()

    def _ready(self, threads: int) -> _Child:
        with self._guard:
            if self._is_closed:
                raise WorkerLostError("the run was stopped")
            if self._child is None or not self._child.is_alive:
                self._child = _Child(threads or 1)
            return self._child


class _Child:
    """The process and the ends of its pipes."""

    def __init__(self, n_threads: int) -> None:
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 - closed when it is buried
        self._process = subprocess.Popen(  # noqa: S603 - our own module, in this very Python
            # -P: nothing in the working folder stands in for a module
            [sys.executable, "-P", "-c", _START, json.dumps(sys.path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            env=os.environ | dict.fromkeys(_THREADS, str(n_threads)),
            # Ctrl-C is for the run, which then ends its workers
            start_new_session=True,
            creationflags=getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0),
        )
        self._guard = threading.Lock()
        self._jobs = cast("IO[bytes]", self._process.stdin)
        self._answers = cast("IO[bytes]", self._process.stdout)

    @property
    def is_alive(self) -> bool:
        return self._process.poll() is None

    def kill(self) -> None:
        self._process.kill()

    def send(self, request: dict[str, Any]) -> None:
        try:
            self._jobs.write(json.dumps(request).encode() + b"\n")
            self._jobs.flush()
        except OSError:
            return  # it is dead, and so will be its answer

    def answer(self) -> dict[str, Any] | None:
        """The next answer; None if the process is gone."""
        line = self._answers.readline()
        if not line.endswith(b"\n"):
            return None
        answer: dict[str, Any] = json.loads(line)
        return answer

    def buried(self) -> str:
        """How the process ended; its last words go to the log."""
        try:
            code = self._process.wait(_DYING_S)
        except subprocess.TimeoutExpired:
            self.kill()  # it has closed its output and lives on
            code = self._process.wait()
        with self._guard:
            self._tell_last_words()
        if code >= 0:
            return f"ended with exit code {code}"
        try:
            name = signal.Signals(-code).name
        except ValueError:
            name = f"signal {-code}"
        return f"was ended by {name}{_MEANING.get(name, '')}"

    def _tell_last_words(self) -> None:
        if self._errors.closed:
            return
        with self._errors, self._answers:
            self._errors.seek(max(0, self._errors.seek(0, os.SEEK_END) - _LAST_WORDS))
            said = self._errors.read().decode("utf-8", "replace").strip()
        with suppress(OSError):  # what it never read
            self._jobs.close()
        if said:
            _log.warning("a worker's last words: %s", said)


class _Watch:
    """Calls ``end`` when time is up."""

    def __init__(self, end: Callable[[], None]) -> None:
        self._end = end
        self._timer: threading.Timer | None = None
        self.seconds = 0.0
        self.was_up = False

    def begin(self, seconds: float | None) -> None:
        self.end()
        if seconds is not None:
            self.seconds = seconds
            self._timer = threading.Timer(seconds, self._up)
            self._timer.daemon = True
            self._timer.start()

    def end(self) -> None:
        if self._timer is not None:
            self._timer.cancel()

    def _up(self) -> None:
        self.was_up = True
        self._end()


def fit_isolated(
    worker: Worker,
    job: TakeJob,
    *,
    timeout_s: float | None = None,
    report: Report | None = None,
    loaded: Callable[[], None] | None = None,
) -> Outcome:
    """Have a take fitted; if its process ends or takes too long, once more in a new one."""
    attempt = 1
    while True:
        try:
            outcome = worker.fit(job, timeout_s=timeout_s, report=report, loaded=loaded)
            return replace(outcome, attempts=attempt)
        except (WorkerLostError, TakeTimeoutError) as error:
            if worker.is_closed:
                raise
            _log.warning("take %s, attempt %d of %d: %s", job.name, attempt, _ATTEMPTS, error)
            if attempt == _ATTEMPTS:
                return Outcome.failed(job.name, error, attempts=attempt)
        attempt += 1
