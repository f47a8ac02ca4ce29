"""The process that fits takes for a run: one job after the other, as lines of JSON.

It reads jobs from its standard input and ends when that closes, so it never outlives the program
that started it, however that ends. It answers on what was its standard output when it started;
whatever libraries print goes to its standard error.
"""

from __future__ import annotations

import faulthandler
import json
import os
import queue
import sys
import threading
import traceback
from pathlib import Path
from typing import IO, Any

from fitpipe.batch.job import TakeJob


def main() -> None:
    """Serve jobs until the input closes."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # what C code prints must not get between the answers
    faulthandler.enable()
    _prefer_this_one_when_memory_runs_out()
    jobs: queue.SimpleQueue[str] = queue.SimpleQueue()
    threading.Thread(target=_listen, args=(jobs,), daemon=True).start()
    loaded: set[str] = set()
    try:
        while True:
            _serve(json.loads(jobs.get()), answers, loaded)
    except BaseException:
        traceback.print_exc()
        os._exit(1)  # at once: the other thread waits for a line of input


def _serve(request: dict[str, Any], answers: IO[str], loaded: set[str]) -> None:
    from fitpipe.batch.outcome import Outcome
    from fitpipe.batch.take import run_take
    from fitpipe.pipeline import load_kernels

    def answer(**what: Any) -> None:
        answers.write(json.dumps(what) + "\n")
        answers.flush()

    job = TakeJob.model_validate(request["job"])
    solver = job.fit.solve.model_dump_json()
    if solver not in loaded:
        try:
            load_kernels(job.fit_here)  # first, so that no take's time holds the compilation
        except Exception as error:
            answer(outcome=Outcome.failed(job.name, error, attempts=1).to_row())
            return
        loaded.add(solver)
    answer(loaded=True)

    def report(done: int, total: int) -> None:
        answer(done=done, total=total)

    outcome = run_take(job, progress=report if request["report"] else None)
    answer(outcome=outcome.to_row())


def _listen(jobs: queue.SimpleQueue[str]) -> None:
    for line in sys.stdin:
        jobs.put(line)
    # the program that gave the jobs is gone: nobody waits for what is under way
    os._exit(0)


def _prefer_this_one_when_memory_runs_out() -> None:
    """Have Linux end this process rather than the run; elsewhere there is no such wish."""
    try:
        Path("/proc/self/oom_score_adj").write_text("500")
    except OSError:
        return
