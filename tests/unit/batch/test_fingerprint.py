"""A fingerprint changes with what the result depends on, and with nothing else."""

from __future__ import annotations

import os
import time

import pytest

from fitpipe.batch import make_plan
from fitpipe.batch.fingerprint import differences, file_sha256, fingerprint, identity
from fitpipe.batch.hashes import InputHashes
from fitpipe.config import load_run_config
from fitpipe.errors import InputError

from .batch_files import write_config, write_take, write_takes


@pytest.fixture
def config(tmp_path):
    write_takes(tmp_path / "takes", 1)
    (tmp_path / "s1.toml").write_text("[bone_length_m]\nb = 0.3\nc = 0.25\n")
    return write_config(tmp_path, '[calibrate]\nbone_lengths = "s1.toml"\n')


def identity_of(config, **settings):
    dotted = {key.replace("__", "."): value for key, value in settings.items()}
    return identity(make_plan(load_run_config(config, dotted)).runs[0].jobs[0])


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"solve__max_iterations": 50}, "solve.max_iterations 200 -> 50"),
        ({"takes__units": "mm"}, "units of take000_a.csv (none) -> \"mm\""),
        ({"takes__subject": "Anna"}, 'takes.subject (none) -> "Anna"'),
        ({"skeleton__preset": "kinect20"}, "skeleton.preset names other content"),
        ({"calibrate__bone_lengths": "estimate"}, 'calibrate.bone_lengths file '),
        ({"calibrate__time_offset": {"b": 0.1}}, "calibrate.time_offset.b (none) -> 0.1"),
    ],
)  # fmt: skip
def test_a_setting_that_matters_changes_it_and_is_told(config, settings, told):
    before, now = identity_of(config), identity_of(config, **settings)
    assert fingerprint(before) != fingerprint(now)
    assert any(line.startswith(told) for line in differences(before, now))


@pytest.mark.parametrize(
    "settings",
    [
        {"solve__threads": 3},
        {"output__compression": 9},
        {"output__folder": "elsewhere"},
        {"batch__workers": 7},
        {"solve__max_iterations": 200},
    ],
)
def test_what_does_not_matter_leaves_it(config, settings):
    assert fingerprint(identity_of(config)) == fingerprint(identity_of(config, **settings))


def test_other_bytes_of_an_input_or_of_a_named_file_are_told(config, tmp_path):
    before = identity_of(config)
    write_take(tmp_path / "takes" / "take000_b.csv", seed=99)
    with (tmp_path / "s1.toml").open("a") as file:
        file.write("# measured again\n")
    assert differences(before, identity_of(config)) == [
        "input take000_b.csv has other content",
        "calibrate.bone_lengths names other content",
    ]


def test_a_moved_project_keeps_its_fingerprints(config, tmp_path):
    before = identity_of(config)
    moved = tmp_path.with_name(tmp_path.name + "_moved")
    tmp_path.rename(moved)
    assert identity_of(moved / config.name) == before


def test_another_version_of_fitpipe_is_told(config):
    now = identity_of(config)
    told = differences({**now, "fitpipe": "0.0.9"}, now)
    assert told == [f"fitpipe 0.0.9 -> {now['fitpipe']}"]


def test_a_missing_input_is_named(config, tmp_path):
    (tmp_path / "takes" / "take000_a.csv").unlink()
    (tmp_path / "takes" / "take000_a.csv").symlink_to("gone")
    with pytest.raises(InputError, match=r"take000_a\.csv: no such file"):
        identity_of(config)


def test_remembered_hashes_are_those_of_the_files(tmp_path, monkeypatch):
    reads = []

    def counted(path):
        reads.append(path)
        return file_sha256(path)

    monkeypatch.setattr("fitpipe.batch.hashes.file_sha256", counted)
    monkeypatch.setattr("fitpipe.batch.hashes._AT_REST_NS", 0)
    path, store = tmp_path / "x.csv", tmp_path / "hashes.json"
    path.write_text("one")
    for _ in range(2):
        hashes = InputHashes(store)
        assert hashes(path) == file_sha256(path)
        hashes.save()
    assert len(reads) == 1

    before = path.stat()
    path.write_text("two")  # same size, and its times are put back
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert InputHashes(store)(path) == file_sha256(path)
    assert len(reads) == 2


def test_a_file_just_written_or_from_the_future_is_not_remembered(tmp_path):
    path, store = tmp_path / "x.csv", tmp_path / "hashes.json"
    path.write_text("one")
    future = time.time() + 1e6  # as after a clock that went backwards
    for times in (None, (future, future)):
        os.utime(path, times)
        hashes = InputHashes(store)
        hashes(path)
        hashes.save()
        assert not store.exists()


@pytest.mark.parametrize("junk", [b"", b"{", b"[1, 2]", b'{"x": 3}', b'{"x": [[1], "y"]}'])
def test_a_damaged_store_costs_time_only(tmp_path, junk):
    path, store = tmp_path / "x.csv", tmp_path / "hashes.json"
    path.write_text("one")
    store.write_bytes(junk)
    assert InputHashes(store)(path) == file_sha256(path)
