"""How well bad observations are found, against an optical reference, and what outliers cost.

Usage: python scripts/bench_flags.py [--data ../shared/data] [--json FILE]

1. keraal CTK and ELK: one Kinect that loses an arm, beside an optical system; 2 optical frames a
   Kinect frame, no lag. Truth of a joint: an optical rigid body plus a constant offset in the
   body's own axes, after one rigid transform, both estimated per take (re-weighted: Cauchy,
   30 mm). A sample is *bad* if it is off by more than 100 mm, *good* within 50 mm; what share of
   each the fit holds in doubt, and the 90th percentile of all errors and of those not in doubt.
2. kinectmultitrack: two Kinects; frames whose shoulder lines point opposite ways after
   registration, and in which of them one sensor is left out.
3. Simulated walk and reach, 1 to 3 sensors: mean error of the fit with 0, 3 and 10 % outliers.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

import fitpipe as fp
from fitpipe.calibrate import align_rigid
from fitpipe.mapping import map_take
from fitpipe.simulate import DepthSensor, observe, reach_and_turn, walk

SHARED_DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
BAD_M, GOOD_M = 0.1, 0.05
# bodies in the order of the optical file, and the joint each stands for
BODIES = (
    "WristRight", "WristLeft", "ElbowRight", "ElbowLeft", "ShoulderCenter", "KneeRight",
    "KneeLeft", "ShoulderRight", "ShoulderLeft", "HandRight", "HandLeft", "FootRight",
    "FootLeft", "HipCenter", "Head", "AnkleRight", "AnkleLeft",
)  # fmt: skip
FLIP_FILES = (
    "Study_4_Kinect_0_Time_1_17_51_PM.csv.gz",
    "Study_4_Kinect_1_Time_1_22_06_PM.csv.gz",
    "Study_13_Kinect_2_Time_5_22_05_PM.csv.gz",
)
PLACES = ((0, 1, 4), (3.2, 1.2, 2.5), (-3, 1.2, -1))


def optical_error(data: Path, exercise: str) -> tuple[fp.Take, np.ndarray, list[int]]:
    """The Kinect take, its distance to the reference (time, body) in metres, and the joints."""
    take = fp.read_take(data / f"keraal/G3-Kinect-{exercise}-P1T1-Unknown-C-0.txt")
    optical = np.loadtxt(data / f"keraal/G3-Vicon-{exercise}-P1T1-Unknown-C-0.txt")
    body = optical.reshape(len(optical), len(BODIES), 7)[::2]
    n = min(len(body), take.n_frames)
    skeleton = fp.Skeleton.preset("kinect20")
    joints = [skeleton.joint_index(joint) for joint in BODIES]
    seen = map_take(take, "kinect25", skeleton).position_m[:n, joints]
    place = body[:n, :, :3] / 1000
    turn = Rotation.from_quat(body[:n, :, 3:].reshape(-1, 4)).as_matrix()
    turn = turn.reshape(n, len(BODIES), 3, 3)

    offset, weight = np.zeros((len(BODIES), 3)), np.ones((n, len(BODIES)))
    for _ in range(200):
        target = place + np.einsum("tjab,jb->tja", turn, offset)
        fit = align_rigid(seen.reshape(-1, 3), target.reshape(-1, 3), weight=weight.ravel())
        moved = seen @ fit.R_target_source.T + fit.t_target_m
        local = np.einsum("tjba,tjb->tja", turn, moved - place)
        offset = np.einsum("tj,tja->ja", weight, local) / weight.sum(axis=0)[:, None]
        error = np.linalg.norm(local - offset, axis=-1)
        weight = 1 / (1 + (error / 0.03) ** 2)
    return take, error, joints


def keraal_flags(data: Path, config: dict[str, Any] | None = None) -> dict[str, float]:
    """Shares of bad and of good samples in doubt, and p90 of all errors and of the others, mm."""
    errors, doubts = [], []
    for exercise in ("CTK", "ELK"):
        take, error, joints = optical_error(data, exercise)
        fit = fp.fit(take, markerset="kinect25", config=config)
        errors.append(error.ravel())
        doubts.append((fit.doubt[: len(error), 0][:, joints] != fp.Doubt.NONE).ravel())
    error, doubt = np.concatenate(errors), np.concatenate(doubts)
    return {
        "bad_in_doubt": float(doubt[error > BAD_M].mean()),
        "good_in_doubt": float(doubt[error < GOOD_M].mean()),
        "p90_all_mm": float(np.percentile(error, 90) * 1e3),
        "p90_not_in_doubt_mm": float(np.percentile(error[~doubt], 90) * 1e3),
        "n_bad": int((error > BAD_M).sum()),
        "n_good": int((error < GOOD_M).sum()),
    }


def flip_frames(data: Path, name: str) -> dict[str, Any]:
    """Frames with opposed shoulder lines, how many are found, and false alarms over all frames."""
    takes = fp.read_takes(data / "kinectmultitrack" / name)
    fit = fp.fit(takes, markerset="kinect25")
    left, right = (fit.skeleton.joint_index(f"Shoulder{side}") for side in ("Left", "Right"))
    lines = []
    for take, transform in zip(takes, fit.calibration.transforms, strict=True):
        seen = transform.apply(map_take(take, "kinect25", fit.skeleton).position_m)
        common = np.searchsorted(take.time_s, fit.time_s).clip(0, take.n_frames - 1)
        line = (seen[:, left] - seen[:, right])[common]
        lines.append(np.where((take.time_s[common] == fit.time_s)[:, None], line, np.nan))
    opposed = np.einsum("ta,ta->t", *lines) < 0
    found = (fit.doubt == fp.Doubt.FLIPPED).any(axis=2)
    return {
        "opposed": int(opposed.sum()),
        "found": float(found.any(axis=1)[opposed].mean()) if opposed.any() else float("nan"),
        "false_alarms": float((found.any(axis=1) & ~opposed).mean()),
        "frames_left_out": found.sum(axis=0).tolist(),
    }


def outlier_cost(
    n_sensors: int, outlier_m: float, *, surface_share: float = 0.4, n_frames: int = 600
) -> dict[str, float]:
    """Mean error without outliers, mm, and by how much it grows with 3 and 10 % (walk, reach)."""
    rows = []
    for motion in (walk(n_frames, 30.0), reach_and_turn(n_frames, 30.0)):
        mean = []
        for share in (0.0, 0.03, 0.1):
            sensors = [
                DepthSensor.looking_at(
                    f"s{i}", (0, 1, 0), from_m=PLACES[i], surface_share=surface_share,
                    outlier_share=share, outlier_m=outlier_m,
                )
                for i in range(n_sensors)
            ]  # fmt: skip
            takes = [observe(motion, sensor, seed=i) for i, sensor in enumerate(sensors)]
            fit = fp.fit(takes, bone_length_m=motion.skeleton.bone_length_m)
            truth = sensors[0].to_sensor(motion.position_m)
            mean.append(np.nanmean(np.linalg.norm(fit.position - truth, axis=-1)) * 1e3)
        rows.append((mean[0], mean[1] / mean[0] - 1, mean[2] / mean[0] - 1))
    error, at_3, at_10 = np.mean(rows, axis=0)
    return {"mean_mm": float(error), "growth_3": float(at_3), "growth_10": float(at_10)}


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description="See the top of the file.")
    parser.add_argument("--data", type=Path, default=SHARED_DATA)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    results: dict[str, Any] = {}
    if options.data.is_dir():
        results["keraal"] = flags = keraal_flags(options.data)
        print("keraal CTK + ELK, samples in doubt")
        print(f"  off by more than 100 mm   {flags['bad_in_doubt']:6.1%} of {flags['n_bad']}")
        print(f"  within 50 mm              {flags['good_in_doubt']:6.1%} of {flags['n_good']}")
        print(f"  p90 of all                {flags['p90_all_mm']:6.1f} mm")
        print(f"  p90 of those not in doubt {flags['p90_not_in_doubt_mm']:6.1f} mm")
        print("kinectmultitrack, frames with opposed shoulder lines")
        for name in FLIP_FILES:
            results[name] = row = flip_frames(options.data, name)
            print(
                f"  {name.split('_Time')[0]:18s} {row['opposed']:4d}, found {row['found']:.1%}, "
                f"false alarms {row['false_alarms']:.2%}, left out {row['frames_left_out']}"
            )
    print("simulated, mean error and its growth with 3 % and 10 % outliers")
    for surface in (0.0, 0.4):
        for outlier_m in (0.15, 0.5):
            for n in (1, 2, 3):
                cost = outlier_cost(n, outlier_m, surface_share=surface)
                results[f"surface {surface} outlier {outlier_m} sensors {n}"] = cost
                print(
                    f"  surface bias {surface:.1f}, outliers {outlier_m:.2f} m, {n} sensors: "
                    f"{cost['mean_mm']:5.1f} mm {cost['growth_3']:+6.1%} {cost['growth_10']:+6.1%}"
                )
    if options.json:
        options.json.write_text(json.dumps(results, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
