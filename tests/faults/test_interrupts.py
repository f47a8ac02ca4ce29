"""Ctrl-C, a polite kill, a second run at once, and clocks that go backwards."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time

import psutil
import pytest

import fitpipe as fp

pytestmark = pytest.mark.usefixtures("faulty")
NAMES = tuple(f"slow_{i}" for i in range(8))


def begun(project, *options, outputs=2):
    """A run that has some outputs already, and its worker processes."""
    process = project.start(*options)
    until = time.monotonic() + 120
    while len(list(project.out.glob("*.h5"))) < outputs:
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < until
        time.sleep(0.005)
    return process, psutil.Process(process.pid).children(recursive=True)


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such signals")
@pytest.mark.parametrize(
    ("signum", "workers"),
    [(signal.SIGINT, 2), (signal.SIGTERM, 1), (signal.SIGINT, 0)],
    ids=["ctrl-c, two workers", "terminate, one worker", "ctrl-c, no worker"],
)
def test_a_signal_ends_a_run_in_good_order(project, monkeypatch, signum, workers):
    monkeypatch.setenv("SLOW_S", "0.3")
    made = project(NAMES)
    process, family = begun(made, "--workers", str(workers))
    process.send_signal(signum)
    process.send_signal(signum)  # an impatient user
    _, err = process.communicate(timeout=60)
    assert process.returncode == 128 + signum
    assert "takes are left; run again to go on with them" in err
    assert "Traceback" not in err
    assert not psutil.wait_procs(family, timeout=10)[1]
    assert made.parts() == []
    rows = made.summary()
    assert {row["status"] for row in rows.values()} == {"fitted", "pending"}
    told = {name for name, row in rows.items() if row["status"] == "fitted"}
    done = {path.stem for path in made.out.glob("*.h5")}
    assert set(made.journal()) == told <= done
    for name in done:
        assert fp.load_fit(made.out / f"{name}.h5").is_fitted.all()

    monkeypatch.setenv("SLOW_S", "0")
    code, out, _ = made.run("--workers", str(workers))
    assert code == 0
    assert f"8 takes fitted ({len(done)} kept from an earlier run), 0 failed" in out


def test_a_second_run_at_once_is_told_who_has_the_folder(project, monkeypatch):
    monkeypatch.setenv("SLOW_S", "0.3")
    made = project(NAMES)
    process, _ = begun(made, "--workers", "1")
    code, _, err = made.run("--workers", "1")
    assert code == 2
    assert f"another run writes into this folder: process {process.pid} on " in err
    process.communicate(timeout=120)
    assert process.returncode == 0
    assert [row["status"] for row in made.summary().values()] == ["fitted"] * len(NAMES)


def test_the_lock_of_a_dead_run_is_no_hindrance(project, monkeypatch):
    monkeypatch.setenv("SLOW_S", "0.3")
    made = project(NAMES[:4])
    process, _ = begun(made, "--workers", "1", outputs=1)
    process.kill()
    process.communicate()
    monkeypatch.setenv("SLOW_S", "0")
    assert made.run("--workers", "1")[0] == 0


_BACKWARDS = """
import time
clock, clock_ns, calls = time.time, time.time_ns, [0]

def back():
    calls[0] += 1
    return 1000.0 * calls[0]

time.time = lambda: clock() - back()
time.time_ns = lambda: clock_ns() - int(back() * 1e9)
"""


def test_a_clock_that_goes_backwards_changes_nothing(project, tmp_path):
    made = project(NAMES[:4], "[batch]\ntake_timeout_s = 100\nworkers = 2\n")
    made.run()
    right = made.images()
    rows = made.summary()
    for path in (*made.out.glob("*.h5"), made.out / "summary.jsonl"):
        path.unlink()
    hook = tmp_path / "hook" / "sitecustomize.py"
    plain = hook.read_text()
    hook.write_text(plain + _BACKWARDS)
    code, _, err = made.run()
    assert code == 0, err
    assert made.images() == right
    assert all(float(row["seconds"]) > 0 for row in made.summary().values())
    hook.write_text(plain)
    _, out, _ = made.run()
    assert "4 takes fitted (4 kept from an earlier run)" in out
    kept = made.summary()
    for name, row in rows.items():
        assert kept[name]["output_sha256"] == row["output_sha256"]


def test_a_dry_run_writes_nothing_and_tells_what_would_be_done(project):
    made = project(["a", "b"])
    code, out, _ = made.run("--dry-run")
    assert code == 0
    assert not made.out.exists()
    assert "2 takes: 2 new; 2 to fit into" in out
    made.run("--workers", "1")
    (made.folder / "takes" / "take001_a.csv").write_text("time_s,a_x_m\n")
    before = {path: path.stat().st_mtime_ns for path in made.out.rglob("*")}
    out = made.run("--dry-run")[1]
    assert "changed: input take001_a.csv has other content" in out
    assert "1 to fit into" in out
    assert {path: path.stat().st_mtime_ns for path in made.out.rglob("*")} == before


def test_all_that_is_done_takes_no_worker(project):
    made = project(["a"])
    assert made.run("--workers", "1")[0] == 0
    script = (
        "import sys\nfrom fitpipe.cli import main\n"
        "try: main()\nexcept SystemExit as end: code = end.code\n"
        "import json; print(json.dumps([code, sorted(m.split('.')[0] for m in sys.modules)]))"
    )
    command = [sys.executable, "-c", script, "run", str(made.config)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    code, modules = json.loads(done.stdout.splitlines()[-1])
    assert not code
    assert {"numba", "scipy", "pandas"} & set(modules) == set()
