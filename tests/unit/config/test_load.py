"""Config files: defaults, settings on top, and errors that name the key and the line."""

from __future__ import annotations

import tomllib

import pytest

from fitpipe.config import (
    FitConfig,
    RunConfig,
    config_text,
    load_run_config,
    make_config,
    with_settings,
)
from fitpipe.config.presets import list_presets, load_preset
from fitpipe.errors import ConfigError

MINIMAL = '[takes]\npattern = "x_{source}.csv"\n[output]\nfolder = "out"\n'


def written(tmp_path, text):
    path = tmp_path / "run.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_defaults_are_filled_in(tmp_path):
    config = load_run_config(written(tmp_path, MINIMAL))
    assert config.skeleton.preset == "kinect20"
    assert config.solve == FitConfig().solve
    assert config.takes.units is None


def test_a_misspelt_key_is_refused_with_the_nearest(tmp_path):
    path = written(tmp_path, MINIMAL + "[solve]\nmax_iteration = 3\n")
    with pytest.raises(ConfigError) as caught:
        load_run_config(path)
    assert str(caught.value) == (
        f"{path}, [solve] max_iteration: unknown key; did you mean 'max_iterations'?"
    )


def test_a_misspelt_section_is_refused_with_the_nearest(tmp_path):
    with pytest.raises(ConfigError, match=r"\[slove\]: unknown key; did you mean 'solve'"):
        load_run_config(written(tmp_path, MINIMAL + "[slove]\nmax_iterations = 3\n"))


def test_all_faults_come_at_once(tmp_path):
    text = '[takes]\n[solve]\nstop_step_m = -1\n[calibrate]\nregistration = "maybe"\n'
    with pytest.raises(ConfigError) as caught:
        load_run_config(written(tmp_path, text))
    faults = "\n".join(caught.value.faults)
    for part in ("[takes]: expected one of pattern", "[output]: is missing", "got -1", "'maybe'"):
        assert part in faults


def test_settings_go_on_top_of_the_file(tmp_path):
    path = written(tmp_path, MINIMAL + "[solve]\nmax_iterations = 3\n")
    config = load_run_config(path, {"solve.max_iterations": 9, "output.folder": "elsewhere"})
    assert config.solve.max_iterations == 9
    assert config.output.folder == str(tmp_path / "elsewhere")


def test_a_setting_cannot_lead_through_a_value():
    with pytest.raises(ConfigError, match="'pattern' is no table"):
        with_settings({"takes": {"pattern": "x"}}, {"takes.pattern.deep": 1})


def test_settings_do_not_change_the_table_given():
    table = {"solve": {"max_iterations": 3}}
    with_settings(table, {"solve.max_iterations": 9})
    assert table == {"solve": {"max_iterations": 3}}


def test_the_text_of_a_config_loads_to_an_equal_config(tmp_path):
    config = load_run_config(written(tmp_path, MINIMAL))
    assert make_config(RunConfig, tomllib.loads(config_text(config))) == config


def test_a_backslash_path_is_explained(tmp_path):
    path = written(tmp_path, MINIMAL.replace('"out"', '"C:\\Users\\new"'))
    with pytest.raises(ConfigError, match=r"line 4: not TOML.*forward slashes or in single quotes"):
        load_run_config(path)


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(ConfigError, match=r"nowhere\.toml: no such file"):
        load_run_config(tmp_path / "nowhere.toml")


def test_a_byte_order_mark_is_no_fault(tmp_path):
    path = tmp_path / "run.toml"
    path.write_bytes(b"\xef\xbb\xbf" + MINIMAL.encode())
    assert load_run_config(path).output.folder == str(tmp_path / "out")


def test_configs_are_frozen():
    with pytest.raises(ValueError, match="frozen"):
        FitConfig().solve.max_iterations = 3


def test_unknown_presets_are_refused_with_what_exists():
    assert "kinect20" in list_presets("skeletons")
    with pytest.raises(
        ConfigError, match=r"no skeleton preset 'kinect_20'.*did you mean 'kinect20'"
    ):
        load_preset("skeletons", "kinect_20")


def test_solver_choices_are_read_and_wrong_ones_name_what_is_possible(tmp_path):
    text = MINIMAL + '[solve]\nformulation = "aggregate"\ncurvature = "none"\nreverse = true\n'
    solve = load_run_config(written(tmp_path, text), {"solve.line_search": "golden"}).solve
    assert (solve.formulation, solve.curvature) == ("aggregate", "none")
    assert (solve.line_search, solve.reverse) == ("golden", True)
    with pytest.raises(ConfigError, match=r"\[solve\] formulation.*'per_bone', 'aggregate' or"):
        load_run_config(written(tmp_path, text), {"solve.formulation": "per_joint"})
