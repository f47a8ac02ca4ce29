"""Takes on the workers of a Dask scheduler: the same bytes, also when a worker dies."""

from __future__ import annotations

import socket
import time

import psutil
import pytest

from fitpipe.batch import cluster
from fitpipe.errors import BatchError

pytest.importorskip("distributed")
pytestmark = pytest.mark.usefixtures("faulty")

NAMES = [f"slow_{i}" for i in range(6)]


def dask_workers(process):
    """The processes of Dask's own workers, which start those that fit."""
    family = psutil.Process(process.pid).children(recursive=True)
    return [
        one for one in family if "multiprocessing" in " ".join(one.cmdline()) and one.children()
    ]


def test_dask_and_serial_write_the_same_bytes_though_workers_die(project, monkeypatch):
    # the scheduler is in the config, so that outputs do not tell it
    made = project(NAMES)
    made.with_workers(0)
    assert made.run()[0] == 0
    right = made.images()
    assert len(right) == 6
    for path in made.out.glob("*.h5"):
        path.unlink()

    text = made.config.read_text()
    made.config.write_text(text.replace("workers = 0", 'workers = 2\nscheduler = "local"'))
    monkeypatch.setenv("SLOW_S", "0.5")
    process = made.start()
    while not list(made.out.glob("*.h5")):
        assert process.poll() is None, process.communicate()
        time.sleep(0.01)
    victims = dask_workers(process)
    assert victims
    victims[0].kill()
    out, err = process.communicate(timeout=300)
    assert process.returncode == 0, out + err
    assert made.images() == right


def test_takes_that_kill_their_process_cost_no_dask_worker(project):
    made = project(["a", "segfault", "kill_once"])
    code, _, _ = made.run("--scheduler", "local", "--workers", "1")
    rows = made.summary()
    assert code == 1
    assert (rows["segfault"]["error_class"], rows["segfault"]["attempts"]) == (
        "WorkerLostError",
        "2",
    )
    assert (rows["kill_once"]["status"], rows["kill_once"]["attempts"]) == ("fitted", "2")
    assert rows["a"]["status"] == "fitted"


def test_a_scheduler_that_is_not_there_leaves_the_summary_as_it_is(project, monkeypatch):
    made = project(["a"])
    made.run("--workers", "0")
    before = (made.out / "summary.csv").read_bytes()
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    monkeypatch.setenv("DASK_DISTRIBUTED__COMM__TIMEOUTS__CONNECT", "2s")
    code, _, err = made.run("--scheduler", f"tcp://127.0.0.1:{port}", "--force")
    assert code == 2
    assert f"the Dask scheduler tcp://127.0.0.1:{port} cannot be reached" in err
    assert (made.out / "summary.csv").read_bytes() == before


def test_workers_that_cannot_do_it_are_named(tmp_path):
    class Client:
        def wait_for_workers(self, _):
            pass

        def run(self, probe, lease, run):
            return {"tcp://one:1": ("0.0.9", True), "tcp://two:2": probe(lease, run)}

    with pytest.raises(BatchError) as caught:
        cluster._check_workers(Client(), tmp_path / "out" / ".fitpipe" / "owner.json", "x")
    assert "worker tcp://one:1 has fitpipe 0.0.9, this is" in caught.value.faults[0]
    assert (
        f"worker tcp://two:2 does not see the folder {tmp_path / 'out'}" in caught.value.faults[1]
    )
