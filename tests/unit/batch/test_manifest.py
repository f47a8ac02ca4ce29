"""Manifests: rows of files, with what differs from take to take."""

from __future__ import annotations

import pytest

from fitpipe.batch.manifest import read_manifest
from fitpipe.errors import ConfigError


def write(tmp_path, text, name="takes.csv"):
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return path


def test_rows_of_a_csv_file(tmp_path):
    path = write(
        tmp_path,
        "take,source,path,subject,rate_hz,solve.max_iterations,options\n"
        'walk,a,deep/a.csv,Anna,30,50,"weights.noise = false, calibrate.time_offset = {a = 0.5}"\n'
        "walk,b,/abs/b.csv,,,,\n"
        "\n",
    )
    one, two = read_manifest(path)
    assert (one.take, one.source, one.subject, one.rate_hz) == ("walk", "a", "Anna", 30.0)
    assert one.path == str(tmp_path / "deep" / "a.csv")
    assert one.options == {
        "solve.max_iterations": 50,
        "weights": {"noise": False},
        "calibrate": {"time_offset": {"a": 0.5}},
    }
    assert (two.path, two.subject, two.options) == ("/abs/b.csv", None, {})


@pytest.mark.parametrize("delimiter", [";", "\t"])
def test_other_delimiters_and_a_byte_order_mark(tmp_path, delimiter):
    text = "\ufefftake,path\nwalk,a.csv\n".replace(",", delimiter)
    (row,) = read_manifest(write(tmp_path, text))
    assert (row.take, row.path) == ("walk", str(tmp_path / "a.csv"))


def test_rows_of_a_toml_file(tmp_path):
    path = write(
        tmp_path,
        '[[file]]\ntake = "walk"\npath = "a.csv"\noptions.calibrate.bone_lengths = "s1.toml"\n',
        "takes.toml",
    )
    (row,) = read_manifest(path)
    assert row.options == {"calibrate": {"bone_lengths": str(tmp_path / "s1.toml")}}


def test_all_odd_rows_are_told_at_once(tmp_path):
    path = write(tmp_path, "take,path,rate_hz\nwalk,a.csv,fast\n,b.csv,\nrun,,\nok,c.csv,30\n")
    with pytest.raises(ConfigError) as caught:
        read_manifest(path)
    faults = "\n".join(caught.value.faults)
    for part in ("line 2: [rate_hz]", "'fast'", "line 3: [take]: is missing", "line 4: [path]"):
        assert part in faults
    assert len(caught.value.faults) == 3


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("take,paths\nx,y\n", "unknown column 'paths'; did you mean 'path'"),
        ("path\ny\n", "there is no column 'take'"),
        ("take,path,path\nx,y,z\n", "two columns are called 'path'"),
        ("take,path\nx,y,z\n", "line 2: 3 cells in a table of 2 columns"),
        ("take,path,options\nx,y,noise is off\n", "line 2: options are not TOML"),
        ("take,path\n", "lists no files"),
    ],
)
def test_tables_that_are_no_manifest(tmp_path, text, said):
    with pytest.raises(ConfigError, match=said):
        read_manifest(write(tmp_path, text))


def test_a_toml_file_of_other_tables_is_refused(tmp_path):
    with pytest.raises(ConfigError, match=r"\[takes\]: expected tables \[\[file\]\]"):
        read_manifest(write(tmp_path, "[takes]\npath = 'x'\n", "takes.toml"))
