"""Exports write over nothing they must not, appear whole, and say what is wrong in one message."""

from __future__ import annotations

import hashlib
import sys
from dataclasses import replace

import pytest

import fitpipe as fp
from fitpipe.simulate import walk


@pytest.fixture(scope="module")
def fit() -> fp.Fit:
    motion = walk(12, 30.0)
    take = fp.Take("truth", motion.skeleton.joints, motion.position_m, motion.time_s)
    return fp.fit(take, name="walk")


@pytest.mark.parametrize("role", ["input", "static"])
def test_a_recording_the_fit_was_made_from_is_never_written_over(fit, tmp_path, role):
    recording = tmp_path / "walk.csv"
    recording.write_bytes(b"time_s,Head_x_m,...\n")
    sha256 = hashlib.sha256(recording.read_bytes()).hexdigest()
    row = {"path": "elsewhere/walk.csv", "sha256": sha256}
    told = {"inputs": [{"source": "truth", **row}]} if role == "input" else {"static": row}
    made = replace(fit, provenance=told)
    with pytest.raises(fp.FitpipeError, match="one of the recordings that the fit was made from"):
        fp.export(made, recording)
    assert recording.read_bytes().startswith(b"time_s,Head")
    # another file of that name is replaced
    recording.write_bytes(b"something else")
    fp.export(made, recording)
    assert fp.read_take(recording).n_frames == 12


def test_the_file_of_the_fit_is_never_written_over(fit, tmp_path):
    saved = fit.save(tmp_path / "walk.h5")
    before = saved.read_bytes()
    link = tmp_path / "walk.csv"
    link.symlink_to(saved)
    with pytest.raises(fp.FitpipeError, match="the fit that is to be exported"):
        fp.export(saved, link)
    for path in (saved, tmp_path / "walk"):
        with pytest.raises(fp.FitpipeError, match=r"ends in|the ending"):
            fp.export(saved, path, to="csv")
        with pytest.raises(fp.FitpipeError, match="tells no format"):
            fp.export(saved, path)
    assert saved.read_bytes() == before


def test_a_fit_is_exported_from_its_file_as_from_memory(fit, tmp_path):
    saved = fit.save(tmp_path / "walk.h5")
    fp.export(saved, tmp_path / "a.bvh")
    fp.export(fit, str(tmp_path / "deep" / "b.BVH"))
    assert (tmp_path / "a.bvh").read_bytes() == (tmp_path / "deep" / "b.BVH").read_bytes()


@pytest.mark.parametrize(
    ("name", "options", "said"),
    [
        ("a.xyz", {}, "the ending '.xyz' tells no format to export to; known are .bvh"),
        ("a", {}, "the ending '' tells no format"),
        ("a.trc", {"to": "tcr"}, "no format 'tcr' to export to; did you mean 'trc'?"),
        ("a.csv", {"to": "trc"}, "the name ends in '.csv', a file of format trc in '.trc'"),
        ("a.trc", {"units": "furlong"}, "format trc cannot be in 'furlong'; it can be in mm, cm"),
        ("a.csv", {"units": "mm"}, "format csv cannot be in 'mm'; it can be in m"),
        ("a.trc", {"up": "north"}, "up axis 'north' is not known; give one of +x"),
    ],
)
def test_wrong_use_ends_in_one_clear_error_and_no_file(fit, tmp_path, name, options, said):
    with pytest.raises(fp.FitpipeError) as caught:
        fp.export(fit, tmp_path / name, **options)
    assert said in str(caught.value)
    assert not list(tmp_path.iterdir())


def test_what_a_format_cannot_write_leaves_the_old_file(fit, tmp_path, monkeypatch):
    path = tmp_path / "walk.parquet"
    path.write_bytes(b"old")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(fp.FitpipeError, match=r"needs the package pyarrow.*fitpipe\[parquet\]"):
        fp.export(fit, path)
    assert path.read_bytes() == b"old"
