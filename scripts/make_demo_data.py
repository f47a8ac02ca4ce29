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

from fitpipe.simulate import DepthSensor, Motion, observe, reach_and_turn, walk
from fitpipe.simulate.files import lengths_toml, take_csv, transform_toml, truth_csv

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
            files[f"{name}_{sensor.name}.csv"] = take_csv(take, time_digits=4, digits=4)
        in_a = Motion(SENSOR_A.to_sensor(motion.position_m), motion.time_s, motion.skeleton)
        files[f"truth/{name}.csv"] = truth_csv(in_a, time_digits=4, digits=4)
    b_to_a = SENSOR_B.transform_into(SENSOR_A)
    files["truth/transforms.toml"] = (
        "# kinect_a = R_ref_source @ kinect_b + t_ref_m, the same in both takes\n"
        f"[kinect_b]\n{transform_toml(b_to_a.R_ref_source, b_to_a.t_ref_m)}"
    )
    files["truth/bone_lengths.toml"] = lengths_toml(
        motions["walk"].skeleton, comment="# the person in both takes\n"
    )
    return files


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
