"""Runs: every executor gives the same bytes, what is done is kept, and what changed is redone."""

from __future__ import annotations

import csv
import json
import os
import threading
from contextlib import closing
from pathlib import Path

import h5py
import numpy as np
import pytest

import fitpipe as fp
from fitpipe import batch
from fitpipe.batch.lock import folder_lock
from fitpipe.config import BatchConfig, load_run_config
from fitpipe.errors import FolderInUseError, OutputError

from .batch_files import journal, write_config, write_take, write_takes

HERE = BatchConfig(workers=0)


@pytest.fixture
def config(tmp_path):
    write_takes(tmp_path / "takes", 3)
    return write_config(tmp_path)


def plan_of(config, **settings):
    return batch.make_plan(
        load_run_config(config, {k.replace("__", "."): v for k, v in settings.items()})
    )


def run(config, settings=HERE, *, force=False, **changes):
    return {
        ended.outcome.take: ended.outcome
        for ended in batch.run(plan_of(config, **changes), settings, force=force)
    }


def states(config, **settings):
    return [str(item.standing) for item in batch.survey(plan_of(config, **settings))]


def images(folder):
    return {path.name: path.read_bytes() for path in Path(folder).glob("*.h5")}


def summary(folder):
    with (Path(folder) / "summary.csv").open() as file:
        return {row["take"]: row for row in csv.DictReader(file)}


def test_serial_and_processes_write_the_same_bytes(config, tmp_path):
    run(config, HERE, output__folder="serial")
    run(config, BatchConfig(workers=2), output__folder="two")
    assert len(images(tmp_path / "serial")) == 3
    assert images(tmp_path / "serial") == images(tmp_path / "two")


def test_the_summary_says_what_the_outputs_hold(config, tmp_path):
    outcomes = run(config)
    rows, lines = summary(tmp_path / "out"), journal(tmp_path / "out")
    assert list(rows) == list(lines) == ["take000", "take001", "take002"]
    for name, row in rows.items():
        fit = fp.load_fit(tmp_path / "out" / row["output"])
        assert row["status"] == "fitted"
        assert (int(row["frames"]), int(row["fitted"])) == (12, 12)
        assert float(row["rms_after_m"]) == fit.rms_m == outcomes[name].rms_after_m
        assert float(row["worst_bone_error_m"]) == fit.worst_bone_m
        assert row["fingerprint"] == fit.provenance["fingerprint"]
        assert lines[name]["output_sha256"] == row["output_sha256"]


def test_a_take_that_is_done_is_kept_and_others_are_redone_for_what_changed(config, tmp_path):
    run(config)
    assert states(config) == ["done"] * 3
    write_take(tmp_path / "takes" / "take001_b.csv", seed=77)
    assert states(config) == ["done", "changed: input take001_b.csv has other content", "done"]
    before = images(tmp_path / "out")
    outcomes = run(config)
    assert [outcomes[f"take00{i}"].kept for i in range(3)] == [True, False, True]
    changed = {name for name, image in images(tmp_path / "out").items() if image != before[name]}
    assert changed == {"take001.h5"}


def test_a_setting_redoes_only_the_takes_it_touches(config):
    run(config)
    text = config.read_text()
    config.write_text(text + '[[override]]\ntake = "*2"\nsolve.max_iterations = 50\n')
    assert states(config) == ["done", "done", "changed: solve.max_iterations 200 -> 50"]
    assert states(config, solve__threads=3, output__compression=9)[:2] == ["done", "done"]


def test_force_redoes_all(config):
    run(config)
    assert not any(outcome.kept for outcome in run(config, force=True).values())


def test_another_version_redoes_all(config, monkeypatch):
    run(config)
    monkeypatch.setattr("fitpipe.__version__", "9.9.9")
    assert states(config)[0].startswith("changed: fitpipe ")


@pytest.mark.parametrize("damage", ["cut", "byte", "empty", "data"])
def test_a_damaged_output_is_found_and_made_again(config, tmp_path, damage):
    run(config)
    path = tmp_path / "out" / "take001.h5"
    image = path.read_bytes()
    if damage == "cut":
        path.write_bytes(image[: len(image) // 2])
    elif damage == "byte":
        path.write_bytes(image[:5000] + bytes([image[5000] ^ 1]) + image[5001:])
    elif damage == "empty":
        path.write_bytes(b"")
    else:  # through HDF5, which takes the seal away
        with h5py.File(path, "r+") as file:
            file["position"][0, 0, 0] += 1.0
    state = states(config)
    assert (state[0], state[2]) == ("done", "done")
    assert state[1].startswith("damaged: ")
    run(config)
    assert path.read_bytes() == image


def test_a_file_that_is_no_fit_is_not_replaced(config, tmp_path):
    path = tmp_path / "out" / "take001.h5"
    path.parent.mkdir()
    path.write_text("somebody's notes")
    ended = run(config)
    assert [ended[name].status for name in ended] == ["fitted", "failed", "fitted"]
    assert "is there already and is no fit" in ended["take001"].error
    assert path.read_text() == "somebody's notes"


def test_an_output_that_another_tool_has_added_to_is_kept(config, tmp_path):
    run(config)
    with h5py.File(tmp_path / "out" / "take001.h5", "r+") as file:
        file["note"] = "mine"
    assert states(config) == ["done"] * 3
    assert run(config)["take001"].frames == 12


def test_without_its_journal_a_run_finds_what_is_done_from_the_outputs(config, tmp_path):
    first = run(config)
    for name in ("summary.csv", "summary.jsonl"):
        (tmp_path / "out" / name).unlink()
    again = run(config)
    for name, outcome in again.items():
        assert outcome.kept
        for field in (
            "frames",
            "certified",
            "rms_after_m",
            "warnings",
            "fingerprint",
            "output_sha256",
        ):
            assert getattr(outcome, field) == getattr(first[name], field)


@pytest.mark.parametrize("tail", [b'{"take": "take002", "sta', b"\x00\xff\n", b'{"take": 3}\n[]\n'])
def test_a_torn_journal_is_read_as_far_as_it_goes(config, tmp_path, tail):
    run(config)
    path = tmp_path / "out" / "summary.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:2]) + tail)
    assert all(outcome.kept for outcome in run(config).values())
    assert set(journal(tmp_path / "out")) == {"take000", "take001", "take002"}


def test_a_journal_that_claims_too_much_is_not_believed(config, tmp_path):
    run(config)
    path = tmp_path / "out" / "take001.h5"
    write_take(tmp_path / "takes" / "take001_a.csv", seed=55)
    rows = journal(tmp_path / "out")
    job = plan_of(config).runs[0].jobs[1]
    from fitpipe.batch.fingerprint import fingerprint, identity

    rows["take001"]["fingerprint"] = fingerprint(identity(job))
    rows["take001"]["output_sha256"] = "0" * 64
    text = "".join(json.dumps(row) + "\n" for row in rows.values())
    (tmp_path / "out" / "summary.jsonl").write_text(text)
    assert states(config)[1].startswith("changed: input take001_a.csv")
    path.unlink()
    assert states(config)[1] == "new"


def test_a_take_that_fails_is_a_row_and_its_old_output_is_called_stale(config, tmp_path):
    run(config)
    (tmp_path / "takes" / "take001_a.csv").write_text("time_s,a_x_m\n0,1\n")
    outcome = run(config)["take001"]
    assert (outcome.status, outcome.error_class, outcome.output) == ("failed", "InputError", "")
    assert outcome.stale == str(tmp_path / "out" / "take001.h5")
    row = summary(tmp_path / "out")["take001"]
    assert (row["status"], row["stale"], row["rms_after_m"]) == ("failed", "take001.h5", "")
    assert "take001_a.csv" in row["error"]


def test_an_input_that_vanishes_after_the_plan_costs_its_take(config, tmp_path):
    plan = plan_of(config)
    (tmp_path / "takes" / "take001_a.csv").unlink()
    outcomes = {ended.outcome.take: ended.outcome for ended in batch.run(plan, HERE)}
    assert "take001_a.csv: no such file" in outcomes["take001"].error
    assert outcomes["take002"].status == "fitted"


def test_an_input_that_changes_while_it_is_read_costs_its_take(config, tmp_path, monkeypatch):
    import fitpipe.pipeline

    real = fitpipe.pipeline.fit_to_file

    def meddled(takes, path, **options):
        if options.get("name") == "take001":
            write_take(tmp_path / "takes" / "take001_a.csv", seed=5)
        return real(takes, path, **options)

    monkeypatch.setattr(fitpipe.pipeline, "fit_to_file", meddled)
    outcomes = run(config)
    assert "changed while the take was fitted" in outcomes["take001"].error
    assert outcomes["take000"].status == outcomes["take002"].status == "fitted"


def test_outputs_of_no_take_are_named_and_left_alone(config, tmp_path):
    run(config)
    for source in "ab":
        (tmp_path / "takes" / f"take001_{source}.csv").unlink()
    run(config)
    assert batch.strangers(plan_of(config)) == [tmp_path / "out" / "take001.h5"]
    assert (tmp_path / "out" / "take001.h5").exists()
    assert list(summary(tmp_path / "out")) == ["take000", "take002"]


def test_a_second_run_in_the_folder_is_refused_while_the_first_goes_on(config, tmp_path):
    going = batch.run(plan_of(config), HERE)
    with closing(going):
        next(going)
        with pytest.raises(FolderInUseError, match=f"process {os.getpid()} on ") as caught:
            list(batch.run(plan_of(config), HERE))
        assert str(tmp_path / "out") in str(caught.value)
    assert len(run(config)) == 3


def test_the_lock_of_one_folder_does_not_hold_another(tmp_path):
    for name in ("a", "b"):
        (tmp_path / name / ".fitpipe").mkdir(parents=True)
    with folder_lock(tmp_path / "a"), folder_lock(tmp_path / "b"):
        pass


def test_a_run_closed_early_leaves_the_rest_pending_and_goes_on_later(config, tmp_path):
    going = batch.run(plan_of(config), HERE)
    next(going)
    going.close()
    status = [row["status"] for row in summary(tmp_path / "out").values()]
    assert status == ["fitted", "pending", "pending"]
    assert set(journal(tmp_path / "out")) == {"take000"}
    assert [outcome.kept for outcome in run(config).values()] == [True, False, False]


def test_a_worker_whose_run_has_lost_the_folder_writes_nothing(config, tmp_path):
    lease = tmp_path / "owner.json"
    lease.write_text('{"run": "the next one"}')
    job = plan_of(config).runs[0].jobs[0].model_copy(update={"lease": str(lease), "run": "mine"})
    outcome = batch.run_take(job)
    assert "another run has taken over the folder" in outcome.error
    assert not Path(job.output).exists()


def test_progress_of_every_take_is_told(config):
    seen = {}
    guard = threading.Lock()

    def report(job, done, total):
        with guard:
            seen.setdefault(job.name, []).append((done, total))

    for settings in (HERE, BatchConfig(workers=2)):
        seen.clear()
        list(batch.run(plan_of(config), settings, force=True, report=report))
        assert set(seen) == {"take000", "take001", "take002"}
        assert all(steps[-1] == (12, 12) for steps in seen.values())


def test_a_grid_is_run_into_folders_and_a_table(config, tmp_path):
    config.write_text(config.read_text() + "[grid]\nweights.robust_scale_m = [0.05, 0.0]\n")
    ended = list(batch.run(plan_of(config), HERE))
    assert len(ended) == 6
    with (tmp_path / "out" / "grid.csv").open() as file:
        table = list(csv.DictReader(file))
    assert [row["weights.robust_scale_m"] for row in table] == ["0.05", "0.0"]
    for row in table:
        rows = summary(tmp_path / "out" / row["run"]).values()
        mean = np.mean([float(r["rms_after_m"]) for r in rows])
        assert float(row["rms_after_m"]) == pytest.approx(mean, rel=1e-12)
        assert (row["takes_fitted"], row["frames"]) == ("3", "36")
    one, two = (fp.load_fit(tmp_path / "out" / r["run"] / "take000.h5") for r in table)
    assert not np.array_equal(one.weight, two.weight)


def test_what_cannot_be_written_into_the_journal_ends_the_run(config, tmp_path, monkeypatch):
    import errno

    from fitpipe.batch import summary as module

    def full(_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    going = batch.run(plan_of(config), HERE)
    next(going)
    monkeypatch.setattr(module.os, "fsync", full)
    with pytest.raises(OutputError, match="disk is full"):
        next(going)
    monkeypatch.undo()
    assert set(journal(tmp_path / "out")) == {"take000"}
    assert [outcome.status for outcome in run(config).values()] == ["fitted"] * 3
