"""What it gains to start unseen joints by inverse kinematics, on motions with known truth.

Usage: python scripts/bench_repair.py [--frames 3000]

One source sees a simulated motion at 30 Hz with 10 mm noise per axis and known bone lengths; joints
between others that stay seen are lost for 0.2, 0.5 or 1 s at a time, at random. Each take is fitted
frame by frame twice: from where its bones were last seen to point, and with unseen joints placed
first, by the two-bone solution or by reaching (`fitpipe.kernels.tree_repair`). Errors are mean
distances to the true joints over the lost samples, iterations are means over the frames with one.
"""

from __future__ import annotations

import argparse

import numpy as np

from fitpipe.arrays import BoolArray, FloatArray
from fitpipe.kernels.tree_newton import TreeFit, fit_tree
from fitpipe.kernels.tree_repair import repaired_start
from fitpipe.simulate import MOTIONS, Motion

RATE_HZ = 30.0
NOISE_M = 0.01
MOTION_NAMES = ("walk", "reach", "punch")
GAPS_S = (0.2, 0.5, 1.0)
LIMBS = {
    "elbow or knee": [["ElbowLeft"], ["ElbowRight"], ["KneeLeft"], ["KneeRight"]],
    "elbow and wrist, or knee and ankle": [
        ["ElbowLeft", "WristLeft"],
        ["ElbowRight", "WristRight"],
        ["KneeLeft", "AnkleLeft"],
        ["KneeRight", "AnkleRight"],
    ],
    "middle of the shoulders, or of the hips": [["ShoulderCenter"], ["HipCenter"]],
}


def lose(motion: Motion, limbs: list[list[str]], gap_s: float, seed: int) -> BoolArray:
    """Which samples are lost, (time, joint): each limb for `gap_s` at a time, every 2 s or so."""
    rng = np.random.default_rng(seed)
    lost = np.zeros(motion.position_m.shape[:2], np.bool_)
    gap = round(gap_s * RATE_HZ)
    for limb in limbs:
        first = int(rng.integers(5, 60))
        while first + gap + 5 < len(lost):
            for joint in limb:
                lost[first : first + gap, motion.skeleton.joint_index(joint)] = True
            first += gap + int(rng.integers(30, 90))
    return lost


def fits(motion: Motion, lost: BoolArray, seed: int) -> tuple[TreeFit, TreeFit]:
    """Fits without and with the repair of their starts."""
    rng = np.random.default_rng(seed)
    target = motion.position_m + NOISE_M * rng.standard_normal(motion.position_m.shape)
    parent = np.array(motion.skeleton.parents)
    length = np.zeros(len(parent))
    for p, c in motion.skeleton.bones:
        length[c] = np.linalg.norm(motion.position_m[0, c] - motion.position_m[0, p])
    rest: FloatArray = np.array(motion.skeleton.rest_direction)
    stiffness = np.where(lost, 0.0, 2.0)
    target = np.where(lost[..., None], np.nan, target)
    start = repaired_start(target, stiffness, length, parent, rest=rest)
    return (
        fit_tree(target, stiffness, length, parent, rest=rest),
        fit_tree(target, stiffness, length, parent, rest=rest, start=start),
    )


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--frames", type=int, default=3000)
    n_frames = parser.parse_args().frames
    motions = [MOTIONS[name](n_frames, RATE_HZ) for name in MOTION_NAMES]
    print("| lost | for | iterations | mean error | 95th percentile |")
    print("|---|---:|---:|---:|---:|")
    for name, limbs in LIMBS.items():
        for gap_s in GAPS_S:
            iterations: list[list[FloatArray]] = [[], []]
            errors: list[list[FloatArray]] = [[], []]
            for seed, motion in enumerate(motions):
                lost = lose(motion, limbs, gap_s, seed)
                for k, fit in enumerate(fits(motion, lost, seed)):
                    off = np.linalg.norm(fit.position - motion.position_m, axis=-1)
                    errors[k].append(off[lost] * 1e3)
                    iterations[k].append(fit.iterations[lost.any(axis=1)].astype(float))
            mean = [np.concatenate(rows).mean() for rows in iterations]
            error = [np.concatenate(rows) for rows in errors]
            worst = [np.quantile(rows, 0.95) for rows in error]
            print(
                f"| {name} | {gap_s:g} s | {mean[0]:.1f} → {mean[1]:.1f} "
                f"| {error[0].mean():.0f} → {error[1].mean():.0f} mm "
                f"| {worst[0]:.0f} → {worst[1]:.0f} mm |",
                flush=True,
            )


if __name__ == "__main__":
    main()
