"""Patterns with named fields group files into takes and their sources."""

from __future__ import annotations

import pytest

from fitpipe.batch import find_takes
from fitpipe.errors import ConfigError


def touch(folder, *names):
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()


def grouped(takes):
    return {take.name: {s: p.name for s, p in take.paths.items()} for take in takes}


def test_files_that_differ_in_source_are_one_take(tmp_path):
    touch(tmp_path, "s1_walk_a.csv", "s1_walk_b.csv", "s2_run_a.csv", "notes.txt")
    assert grouped(find_takes("{subject}_{trial}_{source}.csv", tmp_path)) == {
        "s1_walk": {"a": "s1_walk_a.csv", "b": "s1_walk_b.csv"},
        "s2_run": {"a": "s2_run_a.csv"},
    }


def test_fields_may_be_folders(tmp_path):
    touch(tmp_path, "a/walk.trc", "b/walk.trc")
    assert set(grouped(find_takes("{subject}/{trial}.trc", tmp_path))) == {"a_walk", "b_walk"}


def test_two_files_with_one_name_are_refused_before_any_work(tmp_path):
    touch(tmp_path, "a/walk.trc", "b/walk.trc")
    with pytest.raises(ConfigError, match=r"both source '' of take 'walk'.*name the part"):
        find_takes("*/{trial}.trc", tmp_path)


def test_a_pattern_without_fields_names_takes_by_their_file(tmp_path):
    touch(tmp_path, "x/walk.c3d", "x/deep/run.c3d")
    assert set(grouped(find_takes("**/*.c3d", tmp_path))) == {"walk", "run"}


def test_special_characters_are_taken_as_they_are(tmp_path):
    touch(tmp_path, "sujet éü 測試 (1)/walk+1.csv", "sujet éü 測試 (1)/walk11.csv")
    assert set(grouped(find_takes("sujet éü 測試 (1)/walk+{n}.csv", tmp_path))) == {"1"}


def test_an_absolute_pattern_does_not_need_the_base(tmp_path):
    touch(tmp_path, "walk_a.csv")
    found = find_takes(f"{tmp_path.as_posix()}/{{take}}_{{source}}.csv", tmp_path / "elsewhere")
    assert grouped(found) == {"walk": {"a": "walk_a.csv"}}


def test_nothing_found_is_an_error_with_pattern_and_folder(tmp_path):
    with pytest.raises(ConfigError, match=r"no files match 'nothing_\*\.trc' in "):
        find_takes("nothing_*.trc", tmp_path)


def test_a_field_named_twice_is_refused(tmp_path):
    with pytest.raises(ConfigError, match="names a field twice"):
        find_takes("{take}_{take}.csv", tmp_path)
