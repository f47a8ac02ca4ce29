"""Runs killed at random moments (kill -9) leave nothing wrong, and lose nothing."""

from __future__ import annotations

import json
import os
from collections import Counter
from pathlib import Path

import pytest

from .kills import NAMES, kill_run, right_images

N_RUNS = int(os.environ.get("FITPIPE_KILL_RUNS", "4"))  # scripts/fault_runs.py asks for 50


@pytest.mark.usefixtures("faulty")
def test_nothing_is_wrong_and_nothing_lost_after_a_kill(project, monkeypatch):
    # a slow disk makes the moments longer in which a kill could do harm
    monkeypatch.setenv("SLOW_DISK_S", "0.01")
    monkeypatch.setenv("SLOW_S", "0.01")
    made = project(NAMES)
    right = right_images(made)
    assert len(right) == len(NAMES)
    told = Counter()
    for seed in range(N_RUNS):
        told += kill_run(made, right, seed)
    assert told["parents killed"] + told["workers killed"] > 0
    report = os.environ.get("FITPIPE_KILL_REPORT")
    if report:
        Path(report).write_text(json.dumps(told))
