"""Files that are no whole fit: one sentence each, never a wrong number."""

from __future__ import annotations

import pickle

import h5py
import numpy as np
import pytest

from fitpipe.errors import OutputError
from fitpipe.output import checksum, load_fit, read, save_fit


@pytest.fixture
def path(small_fit, tmp_path):
    return save_fit(small_fit, tmp_path / "walk.h5")


def fails(path) -> str:
    with pytest.raises(OutputError) as caught:
        load_fit(path)
    assert caught.value.path == path
    text = str(caught.value)
    assert text.startswith(f"{path}: ")
    assert "\n" not in text
    return text


def unsealed(path) -> bytearray:
    """The bytes of the HDF5 file alone, as after a copy by another tool."""
    data = path.read_bytes()
    return bytearray(data[: data.rindex(b"\nfitpipe seal")])


def test_no_such_file_names_the_nearest(path):
    assert "no such file; did you mean 'walk.h5'?" in fails(path.with_name("wallk.h5"))


def test_folder(tmp_path):
    assert "is a folder" in fails(tmp_path)


@pytest.mark.parametrize("content", [b"", b"frame,time,x\n1,0.0,2\n", b"\x89HDF\r\n\x1a\n"])
def test_no_hdf5(tmp_path, content):
    path = tmp_path / "table.h5"
    path.write_bytes(content)
    assert "truncated or damaged, or no HDF5 file" in fails(path)


@pytest.mark.parametrize("part", [0.01, 0.5, 0.99])
def test_truncated(path, part):
    data = path.read_bytes()
    path.write_bytes(data[: int(part * len(data))])
    assert "truncated or damaged, or no HDF5 file" in fails(path)


def test_hdf5_of_something_else(tmp_path):
    path = tmp_path / "other.h5"
    with h5py.File(path, "w") as file:
        file["position"] = np.zeros(3)
    assert "is no fit: expected HDF5 with schema 'fitpipe.fit/1', this file has no" in fails(path)
    with h5py.File(path, "r+") as file:
        file.attrs["schema"] = "somebody.else/1"
    assert "has schema 'somebody.else/1'" in fails(path)


def test_newer_schema(path):
    with h5py.File(path, "r+") as file:
        file.attrs["schema"] = "fitpipe.fit/2"
    assert "has schema 'fitpipe.fit/2', this fitpipe reads 'fitpipe.fit/1'; update" in fails(path)


def test_any_damaged_byte_is_noticed(path):
    data = bytearray(path.read_bytes())
    rng = np.random.default_rng(0)
    for at in rng.integers(0, data.rindex(b"\nfitpipe seal"), 60):
        bit = 1 << int(rng.integers(8))
        data[at] ^= bit
        path.write_bytes(data)
        data[at] ^= bit
        assert "is damaged: its bytes are not those that were written" in fails(path)


def test_a_changed_number_is_noticed_without_the_seal(small_fit, path):
    data = unsealed(path)
    value = small_fit.position[3, 2, 1].tobytes()
    assert data.count(value) >= 1
    data[data.index(value)] ^= 1
    path.write_bytes(data)
    assert "is damaged: its contents do not match its checksum" in fails(path)


def test_a_damaged_compressed_block_is_noticed_without_the_seal(long_fit, tmp_path):
    path = save_fit(long_fit, tmp_path / "long.h5")
    with h5py.File(path) as file:
        at = file["position"].id.get_chunk_info(0).byte_offset + 1000
    data = unsealed(path)
    data[at] ^= 1
    path.write_bytes(data)
    assert "is damaged: " in fails(path)


def edit_value(file):
    file["residual"][2, 1, 0] += 1e-15


def edit_unit(file):
    file["position"].attrs["units"] = "mm"


def edit_text(file):
    file["log/done"][0] = "left as it is"


def edit_provenance(file):
    file["provenance/config"][()] = ""


def edit_take(file):
    file.attrs["take"] = "run"


def edit_type(file):
    values = file["iterations"][()].astype(np.int32)
    del file["iterations"]
    file["iterations"] = values


def drop_variable(file):
    del file["multiplier"]


def drop_group(file):
    del file["provenance"]


def drop_checksum(file):
    del file.attrs["checksum"]


@pytest.mark.parametrize(
    "edit",
    [
        edit_value,
        edit_unit,
        edit_text,
        edit_provenance,
        edit_take,
        edit_type,
        drop_variable,
        drop_group,
        drop_checksum,
    ],
    ids=lambda edit: edit.__name__,
)
def test_an_edit_of_the_fit_is_noticed(path, edit):
    with h5py.File(path, "r+") as file:
        edit(file)
    assert "is damaged: " in fails(path)


def test_a_file_with_a_right_checksum_that_makes_no_fit(path):
    with h5py.File(path, "r+") as file:
        file["status"][:] = 0
    with h5py.File(path, "r") as file:
        right = checksum.checksum(read._read_variables(file), dict(file.attrs))
    with h5py.File(path, "r+") as file:
        file.attrs["checksum"] = right
    assert "does not hold a whole fit: fit 'walk ä': position is NaN elsewhere" in fails(path)


def test_a_file_that_is_being_written(path):
    fcntl = pytest.importorskip("fcntl")
    with path.open("rb+") as other:
        fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)
        assert "another program is writing to it" in fails(path)


def test_errors_survive_pickling(tmp_path):
    with pytest.raises(OutputError) as caught:
        load_fit(tmp_path / "none.h5")
    error = pickle.loads(pickle.dumps(caught.value))  # noqa: S301 our own bytes
    assert type(error) is OutputError
    assert str(error) == str(caught.value)
    assert error.path == tmp_path / "none.h5"
