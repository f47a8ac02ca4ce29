"""Many takes: which there are, who fits them, what is done already, and what became of each."""

from fitpipe.batch.discovery import TakeFiles, find_takes
from fitpipe.batch.job import TakeFile, TakeJob
from fitpipe.batch.outcome import Outcome
from fitpipe.batch.plan import Plan, Run, make_plan
from fitpipe.batch.resume import Standing
from fitpipe.batch.run import Ended, Item, run, strangers, survey
from fitpipe.batch.take import fit_take, read_sources, run_take, write_take

__all__ = [
    "Ended",
    "Item",
    "Outcome",
    "Plan",
    "Run",
    "Standing",
    "TakeFile",
    "TakeFiles",
    "TakeJob",
    "find_takes",
    "fit_take",
    "make_plan",
    "read_sources",
    "run",
    "run_take",
    "strangers",
    "survey",
    "write_take",
]
