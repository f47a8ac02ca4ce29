"""How exactly the second sensor's clock and frame are found, and how exactly they could be.

    python scripts/bench_registration.py [--takes N] [--frames N]

Simulated takes of two sensors, each of its own seed, clock offset and errors: "noise" is 15 mm per
axis, independent; "kinect" is the default of `fitpipe simulate`. Printed are the rms error of the
clock's offset, how often it was applied, the mean and largest error of the rotation, and the mean
error of a rotation that is not to be had: that of two sensors each aligned to the TRUE joints by
the same robust method. What it errs by is in the observations, not in the registration.
"""

from __future__ import annotations

import argparse

import numpy as np
from accuracy_sets import NOISE
from scipy.interpolate import make_interp_spline
from scipy.spatial.transform import Rotation

import fitpipe as fp
from fitpipe.calibrate.align import align_robust
from fitpipe.config import SimulateConfig, make_config
from fitpipe.simulate import MOTIONS, SimulatedTake, simulate

OFFSETS_S = (-0.31, 0.31)  # clocks differ by something between
ERRORS = {"noise": NOISE, "kinect": {}}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--takes", type=int, default=12, help="of each kind (default 12)")
    parser.add_argument("--frames", type=int, default=300, help="at 30 Hz (default 300)")
    args = parser.parse_args()
    print(f"{args.takes} takes of each kind, {args.frames} frames, two sensors\n")
    print(
        f"{'':16}{'clock applied':>14}{'its rms, ms':>13}"
        f"{'rotation, deg':>15}{'largest':>9}{'from the truth':>16}"
    )
    for errors, noise in ERRORS.items():
        for motion in MOTIONS:
            rows = [one(motion, noise, seed, args.frames) for seed in range(args.takes)]
            clock_s, turned, floor = np.array(rows).T
            known = np.isfinite(clock_s)
            rms = 1e3 * np.sqrt((clock_s[known] ** 2).mean()) if known.any() else np.nan
            print(
                f"{errors + ': ' + motion:16}{f'{known.sum()} of {len(rows)}':>14}{rms:13.2f}"
                f"{turned.mean():15.2f}{turned.max():9.2f}{floor.mean():16.2f}"
            )


def one(motion: str, noise: dict[str, float], seed: int, frames: int) -> tuple[float, float, float]:
    """Error of the offset (s, NaN where none was applied) and of the rotation; the best one's."""
    offset_s = np.random.default_rng(seed).uniform(*OFFSETS_S)
    table = {
        "seed": seed,
        "motion": {"name": motion, "seconds": frames / 30},
        "sensors": {"clock_offset_s": [0.0, offset_s], "tick_jitter_s": 0.0},
        "noise": noise,
    }
    made = simulate(make_config(SimulateConfig, table))
    found = fp.fit(list(made.takes)).calibration.transforms[1]
    true = made.transforms[1]
    clock = found.time_offset_s - made.clocks[1].offset_s if found.time_offset_s else np.nan
    best = [from_the_truth(made, i) for i in (0, 1)]
    return clock, angle_deg(found.R_ref_source, true.R_ref_source), angle_deg(*best)


def from_the_truth(made: SimulatedTake, source: int) -> np.ndarray:
    """The rotation (3, 3) of a sensor's points, in the true frame, onto the true joints."""
    take, transform, clock = made.takes[source], made.transforms[source], made.clocks[source]
    time_s = (take.time_s - clock.offset_s) / (1 + 1e-6 * clock.drift_ppm)
    truth = make_interp_spline(made.motion.time_s, made.motion.position_m)(time_s)
    columns = [take.labels.index(name) for name in made.motion.skeleton.joints]
    seen = take.position_m[:, columns] @ transform.R_ref_source.T + transform.t_ref_m
    ok = np.isfinite(seen).all(axis=-1)
    joint = np.broadcast_to(np.arange(len(columns)), ok.shape)[ok]
    return align_robust(seen[ok], truth[ok], joint).R_target_source


def angle_deg(R: np.ndarray, other: np.ndarray) -> float:
    return float(np.degrees(Rotation.from_matrix(R @ other.T).magnitude()))


if __name__ == "__main__":
    main()
