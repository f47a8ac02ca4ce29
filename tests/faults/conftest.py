"""A project of tiny takes, workers that misbehave on demand, and what must hold after any fault."""

from __future__ import annotations

import csv
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import fitpipe as fp
from fitpipe.output import sealed_sha256

from ..unit.batch.batch_files import write_config, write_takes

# Goes in front of every Python that a test starts: takes whose name says so misbehave, in the
# worker that fits them. The first time only where a file of that name can still be made.
_HOOK = """
import ctypes, os, pathlib, signal, sys, time
import fitpipe.batch.take as module

real = module.run_take

def run_take(job, **options):
    what, _, once = job.name.partition("_")
    marker = pathlib.Path(os.environ["FAULTS"], job.name)
    if once.startswith("once"):
        try:
            marker.touch(exist_ok=False)
        except FileExistsError:
            return real(job, **options)
    if what == "segfault":
        ctypes.string_at(0)
    elif what == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    elif what == "exit":
        os._exit(7)
    elif what == "memory":
        import numpy
        module.write_take, write = lambda *_, **__: numpy.ones(2**56), module.write_take
        try:
            return real(job, **options)
        finally:
            module.write_take = write
    elif what == "deaf":
        os.close(1), [os.close(n) for n in range(3, 64) if _is_open(n)]
        time.sleep(600)
    elif what == "hang":
        time.sleep(600)
    elif what == "noise":
        os.write(1, b'{"outcome": {}}\\n'); print("a library speaks", flush=True)
    elif what == "slow":
        time.sleep(float(os.environ.get("SLOW_S", "0.05")))
    return real(job, **options)

disk, flush = float(os.environ.get("SLOW_DISK_S", "0")), os.fsync

def fsync(descriptor):
    time.sleep(disk)
    flush(descriptor)
    time.sleep(disk)

if disk:
    os.fsync = fsync

def _is_open(descriptor):
    try:
        os.fstat(descriptor)
    except OSError:
        return False
    return True

module.run_take = run_take
"""


@pytest.fixture
def faulty(tmp_path, monkeypatch):
    """Environment in which workers misbehave."""
    folder = tmp_path / "hook"
    folder.mkdir()
    (folder / "sitecustomize.py").write_text(_HOOK)
    (tmp_path / "faults").mkdir()
    root = str(Path(fp.__file__).parents[1])
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(folder), root]))
    monkeypatch.setenv("FAULTS", str(tmp_path / "faults"))


class Project:
    """A config, its takes, and the command that runs it in a process of its own."""

    def __init__(self, folder, names, text=""):
        self.folder = folder
        self.out = folder / "out"
        self.names = tuple(names)
        write_takes(folder / "takes", len(self.names))
        rows = ["take,source,path"]
        for i, name in enumerate(self.names):
            rows += [f"{name},{s},takes/take{i:03d}_{s}.csv" for s in "ab"]
        (folder / "takes.csv").write_text("\n".join(rows) + "\n")
        self.config = write_config(folder, text)
        pattern = 'pattern = "takes/{take}_{source}.csv"'
        self.config.write_text(self.config.read_text().replace(pattern, 'manifest = "takes.csv"'))

    def with_workers(self, n):
        """Say in the config how many workers there are: outputs do not tell it."""
        lines = self.config.read_text().split("\n[batch]")[0]
        self.config.write_text(f"{lines}\n[batch]\nworkers = {n}\n")

    def start(self, *options):
        command = [sys.executable, "-m", "fitpipe.cli", "run", str(self.config), *options]
        return subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=self.folder
        )

    def run(self, *options, timeout=300):
        with self.start(*options) as process:
            out, err = process.communicate(timeout=timeout)
        assert "Traceback" not in out + err, err
        return process.returncode, out, err

    def journal(self):
        """Whole lines of the journal, by take; one cut line is possible, and only the last."""
        path = self.out / "summary.jsonl"
        lines = path.read_bytes().split(b"\n") if path.exists() else [b""]
        rows = [json.loads(line) for line in lines[:-1]]
        return {row["take"]: row for row in rows}

    def summary(self):
        with (self.out / "summary.csv").open() as file:
            return {row["take"]: row for row in csv.DictReader(file)}

    def images(self):
        return {path.name: path.read_bytes() for path in self.out.glob("*.h5")}

    def parts(self):
        return [path for path in self.out.rglob(".*") if path.name.endswith(".part")]

    def check_truth(self, right):
        """What must hold at any time, whatever was killed.

        Every output that opens is right, and every row that speaks of one says the truth.
        """
        for name, image in self.images().items():
            fp.load_fit(self.out / name)
            assert image == right[name], name
        manifest = self.summary().values() if (self.out / "summary.csv").exists() else []
        for row in [*self.journal().values(), *manifest]:
            if row["status"] == "fitted":
                output = self.out / row["output"]
                assert sealed_sha256(output) == row["output_sha256"], row
            else:
                assert row["status"] in ("pending", "failed")
                assert not row["output"]


@pytest.fixture
def project(tmp_path):
    def make(names, text=""):
        return Project(tmp_path / "project", names, text)

    return make
