"""Tables and arrays of markerless tracking, Vicon's ASCII exports, Parquet, the Kinect v1."""

from __future__ import annotations

from pathlib import Path

import h5py
import numpy as np
import pandas as pd
import pytest
import xarray as xr

from fitpipe.errors import InputError
from fitpipe.io import read_take, read_takes
from fitpipe.io.joint_lists import MEDIAPIPE, SMPL

from .take_files import LABELS, wide_csv


def vicon(walk_m: np.ndarray, *, mark: str = ",", decimal: str = ".", subject: str = "") -> str:
    names = f"{mark}{mark}" + (mark * 3).join(subject + label for label in LABELS)
    lines = [
        "Model Outputs", "100", f"{mark * 2}LKneeAngles", mark.join(["Frame", "Sub Frame", *"XYZ"]),
        f"{mark}{mark}deg{mark}deg{mark}deg", mark.join(["1", "0", "5", "6", "7"]), "",
        "Trajectories", "100", names, mark.join(["Frame", "Sub Frame", *("XYZ" * 4)]),
        mark * 2 + mark.join(["mm"] * 12),
    ]  # fmt: skip
    for i, row in enumerate(walk_m):
        cells = [
            "" if np.isnan(v) else f"{1000 * v:.4f}".replace(".", decimal) for v in row.ravel()
        ]
        lines.append(mark.join([str(i + 11), "0", *cells]))
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize(("mark", "decimal"), [(",", "."), (";", ","), ("\t", ".")])
def test_vicon_trajectories_between_other_sections(
    tmp_path: Path, walk_m: np.ndarray, mark: str, decimal: str
) -> None:
    walk_m[4, 2] = np.nan
    path = tmp_path / "walk.csv"
    path.write_text(vicon(walk_m, mark=mark, decimal=decimal, subject="Anna:"))
    take = read_take(path)
    assert take.labels == tuple(f"Anna:{label}" for label in LABELS)
    assert np.nanmax(np.abs(take.position_m - walk_m)) < 1e-7
    assert np.array_equal(np.argwhere(~take.is_observed), [[4, 2]])
    assert take.time_s == pytest.approx(0.1 + np.arange(20) / 100)
    assert "model outputs" in take.repairs[0].what


def test_vicon_without_trajectories_is_refused(tmp_path: Path, walk_m: np.ndarray) -> None:
    path = tmp_path / "walk.csv"
    text = vicon(walk_m)
    path.write_text(text[: text.index("Trajectories")])
    with pytest.raises(InputError, match=r"no 3D points: the file holds model outputs only"):
        read_take(path)


def test_deeplabcut_with_two_individuals(tmp_path: Path, walk_m: np.ndarray) -> None:
    coords = ("x", "y", "z", "likelihood")
    header = pd.MultiIndex.from_product(
        [["net"], ["Anna", "Ben"], LABELS, coords],
        names=["scorer", "individuals", "bodyparts", "coords"],
    )
    one = np.concatenate([walk_m, np.full((20, 4, 1), 0.75)], axis=2)
    both = np.stack([one, one + np.array([2, 0, 0, 0.25])], axis=1).reshape(20, -1)
    path = tmp_path / "walk.csv"
    pd.DataFrame(both, columns=header).to_csv(path)
    anna, ben = read_takes(path, rate_hz=50)
    assert (anna.origin.metadata["body"], anna.labels) == ("Anna", LABELS)
    assert np.abs(ben.position_m - walk_m - np.array([2, 0, 0])).max() < 1e-9
    assert (anna.rate_hz, np.unique(anna.confidence).tolist()) == (pytest.approx(50), [0.75])
    with pytest.raises(InputError, match=r"no frame rate"):
        read_takes(path)


def test_deeplabcut_in_the_plane_is_refused(tmp_path: Path) -> None:
    header = pd.MultiIndex.from_product(
        [["net"], ["nose"], ["x", "y", "likelihood"]], names=["scorer", "bodyparts", "coords"]
    )
    path = tmp_path / "walk.csv"
    pd.DataFrame(np.ones((5, 3)), columns=header).to_csv(path)
    with pytest.raises(InputError, match=r"coordinates are x, y, likelihood.*triangulate"):
        read_take(path)


def test_anipose_tables(tmp_path: Path, walk_m: np.ndarray) -> None:
    table = {}
    for k, label in enumerate(LABELS):
        table |= {f"{label}_{axis}": walk_m[:, k, i] for i, axis in enumerate("xyz")}
        table |= {f"{label}_error": 1.5, f"{label}_ncams": 3, f"{label}_score": 0.9}
    table |= {f"M_{i}{j}": 1.0 for i in range(3) for j in range(3)}
    table |= {"fnum": np.arange(20)}
    path = tmp_path / "walk.csv"
    pd.DataFrame(table).to_csv(path, index=False)
    take = read_take(path, rate_hz=40)
    assert take.labels == LABELS
    assert np.abs(take.position_m - walk_m).max() < 1e-9
    assert take.duration_s == pytest.approx(19 / 40)
    assert np.all(take.confidence == 0.9)


def test_movement_datasets_of_one_and_two_individuals(tmp_path: Path, walk_m: np.ndarray) -> None:
    for who in (["Anna"], ["Anna", "Ben"]):
        position = np.stack([walk_m + 2 * k for k in range(len(who))], axis=-1)
        sure = np.full((20, 4, len(who)), 0.5)
        dataset = xr.Dataset(
            {
                "position": (
                    ("time", "space", "keypoints", "individuals"), np.swapaxes(position, 1, 2)
                ),
                "confidence": (("time", "keypoints", "individuals"), sure),
            },
            coords={
                "time": np.arange(20) / 25, "space": list("xyz"), "keypoints": list(LABELS),
                "individuals": who,
            },
            attrs={"fps": 25.0, "time_unit": "seconds", "ds_type": "poses"},
        )  # fmt: skip
        path = tmp_path / "walk.nc"
        dataset.to_netcdf(path, engine="h5netcdf")
        takes = read_takes(path)
        assert [take.origin.metadata.get("body", "") for take in takes] == (
            who if len(who) > 1 else [""]
        )
        for k, take in enumerate(takes):
            assert take.labels == LABELS
            assert np.abs(take.position_m - walk_m - 2 * k).max() < 1e-12
            assert take.rate_hz == pytest.approx(25)
            assert np.all(take.confidence == 0.5)


def test_sleap_tracks_in_space_and_in_the_plane(tmp_path: Path, walk_m: np.ndarray) -> None:
    path = tmp_path / "points3d.h5"
    with h5py.File(path, "w") as file:
        file["tracks"] = walk_m[:, None]
        file["node_names"] = [label.encode() for label in LABELS]
    take = read_take(path, rate_hz=30)
    assert take.labels == LABELS
    assert np.abs(take.position_m - walk_m).max() == 0
    with h5py.File(path, "w") as file:
        file["tracks"] = np.ones((1, 2, 4, 20))
        file["node_names"] = [label.encode() for label in LABELS]
    with pytest.raises(InputError, match=r"2 coordinates a point.*triangulate"):
        read_take(path, rate_hz=30)


def test_joints_of_a_body_model_are_named_by_their_number(tmp_path: Path) -> None:
    joints = np.random.default_rng(1).uniform(0, 1.5, (6, 24, 3))
    path = tmp_path / "walk.npz"
    np.savez(path, joints=joints, mocap_framerate=120.0, poses=np.zeros((6, 72)))
    take = read_take(path)
    assert take.labels == SMPL[24]
    assert np.abs(take.position_m - joints).max() == 0
    assert take.rate_hz == pytest.approx(120)
    np.savez(path, poses=np.zeros((6, 72)), betas=np.zeros(10), trans=np.zeros((6, 3)))
    with pytest.raises(InputError, match=r"parameters of a body model"):
        read_take(path)


def test_freemocap_arrays_take_their_names_by_number_and_their_unit_by_height(
    tmp_path: Path,
) -> None:
    position = np.random.default_rng(2).uniform(0, 200, (5, 33, 3))
    low = [i for i, name in enumerate(MEDIAPIPE) if "ankle" in name or "foot" in name]
    position[:, :13, 2] += 1500
    position[:, low, 2] *= 0.1
    path = tmp_path / "mediapipe_body_3d_xyz.npy"
    np.save(path, position)
    with pytest.raises(InputError, match=r"no frame rate.*--rate-hz"):
        read_take(path)
    take = read_take(path, rate_hz=30)
    assert take.labels == MEDIAPIPE
    assert (take.origin.unit, take.origin.up) == ("mm", "+z")
    assert np.abs(take.position_m - position / 1000).max() < 1e-12
    np.save(path, position[:, :17])
    with pytest.raises(InputError, match=r"17 points without names.*33, 75"):
        read_take(path, rate_hz=30)
    np.save(path, np.array([{"a": 1}]), allow_pickle=True)
    with pytest.raises(InputError, match=r"holds Python objects"):
        read_take(path)


@pytest.mark.parametrize("layout", ["wide", "long"])
def test_parquet_reads_like_csv(tmp_path: Path, walk_m: np.ndarray, layout: str) -> None:
    path = tmp_path / "walk.parquet"
    if layout == "wide":
        columns = {"time": np.arange(20) / 100}
        columns |= {
            f"{label}_{axis}": walk_m[:, k, i]
            for k, label in enumerate(LABELS)
            for i, axis in enumerate("xyz")
        }
    else:
        columns = {
            "time": np.repeat(np.arange(20) / 100, 4),
            "label": np.tile(LABELS, 20),
            **{axis: walk_m[..., i].ravel() for i, axis in enumerate("xyz")},
        }
    pd.DataFrame(columns).to_parquet(path)
    take = read_take(path)
    assert take.labels == LABELS
    assert np.abs(take.position_m - walk_m).max() == 0
    path.write_bytes(path.read_bytes()[:-200])
    with pytest.raises(InputError, match=r"Parquet file is truncated or damaged"):
        read_take(path)


def test_kinect_v1_lines(tmp_path: Path, walk_m: np.ndarray) -> None:
    lines = []
    for row in walk_m[:6]:
        named = zip(("Head", "HipCenter", "FootLeft", "FootRight"), row, strict=True)
        lines += [f"{name};{x:.6f};{y:.6f};{z:.6f}".replace(".", ",") for name, (x, y, z) in named]
    path = tmp_path / "walk.txt"
    path.write_text("\n".join([*lines[:-1], "broken;1;2"]))
    take = read_take(path)
    assert take.labels == ("Head", "HipCenter", "FootLeft", "FootRight")
    assert np.nanmax(np.abs(take.position_m - walk_m[:6])) < 1e-6
    assert np.array_equal(np.argwhere(~take.is_observed), [[5, 3]])
    assert take.rate_hz == pytest.approx(30)


def test_tracking_states_beside_coordinates_become_confidence(
    tmp_path: Path, walk_m: np.ndarray
) -> None:
    lines = wide_csv(walk_m).strip().split("\n")
    lines[0] += "," + ",".join(f"{label}_TrackingState" for label in LABELS)
    states = ["Tracked,Inferred,NotTracked,2", "2,1,0,Inferred"]
    rows = [line + "," + states[i % 2] for i, line in enumerate(lines[1:])]
    path = tmp_path / "walk.csv"
    path.write_text("\n".join([lines[0], *rows]))
    take = read_take(path)
    assert take.confidence is not None
    assert take.confidence[0].tolist() == [1.0, 0.2, 0.0, 1.0]
    assert take.confidence[1].tolist() == [1.0, 0.2, 0.0, 0.2]
