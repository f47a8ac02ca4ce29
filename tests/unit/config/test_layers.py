"""Configs that extend others: which value wins, and where relative paths start."""

from __future__ import annotations

import pytest

from fitpipe.config import load_run_config
from fitpipe.errors import ConfigError


def write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


BASE = (
    '[takes]\npattern = "x_{source}.csv"\n[output]\nfolder = "out"\n'
    '[solve]\nmax_iterations = 3\n[calibrate]\nbone_lengths = "s1.toml"\n'
)


def test_what_a_config_says_goes_over_what_it_extends(tmp_path):
    write(tmp_path / "base.toml", BASE)
    path = write(tmp_path / "run.toml", 'extends = "base.toml"\n[solve]\nstop_step_m = 1e-5\n')
    config = load_run_config(path, {"solve.max_iterations": 7})
    assert (config.solve.max_iterations, config.solve.stop_step_m) == (7, 1e-5)
    assert config.takes.pattern == "x_{source}.csv"


def test_paths_start_from_the_file_they_stand_in(tmp_path):
    write(tmp_path / "base" / "base.toml", BASE)
    path = write(
        tmp_path / "study" / "run.toml",
        'extends = "../base/base.toml"\n[output]\nfolder = "results"\n',
    )
    config = load_run_config(path, {"takes.markerset": "own.toml"})
    assert config.takes.folder == str(tmp_path / "base")
    assert config.calibrate.bone_lengths == str(tmp_path / "base" / "s1.toml")
    assert config.output.folder == str(tmp_path / "study" / "results")
    assert config.takes.markerset == str(tmp_path / "study" / "own.toml")


def test_presets_are_no_paths_and_absolute_paths_stay(tmp_path):
    path = write(
        tmp_path / "run.toml",
        BASE.replace('"out"', '"/elsewhere/out"') + '[skeleton]\npreset = "kinect20"\n',
    )
    config = load_run_config(path)
    assert (config.skeleton.preset, config.output.folder) == ("kinect20", "/elsewhere/out")


def test_a_manifest_takes_the_place_of_the_bases_pattern(tmp_path):
    write(tmp_path / "base.toml", BASE)
    path = write(tmp_path / "run.toml", 'extends = "base.toml"\n[takes]\nmanifest = "t.csv"\n')
    takes = load_run_config(path).takes
    assert (takes.pattern, takes.manifest) == (None, str(tmp_path / "t.csv"))


def test_a_fault_is_told_with_the_file_it_stands_in(tmp_path):
    base = write(tmp_path / "base.toml", BASE + "[weights]\nnoize = true\n")
    path = write(tmp_path / "run.toml", 'extends = "base.toml"\n[solve]\nstop_step_m = -1\n')
    with pytest.raises(ConfigError) as caught:
        load_run_config(path)
    text = str(caught.value)
    assert f"{base}, [weights] noize: unknown key; did you mean 'noise'?" in text
    assert "\n  - [solve] stop_step_m: input should be greater than 0, got -1" in text


def test_a_chain_that_leads_back_to_itself_is_refused(tmp_path):
    write(tmp_path / "a.toml", 'extends = "b.toml"\n')
    write(tmp_path / "b.toml", 'extends = "a.toml"\n')
    with pytest.raises(ConfigError, match=r"extends itself: a\.toml -> b\.toml -> a\.toml"):
        load_run_config(tmp_path / "a.toml")


def test_a_base_that_is_not_there_is_named(tmp_path):
    path = write(tmp_path / "run.toml", 'extends = "nowhere.toml"\n')
    with pytest.raises(ConfigError, match=r"nowhere\.toml: no such file"):
        load_run_config(path)


@pytest.mark.parametrize("text", ["", 'pattern = "x.csv"\nmanifest = "y.csv"\n'])
def test_takes_come_from_one_place(tmp_path, text):
    path = write(tmp_path / "run.toml", f'[takes]\n{text}[output]\nfolder = "out"\n')
    with pytest.raises(ConfigError, match=r"\[takes\]: expected one of pattern, manifest and"):
        load_run_config(path)
