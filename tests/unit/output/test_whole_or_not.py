"""A reader sees the old file or the new one, whatever happens to the writer."""

from __future__ import annotations

import errno
import os
import pickle
import signal
import stat
import subprocess
import sys
import time
from dataclasses import replace

import pytest

from fitpipe.errors import OutputError
from fitpipe.output import atomic, check_writable, load_fit, save_fit


def fails(fit, path, **options) -> str:
    with pytest.raises(OutputError) as caught:
        save_fit(fit, path, **options)
    return str(caught.value)


@pytest.fixture
def no_waits(monkeypatch):
    waited = []
    monkeypatch.setattr(atomic.time, "sleep", waited.append)
    return waited


@pytest.mark.usefixtures("no_waits")
@pytest.mark.parametrize(
    ("call", "number", "reason"),
    [
        ("fsync", errno.ENOSPC, "the disk is full; free some space"),
        ("fsync", errno.EDQUOT, "the disk quota is used up"),
        ("fsync", errno.EIO, os.strerror(errno.EIO)),
        ("replace", errno.EBUSY, "it is in use by another program"),
        ("replace", errno.EACCES, "permission denied; close programs that use it"),
    ],
)
def test_a_failure_leaves_the_old_file_and_no_part(
    small_fit, tmp_path, monkeypatch, same, call, number, reason
):
    path = save_fit(small_fit, tmp_path / "walk.h5")

    def refuse(*_):
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(atomic.os, call, refuse)
    text = fails(replace(small_fit, name="other"), path)
    assert text.startswith(f"{path}: cannot be written: {reason}")
    assert [p.name for p in tmp_path.iterdir()] == ["walk.h5"]
    same(load_fit(path), small_fit)


def test_an_interrupt_leaves_no_part(small_fit, tmp_path, monkeypatch):
    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(atomic.os, "fsync", interrupt)
    with pytest.raises(KeyboardInterrupt):
        save_fit(small_fit, tmp_path / "walk.h5")
    assert list(tmp_path.iterdir()) == []


def test_a_file_held_for_a_moment_is_replaced_later(small_fit, tmp_path, monkeypatch, no_waits):
    replace_file, tries = os.replace, []

    def held_twice(part, target):
        tries.append(part)
        if len(tries) <= 2:
            raise PermissionError(errno.EACCES, "held")
        replace_file(part, target)

    monkeypatch.setattr(atomic.os, "replace", held_twice)
    path = save_fit(small_fit, tmp_path / "walk.h5")
    assert load_fit(path).name == small_fit.name
    assert no_waits == [0.05, 0.1]
    assert tries[0].name.startswith(".walk.h5.")
    assert tries[0].suffix == ".part"
    assert tries[0].parent == tmp_path


def test_the_file_reaches_the_disk_before_its_name_and_the_name_before_the_end(
    small_fit, tmp_path, monkeypatch
):
    fsync, replace_file, steps = os.fsync, os.replace, []

    def synced(descriptor):
        steps.append("folder" if stat.S_ISDIR(os.fstat(descriptor).st_mode) else "file")
        fsync(descriptor)

    def replaced(part, target):
        steps.append("name")
        replace_file(part, target)

    monkeypatch.setattr(atomic.os, "fsync", synced)
    monkeypatch.setattr(atomic.os, "replace", replaced)
    save_fit(small_fit, tmp_path / "walk.h5")
    assert steps == ["file", "name", "folder"]


def test_a_folder_that_cannot_be_synced_does_not_lose_the_file(small_fit, tmp_path, monkeypatch):
    fsync = os.fsync

    def only_files(descriptor):
        if stat.S_ISDIR(os.fstat(descriptor).st_mode):
            raise OSError(errno.EINVAL, "no")
        fsync(descriptor)

    monkeypatch.setattr(atomic.os, "fsync", only_files)
    assert load_fit(save_fit(small_fit, tmp_path / "walk.h5")).name == small_fit.name


def test_a_file_size_limit_of_the_system(small_fit, tmp_path):
    resource = pytest.importorskip("resource")
    path = save_fit(small_fit, tmp_path / "walk.h5")
    before = path.read_bytes()
    code = (
        "import sys, fitpipe.output as o\n"
        "fit = o.load_fit(sys.argv[1])\n"
        "try:\n    o.save_fit(fit, sys.argv[1])\n"
        "except Exception as error:\n    print(type(error).__name__, error)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, path],
        capture_output=True,
        text=True,
        check=True,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, 10_000)),
    )
    expected = f"OutputError {path}: cannot be written: the file is larger than the system allows"
    assert done.stdout.startswith(expected)
    assert done.stderr == ""
    assert path.read_bytes() == before
    assert len(list(tmp_path.iterdir())) == 1


def test_killed_at_any_moment_the_file_is_whole(long_fit, tmp_path, same):
    path = save_fit(long_fit, tmp_path / "walk.h5")
    code = (
        "import sys, fitpipe.output as o\n"
        "fit = o.load_fit(sys.argv[1])\n"
        "print('ready', flush=True)\n"
        "while True:\n    o.save_fit(fit, sys.argv[1])\n"
    )
    for wait_s in (0.05, 0.11, 0.23):
        child = subprocess.Popen([sys.executable, "-c", code, path], stdout=subprocess.PIPE)
        with child:
            assert child.stdout.readline() == b"ready\n"
            time.sleep(wait_s)
            child.send_signal(signal.SIGKILL)
        same(load_fit(path), long_fit)


def test_killed_between_writing_and_renaming_the_old_file_stays(small_fit, tmp_path, same):
    path = save_fit(small_fit, tmp_path / "walk.h5")
    code = (
        "import dataclasses, os, signal, sys, fitpipe.output as o\n"
        "fit = dataclasses.replace(o.load_fit(sys.argv[1]), name='newer')\n"
        "os.replace = lambda *_: os.kill(os.getpid(), signal.SIGKILL)\n"
        "o.save_fit(fit, sys.argv[1])\n"
    )
    done = subprocess.run([sys.executable, "-c", code, path], check=False)
    assert done.returncode == -signal.SIGKILL
    same(load_fit(path), small_fit)
    (part,) = tmp_path.glob(".*.part")
    assert load_fit(part).name == "newer"


def test_a_file_in_place_of_the_folder(small_fit, tmp_path):
    (tmp_path / "results").write_text("a file")
    for folder in (tmp_path / "results", tmp_path / "results" / "deeper"):
        text = fails(small_fit, folder / "walk.h5")
        assert text.startswith(f"{folder}: cannot be used as the output folder: results is a file")
        with pytest.raises(OutputError, match="results is a file"):
            check_writable(folder)
    assert (tmp_path / "results").read_text() == "a file"


def test_a_folder_in_place_of_the_file(small_fit, tmp_path):
    assert "it is a folder, expected the name of a file" in fails(small_fit, tmp_path)


def test_a_name_that_is_too_long(small_fit, tmp_path):
    assert "the name is too long; choose a shorter one" in fails(small_fit, tmp_path / ("n" * 300))


def test_check_writable_makes_the_folder_and_leaves_nothing_in_it(tmp_path):
    check_writable(tmp_path / "a" / "b")
    assert list((tmp_path / "a" / "b").iterdir()) == []
    check_writable(str(tmp_path / "a" / "b"))


def test_check_writable_says_why_not(tmp_path, monkeypatch):
    def refuse(*_, **__):
        raise OSError(errno.EROFS, "no")

    monkeypatch.setattr(atomic.Path, "touch", refuse)
    with pytest.raises(OutputError, match="the file system is read-only") as caught:
        check_writable(tmp_path)
    assert caught.value.path == tmp_path
    error = pickle.loads(pickle.dumps(caught.value))  # noqa: S301 our own bytes
    assert str(error) == str(caught.value)


def test_a_folder_without_write_permission(small_fit, tmp_path):
    if not hasattr(os, "geteuid") or os.geteuid() == 0:
        pytest.skip("this user may write everywhere")
    tmp_path.chmod(0o500)
    assert "permission denied" in fails(small_fit, tmp_path / "walk.h5")


def test_everything_the_format_cannot_hold_is_listed_at_once(small_fit, tmp_path):
    calibration = replace(small_fit.calibration, transforms=small_fit.calibration.transforms[::-1])
    fit = replace(small_fit, calibration=calibration, provenance={"a/b": 1, "object": object()})
    text = fails(fit, tmp_path / "walk.h5", compression=12)
    assert "compression is 12, expected 0 to 9" in text
    assert "the calibration is for sources ('rechts ü', 'left')" in text
    assert "provenance 'a/b' is no name for a variable" in text
    assert "provenance 'object' cannot be written as JSON: object is not JSON" in text
    assert list(tmp_path.iterdir()) == []
