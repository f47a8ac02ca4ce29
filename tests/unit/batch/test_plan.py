"""Plans: jobs of takes, and names that cannot leave the output folder."""

from __future__ import annotations

from pathlib import Path

import pytest

from fitpipe.batch import make_plan
from fitpipe.config import RunConfig, load_run_config, make_config
from fitpipe.errors import ConfigError

from .batch_files import write_config, write_takes


def rows(*names, **more):
    files = [{"take": name, "path": f"{i}.csv", **more} for i, name in enumerate(names)]
    return make_config(RunConfig, {"takes": {"file": files}, "output": {"folder": "out"}})


def test_settings_of_a_row_go_over_overrides_and_those_over_the_sections(tmp_path):
    write_takes(tmp_path / "takes", 2)
    (tmp_path / "takes.csv").write_text(
        "take,source,path,units,solve.max_iterations\n"
        "x,a,takes/take000_a.csv,mm,\nx,b,takes/take000_b.csv,,7\ny,a,takes/take001_a.csv,,\n"
    )
    path = write_config(
        tmp_path,
        '[[override]]\ntake = "*"\nsolve.max_iterations = 5\ntakes.units = "cm"\n'
        '[solve]\nmax_iterations = 3\n',
    )  # fmt: skip
    config = load_run_config(path, {"takes.manifest": "takes.csv"})
    x, y = make_plan(config).runs[0].jobs
    assert [(file.source, file.units) for file in x.files] == [("a", "mm"), ("b", "cm")]
    assert (x.fit.solve.max_iterations, y.fit.solve.max_iterations) == (7, 5)
    assert x.output == str(tmp_path / "out" / "x.h5")


def test_an_override_that_matches_nothing_is_told(tmp_path):
    write_takes(tmp_path / "takes", 1)
    path = write_config(tmp_path, '[[override]]\ntake = "tak_*"\n')
    assert make_plan(load_run_config(path)).notes == (
        "[[override]] take = 'tak_*' matches no take",
    )


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("../evil", "leads to another folder"),
        ("/etc/passwd", "leads to another folder"),
        ("a/b", "leads to another folder"),
        ("a\\b", "leads to another folder"),
        ("..", "starts with a dot"),
        (".fitpipe", "starts with a dot"),
        ("", "is empty"),
        ("a\x00b", "cannot be printed"),
        ("a\x1b[2Jb", "cannot be printed"),
        ("a\nb", "cannot be printed"),
        ("n" * 201, "has 201 bytes"),
        ("测" * 67, "has 201 bytes"),
    ],
)
def test_names_that_are_no_file_names_are_refused(name, said):
    with pytest.raises(ConfigError, match=said) as caught:
        make_plan(rows("fine", name))
    assert "\x1b" not in str(caught.value)
    assert "\x00" not in str(caught.value)


@pytest.mark.parametrize(
    "name", ["Anna - walk (2)", "sujet éü 測試", "a;rm -rf $HOME", "<b>x", "=1+1"]
)
def test_odd_names_that_are_file_names_stay_in_the_folder(name):
    (job,) = make_plan(rows(name)).runs[0].jobs
    assert Path(job.output).parent == Path("out").absolute()


def test_names_that_differ_in_letter_case_only_are_refused():
    with pytest.raises(ConfigError, match="'walk': differs from 'Walk' in upper and lower case"):
        make_plan(rows("Walk", "walk"))


def test_takes_that_contradict_themselves_are_told_together():
    x, y = {"take": "x", "source": "a"}, {"take": "y", "path": "3.csv"}
    files = [
        {**x, "path": "1.csv", "subject": "Anna", "options": {"solve.reverse": True}},
        {**x, "path": "2.csv", "subject": "Ben", "options": {"solve": {"reverse": False}}},
        y,
        y,
    ]
    config = make_config(RunConfig, {"takes": {"file": files}, "output": {"folder": "out"}})
    with pytest.raises(ConfigError) as caught:
        make_plan(config)
    faults = "\n".join(caught.value.faults)
    for part in ("source 'a' twice", "several subjects: Anna, Ben", "the file 3.csv twice",
                 "solve.reverse is True in one row and False in another"):  # fmt: skip
        assert part in faults


def test_a_grid_gives_every_run_a_folder_of_its_own(tmp_path):
    write_takes(tmp_path / "takes", 2)
    path = write_config(tmp_path, "[grid]\nsolve.max_iterations = [5, 6]\n")
    plan = make_plan(load_run_config(path))
    assert [run.name for run in plan.runs] == ["max_iterations=5", "max_iterations=6"]
    outputs = [job.output for run in plan.runs for job in run.jobs]
    assert len(set(outputs)) == plan.n_jobs == 4
    assert outputs[0] == str(tmp_path / "out" / "max_iterations=5" / "take000.h5")
    assert [run.jobs[0].fit.solve.max_iterations for run in plan.runs] == [5, 6]


def test_a_job_s_config_makes_the_job_again(tmp_path):
    from fitpipe.batch.job import job_from_text

    write_takes(tmp_path / "takes", 1)
    path = write_config(tmp_path, "[calibrate]\ntime_offset = { b = 0.01 }\n")
    job = make_plan(load_run_config(path, {"takes.up": "y"})).runs[0].jobs[0]
    again = job_from_text(job.config_text, output=Path(job.output))
    assert again == job
