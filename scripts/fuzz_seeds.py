"""Small valid files of every format, for `fuzz_readers.py`."""

from __future__ import annotations

import io
import json
import tempfile
from pathlib import Path

import h5py
import numpy as np
import pandas as pd

SHARED = Path(__file__).resolve().parents[2] / "shared" / "data"
LABELS = ("Head", "HipCenter", "FootLeft", "FootRight", "HandLeft", "HandRight")
_LINES = 14

# recordings: format, file, lines to keep (0: all of it)
RECORDINGS = (
    ("c3d", "btkdata/MyCube.c3d", 0),
    ("c3d", "btkdata/PiG_Calibration-FlatFoot-One.c3d", 0),
    ("c3d", "ezc3d_testfiles/FP_Type3.c3d", 0),
    ("c3d", "btkdata/sample01_Eb015vi.c3d", 0),
    ("c3d", "btkdata/sample01_Eb015si.c3d", 0),
    ("c3d", "btkdata/sample21_sample21.c3d", 0),
    ("trc", "opensim_core/exampleFormat.trc", 0),
    ("trc", "opensim_core/dataWithEformat.trc", 0),
    ("trc", "opensim_core/dataWithNaNsOfDifferentCases.trc", 0),
    ("trc", "pose2sim_blender/Pose2Sim_markers.trc", _LINES),
    ("trc", "opensim_core/rajagopal_markers_walk.trc", _LINES),
    ("kinect", "kinectmultitrack/Study_0_Kinect_2_Time_11_45_58_AM.csv", _LINES),
    ("kinect", "labanotation/Ges01_wavehand.csv", _LINES),
    ("kinect", "keraal/G3-Kinect-CTK-P1T1-Unknown-C-0.txt", _LINES),
    ("bvh", "bvh_amc/walk01.bvh", 160),
    ("bvh", "bvh_amc/pybvh_rotation_first_root.bvh", 0),
    ("mvnx", "mvnx/test_mocap.mvnx", 690),
    ("opensim", "opensim_core/std_subject01_walk1_ik.mot", 24),
)


def collect() -> dict[str, list[tuple[str, bytes]]]:
    """Files (name, content) by format; recordings only where they are there."""
    seeds: dict[str, list[tuple[str, bytes]]] = {}
    for name, file, lines in RECORDINGS:
        path = SHARED / file
        if path.is_file():
            content = path.read_bytes()
            if lines:
                content = b"\n".join(content.split(b"\n")[:lines]) + b"\n"
            if name == "bvh":
                content = content.replace(b"Frames: 101", b"Frames: 20")
            seeds.setdefault(name, []).append((f"{path.stem}{path.suffix.lower()}", content))
    walk = _walk()
    with tempfile.TemporaryDirectory() as folder:
        for name, file, content in (*_texts(walk), *_arrays(walk, Path(folder))):
            seeds.setdefault(name, []).append((file, content))
    return seeds


def _walk() -> np.ndarray:
    t = np.arange(12)[:, None, None] / 100
    rest = np.array([[0, 1.7, 0], [0, 0.95, 0], [0.1, 0.05, 0], [-0.1, 0.06, 0.1],
                     [0.4, 0.9, 0.1], [-0.4, 0.91, 0.1]])  # fmt: skip
    swing = np.random.default_rng(0).uniform(-0.1, 0.1, size=(1, 6, 3))
    return rest + t * np.array([0, 0, 1.2]) + swing * np.sin(20 * t)


def _texts(walk: np.ndarray) -> list[tuple[str, str, bytes]]:
    names = [f"{label}_{axis}" for label in LABELS for axis in "xyz"]
    n = len(LABELS)
    wide = pd.DataFrame(walk.reshape(len(walk), -1), columns=names)
    wide.insert(0, "time", np.arange(len(walk)) / 100)
    long = pd.DataFrame(
        {
            "time": np.repeat(wide["time"].to_numpy(), n),
            "label": np.tile(LABELS, len(walk)),
            **{axis: walk[..., i].ravel() for i, axis in enumerate("xyz")},
            "confidence": 0.5,
        }
    )
    mm = 1000 * walk
    numbers = [",".join(f"{v:.5f}" for v in row.ravel()) for row in walk]
    motive = [
        "Format Version,1.23,Take Name,walk,Export Frame Rate,100,Length Units,Meters", "",
        ",Type" + ",Marker" * (3 * n), ",Name," + ",".join(lb for lb in LABELS for _ in range(3)),
        ",ID" + ",1" * (3 * n), "," + ",Position" * (3 * n), "Frame,Time" + ",X,Y,Z" * n,
    ]  # fmt: skip
    motive += [f"{i},{i / 100}," + row for i, row in enumerate(numbers)]
    qtm = [
        "NO_OF_FRAMES\t12", "NO_OF_CAMERAS\t8", f"NO_OF_MARKERS\t{n}", "FREQUENCY\t100",
        "DESCRIPTION\t--", "DATA_INCLUDED\t3D", "\t".join(["MARKER_NAMES", *LABELS]),
    ]  # fmt: skip
    qtm += ["\t".join(f"{v:.3f}" for v in row.ravel()) for row in mm]
    vicon = [
        "Trajectories", "100", ",," + ",,,".join(LABELS), "Frame,Sub Frame" + ",X,Y,Z" * n,
        "," + ",mm" * (3 * n),
    ]  # fmt: skip
    vicon += [f"{i + 1},0," + ",".join(f"{v:.3f}" for v in row.ravel()) for i, row in enumerate(mm)]
    header = pd.MultiIndex.from_product(
        [["net"], LABELS, ["x", "y", "z", "likelihood"]], names=["scorer", "bodyparts", "coords"]
    )
    sure = np.concatenate([walk, np.full((*walk.shape[:2], 1), 0.9)], axis=2)
    dlc = pd.DataFrame(sure.reshape(len(walk), -1), columns=header)
    sto = ["DataRate=100", "DataType=Vec3", "version=3", "endheader", "time\t" + "\t".join(LABELS)]
    sto += [
        f"{i / 100}\t" + "\t".join(",".join(f"{v:.5f}" for v in point) for point in row)
        for i, row in enumerate(walk)
    ]
    v1 = [
        f"{label};" + ";".join(f"{v:.5f}" for v in point)
        for row in walk
        for label, point in zip(LABELS, row, strict=True)
    ]
    opencap = {
        "time": (np.arange(12) / 100).tolist(),
        "bodies": {lb: {"translation": walk[:, k].tolist()} for k, lb in enumerate(LABELS)},
    }
    azure = {
        "joint_names": list(LABELS),
        "frames": [
            {
                "timestamp_usec": 10_000 * i,
                "bodies": [{"body_id": 1, "joint_positions": (row * [1, -1, 1]).tolist()}],
            }
            for i, row in enumerate(mm)
        ],
    }
    return [
        ("csv wide", "wide.csv", wide.to_csv(index=False).encode()),
        ("csv wide", "comma.csv", wide.to_csv(index=False, sep=";", decimal=",").encode()),
        ("csv long", "long.csv", long.to_csv(index=False).encode()),
        ("motive", "motive.csv", "\n".join(motive).encode()),
        ("qtm", "qtm.tsv", "\n".join(qtm).encode()),
        ("vicon", "vicon.csv", "\n".join(vicon).encode()),
        ("deeplabcut", "dlc.csv", dlc.to_csv().encode()),
        ("opensim", "walk.sto", "\n".join(sto).encode()),
        ("kinect", "v1.txt", "\n".join(v1).encode()),
        ("json", "opencap.json", json.dumps(opencap).encode()),
        ("json", "azure.json", json.dumps(azure).encode()),
    ]


def _arrays(walk: np.ndarray, folder: Path) -> list[tuple[str, str, bytes]]:
    found = []
    packed = io.BytesIO()
    np.savez_compressed(packed, position=walk, labels=np.array(LABELS), rate_hz=100.0)
    found.append(("npz", "packed.npz", packed.getvalue()))
    plain = io.BytesIO()
    np.savez(plain, position=walk, labels=np.array(LABELS), time_s=np.arange(12) / 100)
    found.append(("npz", "plain.npz", plain.getvalue()))
    bare = io.BytesIO()
    np.save(bare, np.tile(walk, (1, 6, 1))[:, :33])
    found.append(("npy", "walk.npy", bare.getvalue()))
    for file, options in (
        ("plain.h5", {}),
        ("packed.h5", {"compression": "gzip", "shuffle": True}),
    ):
        with h5py.File(folder / file, "w") as out:
            out.create_dataset("position", data=walk, **options)
            out["labels"] = [label.encode() for label in LABELS]
            out["time_s"] = np.arange(12) / 100
            out["position"].attrs["units"] = "m"
        found.append(("hdf5", file, (folder / file).read_bytes()))
    columns = {
        f"{lb}_{ax}": walk[:, k, i] for k, lb in enumerate(LABELS) for i, ax in enumerate("xyz")
    }
    pd.DataFrame({"time": np.arange(12) / 100, **columns}).to_parquet(folder / "walk.parquet")
    return [*found, ("parquet", "walk.parquet", (folder / "walk.parquet").read_bytes())]
