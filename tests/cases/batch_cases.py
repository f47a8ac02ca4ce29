"""Cases about batches that are killed, gone on with, locked out, or run by several workers."""

from __future__ import annotations

import csv
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import h5py
import numpy as np

import fitpipe as fp

from .catalogue import Case
from .run_cases import ROOT, command, config, folder_of, says, walks


def started(config_path: Path, cwd: Path, *options: str) -> subprocess.Popen[str]:
    """A run in a process group of its own, whose output nobody reads."""
    return subprocess.Popen(
        [sys.executable, "-m", "fitpipe.cli", "run", str(config_path), *options],
        cwd=cwd,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        text=True,
        start_new_session=True,
    )


def opens(path: Path) -> None:
    with h5py.File(path) as file:
        assert "position" in file
    assert fp.load_fit(path).is_fitted.all()


def rows_of(folder: Path) -> dict[str, dict[str, str]]:
    with (folder / "out" / "summary.csv").open() as file:
        return {row["take"]: row for row in csv.DictReader(file)}


def killed_run(case: Case, tmp: Path) -> None:
    """Whatever has a final name when a run is killed is whole."""
    folder = folder_of(case, tmp)
    run = started(config(folder, "{take}.trc"), folder, "--workers", "0")
    deadline = time.monotonic() + 300
    while not list((folder / "out").glob("*.h5")) and time.monotonic() < deadline:
        assert run.poll() in (None, 0), "the run ended before it was killed"
        time.sleep(0.005)
    os.killpg(run.pid, signal.SIGKILL)
    run.wait(timeout=60)
    final = list((folder / "out").glob("*.h5"))
    assert final
    for path in final:
        opens(path)
    done = command("run", folder / "run.toml", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert len(list((folder / "out").glob("*.h5"))) == 3


def resumed(case: Case, tmp: Path) -> None:
    folder = folder_of(case, tmp)
    done = command("run", config(folder, "{take}.trc"), "--workers", "0", cwd=folder)
    assert done.returncode == 0, done.stderr
    for name in case.values["redone"]:
        opens(folder / "out" / f"{name}.h5")
    before = {p: p.stat().st_mtime_ns for p in (folder / "out").glob("*.h5")}
    again = command("run", folder / "run.toml", "--workers", "0", cwd=folder)
    assert again.returncode == 0, again.stderr
    assert {p: p.stat().st_mtime_ns for p in before} == before


def held_open(case: Case, tmp: Path) -> None:
    """The take whose output another program writes fails and says why; the others are done."""
    folder = walks(case, tmp)
    path = config(folder, "{take}.trc")
    assert command("run", path, cwd=folder).returncode == 0
    code = (
        "import sys, time, h5py; f = h5py.File(sys.argv[1], 'r+'); "
        "print('open', flush=True); time.sleep(600)"
    )
    target = folder / "out" / "walk01.h5"
    holder = subprocess.Popen(
        [sys.executable, "-c", code, str(target)], stdout=subprocess.PIPE, text=True
    )
    assert holder.stdout is not None
    try:
        assert holder.stdout.readline() == "open\n"
        done = command("run", path, "--force", "--workers", "0", cwd=folder)
    finally:
        holder.kill()
        holder.wait(timeout=60)
        holder.stdout.close()
    rows = rows_of(folder)
    for name in ("walk02", "walk03"):
        assert rows[name]["error"] == ""
        opens(folder / "out" / f"{name}.h5")
    assert done.returncode == 1
    says(case, done.stdout + done.stderr)


def by_workers(case: Case, tmp: Path) -> None:
    results: dict[str, Any] = {}
    for workers in ("0", "2"):
        folder = walks(case, tmp / workers)
        path = config(folder, "{take}.trc")
        done = command("run", path, "--workers", workers, cwd=folder)
        assert done.returncode == 0, done.stderr
        results[workers] = [fp.load_fit(p) for p in sorted((folder / "out").glob("*.h5"))]
    assert len(results["0"]) == 3
    for one, other in zip(results["0"], results["2"], strict=True):
        assert one.name == other.name
        for name in ("position", "residual", "multiplier", "objective", "status"):
            assert np.array_equal(getattr(one, name), getattr(other, name), equal_nan=True), name


def killed_worker(case: Case, tmp: Path) -> None:
    """A worker killed from outside costs at most its take; the others finish, nothing hangs."""
    folder = walks(case, tmp)
    walk = folder / "walk01.trc"
    (folder / "walk04.trc").write_bytes(walk.read_bytes())
    run = started(config(folder, "{take}.trc"), folder, "--workers", "2")
    deadline = time.monotonic() + 300
    victim = None
    while victim is None and run.poll() is None and time.monotonic() < deadline:
        victim = next((pid for pid in children(run.pid) if is_worker(pid)), None)
        time.sleep(0.01)
    assert victim is not None, "no worker was seen"
    os.kill(victim, signal.SIGKILL)
    run.wait(timeout=300)
    rows = rows_of(folder)
    assert len(rows) == 4
    failed = [row for row in rows.values() if row["error"]]
    assert len(failed) <= 1
    assert (run.returncode != 0) == bool(failed)
    for row in failed:
        says(case, row["error"])
    for name, row in rows.items():
        if not row["error"]:
            opens(folder / "out" / f"{name}.h5")


def children(pid: int) -> list[int]:
    """Processes below one, by what /proc tells; every depth."""
    found: list[int] = []
    for task in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = task.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[1]) == pid:
            own = int(task.parent.name)
            found += [own, *children(own)]
    return found


def is_worker(pid: int) -> bool:
    """Whether a process is one that fits, not the one that watches over shared memory."""
    try:
        line = Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace")
    except OSError:
        return False
    return "resource_tracker" not in line and ("spawn" in line or "worker" in line)


BATCH = {
    "out-half-written": killed_run,
    "out-resume-partial": resumed,
    "out-locked": held_open,
    "out-spawn": by_workers,
    "batch-worker-killed": killed_worker,
}
