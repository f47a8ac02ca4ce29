"""Outputs say how they were made: verify makes them again, config show gives a config that runs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib

import h5py
import numpy as np
import pytest

import fitpipe as fp
from fitpipe.batch import make_plan, run
from fitpipe.batch.origin import job_of_output
from fitpipe.batch.verify import verify
from fitpipe.config import BatchConfig, load_run_config
from fitpipe.errors import BatchError, InputError
from fitpipe.output import load_provenance

from ..unit.batch.batch_files import write_config, write_take, write_takes


@pytest.fixture
def made(tmp_path):
    """A folder with one take, its config and its output."""
    write_takes(tmp_path / "takes", 1)
    (tmp_path / "s1.toml").write_text("[bone_length_m]\na-b = 0.3\nb-c = 0.25\n")
    config = write_config(tmp_path)
    list(run(make_plan(load_run_config(config), command="test"), BatchConfig(workers=0)))
    return tmp_path


def command(*arguments, cwd):
    return subprocess.run(
        [sys.executable, "-m", "fitpipe.cli", *map(str, arguments)],
        capture_output=True, text=True, cwd=cwd, timeout=300, check=False,
    )  # fmt: skip


def changed(path, name, change):
    """The same fit with one array changed, whole in itself."""
    from dataclasses import replace

    fit = fp.load_fit(path)
    value = np.array(getattr(fit, name))
    change(value)
    replace(fit, **{name: value}).save(path)


def test_an_output_made_again_is_bit_equal(made):
    found = verify(made / "out" / "take000.h5")
    assert (found.verdict, found.changed, dict(found.differences)) == ("bit-equal", (), {})


def test_the_command_tells_equal_near_and_different_by_its_exit_code(made):
    out = made / "out" / "take000.h5"
    for name in ("same", "near", "far"):
        (made / f"{name}.h5").write_bytes(out.read_bytes())
    changed(made / "near.h5", "objective", lambda value: value.__setitem__(3, value[3] + 1e-13))
    changed(made / "far.h5", "objective", lambda value: value.__setitem__(3, value[3] + 1e-3))
    done = command("verify", "same.h5", "near.h5", "far.h5", "gone.h5", cwd=made)
    assert done.returncode == 2
    lines = done.stdout.splitlines()
    assert lines[0] == "same.h5: bit-equal"
    assert lines[1:3] == [
        "near.h5: within tolerance 1e-09",
        "  differs    objective: 1 of 12 values differ, by up to 1e-13",
    ]
    assert lines[3:] == [
        "far.h5: different",
        "  differs    objective: 1 of 12 values differ, by up to 0.001",
    ]
    assert "gone.h5: no such file" in done.stderr
    assert command("verify", "same.h5", "near.h5", cwd=made).returncode == 0
    assert command("verify", "near.h5", "--tolerance", "1e-14", cwd=made).returncode == 1


def test_a_changed_input_is_named_with_what_it_changes(made):
    before = load_provenance(made / "out" / "take000.h5")["inputs"][1]["sha256"]
    write_take(made / "takes" / "take000_b.csv", seed=9)
    found = verify(made / "out" / "take000.h5")
    assert found.verdict == "different"
    assert found.changed[0].startswith(f"input {made / 'takes' / 'take000_b.csv'}: was {before}")
    assert {"position", "residual"} <= set(found.differences)


def test_a_changed_file_that_the_config_names_is_told(made):
    text = (made / "chain.toml").read_text()
    (made / "chain.toml").write_text(text + "# of another study\n")
    found = verify(made / "out" / "take000.h5")
    assert found.verdict == "bit-equal"
    assert [line.split(":")[0] for line in found.changed] == ["skeleton.preset"]


def test_other_versions_are_named(made, monkeypatch):
    monkeypatch.setattr(
        "fitpipe.batch.verify.version", lambda name: "0.1" if name == "scipy" else "9.9"
    )
    found = verify(made / "out" / "take000.h5")
    assert any(line.startswith("scipy: was ") and line.endswith("is 0.1") for line in found.changed)


def test_inputs_that_are_gone_ask_for_their_folder(made):
    (made / "takes").rename(made / "moved")
    with pytest.raises(InputError, match="--inputs") as caught:
        verify(made / "out" / "take000.h5")
    assert len(caught.value.faults) == 2
    assert verify(made / "out" / "take000.h5", inputs=made / "moved").verdict == "bit-equal"


def test_a_changed_input_that_no_longer_fits_is_told_as_the_reason(made):
    (made / "takes" / "take000_b.csv").write_text("time_s,heart_rate\n0,60\n")
    with pytest.raises(BatchError, match="cannot be fitted again") as caught:
        verify(made / "out" / "take000.h5")
    assert "input" in caught.value.faults[0]


@pytest.mark.parametrize(
    "options", [{}, {"skeleton": "chain.toml", "config": {"solve": {"max_iterations": 50}}}]
)
def test_a_fit_made_in_python_from_files_is_made_again(made, monkeypatch, options):
    monkeypatch.chdir(made)
    takes = [fp.read_take(f"takes/take000_{s}.csv", units="m", rate_hz=50.0) for s in "ab"]
    options = {"skeleton": "chain.toml", **options}
    fp.fit(takes, **options).save("mine.h5")
    assert job_of_output("mine.h5").files[0].rate_hz == 50.0
    assert verify("mine.h5").verdict == "bit-equal"


def test_a_fit_made_from_what_no_file_holds_says_so(made):
    takes = [fp.read_take(made / "takes" / f"take000_{s}.csv") for s in "ab"]
    fp.fit(takes, skeleton=str(made / "chain.toml"), bone_length_m=[0.3, 0.25]).save(made / "x.h5")
    with pytest.raises(BatchError, match="bone_length_m= was <list>"):
        verify(made / "x.h5")
    copy = fp.Take("a", takes[0].labels, takes[0].position_m, takes[0].time_s)
    fp.fit(copy, skeleton=str(made / "chain.toml")).save(made / "y.h5")
    with pytest.raises(BatchError, match="source 'a' was made from arrays"):
        verify(made / "y.h5")


def test_every_output_says_what_it_takes_to_make_it_again(made):
    provenance = load_provenance(made / "out" / "take000.h5")
    import hashlib

    assert provenance["command"] == "test"
    assert provenance["seed"] is None
    assert provenance["config_sha256"] == hashlib.sha256(provenance["config"].encode()).hexdigest()
    for row in provenance["inputs"]:
        with open(row["path"], "rb") as file:
            assert hashlib.file_digest(file, "sha256").hexdigest() == row["sha256"]
    assert {"python", "numpy", "scipy", "numba", "fitpipe"} <= set(provenance["versions"])


def test_the_config_shown_runs_and_gives_the_same_numbers(made, tmp_path):
    shown = command("config", "show", made / "out" / "take000.h5", cwd=made)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "again.toml").write_text(shown.stdout)
    done = command("run", "again.toml", "--workers", "0", cwd=elsewhere)
    assert done.returncode == 0, done.stderr
    one, two = (fp.load_fit(f / "take000.h5") for f in (made / "out", elsewhere / "results"))
    for name in ("position", "status", "weight", "multiplier", "objective"):
        np.testing.assert_array_equal(getattr(one, name), getattr(two, name))
    assert one.provenance["fingerprint"] == two.provenance["fingerprint"]


def test_what_fit_writes_is_verified_too(made):
    files = [f"takes/take000_{s}.csv" for s in "ab"]
    done = command("fit", *files, "-o", "mine.h5", "--skeleton", "chain.toml", cwd=made)
    assert done.returncode == 0, done.stderr
    provenance = load_provenance(made / "mine.h5")
    assert provenance["command"].startswith("fitpipe fit takes/take000_a.csv ")
    assert command("verify", "mine.h5", cwd=made).stdout == "mine.h5: bit-equal\n"


def test_configs_are_made_checked_and_described(made):
    assert command("config", "init", "new.toml", cwd=made).returncode == 0
    done = command("config", "init", "new.toml", cwd=made)
    assert done.returncode == 2
    assert "is there already" in done.stderr
    done = command("config", "check", "new.toml", cwd=made)
    assert done.returncode == 0, done.stderr
    assert f"new.toml: 1 takes, results to {made / 'results'}" in done.stdout
    text = (made / "new.toml").read_text()
    (made / "new.toml").write_text(text + "[slove]\n")
    done = command("config", "check", "new.toml", cwd=made)
    assert done.returncode == 2
    assert "did you mean 'solve'" in done.stderr
    schema = json.loads(command("config", "schema", cwd=made).stdout)
    assert "max_iterations" in schema["$defs"]["SolveConfig"]["properties"]


def test_control_characters_in_a_files_text_do_not_reach_the_terminal(made):
    path = made / "out" / "take000.h5"
    text = tomllib.loads(load_provenance(path)["config"])
    text["takes"]["file"][0]["source"] = "\x1b[2Jx"
    import tomli_w

    with h5py.File(path, "r+") as file:
        file["provenance/config"][()] = tomli_w.dumps(text)
    done = command("config", "show", path, cwd=made)
    assert "\x1b" not in done.stdout + done.stderr


@pytest.mark.skipif(os.name == "nt", reason="needs a pseudo-terminal")
def test_bars_show_on_a_terminal_and_only_there(made):
    import pty
    import termios

    leader, follower = pty.openpty()
    termios.tcsetwinsize(follower, (24, 100))
    with subprocess.Popen(
        [sys.executable, "-m", "fitpipe.cli", "run", "run.toml", "--force", "--workers", "1"],
        stdout=subprocess.PIPE, stderr=follower, cwd=made,
    ) as process:  # fmt: skip
        os.close(follower)
        seen = b""
        while True:
            try:
                block = os.read(leader, 4096)
            except OSError:
                break
            if not block:
                break
            seen += block
        out = process.communicate(timeout=60)[0]
    os.close(leader)
    assert process.returncode == 0
    assert b"loading the fit" in seen
    assert b"1 takes fitted" in out
    assert command("run", "run.toml", "--force", "--workers", "1", cwd=made).stderr == ""
