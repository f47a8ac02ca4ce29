"""The file opens in xarray, netCDF-4 readers and plain h5py with nothing lost."""

from __future__ import annotations

from dataclasses import replace

import h5py
import numpy as np
import pytest

from fitpipe.output import SCHEMA, fit_variables, load_fit, save_fit, schema_markdown
from fitpipe.output.schema import ENTRIES, GROUPS, ROOT_ATTRIBUTES, group_of

xr = pytest.importorskip("xarray")
h5netcdf = pytest.importorskip("h5netcdf")


@pytest.fixture
def path(small_fit, tmp_path):
    return save_fit(small_fit, tmp_path / "walk.h5")


def test_xarray_shows_the_fit_with_its_coordinates(small_fit, path):
    with xr.open_dataset(path, engine="h5netcdf") as data:
        assert dict(data.sizes) == {"time": 7, "keypoint": 6, "space": 3, "bone": 5, "source": 2}
        assert set(data.variables) == {e.name for e in ENTRIES if not group_of(e.name)}
        knee = data.position.sel(keypoint="Knie ß", space="z")
        np.testing.assert_array_equal(knee, small_fit.position[:, 1, 2])
        np.testing.assert_array_equal(
            data.residual.sel(source="rechts ü", keypoint="Head2"), small_fit.residual[:, 1, 5]
        )
        assert list(data.bone.values) == [
            "Hip-Knie ß",
            "Hip-Head",
            "Hip2-Knee2",
            "Hip2-Head2",
            "Head~Head2",
        ]
        np.testing.assert_array_equal(data.time, np.arange(7) / 30)
        assert data.time.dtype == np.float64
        assert data.status.dtype == np.uint8
        assert data.iterations.dtype == np.int64
        assert data.position.units == "m"
        assert data.objective.units == "m2"
        assert data.frame_status.flag_meanings.split()[1] == "certified"
        np.testing.assert_array_equal(data.frame_status.flag_values, np.arange(6, dtype=np.uint8))
        assert data.attrs["schema"] == SCHEMA
        assert data.attrs["take"] == "walk ä"
        assert data.attrs["creator"].startswith("fitpipe ")
        assert list(data.attrs) == list(ROOT_ATTRIBUTES)


def test_xarray_opens_every_group(small_fit, path):
    with xr.open_datatree(path, engine="h5netcdf") as tree:
        assert [group.lstrip("/") for group in tree.groups] == list(GROUPS)
        knee = tree["angles"]["euler"].sel(segment="Knee2", turn="second")
        assert knee.dims == ("time",)
        np.testing.assert_array_equal(knee, small_fit.angles.euler_rad[:, 3, 1])
        assert knee.attrs["units"] == "rad"
        real = tree["angles"]["local_wxyz"].sel(segment="Head", component="w")
        np.testing.assert_array_equal(real, small_fit.angles.local_wxyz[:, 2, 0])
        calibration = tree["calibration"]
        turn = calibration["R_ref_source"].sel(source="rechts ü")
        assert turn.dims == ("space", "source_space")
        np.testing.assert_array_equal(turn, small_fit.calibration.transforms[1].R_ref_source)
        np.testing.assert_array_equal(calibration["n_points"], [0, 345])
        assert list(tree["log"]["what"].values) == [f.what for f in small_fit.log]
        assert str(tree["provenance"]["config"].values) == small_fit.provenance["config"]


def test_a_fit_without_angles_has_no_group_for_them(small_fit, tmp_path):
    path = save_fit(replace(small_fit, angles=None), tmp_path / "bare.h5")
    with h5py.File(path) as file:
        assert "angles" not in file
    assert load_fit(path).angles is None


def test_to_xarray_holds_what_the_file_opens_as(small_fit, path):
    with xr.open_dataset(path, engine="h5netcdf") as data:
        made = small_fit.to_xarray().rename(keypoints="keypoint").squeeze("individuals", drop=True)
        assert set(made.variables) == {*data.variables, "confidence"}
        for name, variable in data.variables.items():
            found = made[name].transpose(*variable.dims)
            assert list(found.attrs) == list(variable.attrs)
            assert found.attrs["long_name"] == variable.attrs["long_name"]
            np.testing.assert_array_equal(found, variable)


def test_every_dimension_is_a_netcdf_dimension_with_a_name(path):
    with h5netcdf.File(path, "r") as file:
        ids = []

        def visit(group):
            for name, variable in group.variables.items():
                assert not any(dim.startswith("phony") for dim in variable.dimensions), name
                assert {"units", "long_name"} <= set(variable.attrs), name
            ids.extend(d._h5ds.attrs["_Netcdf4Dimid"] for d in group.dimensions.values())
            for child in group.groups.values():
                visit(child)

        visit(file)
        assert ids == list(range(12))
        assert file["calibration"]["t_ref"].dimensions == ("source", "space")


def test_plain_h5py_finds_scales_by_name(small_fit, path):
    with h5py.File(path) as file:
        assert list(file)[:6] == ["time", "keypoint", "space", "bone", "source", "position"]
        assert [dim[0].name for dim in file["multiplier"].dims] == ["/time", "/bone"]
        assert file["keypoint"].asstr()[1] == "Knie ß"
        np.testing.assert_array_equal(file["parent"], small_fit.skeleton.parents)


def test_another_program_may_copy_the_file_and_add_to_it(small_fit, path, tmp_path, same):
    copy = tmp_path / "copy.h5"
    with h5py.File(path) as old, h5py.File(copy, "w", track_order=True) as new:
        for name, value in old.attrs.items():
            new.attrs[name] = value
        for name in old:
            old.copy(name, new)
    same(load_fit(copy), small_fit)
    with h5py.File(path, "r+") as file:
        file["position"].attrs["seen_by"] = "somebody"
        file.create_dataset("behaviour", data=np.arange(7))
    same(load_fit(path), small_fit)


def test_no_two_variables_share_a_name_and_scales_come_before_their_use():
    names = [entry.name for entry in ENTRIES]
    assert len(set(names)) == len(names)
    scales = set()
    for entry in ENTRIES:
        if entry.dims == (entry.name.rpartition("/")[2],):
            scales.add(entry.dims[0])
        assert set(entry.dims) <= scales, entry.name
        assert group_of(entry.name) in GROUPS


def test_fit_variables_are_those_of_the_root(small_fit):
    variables = fit_variables(small_fit)
    assert [v.name for v in variables] == [e.name for e in ENTRIES if "/" not in e.name]
    for variable in variables:
        assert variable.values.ndim == len(variable.dims)


def test_markdown_tells_every_field_and_flag():
    text = schema_markdown()
    for entry in ENTRIES:
        assert f"| `{entry.name.rpartition('/')[2]}` | " in text
    for name in ROOT_ATTRIBUTES:
        assert f"| `{name}` | " in text
    assert "Values: 0 absent, 1 observed, 2 carried, 3 interpolated." in text
    assert all(line.count("|") in (3, 6) for line in text.splitlines() if line.startswith("|"))
