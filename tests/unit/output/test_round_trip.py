"""What is written is read back, whole and to the bit."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType

import h5py
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fitpipe.output import load_fit, save_fit
from fitpipe.records import BoneLengths, Calibration, Finding, Fit, Skeleton, SourceTransform


@pytest.mark.parametrize("compression", [0, 4])
@pytest.mark.parametrize("size", ["small_fit", "long_fit"])
def test_every_field_comes_back(request, tmp_path, same, size, compression):
    fit = request.getfixturevalue(size)
    path = save_fit(fit, tmp_path / "walk.h5", compression=compression)
    same(load_fit(path), fit)


def test_a_fit_saves_itself_and_makes_missing_folders(small_fit, tmp_path, same):
    path = small_fit.save(str(tmp_path / "new" / "deeper" / "walk.h5"))
    assert path == tmp_path / "new" / "deeper" / "walk.h5"
    same(load_fit(path), small_fit)


def test_a_read_fit_saves_to_the_same_bytes(small_fit, tmp_path):
    first = save_fit(small_fit, tmp_path / "a.h5")
    second = save_fit(load_fit(first), tmp_path / "b.h5")
    assert first.read_bytes() == second.read_bytes()


def test_another_process_writes_the_same_bytes(long_fit, tmp_path):
    first = save_fit(long_fit, tmp_path / "a.h5")
    code = "import sys, fitpipe.output as o; o.save_fit(o.load_fit(sys.argv[1]), sys.argv[2])"
    env = os.environ | {"PYTHONHASHSEED": "7"}
    subprocess.run([sys.executable, "-c", code, first, tmp_path / "b.h5"], check=True, env=env)
    sums = [hashlib.sha256(p.read_bytes()).hexdigest() for p in (first, tmp_path / "b.h5")]
    assert sums[0] == sums[1]


def test_no_dataset_keeps_the_time_of_writing(small_fit, tmp_path):
    def check(_, item):
        if isinstance(item, h5py.Dataset):
            assert not item.id.get_create_plist().get_obj_track_times(), item.name

    with h5py.File(save_fit(small_fit, tmp_path / "walk.h5")) as file:
        file.visititems(check)


def test_skeleton_without_lengths_or_with_others_than_the_measured(small_fit, tmp_path, same):
    for length in (None, np.array([1.0, 2.0, 3.0, 4.0, 5.0])):
        skeleton = replace(small_fit.skeleton, bone_length_m=length)
        angles = replace(small_fit.angles, skeleton=skeleton)
        fit = replace(small_fit, skeleton=skeleton, angles=angles)
        same(load_fit(save_fit(fit, tmp_path / "walk.h5")), fit)


def test_one_joint_one_frame_no_findings_no_provenance(tmp_path, same):
    one = np.ones((1, 1))
    nothing = np.empty(0)
    fit = Fit(
        name="dot",
        skeleton=Skeleton("dot", ("P",), (-1,)),
        sources=("a",),
        time_s=np.zeros(1),
        position=np.full((1, 1, 3), 0.5),
        status=one,
        frame_status=np.ones(1),
        objective=np.zeros(1),
        objective_start=np.zeros(1),
        iterations=np.zeros(1),
        worst_bone_error=np.zeros(1),
        multiplier=np.empty((1, 0)),
        weight=one[None],
        doubt=0 * one[None],
        noise=one,
        residual=one[None],
        disagreement=np.full((1, 1), np.nan),
        calibration=Calibration((SourceTransform.identity("a"),), BoneLengths.given(nothing)),
    )
    same(load_fit(save_fit(fit, tmp_path / "dot.h5")), fit)


def test_provenance_that_is_awkward_as_text(small_fit, tmp_path):
    provenance = {
        "looks_like_json": '{"a": 1}',
        "null": "a\x00b",
        "file_name": "caf\udce9.c3d",
        "nested": {"caf\udce9.c3d": ["ü", None]},
        "long": "x" * 200_000,
        "view": MappingProxyType({"a": MappingProxyType({"b": 1})}),
    }
    path = save_fit(replace(small_fit, provenance=provenance), tmp_path / "walk.h5")
    found = dict(load_fit(path).provenance)
    assert found == provenance | {"view": {"a": {"b": 1}}}
    assert list(found) == list(provenance)


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text(st.characters()),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(value=JSON, text=st.text(st.characters(exclude_characters="\0")))
@settings(
    max_examples=50,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
    derandomize=True,
)
def test_any_json_in_the_provenance_and_any_text_in_the_log(small_fit, tmp_path, value, text):
    log = (Finding(text, done=text[::-1]),)
    fit = replace(small_fit, provenance={"value": value}, log=log)
    found = load_fit(save_fit(fit, tmp_path / "walk.h5"))
    assert found.provenance == {"value": value}
    assert found.log == log


def test_names_that_are_not_unicode_are_escaped_and_the_log_says_so(small_fit, tmp_path):
    calibration = replace(
        small_fit.calibration,
        transforms=tuple(
            replace(t, source=f"{t.source}\udcfc") for t in small_fit.calibration.transforms
        ),
    )
    fit = replace(
        small_fit,
        name="caf\udce9",
        sources=tuple(t.source for t in calibration.transforms),
        calibration=calibration,
    )
    found = load_fit(save_fit(fit, tmp_path / "walk.h5"))
    assert found.name == r"caf\udce9"
    assert found.sources == (r"left\udcfc", r"rechts ü\udcfc")
    assert found.log[:-1] == fit.log
    assert "source, the name of the take" in found.log[-1].what
    assert found.log[-1].severity == "warning"


def test_large_arrays_are_compressed_in_whole_rows_and_small_ones_plain(long_fit, tmp_path):
    path = save_fit(replace(long_fit, weight=np.ones_like(long_fit.weight)), tmp_path / "walk.h5")
    with h5py.File(path) as file:
        position = file["position"]
        assert position.compression == "gzip"
        assert position.compression_opts == 4
        assert position.shuffle
        assert position.chunks == (2000, 6, 3)
        assert file["bone_length"].chunks is None
        assert file["weight"].id.get_storage_size() < file["weight"].nbytes / 100
    plain = save_fit(long_fit, tmp_path / "plain.h5", compression=0)
    with h5py.File(plain) as file:
        assert file["position"].chunks is None


def test_a_small_take_makes_a_small_file(small_fit, tmp_path):
    assert save_fit(small_fit, tmp_path / "walk.h5").stat().st_size < 120_000


def test_a_link_goes_on_pointing_to_the_file(small_fit, tmp_path, same):
    target, link = tmp_path / "target.h5", tmp_path / "link.h5"
    target.touch()
    link.symlink_to(target)
    save_fit(small_fit, link)
    assert link.is_symlink()
    same(load_fit(target), small_fit)


def test_the_file_has_the_permissions_of_a_new_file(small_fit, tmp_path):
    path = save_fit(small_fit, tmp_path / "walk.h5")
    plain = tmp_path / "plain"
    plain.touch()
    assert path.stat().st_mode == plain.stat().st_mode
    assert sorted(p.name for p in tmp_path.iterdir()) == ["plain", "walk.h5"]


def test_names_as_long_as_the_file_system_takes(small_fit, tmp_path):
    path = tmp_path / ("ü" * 126 + ".h5")
    assert isinstance(save_fit(small_fit, path), Path)
    assert load_fit(path).name == small_fit.name
