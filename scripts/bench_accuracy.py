"""How far fits are from the truth, beside what one would otherwise do with the same observations.

    python scripts/bench_accuracy.py [--quick] [--only TEXT] [--frames N] [--json FILE] [--data DIR]

Methods, all on observations that fitpipe registered and put on the reference clock:

    (a) best sensor       the one sensor whose own mean error is lowest: chosen with the truth
    (b) mean              of the sensors, weighted by their confidences
    (c) Butterworth mean  6 Hz, zero lag, fourth order, gaps splined before, then (b)
    (d) Kalman mean       Rauch-Tung-Striebel, constant acceleration, noise by maximum likelihood
    (e) snapped bones     (b), then every bone brought to its length from the root to the tips
    (f) per frame         fitpipe, solve.temporal = "none"
    (g) trajectory        fitpipe, solve.temporal = "trajectory", smoothness chosen by itself

(e), (f) and (g) use the bone lengths that fitpipe measured. Sets: "noise" is independent noise,
which is what smoothing removes; "kinect" is the default of `fitpipe simulate`, whose errors last
for tenths of a second as recorded ones do; "recorded" are real recordings with a reference.
Figures are millimetres over the samples that all methods give; coverage is each method's share of
the samples that have a truth. Bars: on "noise" sets (g) has a mean at least 35 % below (c) and (d);
on recorded sets its mean is not above that of any other method.
"""

# ruff: noqa: E402 - the threads of the linear algebra are set before NumPy is imported

from __future__ import annotations

import os

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[_name] = "1"

import argparse
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from accuracy_peers import butterworth, kalman, mean_of_sources, snap_bones
from accuracy_sets import TruthSet, recorded_sets, simulated_sets

import fitpipe as fp
from fitpipe.calibrate import onto_clock
from fitpipe.config import CalibrateConfig, SolveConfig
from fitpipe.report import summarise
from fitpipe.solve import registered

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
LOWER = 0.35  # (g) below (c) and (d) on noise sets
TRAJECTORY = "(g) trajectory"


def has_trajectory() -> bool:
    return "temporal" in SolveConfig.model_fields


def estimates(truth_set: TruthSet) -> Iterator[tuple[str, np.ndarray]]:
    """Each method's positions, (time, joint, 3), in the reference's frame on its clock."""
    fits = {}
    for name, temporal in (("(f) per frame", "none"), (TRAJECTORY, "trajectory")):
        solve = {"temporal": temporal} if has_trajectory() else {}
        if has_trajectory() or temporal == "none":
            fits[name] = fp.fit(
                truth_set.takes,
                skeleton=truth_set.skeleton,
                config={"solve": solve},
            )
    fit = fits["(f) per frame"]
    observed, confidence = observations(truth_set.takes, fit)
    singles = [observed[:, s] for s in range(observed.shape[1])]
    own = [np.nanmean(truth_set.errors(single)) for single in singles]
    yield "(a) best sensor", singles[int(np.argmin(own))]
    mean = mean_of_sources(observed, confidence)
    yield "(b) mean", mean
    yield "(c) Butterworth mean", butterworth(observed, confidence, fit.time_s)
    yield "(d) Kalman mean", kalman(observed, confidence, fit.time_s)
    length_m = np.full(fit.skeleton.n_joints, np.nan)
    length_m[[child for _, child in fit.skeleton.bones]] = fit.bone_length
    yield (
        "(e) snapped bones",
        snap_bones(mean, fit.skeleton.parents, fit.skeleton.topological_order, length_m),
    )
    for name, found in fits.items():
        yield name, found.position


def observations(takes: list[fp.Take], fit: fp.Fit) -> tuple[np.ndarray, np.ndarray]:
    """All sources in the reference's frame and on its clock, and their confidences."""
    gap_s = CalibrateConfig().max_gap_s
    timed = [onto_clock(take, fit.time_s, max_gap_s=gap_s) for take in takes]
    confidence = np.stack(
        [
            np.ones(take.is_observed.shape) if take.confidence is None else take.confidence
            for take in timed
        ],
        axis=1,
    )
    return registered(timed, fit.calibration), confidence


def measure(truth_set: TruthSet) -> dict[str, dict[str, float]]:
    """Figures of every method on a set."""
    errors = {name: truth_set.errors(position) for name, position in estimates(truth_set)}
    has_truth = np.any([~np.isnan(error) for error in errors.values()], axis=0)
    common = np.all([~np.isnan(error) for error in errors.values()], axis=0)
    rows = {}
    for name, error in errors.items():
        summary = summarise(error[common])
        rows[name] = {
            "mean_mm": summary.mean_m * 1e3,
            "median_mm": summary.median_m * 1e3,
            "p90_mm": summary.p90_m * 1e3,
            "rms_mm": summary.rms_m * 1e3,
            "coverage": float((~np.isnan(error)).sum() / has_truth.sum()),
        }
    return rows


def verdict(truth_set: TruthSet, rows: dict[str, dict[str, float]]) -> str:
    """Whether the set meets its bar, in words."""
    if TRAJECTORY not in rows:
        return f"{TRAJECTORY} left out: this fitpipe has no solve.temporal"
    ours = rows[TRAJECTORY]["mean_mm"]
    others = {name: row["mean_mm"] for name, row in rows.items() if name != TRAJECTORY}
    if truth_set.kind == "recorded":
        name, best = min(others.items(), key=lambda item: item[1])
        word = "met" if ours <= best else "MISSED"
        remark = f" ({truth_set.remark})" if truth_set.remark else ""
        return f"bar {word}: {ours:.2f} mm against {best:.2f} of {name}, the best other{remark}"
    below = {name: 1 - ours / others[name] for name in ("(c) Butterworth mean", "(d) Kalman mean")}
    text = ", ".join(f"{share:+.0%} below {name}" for name, share in below.items())
    if truth_set.kind == "kinect":
        return text.replace("+", "")
    return f"bar {'met' if min(below.values()) >= LOWER else 'MISSED'}: {text.replace('+', '')}"


def print_rows(name: str, truth_set: TruthSet, rows: dict[str, dict[str, float]]) -> None:
    frames = truth_set.takes[0].n_frames
    print(f"\n{name} ({frames} frames, {len(truth_set.takes)} sources)")
    print(f"  {'':22}{'mean':>8}{'median':>8}{'p90':>8}{'rms':>8}{'coverage':>10}")
    for method, row in rows.items():
        figures = "".join(f"{row[f'{key}_mm']:8.1f}" for key in ("mean", "median", "p90", "rms"))
        print(f"  {method:22}{figures}{row['coverage']:10.1%}")
    print(f"  {verdict(truth_set, rows)}", flush=True)


def print_growth(results: dict[str, Any]) -> None:
    """How much 10 % of outliers add to each method's mean error, all else equal."""
    names = ["noise: walk, 2 sensors, 0% outliers", "noise: walk, 2 sensors, 10% outliers"]
    if not all(name in results for name in names):
        return
    print("\nmean error with 10 % outliers over that with none:")
    without, with_them = (results[name]["methods"] for name in names)
    for method, row in with_them.items():
        print(f"  {method:22}{row['mean_mm'] / without[method]['mean_mm'] - 1:+8.0%}")


def main() -> int:
    parser = argparse.ArgumentParser(description="Accuracy of fits and of what else one would do.")
    parser.add_argument("--frames", type=int, default=600, help="of every simulated set")
    parser.add_argument("--quick", action="store_true", help="150 frames, no recordings")
    parser.add_argument("--only", default="", help="sets whose name holds this text")
    parser.add_argument("--data", type=Path, default=DATA, help="folder of the recordings")
    parser.add_argument("--json", type=Path, help="write the figures to this file")
    arguments = parser.parse_args()
    named = list(simulated_sets(150 if arguments.quick else arguments.frames))
    if not arguments.quick and arguments.data.is_dir():
        named += recorded_sets(arguments.data)
    elif not arguments.quick:
        print(f"recorded sets left out: no folder {arguments.data}")
    results: dict[str, Any] = {}
    for name, make in named:
        if arguments.only not in name:
            continue
        truth_set = make()
        rows = measure(truth_set)
        print_rows(truth_set.name, truth_set, rows)
        results[truth_set.name] = {
            "kind": truth_set.kind, "methods": rows, "verdict": verdict(truth_set, rows),
        }  # fmt: skip
    print("\nper set:")
    for name, result in results.items():
        print(f"  {name:48} {result['verdict']}")
    print_growth(results)
    if arguments.json:
        arguments.json.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
