from __future__ import annotations

from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

from fitpipe.errors import InputError
from fitpipe.io import read_take

from .take_files import LABELS


def test_npz_and_hdf5_give_the_same_take(tmp_path: Path, walk_m: np.ndarray) -> None:
    walk_m[3, 1] = np.nan
    time_s = np.arange(20) / 50
    np.savez(
        tmp_path / "walk.npz", position=walk_m * 1000, labels=LABELS, time_s=time_s, units="mm"
    )
    with h5py.File(tmp_path / "walk.h5", "w") as file:
        file["xyz"] = walk_m * 100
        file["xyz"].attrs["units"] = "cm"
        file["keypoint"] = np.array(LABELS, dtype=object)
        file["fps"] = 50.0
    for name in ("walk.npz", "walk.h5"):
        take = read_take(tmp_path / name)
        assert take.labels == LABELS
        assert np.array_equal(np.isnan(take.position_m), np.isnan(walk_m))
        assert np.nanmax(np.abs(take.position_m - walk_m)) < 1e-12
        assert take.time_s == pytest.approx(time_s)
        assert take.repairs == ()


def test_confidence_and_metres_in_the_name(tmp_path: Path, walk_m: np.ndarray) -> None:
    confidence = np.linspace(0, 1, 80).reshape(20, 4)
    np.savez(tmp_path / "walk.npz", position_m=walk_m, labels=LABELS, fps=30, confidence=confidence)
    take = read_take(tmp_path / "walk.npz")
    assert take.confidence == pytest.approx(confidence)
    assert take.rate_hz == pytest.approx(30)
    assert take.repairs == ()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"position": None}, "no array of positions; arrays are labels, time_s"),
        ({"labels": None}, "no names for the 4 points"),
        ({"labels": ["a", "b"]}, "2 labels for 4 points"),
        ({"time_s": None}, "no frame rate and no time stamps"),
        ({"time_s": np.arange(7.0)}, r"time_s has shape \(7,\).*expected numbers of shape \(20,\)"),
        ({"position": np.zeros((20, 4))}, r"position has shape \(20, 4\)"),
        ({"position": np.full((20, 4, 3), "a")}, "expected numbers of shape"),
        ({"labels": np.array(list(LABELS), dtype=object)}, "Python objects.*can run code"),
    ],
)
def test_arrays_that_do_not_fit_are_one_clear_error(
    tmp_path: Path, walk_m: np.ndarray, change: dict[str, Any], message: str
) -> None:
    arrays = {"position": walk_m, "labels": LABELS, "time_s": np.arange(20) / 50, **change}
    np.savez(
        tmp_path / "walk.npz",
        allow_pickle=True,
        **{name: value for name, value in arrays.items() if value is not None},
    )
    with pytest.raises(InputError, match=message):
        read_take(tmp_path / "walk.npz")


@pytest.mark.parametrize("name", ["walk.npz", "walk.h5"])
@pytest.mark.parametrize("share", [0.3, 0.9])
def test_a_cut_file_is_truncated_or_damaged(
    tmp_path: Path, walk_m: np.ndarray, name: str, share: float
) -> None:
    path = tmp_path / name
    if name.endswith("npz"):
        np.savez(path, position=walk_m, labels=LABELS, time_s=np.arange(20) / 50)
    else:
        with h5py.File(path, "w") as file:
            file["position"] = walk_m
            file["labels"] = np.array(LABELS, dtype=object)
    content = path.read_bytes()
    path.write_bytes(content[: int(len(content) * share)])
    with pytest.raises(InputError, match="truncated or damaged"):
        read_take(path)


def test_other_bytes_under_the_ending_are_told(tmp_path: Path) -> None:
    path = tmp_path / "walk.h5"
    path.write_bytes(b"no HDF5 at all" * 20)
    with pytest.raises(InputError, match="truncated or damaged"):
        read_take(path)
