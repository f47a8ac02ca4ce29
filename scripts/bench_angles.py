"""How exact joint angles of fits are, how fast they are measured, and what limits change.

Simulated motions seen by two sensors that err as recorded Kinects do. Angles of the fits are held
against those of the true positions, in degrees (rms); limits against none on the same takes.

Usage: python scripts/bench_angles.py [--seconds 20]
"""

from __future__ import annotations

import argparse
import time

import numpy as np

import fitpipe as fp
from fitpipe.angles import skeleton_angles
from fitpipe.config import SimulateConfig, make_config
from fitpipe.records import LimitStatus, SkeletonAngles
from fitpipe.simulate import simulate, walk

SHOWN = {  # heading: (segments, which turn)
    "pelvis heading": (("pelvis",), 0),
    "pelvis tilt": (("pelvis",), 1),
    "trunk turn": (("thorax",), 2),
    "hip flexion": (("KneeLeft", "KneeRight"), 0),
    "hip rotation": (("KneeLeft", "KneeRight"), 2),
    "knee flexion": (("AnkleLeft", "AnkleRight"), 0),
    "shoulder flexion": (("ElbowLeft", "ElbowRight"), 0),
    "shoulder rotation": (("ElbowLeft", "ElbowRight"), 2),
    "elbow flexion": (("WristLeft", "WristRight"), 0),
}
FITS = {
    "per-frame fit": {},
    "whole-take fit": {"solve": {"temporal": "trajectory"}},
}


def rms_deg(found: SkeletonAngles, truth: SkeletonAngles, segments: tuple[str, ...], turn: int):
    """Root mean square difference of some angles, full turns aside."""
    at = [truth.segments.index(segment) for segment in segments]
    off = np.degrees(found.euler_rad[:, at, turn] - truth.euler_rad[:, at, turn])
    return float(np.sqrt(np.nanmean(((off + 180) % 360 - 180) ** 2)))


def accuracy(seconds: float) -> None:
    """One row a motion and fit."""
    print("| motion, fit | " + " | ".join(SHOWN) + " |")
    print("|---|" + "---:|" * len(SHOWN))
    for motion in ("walk", "reach", "punch"):
        table = {
            "seed": 7,
            "motion": {"name": motion, "seconds": seconds},
            "sensors": {"tick_jitter_s": 0.0},
        }
        made = simulate(make_config(SimulateConfig, table))
        truth = skeleton_angles(made.motion.position_m, made.motion.skeleton)
        # the sensors' common frame is not the world's: only the pelvis is told against it
        for name, config in FITS.items():
            fit = fp.fit(made.takes, config=config)
            placed = _placed(fit.position, made.motion.position_m)
            found = skeleton_angles(placed, fit.skeleton, fit.bone_length)
            cells = [f"{rms_deg(found, truth, *what):.1f}" for what in SHOWN.values()]
            print(f"| {motion}, {name} | " + " | ".join(cells) + " |")


def _placed(position_m: np.ndarray, truth_m: np.ndarray) -> np.ndarray:
    """Positions in the truth's frame, by one rigid transform over the take."""
    from fitpipe.report import rigid_alignment

    R, t = rigid_alignment(position_m, truth_m)
    return position_m @ R.T + t


def speed() -> None:
    """Frames a second, of measuring alone."""
    motion = walk(20_000, 30.0)
    skeleton_angles(motion.position_m[:100], motion.skeleton)
    begin = time.perf_counter()
    skeleton_angles(motion.position_m, motion.skeleton)
    print(
        f"\nmeasured: {20_000 / (time.perf_counter() - begin):,.0f} frames/s, 20 joints, one core"
    )


def limits(seconds: float) -> None:
    """Takes with large outliers, with and without limits."""
    print("\n| outliers | frames beyond | after | error there, mm | held | ms a frame |")
    print("|---|---:|---:|---:|---:|---:|")
    for share in (0.02, 0.05, 0.1):
        table = {
            "seed": 11,
            "motion": {"seconds": seconds},
            "sensors": {"tick_jitter_s": 0.0, "count": 1},
            "noise": {"outlier_share": share, "outlier_m": 0.4, "flip_share": 0.0},
        }
        made = simulate(make_config(SimulateConfig, table))
        truth = made.motion.position_m
        plain_config = {"weights": {"jumps": False, "bones": False, "robust_scale_m": 0.0}}
        fits, took = [], []
        for held in (False, True):
            config = plain_config | {"angles": {"limits": held}}
            fp.fit(made.takes, config=config)
            begin = time.perf_counter()
            fits.append(fp.fit(made.takes, config=config))
            took.append(time.perf_counter() - begin)
        plain, kept = fits
        beyond, left = ((fit.angles.limit_status == LimitStatus.BEYOND).any(axis=1) for fit in fits)
        changed = (np.nan_to_num(plain.position) != np.nan_to_num(kept.position)).any(axis=(1, 2))
        apart = [np.linalg.norm(_placed(f.position, truth) - truth, axis=-1) for f in fits]
        error = [1e3 * np.nanmean(off[changed]) for off in apart]
        each = 1e3 * (took[1] - took[0]) / max(1, np.count_nonzero(changed))
        print(
            f"| {share:.0%} of 0.4 m | {np.count_nonzero(beyond)} of {len(beyond)} | "
            f"{np.count_nonzero(left)} | {error[0]:.0f} | {error[1]:.0f} | {each:.0f} |"
        )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=20.0)
    seconds = parser.parse_args().seconds
    accuracy(seconds)
    speed()
    limits(seconds)
