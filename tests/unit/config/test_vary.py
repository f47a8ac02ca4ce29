"""Settings that differ from take to take, and grids."""

from __future__ import annotations

import pytest

from fitpipe.config import (
    FitConfig,
    OverrideConfig,
    RunConfig,
    check_overrides,
    expand_grid,
    make_config,
    override_tables,
    varied,
)
from fitpipe.errors import ConfigError


def config(**more):
    return make_config(
        RunConfig, {"takes": {"pattern": "x.csv"}, "output": {"folder": "out"}, **more}
    )


def test_the_last_override_that_matches_a_take_wins():
    rows = [
        {"take": "s1_*", "solve": {"max_iterations": 5}, "weights": {"noise": False}},
        {"take": "*_walk", "solve": {"max_iterations": 9}},
    ]
    run = config(override=rows, solve={"stop_step_m": 1e-5})

    def of(take):
        return varied(run, override_tables(run, take), place="test")

    assert of("s1_walk").solve.max_iterations == 9
    assert not of("s1_walk").weights.noise
    assert of("s1_run").solve.max_iterations == 5
    assert of("s2_run").solve.max_iterations == FitConfig().solve.max_iterations
    assert {of(take).solve.stop_step_m for take in ("s1_walk", "s2_run")} == {1e-5}


def test_every_section_of_a_fit_can_be_overridden():
    assert set(OverrideConfig.model_fields) == {"take", "takes", *FitConfig.model_fields}


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ({"solve": {"max_iteration": 5}}, r"\[solve\] max_iteration: unknown key; did you mean"),
        ({"solve": {"max_iterations": -5}}, "greater than or equal to 1, got -5"),
        ({"takes": {"pattern": "y.csv"}}, r"\[takes\] pattern: cannot differ from take to take"),
    ],
)
def test_an_override_is_checked_even_if_no_take_matches(row, said):
    with pytest.raises(ConfigError, match=said) as caught:
        check_overrides(config(override=[{"take": "nobody", **row}]))
    assert "[[override]] take = 'nobody'" in str(caught.value)


def test_output_and_batch_cannot_differ_from_take_to_take():
    with pytest.raises(ConfigError, match=r"\[output\] cannot differ from take to take"):
        varied(config(), [{"output.folder": "/etc"}], place="line 3")


def test_a_grid_gives_every_combination_by_name():
    run = config(grid={"solve": {"temporal": ["none", "previous"]}, "weights.noise": [True, False]})
    variants = expand_grid(run)
    assert [variant.name for variant in variants] == [
        "temporal=none,noise=true", "temporal=none,noise=false",
        "temporal=previous,noise=true", "temporal=previous,noise=false",
    ]  # fmt: skip
    last = variants[-1]
    assert last.settings == {"solve.temporal": "previous", "weights.noise": False}
    assert (last.config.solve.temporal, last.config.weights.noise) == ("previous", False)


def test_keys_that_end_alike_are_named_in_full():
    run = config(grid={"solve.max_gap_s": [0.1, 0.2], "calibrate.max_gap_s": [0.3]})
    names = [variant.name for variant in expand_grid(run)]
    assert names[0] == "solve.max_gap_s=0.1,calibrate.max_gap_s=0.3"


def test_names_of_a_grid_are_safe_as_folders():
    run = config(grid={"calibrate.bone_lengths": ["../../s1.toml", "/etc/s 2.toml"]})
    names = [variant.name for variant in expand_grid(run)]
    assert names == ["bone_lengths=s1", "bone_lengths=s_2"]


@pytest.mark.parametrize(
    ("grid", "said"),
    [
        ({"solve.temporal": "none"}, "expected a list of one or more values, got 'none'"),
        ({"solve.temporal": []}, "expected a list"),
        ({"solve.temporal": ["sometimes"]}, "'none', 'previous' or 'trajectory'"),
        ({"solve.reverse": [True, True]}, "two combinations have the name 'reverse=true'"),
        ({"output.folder": ["a", "b"]}, r"\[output\] cannot differ"),
    ],
)
def test_a_grid_that_cannot_be_run_is_refused(grid, said):
    with pytest.raises(ConfigError, match=said):
        expand_grid(config(grid=grid))
