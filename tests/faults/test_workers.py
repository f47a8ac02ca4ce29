"""A worker that crashes, is killed or hangs costs its take, and nothing else."""

from __future__ import annotations

import time

import pytest

import fitpipe as fp

pytestmark = pytest.mark.usefixtures("faulty")


def ends(project, names, text="", *, code=1, options=("--workers", "2")):
    """Run, and check that all takes but the faulty ones are fitted and loadable."""
    made = project(names, text)
    returned, _, err = made.run(*options)
    assert returned == code, err
    rows = made.summary()
    assert list(rows) == list(names)
    for name, row in rows.items():
        if row["status"] == "fitted":
            assert fp.load_fit(made.out / f"{name}.h5").is_fitted.all()
    assert made.parts() == []
    return made, rows, err


SAID = {
    "segfault": "its process was ended by SIGSEGV: a crash in C code",
    "kill": "its process was ended by SIGKILL: by hand, or because memory ran out",
    "exit": "its process ended with exit code 7",
    "deaf": "its process was ended by SIGKILL",
}


def test_a_worker_that_dies_twice_costs_its_take(project):
    names = ["a", "segfault", "kill", "memory", "exit", "b", "deaf", "noise"]
    made, rows, err = ends(project, names, options=("--workers", "2", "--log-file", "run.log"))
    for fault, said in SAID.items():
        assert rows[fault]["status"] == "failed"
        assert rows[fault]["error_class"] == "WorkerLostError"
        assert rows[fault]["attempts"] == "2"
        assert said in rows[fault]["error"]
        assert f"failed: take {fault}: {said}" in err
    # an error within Python is no reason to try again
    assert (rows["memory"]["error_class"], rows["memory"]["attempts"]) == ("MemoryError", "1")
    assert rows["memory"]["error"].startswith("out of memory (Unable to allocate")
    # what libraries print does not get between the answers
    assert [rows[name]["status"] for name in ("a", "b", "noise")] == ["fitted"] * 3

    text = (made.folder / "run.log").read_text()
    for part in (
        "INFO take a fitted in ",
        "WARNING take segfault, attempt 2 of 2: its process was ended by SIGSEGV",
        "Fatal Python error: Segmentation fault",
        "WARNING take memory failed: out of memory",
    ):
        assert part in text
    assert all(line[:2] == "20" for line in text.splitlines())  # one line for each record


def test_a_worker_that_dies_once_costs_nothing(project):
    names = ["segfault_once", "a", "kill_once", "b"]
    _, rows, _ = ends(project, names, code=0, options=("--workers", "1"))
    assert [rows[name]["attempts"] for name in names] == ["2", "1", "2", "1"]


def test_a_take_that_takes_too_long_is_given_up(project):
    begin = time.perf_counter()
    text = "[batch]\ntake_timeout_s = 1.0\n"
    _, rows, _ = ends(project, ["a", "hang", "b"], text)
    assert time.perf_counter() - begin < 60
    assert rows["hang"]["error_class"] == "TakeTimeoutError"
    assert rows["hang"]["error"] == "not done within 1 s, and ended"
    assert rows["hang"]["attempts"] == "2"
