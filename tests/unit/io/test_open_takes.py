"""Takes too long to hold: what is read stretch by stretch is what is read at once."""

from __future__ import annotations

import errno
import gzip
import re
import tempfile
import threading
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path

import h5py
import numpy as np
import pytest

from fitpipe.errors import InputError
from fitpipe.io import csv_wide, open_takes, read_takes, textfile
from fitpipe.records import LongTake, Take
from fitpipe.records.finding import added_up
from tests.unit.io.take_files import LABELS, wide_csv

MOST = 100
N = 500


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    """Tables are read in blocks of few lines."""
    monkeypatch.setattr(csv_wide, "_HEADER_LINES", 20)
    monkeypatch.setitem(csv_wide.read_blocks.__kwdefaults__, "n_lines", 37)


@pytest.fixture
def recorded():
    """Positions in metres with gaps, codes, half a sample, zeros; +Y up, walking along +Z."""
    rng = np.random.default_rng(0)
    time_s = np.arange(N) / 100
    start = np.array([[0.01, 1.7, 2.0], [0.02, 0.95, 2.01], [0.1, 0.05, 2.1], [-0.1, 0.06, 1.9]])
    drift = np.stack([0.02 * np.sin(9 * time_s), 0.01 * np.cos(7 * time_s), 1.2 * time_s], axis=-1)
    position = start + drift[:, None] + rng.normal(0, 0.002, (N, 4, 3))
    position[rng.random((N, 4)) < 0.05] = np.nan
    position[rng.random((N, 4)) < 0.03] = 0
    position[5, 3], position[7, 2, 1], position[300, 1] = -9999, np.nan, 1e12
    # a foot that passes the origin, across the end of a block
    position[90:95, 2] = [[0.004, 0, 0], [0, 0.001, 0], [0, 0, 0], [0, 0.003, 0], [0.002, 0, 0]]
    return position


def assert_read_alike(path, **options):
    """All that `read_takes` gives, from stretches of any length."""
    whole, opened = read_takes(path, **options), open_takes(path, most_frames=MOST, **options)
    assert [type(take) for take in opened] == [LongTake] * len(whole)
    for one, long in zip(whole, opened, strict=True):
        assert (long.source, long.labels, long.origin) == (one.source, one.labels, one.origin)
        np.testing.assert_array_equal(long.time_s, one.time_s)
        edges = [0, 1, 90, 91, 92, 93, 150, 151, 333, one.n_frames]
        parts = [long.frames(b, e) for b, e in pairwise(edges)]
        found = np.concatenate([part.position_m for part in parts])
        np.testing.assert_array_equal(found, one.position_m)
        if one.confidence is None:
            assert all(part.confidence is None for part in parts)
        else:
            confidence = np.concatenate([part.confidence for part in parts])
            np.testing.assert_array_equal(confidence, one.confidence)
        told = [*long.repairs, *added_up([part.repairs for part in parts])]
        assert sorted(map(as_told, told)) == sorted(map(as_told, one.repairs))
    return opened


def as_told(finding):
    """A finding as text, but for the size of the body, which a long take samples."""
    return re.sub(r"is \d+\.\d\d m from", "is so many m from", str(finding))


def write_h5(path, position, **arrays):
    with h5py.File(path, "w") as file:
        file.create_dataset("position", data=position, chunks=(64, 4, 3), compression=1)
        file["labels"] = np.array(LABELS, dtype=h5py.string_dtype())
        for name, array in arrays.items():
            file[name] = array
    return path


def write_table(path, position, *, confidence=None, bodies=1, separator=",", note=""):
    """A wide table with blank lines, and sources or bodies as rows of their own."""
    names = (["sensor", "body"] if bodies > 1 else []) + ["time"]
    names += [f"{label}_{axis}" for label in LABELS for axis in "xyz"]
    names += [f"{label}_conf" for label in LABELS] if confidence is not None else []
    lines = [note, separator.join(names)]
    for i, row in enumerate(position):
        for body in range(bodies):
            cells = ["s", "ab"[body]] if bodies > 1 else []
            cells.append(f"{i / 100:.2f}")
            cells += ["" if np.isnan(v) else repr(float(v)) for v in row.ravel()]
            cells += [] if confidence is None else [repr(float(v)) for v in confidence[i]]
            lines.append(separator.join(cells))
        lines += [""] if i % 90 == 0 else []
    opened = gzip.open if path.suffix == ".gz" else open
    with opened(path, "wt", encoding="utf-8") as file:
        file.write("\n".join(lines) + "\n")
    return path


def test_arrays_in_metres(recorded, tmp_path):
    path = write_h5(tmp_path / "a.h5", recorded, time_s=np.arange(N) / 100)
    assert_read_alike(path)


def test_arrays_in_millimetres_with_another_axis_up(recorded, tmp_path):
    turned = 1000 * recorded[..., [2, 0, 1]]
    path = write_h5(tmp_path / "a.h5", turned, time_s=np.arange(N) / 100, units="mm")
    assert_read_alike(path)
    assert_read_alike(path, up="z")
    assert_read_alike(path, units="mm", keep_zeros=True)


def test_arrays_with_confidence_in_percent(recorded, tmp_path):
    confidence = np.random.default_rng(1).random((N, 4)) * 100
    confidence[:MOST] = 0.5  # the first block alone does not tell
    path = write_h5(tmp_path / "a.h5", recorded, time_s=np.arange(N) / 100, confidence=confidence)
    (long,) = assert_read_alike(path)
    assert any("percent" in str(finding) for finding in long.repairs)


def test_stamps_that_repeat_or_are_missing(recorded, tmp_path):
    time_s = np.arange(N) / 100
    time_s[50], time_s[200] = time_s[49], np.nan
    assert_read_alike(write_h5(tmp_path / "a.h5", recorded, time_s=time_s))


def test_arrays_without_stamps_at_a_rate(recorded, tmp_path):
    path = write_h5(tmp_path / "a.h5", recorded)
    assert_read_alike(path, rate_hz=50.0)
    with pytest.raises(InputError, match="rate"):
        open_takes(path, most_frames=MOST)


def test_tables(recorded, tmp_path):
    assert_read_alike(write_table(tmp_path / "a.csv", recorded))
    assert_read_alike(tmp_path / "a.csv", rate_hz=50.0)
    assert_read_alike(write_table(tmp_path / "b.csv", recorded, note="# recorded today"))


def test_a_gzipped_table_with_confidence(recorded, tmp_path):
    confidence = np.random.default_rng(1).random((N, 4))
    path = tmp_path / "a.csv.gz"
    assert_read_alike(write_table(path, recorded, confidence=confidence, separator=";"))


def test_a_table_of_two_people(recorded, tmp_path):
    path = write_table(tmp_path / "a.csv", recorded, bodies=2)
    opened = assert_read_alike(path)
    assert len(opened) == 2
    assert len(assert_read_alike(path, body="b")) == 1


def test_cells_that_are_no_numbers_are_told_with_their_lines(recorded, tmp_path):
    path = write_table(tmp_path / "a.csv", recorded)
    lines = path.read_text("utf-8").splitlines()
    for i in (100, 350):
        cells = lines[i].split(",")
        lines[i] = ",".join([*cells[:5], "oops", *cells[6:]])
    path.write_text("\n".join(lines) + "\n", "utf-8")
    (whole,), (long,) = read_takes(path), open_takes(path, most_frames=MOST)
    assert isinstance(long, LongTake)
    np.testing.assert_array_equal(long.frames(0, N).position_m, whole.position_m)
    (told,) = (str(finding) for finding in long.repairs if "oops" in str(finding))
    assert told.startswith("2 cells are not numbers: 'oops' (row 101, column 6), 'oops' (row 351,")


@pytest.mark.parametrize("ending", ["h5", "csv"])
def test_a_short_take_is_read_at_once(recorded, tmp_path, ending):
    if ending == "h5":
        path = write_h5(tmp_path / "a.h5", recorded, time_s=np.arange(N) / 100)
    else:
        path = write_table(tmp_path / "a.csv", recorded)
    (take,) = open_takes(path, most_frames=5000)
    assert isinstance(take, Take)


def test_other_formats_are_read_at_once(recorded, tmp_path):
    np.savez(tmp_path / "a.npz", position=recorded, labels=LABELS, time_s=np.arange(N) / 100)
    (take,) = open_takes(tmp_path / "a.npz", most_frames=MOST)
    assert isinstance(take, Take)


def test_a_damaged_file_is_one_error(recorded, tmp_path):
    path = write_h5(tmp_path / "a.h5", recorded, time_s=np.arange(N) / 100)
    content = bytearray(path.read_bytes())
    path.write_bytes(content[: len(content) // 2])
    with pytest.raises(InputError, match=r"a\.h5"):
        open_takes(path, most_frames=MOST)
    with h5py.File(path, "w") as file:  # a chunk that does not unpack
        data = file.create_dataset("position", (N, 4, 3), "f8", chunks=(64, 4, 3), compression=1)
        for i in range(0, N, 64):
            data.id.write_direct_chunk((i, 0, 0), b"no zlib stream")
        file["labels"] = np.array(LABELS, dtype=h5py.string_dtype())
        file["time_s"] = np.arange(N) / 100
    with pytest.raises(InputError, match="damaged"):
        open_takes(path, most_frames=MOST)


def test_a_truncated_gzip_is_one_error(recorded, tmp_path):
    rng = np.random.default_rng(2)
    path = write_table(tmp_path / "a.csv.gz", recorded + rng.normal(size=recorded.shape))
    content = path.read_bytes()
    path.write_bytes(content[: len(content) * 2 // 3])
    with pytest.raises(InputError, match="gzip stream is truncated"):
        open_takes(path, most_frames=MOST)


def test_a_gzip_that_unpacks_to_more_than_a_recording_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(textfile, "_MOST_BYTES", 1 << 16)
    row = "0.00," + ",".join(["1.0"] * 12) + "\n"
    header = wide_csv(np.zeros((0, 4, 3)))
    with gzip.open(tmp_path / "bomb.csv.gz", "wt") as file:
        file.write(header + row * 400_000)
    with pytest.raises(InputError, match="unpacks to more than"):
        open_takes(tmp_path / "bomb.csv.gz", most_frames=MOST)


@pytest.mark.parametrize("ending", ["h5", "csv"])
def test_no_room_for_the_temporary_file(recorded, tmp_path, monkeypatch, ending):
    class Full:
        def __init__(self, **_: object) -> None:
            pass

        def write(self, _: bytes) -> None:
            raise OSError(errno.ENOSPC, "No space left on device")

        def close(self) -> None: ...

    if ending == "h5":
        path = write_h5(tmp_path / "a.h5", recorded, time_s=np.arange(N) / 100)
    else:
        path = write_table(tmp_path / "a.csv", recorded)
    monkeypatch.setattr(tempfile, "TemporaryFile", Full)
    with pytest.raises(InputError, match="no room") as caught:
        open_takes(path, most_frames=MOST)
    assert "TMPDIR" in str(caught.value)


def test_threads_may_read_at_the_same_time(recorded, tmp_path):
    path = write_h5(tmp_path / "a.h5", recorded, time_s=np.arange(N) / 100)
    (whole,), (long,) = read_takes(path), open_takes(path, most_frames=MOST)
    gate = threading.Barrier(4)

    def read(thread):
        gate.wait()
        for k in range(100):
            begin = (37 * k + 101 * thread) % (N - 20)
            found = long.frames(begin, begin + 20).position_m
            np.testing.assert_array_equal(found, whole.position_m[begin : begin + 20])

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(read, range(4)))


def test_the_temporary_file_goes_with_the_take(recorded, tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "tmp"))
    (tmp_path / "tmp").mkdir()
    path = write_table(tmp_path / "a.csv", recorded)
    (long,) = open_takes(path, most_frames=MOST)
    assert long.frames(3, 5).n_frames == 2
    del long
    assert list(Path(tmp_path / "tmp").iterdir()) == []
