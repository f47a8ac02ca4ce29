"""Makes the takes in data/ and their truth; with --check, compares instead of writing.

    python scripts/make_demo_data.py [--check] [--folder data]

Every number is drawn from the seeds below, so a second run writes the same files. Between
machines the last digit may differ (sine and square root are not rounded alike everywhere);
--check allows for that.
"""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path

import numpy as np

from fitpipe.arrays import FloatArray
from fitpipe.records import SourceTransform, Take
from fitpipe.simulate import DepthSensor, Motion, observe, reach_and_turn, walk

FOLDER = Path(__file__).resolve().parents[1] / "data"
N_FRAMES, RATE_HZ = 240, 30.0  # the walk closes its circle, the reach its period
SEEDS = {
    ("walk", "kinect_a"): 11,
    ("walk", "kinect_b"): 12,
    ("reach", "kinect_a"): 21,
    ("reach", "kinect_b"): 22,
}
TOLERANCE = 1.1e-4  # one unit of the last digit written, 0.1 mm

# The lines of sight are 76 degrees apart, and each sensor looks down by its own angle, so the
# transform between them is no mere turn about the vertical.
SENSOR_A = DepthSensor.looking_at("kinect_a", [0.0, 0.9, 0.0], from_m=[0.3, 1.2, 3.4])
SENSOR_B = DepthSensor.looking_at("kinect_b", [0.1, 0.8, 0.0], from_m=[3.4, 1.6, 0.5])

_NUMBER = re.compile(r"(-?\d+(?:\.\d+)?)")


def demo_files() -> dict[str, str]:
    """Text of every file, by its path in the data folder."""
    motions = {"walk": walk(N_FRAMES, RATE_HZ), "reach": reach_and_turn(N_FRAMES, RATE_HZ)}
    files = {}
    for name, motion in motions.items():
        for sensor in (SENSOR_A, SENSOR_B):
            take = observe(motion, sensor, seed=SEEDS[name, sensor.name])
            files[f"{name}_{sensor.name}.csv"] = take_csv(take)
        files[f"truth/{name}.csv"] = truth_csv(motion)
    files["truth/transforms.toml"] = transform_toml(SENSOR_B.transform_into(SENSOR_A))
    files["truth/bone_lengths.toml"] = lengths_toml(motions["walk"])
    return files


def take_csv(take: Take) -> str:
    """Wide table of a take: time, then x, y, z and confidence of every joint."""
    header = ["time_s"]
    for label in take.labels:
        header += [f"{label}_{column}" for column in ("x_m", "y_m", "z_m", "confidence")]
    assert take.confidence is not None  # noqa: S101 - a simulated sensor always gives one
    rows = []
    for time_s, points, confidence in zip(
        take.time_s, take.position_m, take.confidence, strict=True
    ):
        row = [f"{time_s:.4f}"]
        for point, sure in zip(points, confidence, strict=True):
            row += [*coordinates(point), f"{sure:g}"]
        rows.append(row)
    return lines(header, rows)


def truth_csv(motion: Motion) -> str:
    """Wide table of the true joints in the frame of sensor a."""
    header = ["time_s"]
    for joint in motion.skeleton.joints:
        header += [f"{joint}_{axis}_m" for axis in "xyz"]
    true_m = SENSOR_A.to_sensor(motion.position_m)
    rows = [
        [f"{time_s:.4f}", *(cell for point in points for cell in coordinates(point))]
        for time_s, points in zip(motion.time_s, true_m, strict=True)
    ]
    return lines(header, rows)


def coordinates(point_m: FloatArray) -> list[str]:
    """Three cells, to 0.1 mm; blank where missing."""
    # adding zero turns -0.0 into 0.0
    return ["" if np.isnan(value) else f"{round(value, 4) + 0.0:.4f}" for value in point_m]


def lines(header: list[str], rows: list[list[str]]) -> str:
    return "".join(",".join(cells) + "\n" for cells in [header, *rows])


def transform_toml(transform: SourceTransform) -> str:
    rows = ",\n".join(
        "    [" + ", ".join(f"{value:.9f}" for value in row) + "]"
        for row in transform.R_ref_source.tolist()
    )
    t = ", ".join(f"{value:.9f}" for value in transform.t_ref_m.tolist())
    return (
        "# kinect_a = R_ref_source @ kinect_b + t_ref_m, the same in both takes\n"
        f"[{transform.source}]\nR_ref_source = [\n{rows},\n]\nt_ref_m = [{t}]\n"
    )


def lengths_toml(motion: Motion) -> str:
    length_m = motion.skeleton.bone_length_m
    assert length_m is not None  # noqa: S101 - a motion's skeleton has its lengths
    rows = zip(motion.skeleton.bone_names, length_m.tolist(), strict=True)
    return "# the person in both takes\n[bone_length_m]\n" + "".join(
        f'"{bone}" = {length:.9f}\n' for bone, length in rows
    )


def is_same(text: str, other: str) -> bool:
    """Whether two texts agree, numbers to within ``TOLERANCE``."""
    ours, theirs = _NUMBER.split(text), _NUMBER.split(other)
    if len(ours) != len(theirs) or ours[::2] != theirs[::2]:
        return False
    gap = np.array(ours[1::2], dtype=np.float64) - np.array(theirs[1::2], dtype=np.float64)
    return bool(np.all(np.abs(gap) <= TOLERANCE))


def differing_files(folder: Path) -> list[str]:
    """Files of ``folder`` that are missing or not as this script makes them."""
    return [
        name
        for name, text in demo_files().items()
        if not (folder / name).is_file()
        or not is_same(text, (folder / name).read_text(encoding="utf-8"))
    ]


def main() -> int:
    parser = argparse.ArgumentParser(description="Make the demo takes, or check them.")
    parser.add_argument("--check", action="store_true", help="compare, write nothing")
    parser.add_argument("--folder", type=Path, default=FOLDER)
    arguments = parser.parse_args()
    if arguments.check:
        differing = differing_files(arguments.folder)
        for name in differing:
            print(f"{arguments.folder / name}: not as this script makes it", file=sys.stderr)
        return 1 if differing else 0
    for name, text in demo_files().items():
        path = arguments.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8", newline="\n")
        print(f"{path}  {len(text) / 1000:.0f} kB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
