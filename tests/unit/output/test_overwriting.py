"""A fit takes the place of a fit and of nothing else."""

from __future__ import annotations

from dataclasses import replace

import h5py
import numpy as np
import pytest

from fitpipe.errors import OutputError
from fitpipe.output import refuse_other_files, refuse_same, save_fit


def test_a_fit_replaces_a_fit_whole_or_damaged(small_fit, tmp_path):
    path = tmp_path / "walk.h5"
    image = save_fit(small_fit, path).read_bytes()
    with h5py.File(tmp_path / "empty.h5", "w") as file:
        file.create_group("position")
    empty = (tmp_path / "empty.h5").read_bytes()
    # cut; without a head; of another program that was cut, or wrote nothing
    for damaged in (b"", image[:2000], bytes(5_000) + image[5_000:], empty[:300], empty):
        path.write_bytes(damaged)
        assert save_fit(small_fit, path).read_bytes() == image


@pytest.mark.parametrize("kind", ["text", "arrays", "short"])
def test_other_files_stay(small_fit, tmp_path, kind):
    path = tmp_path / "walk.h5"
    if kind == "arrays":
        with h5py.File(path, "w") as file:
            file["position"] = np.zeros((50, 20, 3))
    else:
        path.write_text("a recording\n" * 10_000 if kind == "text" else "x")
    before = path.read_bytes()
    with pytest.raises(OutputError, match="is there already and is no fit") as caught:
        save_fit(small_fit, path)
    assert "another name" in (caught.value.hint or "")
    assert path.read_bytes() == before
    assert sorted(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("role", ["input", "static"])
def test_a_recording_that_is_a_fit_itself_stays(small_fit, tmp_path, role):
    path = save_fit(small_fit, tmp_path / "walk.h5")
    before = path.read_bytes()
    row = {"path": str(tmp_path / "." / "walk.h5")}
    made = {"inputs": [row]} if role == "input" else {"inputs": [], "static": row}
    with pytest.raises(OutputError, match="one of the recordings"):
        save_fit(replace(small_fit, provenance=made), path)
    assert path.read_bytes() == before


def test_a_link_to_the_same_file_is_the_same_file(tmp_path):
    path, link = tmp_path / "a.csv", tmp_path / "b.csv"
    path.write_text("1")
    link.symlink_to(path)
    with pytest.raises(OutputError, match=r"b\.csv: is the take; choose another name"):
        refuse_same(link, [None, path], "the take")
    refuse_same(tmp_path / "new.csv", [path], "the take")
    refuse_other_files(tmp_path / "new.h5")
