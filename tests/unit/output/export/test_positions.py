"""Every format that holds positions gives them back by value, through readers that are not ours
or through the package's own."""

from __future__ import annotations

import csv
import json
import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import fitpipe as fp
from fitpipe.output.schema import schema_variables
from fitpipe.records import JointStatus

ezc3d = pytest.importorskip("ezc3d")


def exported(fit, tmp_path, name, **options):
    path = tmp_path / name
    return path, fp.export(fit, path, **options)


@pytest.fixture
def fit(small_fit):
    """The planted fit with its joints around a person's size, and its first frame not empty."""
    status = np.where(small_fit.status == 0, 1, small_fit.status)
    status[2, 5] = JointStatus.ABSENT
    position = np.random.default_rng(3).normal(size=small_fit.position.shape)
    position[status == JointStatus.ABSENT] = np.nan
    return replace(small_fit, status=status, position=position, angles=None)


@pytest.mark.parametrize(
    ("name", "options", "tolerance"),
    [
        ("walk.csv", {}, 0),
        ("walk.npz", {}, 0),
        ("walk.trc", {}, 5.1e-10),
        ("walk.trc", {"units": "cm"}, 5.1e-10),
        ("walk.trc", {"units": "m"}, 5.1e-10),
        ("walk.c3d", {}, 3e-7),
        ("walk.c3d", {"units": "m"}, 3e-7),
    ],
)
def test_our_own_reader_gives_back_positions_names_and_times(
    fit, tmp_path, name, options, tolerance
):
    path, _ = exported(fit, tmp_path, name, **options)
    take = fp.read_take(path)
    assert take.labels == fit.skeleton.joints
    np.testing.assert_allclose(take.position_m, fit.position, rtol=0, atol=tolerance)
    np.testing.assert_allclose(take.time_s, fit.time_s, rtol=1e-7, atol=1e-12 if tolerance else 0)
    assert take.origin.unit == options.get("units", "mm" if tolerance else "m")
    warnings = [repair for repair in take.repairs if repair.severity == "warning"]
    assert not warnings


def test_the_same_fit_gives_the_same_bytes(fit, tmp_path):
    for name in ("a.csv", "a.npz", "a.trc", "a.c3d", "a.parquet"):
        first, _ = exported(fit, tmp_path, name)
        before = first.read_bytes()
        exported(fit, tmp_path, name)
        assert first.read_bytes() == before, name


def test_c3d_has_labels_residuals_rate_and_unit_as_ezc3d_reads_them(fit, tmp_path):
    path, _ = exported(fit, tmp_path, "walk.c3d")
    file = ezc3d.c3d(str(path))
    point = file["parameters"]["POINT"]
    assert point["LABELS"]["value"] == list(fit.skeleton.joints)
    assert point["UNITS"]["value"] == ["mm"]
    assert point["RATE"]["value"][0] == pytest.approx(30.0)
    residual_mm = file["data"]["meta_points"]["residuals"][0].T
    np.testing.assert_array_equal(residual_mm == -1, fit.status == JointStatus.ABSENT)
    np.testing.assert_array_equal(residual_mm == 0, fit.status == JointStatus.CARRIED)
    seen = fit.status == JointStatus.OBSERVED
    mean_mm = np.nanmean(fit.residual, axis=1) * 1e3
    np.testing.assert_allclose(residual_mm[seen], np.minimum(mean_mm, 255)[seen], atol=0.51)
    assert file["header"]["points"]["first_frame"] == 0
    points = file["data"]["points"]
    np.testing.assert_allclose(points[:3].T[seen], fit.position[seen] * 1e3, atol=3e-4)


def test_c3d_residuals_are_as_fine_as_a_byte_allows(fit, tmp_path):
    small = replace(fit, residual=np.random.default_rng(0).uniform(0, 0.02, fit.residual.shape))
    path, _ = exported(small, tmp_path, "walk.c3d")
    residual_mm = ezc3d.c3d(str(path))["data"]["meta_points"]["residuals"][0].T
    seen = fit.status == JointStatus.OBSERVED
    mean_mm = small.residual.mean(axis=1) * 1e3
    np.testing.assert_allclose(residual_mm[seen], mean_mm[seen], atol=0.51 * mean_mm.max() / 255)


def test_c3d_holds_more_joints_than_one_block_of_labels(fit, tmp_path):
    n = 300
    many = _of_joints(fit, [f"marker number {i}" for i in range(n)])
    path, _ = exported(many, tmp_path, "many.c3d")
    take = fp.read_take(path)
    assert take.labels == many.skeleton.joints
    np.testing.assert_allclose(take.position_m, many.position, atol=3e-7)


def test_c3d_starts_at_the_take_s_first_frame(fit, tmp_path):
    late = replace(fit, time_s=fit.time_s + 2.0)
    path, findings = exported(late, tmp_path, "walk.c3d")
    assert not [f for f in findings if f.severity == "warning"]
    np.testing.assert_allclose(fp.read_take(path).time_s, late.time_s, rtol=1e-7)
    path, findings = exported(replace(fit, time_s=fit.time_s + 1.7e9), tmp_path, "epoch.c3d")
    assert "the take starts at 1.7e+09 s: frame 1 stands for 0 s" in [str(f) for f in findings]
    np.testing.assert_allclose(fp.read_take(path).time_s, fit.time_s, atol=1e-6)


def test_lost_frames_of_an_even_clock_become_gaps_in_c3d(fit, tmp_path):
    stamps = np.round(np.array([0, 1, 2, 4, 5, 8, 9]) / 30, 3)  # milliseconds, three frames lost
    path, findings = exported(replace(fit, time_s=stamps), tmp_path, "walk.c3d")
    (uneven,) = [f for f in findings if "unevenly" in f.what]
    assert uneven.severity == "warning"
    assert "3 missing frames absent" in uneven.done
    take = fp.read_take(path)
    assert take.n_frames == 10
    assert np.flatnonzero(~take.is_observed.any(axis=1)).tolist() == [3, 6, 7]
    np.testing.assert_allclose(take.position_m[[0, 1, 2, 4, 5, 8, 9]], fit.position, atol=3e-7)
    np.testing.assert_allclose(take.rate_hz, 30, rtol=2e-3)


def test_a_clock_with_holes_of_hours_is_refused_where_there_are_no_stamps(fit, tmp_path):
    apart = replace(fit, time_s=np.array([0, 1, 2, 3, 4, 5, 1e5]) / 30)
    with pytest.raises(fp.FitpipeError, match="too far apart for a format with a fixed rate"):
        exported(apart, tmp_path, "walk.c3d")
    assert not list(tmp_path.iterdir())
    path, _ = exported(apart, tmp_path, "walk.trc")
    np.testing.assert_array_equal(fp.read_take(path).time_s, apart.time_s)


def test_one_frame_gets_a_rate(fit, tmp_path):
    one = _frames(fit, slice(1, 2))
    path, findings = exported(one, tmp_path, "walk.c3d")
    assert any("one frame has no rate" in f.what for f in findings)
    np.testing.assert_allclose(fp.read_take(path).position_m, one.position, atol=3e-7)


def test_csv_and_parquet_keep_both_statuses_and_every_source_s_residual(fit, tmp_path):
    tables = {
        "csv": pd.read_csv(exported(fit, tmp_path, "walk.csv")[0]),
        "parquet": pd.read_parquet(exported(fit, tmp_path, "walk.parquet")[0]),
    }
    for kind, table in tables.items():
        shape = fit.status.shape
        of_joint = np.array([s.name.lower() for s in fp.JointStatus])[fit.status]
        of_frame = np.array([s.name.lower() for s in fp.FrameStatus])[fit.frame_status]
        np.testing.assert_array_equal(table.status.to_numpy().reshape(shape), of_joint, kind)
        assert (table.frame_status.to_numpy().reshape(shape) == of_frame[:, None]).all(), kind
        for s, source in enumerate(fit.sources):
            found = table[f"residual_m:{source}"].to_numpy().reshape(shape)
            # pandas 2 reads a number's last digits as it likes
            np.testing.assert_allclose(
                found, fit.residual[:, s], rtol=1e-14, atol=1e-15, err_msg=kind
            )
        found = table[["x_m", "y_m", "z_m"]].to_numpy().reshape(fit.position.shape)
        np.testing.assert_allclose(found, fit.position, rtol=1e-14, atol=1e-15, err_msg=kind)


def test_parquet_tells_what_it_is_in_its_metadata(fit, tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    path, _ = exported(fit, tmp_path, "walk.parquet", up="z")
    about = json.loads(parquet.read_schema(path).metadata[b"fitpipe"])
    assert about["parents"] == list(fit.skeleton.parents)
    assert about["bone_length_m"] == [v if v == v else None for v in fit.bone_length.tolist()]
    assert about["axes"] == "those of the source 'left', turned so that +y is up"
    assert "metres" in about["units"]


def test_npz_holds_every_array_of_the_file_without_pickle(fit, tmp_path):
    path, _ = exported(fit, tmp_path, "walk.npz")
    with np.load(path, allow_pickle=False) as archive:
        for variable in schema_variables(fit):
            expected = variable.values
            if expected.dtype == object:
                expected = expected.astype(str)
            np.testing.assert_array_equal(archive[variable.name], expected, variable.name)
        assert json.loads(str(archive["provenance/inputs"])) == fit.provenance["inputs"]


def test_trc_has_the_lines_that_programs_expect(fit, tmp_path):
    path, _ = exported(fit, tmp_path, "walk.trc")
    lines = path.read_text(encoding="utf-8").split("\n")
    assert lines[0] == "PathFileType\t4\t(X/Y/Z)\twalk.trc"
    head = dict(zip(lines[1].split("\t"), lines[2].split("\t"), strict=True))
    assert head["NumFrames"] == "7"
    assert head["NumMarkers"] == "6"
    assert head["Units"] == "mm"
    assert lines[3].split("\t")[:5] == ["Frame#", "Time", "Hip", "", ""]
    assert lines[4].split("\t")[:5] == ["", "", "X1", "Y1", "Z1"]
    assert lines[5] == ""
    row = lines[8].split("\t")
    assert len(row) == 2 + 18
    assert row[0] == "3"
    assert row[-3:] == ["NaN", "NaN", "NaN"]  # OpenSim refuses a row that ends in blanks


def test_up_turns_the_axis_that_was_given_to_plus_y(fit, tmp_path):
    for name in ("walk.csv", "walk.trc", "walk.c3d"):
        path, _ = exported(fit, tmp_path, name, up="z")
        turned = fp.read_take(path).position_m
        x, y, z = np.moveaxis(fit.position, -1, 0)
        np.testing.assert_allclose(turned, np.stack([x, z, -y], axis=-1), atol=3e-7)


def test_names_that_a_format_cannot_hold_are_changed_and_told(fit, tmp_path):
    names = ["a\tb", "a\nb", 'say "hi", you', "=1+1", "<script>", "x" * 300]
    hostile = _of_joints(fit, names)
    for name in ("walk.trc", "walk.csv", "walk.c3d"):
        path, findings = exported(hostile, tmp_path, name)
        assert any("names the format cannot hold" in f.what for f in findings)
        take = fp.read_take(path)
        expected = ["a_b", "a_b_2", *names[2:5]]
        assert list(take.labels[:5]) == expected
        np.testing.assert_allclose(take.position_m, hostile.position, atol=3e-7)


def test_csv_opens_in_the_standard_library(fit, tmp_path):
    path, _ = exported(fit, tmp_path, "walk.csv")
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert rows[2 * 6 + 5]["status"] == "absent"
    assert rows[2 * 6 + 5]["x_m"] == ""
    assert float(rows[6]["y_m"]) == fit.position[1, 0, 1]


def test_what_is_lost_is_told_first_and_absences_after(fit, tmp_path):
    _, findings = exported(fit, tmp_path, "walk.trc")
    assert re.match("not kept in trc: statuses of joints", str(findings[0]))
    assert "1 joint sample absent (Head2): NaN" in [str(f) for f in findings]


def _of_joints(fit, names):
    """The same frames with other joints: as many as names, in a chain."""
    n, t, rng = len(names), fit.n_frames, np.random.default_rng(1)
    parents = tuple(range(-1, n - 1))
    skeleton = fp.Skeleton("chain", tuple(names), parents, bone_length_m=np.ones(n - 1))
    bones = replace(
        fit.calibration.bone_lengths,
        **{k: np.ones(n - 1) for k in ("length_m", "low_m", "high_m")},
        n_samples=np.ones(n - 1, int),
    )
    per_source = {k: np.ones((t, 2, n)) for k in ("weight", "doubt", "residual")}
    return replace(
        fit,
        skeleton=skeleton,
        position=rng.normal(size=(t, n, 3)),
        status=np.ones((t, n)),
        multiplier=np.ones((t, n - 1)),
        noise=np.ones((2, n)),
        disagreement=np.ones((t, n)),
        observation=None,
        calibration=replace(fit.calibration, bone_lengths=bones),
        **per_source,
    )


def _frames(fit, which):
    return replace(fit, **{name: array[which] for name, array in fit.per_frame.items()})
