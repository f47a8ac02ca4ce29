"""Measures runs over many takes: speed against the number of workers, overhead, and resuming.

Usage: python scripts/bench_batch.py [--json FILE] [--small 500] [--long 4] [--workers 0 1 2]

Small takes have 60 frames, long ones 20,000, all of two simulated depth sensors (20 joints).
Rates are over the time in which takes end, from the first to the last; what comes before (workers
starting, kernels loading) is the start. The overhead of a take is the time between two answers of
one worker, less the reading, fitting and writing that the worker times itself: the mean over all
takes. On a machine with other things to do that is mostly waiting for a core, so what the run
itself computes for each take is shown too. The resumed run is the whole command, in a process of
its own.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np

from fitpipe.batch import Outcome, executors, make_plan, run
from fitpipe.config import BatchConfig, RunConfig, load_run_config
from fitpipe.simulate import DepthSensor, observe, walk

ROOT = Path(__file__).parent.parent
RATE_HZ = 30.0


def write_takes(folder: Path, n: int, frames: int) -> None:
    """Takes of two sensors; a few are simulated, the others repeat their samples."""
    motion = walk(frames, RATE_HZ)
    places = {"a": (0.0, 1.0, 4.0), "b": (4.0, 1.2, 0.0)}
    sensors = {
        name: DepthSensor.looking_at(name, (0, 1, 0), from_m=place)
        for name, place in places.items()
    }
    for seed in range(n):
        for name, sensor in sensors.items():
            path = folder / f"take{seed:04d}_{name}.npz"
            if seed < 4:
                take = observe(motion, sensor, seed=seed)
                labels = np.array(take.labels, dtype=str)
                np.savez(path, position_m=take.position_m, labels=labels, time_s=take.time_s)
            else:
                path.write_bytes((folder / f"take{seed % 4:04d}_{name}.npz").read_bytes())


def config_of(folder: Path) -> Path:
    path = folder / "run.toml"
    path.write_text('[takes]\npattern = "{take}_{source}.npz"\n[output]\nfolder = "out"\n')
    return path


class Gaps:
    """Times between two answers of one worker, less what the worker did in them."""

    def __init__(self) -> None:
        self.seconds: list[float] = []
        self._last: dict[int, float] = {}
        self._real = executors.fit_isolated

    def __enter__(self) -> Gaps:
        executors.fit_isolated = self._timed
        return self

    def __exit__(self, *_: object) -> None:
        executors.fit_isolated = self._real

    def _timed(self, *arguments: Any, **options: Any) -> Outcome:
        outcome = self._real(*arguments, **options)
        now, thread = time.perf_counter(), threading.get_ident()
        if thread in self._last and outcome.attempts == 1:
            self.seconds.append(now - self._last[thread] - outcome.seconds)
        self._last[thread] = now
        return outcome


def measured(config: RunConfig, n_workers: int) -> dict[str, Any]:
    """Rates of one run that does every take anew."""
    with Gaps() as gaps:
        row = _measured(config, n_workers)
    if gaps.seconds:
        row["overhead_s"] = statistics.mean(gaps.seconds)
    return row


def _measured(config: RunConfig, n_workers: int) -> dict[str, Any]:
    begin, computed = time.perf_counter(), time.process_time()
    ends, seconds, frames = [], [], 0
    for ended in run(make_plan(config), BatchConfig(workers=n_workers), force=True):
        if ended.outcome.status != "fitted":
            sys.exit(f"take {ended.outcome.take}: {ended.outcome.error}")
        ends.append(time.perf_counter() - begin)
        seconds.append(ended.outcome.seconds)
        frames += ended.outcome.frames
    side_by_side = max(1, n_workers)
    n, span = len(ends) - side_by_side, ends[-1] - ends[side_by_side - 1]
    row: dict[str, Any] = {
        "workers": n_workers,
        "takes": len(ends),
        "frames": frames,
        "seconds": ends[-1],
        "start_s": ends[0] - seconds[0],
        "seconds_per_take": statistics.mean(seconds),
        "own_cpu_s": (time.process_time() - computed) / len(ends) if n_workers else None,
    }
    if n > side_by_side:
        row["takes_per_s"] = n / span
        row["frames_per_s"] = frames / len(ends) * n / span
    else:
        row["takes_per_s"], row["frames_per_s"] = len(ends) / ends[-1], frames / ends[-1]
    return row


def resumed(path: Path, repeats: int = 3) -> float:
    """Wall time of the command on a run that is all done, the median of some."""
    command = [sys.executable, "-m", "fitpipe.cli", "run", str(path)]
    times = []
    for _ in range(repeats):
        begin = time.perf_counter()
        out = subprocess.run(command, check=True, capture_output=True, text=True, cwd=ROOT).stdout
        times.append(time.perf_counter() - begin)
        if "kept from an earlier run" not in out:
            sys.exit(f"nothing was kept: {out}")
    return statistics.median(times)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", type=Path, help="write the figures here")
    parser.add_argument("--small", type=int, default=500)
    parser.add_argument("--long", type=int, default=4)
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    counts = sorted({0, 1, 2, cores or 1})
    parser.add_argument("--workers", type=int, nargs="+", default=counts)
    options = parser.parse_args()
    figures: dict[str, Any] = {"cores": cores}
    with tempfile.TemporaryDirectory() as folder:
        for kind, n, frames in (("small", options.small, 60), ("long", options.long, 20_000)):
            takes = Path(folder) / kind
            takes.mkdir()
            write_takes(takes, n, frames)
            path = config_of(takes)
            config = load_run_config(path)
            figures[kind] = [measured(config, n_workers) for n_workers in options.workers]
            print(f"\n{n} takes of {frames} frames, two sources, {cores} cores")
            print(
                "| workers | takes/s | frames/s | overhead a take | of it computing | start "
                "| whole run |"
            )
            print("|---:|---:|---:|---:|---:|---:|---:|")
            for row in figures[kind]:
                over = f"{row['overhead_s'] * 1e3:.1f} ms" if "overhead_s" in row else "–"
                own = f"{row['own_cpu_s'] * 1e3:.1f} ms" if row["own_cpu_s"] else "–"
                print(
                    f"| {row['workers']} | {row['takes_per_s']:,.1f} | {row['frames_per_s']:,.0f} "
                    f"| {over} | {own} | {row['start_s']:.1f} s | {row['seconds']:.1f} s |"
                )
            if kind == "small":
                figures["resume_s"] = resumed(path)
    print(f"\nresuming {options.small} finished takes: {figures['resume_s']:.2f} s")
    if options.json:
        options.json.write_text(json.dumps(figures, indent=1))


if __name__ == "__main__":
    main()
