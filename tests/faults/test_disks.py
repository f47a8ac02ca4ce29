"""Disks that are full or read-only, and inputs and outputs that change under a run."""

from __future__ import annotations

import os
import re
import subprocess
import time

import pytest

import fitpipe as fp

pytestmark = pytest.mark.usefixtures("faulty")


@pytest.fixture
def small_disk(tmp_path):
    """A file system of a given size for the results; skips where none can be mounted."""
    folder = tmp_path / "project" / "out"
    mounted = []

    def mount(*options):
        folder.mkdir(parents=True, exist_ok=True)
        command = ["mount", "-t", "tmpfs", "-o", ",".join(options), "tmpfs", str(folder)]
        if os.name == "nt" or subprocess.run(command, capture_output=True, check=False).returncode:
            pytest.skip("this user may not mount a file system")
        mounted.append(folder)

    yield mount
    for place in mounted:
        subprocess.run(["umount", str(place)], check=True)


def remount(folder, *options):
    command = ["mount", "-o", ",".join(["remount", *options]), str(folder)]
    subprocess.run(command, check=True)


def test_a_disk_that_fills_up_costs_no_finished_take(project, small_disk):
    names = [f"t{i}" for i in range(12)]
    made = project(names)
    made.run("--workers", "1", "-o", str(made.folder / "roomy"))
    size = sum(path.stat().st_size for path in (made.folder / "roomy").glob("*.h5"))
    small_disk(f"size={size // 2}")
    code, _, err = made.run("--workers", "1")
    assert code in (1, 2)
    assert "the disk is full" in err
    done = {name for name, row in made.journal().items() if row["status"] == "fitted"}
    assert 0 < len(done) < len(names)
    assert made.parts() == []
    for path in made.out.glob("*.h5"):
        assert fp.load_fit(path).is_fitted.all()

    remount(made.out, f"size={4 * size}")
    code, out, _ = made.run("--workers", "1")
    assert code == 0
    assert int(re.search(r"\((\d+) kept", out)[1]) >= len(done)
    assert [row["status"] for row in made.summary().values()] == ["fitted"] * len(names)


def test_a_read_only_disk_is_refused_before_any_take_is_read(project, small_disk):
    small_disk("size=4m", "ro")
    made = project(["a"])
    code, out, err = made.run()
    assert code == 2
    assert "the file system is read-only" in err
    assert not out


def test_inputs_that_vanish_under_a_run_cost_their_takes(project, monkeypatch):
    monkeypatch.setenv("SLOW_S", "0.2")
    made = project([f"slow_{i}" for i in range(6)])
    process = made.start("--workers", "1")
    while not list(made.out.glob("*.h5")):
        assert process.poll() is None, process.communicate()
        time.sleep(0.005)
    for source in "ab":
        (made.folder / "takes" / f"take005_{source}.csv").unlink()
    _, err = process.communicate(timeout=60)
    assert process.returncode == 1
    assert "failed: take slow_5: " in err
    assert "no such file" in err
    assert [row["status"] for row in made.summary().values()] == ["fitted"] * 5 + ["failed"]


def test_a_part_file_of_a_dead_writer_is_swept_and_other_files_are_not(project):
    made = project(["a"])
    made.out.mkdir()
    orphan = made.out / ".a.h5.0123456789ab.part"
    orphan.write_bytes(b"half")
    others = [made.out / ".mine.part", made.out / "notes.part", made.out / ".a.h5.xyz.part"]
    for path in others:
        path.write_text("keep")
    assert made.run("--workers", "0")[0] == 0
    assert not orphan.exists()
    assert all(path.read_text() == "keep" for path in others)
