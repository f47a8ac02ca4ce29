"""How fast and how well the per-frame fit does beside what one would otherwise use.

Usage: python scripts/bench_fit.py [--frames 20000] [--slsqp-frames 300] [--json FILE] [--quick]

One take of a walk: 20 joints, 19 bones of exact length, two sources in one frame of reference with
15 mm noise per axis each and 3% outliers of 150 mm; the target is their mean, the start too. Every
peer solves the same frames in this process, linear algebra on one thread. Rates are the best of
several batches, in processor time for one core (other programs on the machine then matter less) and
in elapsed time for two. "solved" = bones within 1e-6 m and objective within 1e-6 of the best that
any peer found with bones within 1e-8 m. The gap is (objective - SLSQP's) / SLSQP's, so it is below
zero where SLSQP is the worse one. A peer that is not installed is skipped by name.
"""

# ruff: noqa: E402 - the threads of the linear algebra are set before NumPy is imported

from __future__ import annotations

import os

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[_name] = "1"

import argparse
import json
import platform
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

from fitpipe.kernels import tree_frames
from fitpipe.kernels.tree_newton import TreeFit, fit_tree
from fitpipe.simulate import walk

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "unit" / "kernels"))
from bench_peers import BONE, CHILD, LENGTH, PARENT, PEERS, UP, Peer, fitpipe_cores
from tree_examples import hard_sets, place, unit

OUTCOMES = ("no data", "certified", "stationary", "stalled", "limit")


def observe(truth: np.ndarray, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Target and stiffness from two sources of equal weight."""
    rng = np.random.default_rng(seed)
    target = np.zeros_like(truth)
    for _ in range(2):
        source = truth + 0.015 * rng.normal(size=truth.shape)
        is_outlier = rng.random(truth.shape[:2]) < 0.03
        source[is_outlier] += 0.15 * unit(rng.normal(size=(is_outlier.sum(), 3)))
        target += source / 2
    return target, np.full(truth.shape[:2], 4.0)


def best_rate(
    solve: Peer,
    target: np.ndarray,
    stiffness: np.ndarray,
    batches: int,
    clock: Callable[[], float] = time.process_time,
) -> tuple[float, Any]:
    """Frames a second of the fastest batch (each of all frames), and the last answer."""
    solve(target[:32], stiffness[:32])
    seconds = np.inf
    for _ in range(batches):
        begin = clock()
        answer = solve(target, stiffness)
        seconds = min(seconds, clock() - begin)
    return len(target) / seconds, answer


def two_cores(n_frames: int, pairs: int = 15) -> dict[str, float]:
    """Elapsed time on one core over two; beside it what two independent NumPy threads gain."""
    target, stiffness = observe(walk(n_frames, 30.0).position_m)
    solve_one, solve_two = fitpipe_cores(1)()[1], fitpipe_cores(2)()[1]
    numbers = np.random.default_rng(0).random((2, 2_000_000))

    def seconds(work: Callable[[], Any]) -> float:
        begin = time.perf_counter()
        work()
        return time.perf_counter() - begin

    gain, free = [], []
    with ThreadPoolExecutor(2) as pool:
        for _ in range(pairs):
            one = seconds(lambda: solve_one(target, stiffness))
            gain.append(one / seconds(lambda: solve_two(target, stiffness)))
            one = seconds(lambda: list(map(np.sin, numbers)))
            free.append(one / seconds(lambda: list(pool.map(np.sin, numbers))))
    result = {
        "gain_median": float(np.median(gain)),
        "gain_best": float(max(gain)),
        "machine_median": float(np.median(free)),
    }
    print(
        f"\ntwo cores over one: median {result['gain_median']:.2f}, best "
        f"{result['gain_best']:.2f}; on this machine now, two independent threads gain "
        f"{result['machine_median']:.2f}"
    )
    return result


def peer_table(n_frames: int, n_slow: int) -> list[dict[str, Any]]:
    target, stiffness = observe(walk(n_frames, 30.0).position_m)
    rows, positions = [], {}
    for name, (make, many) in PEERS.items():
        try:
            release, solve = make()
        except ImportError:
            print(f"{name}: not installed, skipped")
            continue
        n = n_frames if many else n_slow
        clock = time.perf_counter if "2 cores" in name else time.process_time
        batches = 15 if many else 3
        rate, answer = best_rate(solve, target[:n], stiffness[:n], batches, clock)
        row: dict[str, Any] = {"peer": name, "version": release, "frames_per_s": rate}
        if isinstance(answer, TreeFit):
            row["certified"] = float((answer.outcome == tree_frames.CERTIFIED).mean())
            answer = answer.position
        positions[name] = answer[:n_slow]
        rows.append(row)
    cost = {
        k: 0.5 * (stiffness[:n_slow] * ((p - target[:n_slow]) ** 2).sum(-1)).sum(-1)
        for k, p in positions.items()
    }
    bone = {
        k: np.abs(np.linalg.norm(p[:, CHILD] - p[:, UP], axis=-1) - BONE).max(-1)
        for k, p in positions.items()
    }
    best = np.min([np.where(bone[k] < 1e-8, cost[k], np.inf) for k in cost], axis=0)
    for row in rows:
        k = row["peer"]
        gap = cost[k] / cost["SciPy SLSQP"] - 1
        row |= {
            "ratio_to_slsqp": row["frames_per_s"] / rows[0]["frames_per_s"],
            "solved": float(((bone[k] < 1e-6) & (cost[k] < best * (1 + 1e-6))).mean()),
            "gap_worst": float(gap.max()),
            "gap_median": float(np.median(gap)),
            "gap_best": float(gap.min()),
            "worst_bone_error_m": float(bone[k].max()),
        }
    print(f"\n{n_frames} frames of a walk ({n_slow} for the slow peers and for the comparison)")
    print(
        f"{'peer':<24}{'version':>9}{'frames/s':>11}{'x SLSQP':>9}{'solved':>8}{'certified':>10}"
        f"{'gap worst':>11}{'median':>10}{'best':>10}{'bone, m':>10}"
    )
    for row in rows:
        certified = f"{row['certified']:.4f}" if "certified" in row else "-"
        print(
            f"{row['peer']:<24}{row['version']:>9}{row['frames_per_s']:>11,.0f}"
            f"{row['ratio_to_slsqp']:>9.1f}{row['solved']:>8.4f}{certified:>10}"
            f"{row['gap_worst']:>11.1e}{row['gap_median']:>10.1e}{row['gap_best']:>10.1e}"
            f"{row['worst_bone_error_m']:>10.1e}"
        )
    return rows


def hard_table(n_frames: int, n_starts: int = 32) -> list[dict[str, Any]]:
    """Sets made to fail; the gap is to the best of random starts of the same kernel."""
    rows = []
    print(f"\nhard sets, {n_frames} frames each, beside {n_starts} random starts")
    print(f"{'set':<30}{'frames/s':>10}{'steps':>7}{'gap worst':>11}{'best':>10}  outcomes")
    for name, (target, stiffness, length) in hard_sets(n_frames).items():
        rate, fit = best_rate(
            lambda m, h, b=length: fit_tree(m, h, b, PARENT), target, stiffness, 3
        )
        rng = np.random.default_rng(0)
        best = np.full(n_frames, np.inf)
        for _ in range(n_starts):
            start = unit(rng.normal(size=target.shape))
            other = fit_tree(target, stiffness, length, PARENT, start=start, restarts=0)
            best = np.fmin(best, other.objective)
        seen = stiffness.any(1)
        # Frames that can be met exactly have objectives of rounding size.
        gap = (fit.objective - best)[seen] / np.maximum(best[seen], 1e-9)
        count = np.bincount(fit.outcome, minlength=5)
        rows.append(
            {
                "set": name,
                "frames_per_s": rate,
                "steps": float(fit.iterations.mean()),
                "gap_worst": float(gap.max()),
                "gap_best": float(gap.min()),
                "outcomes": dict(zip(OUTCOMES, count.tolist(), strict=True)),
                "worst_bone_error_m": float(np.nanmax(fit.worst_bone_error)),
            }
        )
        listed = ", ".join(f"{n} {o}" for o, n in zip(OUTCOMES, count, strict=True) if n)
        print(
            f"{name:<30}{rate:>10,.0f}{fit.iterations.mean():>7.1f}{gap.max():>11.1e}"
            f"{gap.min():>10.1e}  {listed}"
        )
    return rows


def uncertified_table(n_frames: int, n_starts: int = 2000) -> list[dict[str, Any]]:
    """The frames of the ordinary take without certificate: is it too strict, or is there a gap?

    Beside each objective the best of random starts, and the greatest lower bound that multipliers
    can prove (the Lagrangian's least value, maximised over multipliers with K definite).
    """
    target, stiffness = observe(walk(n_frames, 30.0).position_m)
    fit = fit_tree(target, stiffness, LENGTH, PARENT)
    rows = []
    for t in np.flatnonzero(fit.outcome != tree_frames.CERTIFIED):
        start = unit(np.random.default_rng(0).normal(size=(n_starts, *target.shape[1:])))
        m, h = (np.repeat(array[t][None], n_starts, axis=0) for array in (target, stiffness))
        tried = fit_tree(m, h, LENGTH, PARENT, start=start, restarts=0)
        bound = lagrangian_bound(target[t] - target[t].mean(axis=0), stiffness[t])
        objective = fit.objective[t]
        rows.append(
            {
                "frame": int(t),
                "objective": objective,
                "best_of_starts": tried.objective.min() / objective - 1,
                "optima_found": len(np.unique(tried.objective.round(9))),
                "provable_gap": 1 - bound / objective,
            }
        )
    print(f"\nframes without certificate, beside {n_starts} random starts each")
    print(f"{'frame':>7}{'J0, m2':>12}{'best start':>12}{'optima':>8}{'gap of the proof':>18}")
    for row in rows:
        print(
            f"{row['frame']:>7}{row['objective']:>12.3e}{row['best_of_starts']:>12.1e}"
            f"{row['optima_found']:>8}{row['provable_gap']:>18.1e}"
        )
    return rows


def lagrangian_bound(m: np.ndarray, h: np.ndarray) -> float:
    """Maximum over multipliers of min_x J0 + sum kappa/2 (|bone|^2 - L^2), by a barrier."""
    B = np.zeros((len(CHILD), len(h)))
    B[np.arange(len(CHILD)), CHILD], B[np.arange(len(CHILD)), UP] = 1.0, -1.0
    kappa, value = np.zeros(len(CHILD)), -np.inf

    def at(k: np.ndarray) -> tuple[float, float, np.ndarray, np.ndarray, np.ndarray] | None:
        K = np.diag(h) + B.T @ (k[:, None] * B)
        lowest = np.linalg.eigvalsh(K)
        if lowest[0] <= 0:
            return None
        x = np.linalg.solve(K, h[:, None] * m)
        bone, S = B @ x, B @ np.linalg.solve(K, B.T)
        least = 0.5 * ((h[:, None] * m * (m - x)).sum() - (k * BONE**2).sum())
        return least, np.log(lowest).sum(), 0.5 * ((bone**2).sum(1) - BONE**2), bone @ bone.T, S

    barrier = 1e-2
    while barrier > 1e-14:
        for _ in range(50):
            least, logdet, slope, gram, S = at(kappa)
            value = max(value, least)
            step_slope = slope + barrier * np.diag(S)
            step = np.linalg.solve(gram * S + barrier * S**2, step_slope)
            gain, size = step_slope @ step, 1.0
            if gain < 1e-3 * barrier:
                break
            while (new := at(kappa + size * step)) is None or (
                new[0] + barrier * new[1] < least + barrier * logdet
            ):
                size *= 0.5
                if size < 1e-9:
                    break
            else:
                kappa = kappa + size * step
                continue
            break
        barrier /= 4
    return float(value)


def scaling_table(sizes: tuple[int, ...] = (20, 50, 100, 200, 500)) -> list[dict[str, Any]]:
    """Cost of a frame against the number of joints, on random trees of long limbs."""
    rows = []
    print(f"\n{'joints':>7}{'us a frame':>12}{'ns a joint':>12}{'steps':>7}{'certified':>11}")
    for n_joints in sizes:
        rng = np.random.default_rng(n_joints)
        fork = rng.random(n_joints) < 0.15
        parent = np.array(
            [-1] + [int(rng.integers(0, i)) if fork[i] else i - 1 for i in range(1, n_joints)]
        )
        length = rng.uniform(0.1, 0.4, n_joints)
        pose = rng.normal(size=(1, n_joints, 3)) + 0.2 * rng.normal(size=(2048, n_joints, 3))
        truth = place(unit(pose), length, parent)
        target = truth + 0.015 * rng.normal(size=truth.shape)
        stiffness = np.full(truth.shape[:2], 4.0)
        rate, fit = best_rate(
            lambda m, h, b=length, p=parent: fit_tree(m, h, b, p), target, stiffness, 4
        )
        certified = float((fit.outcome == tree_frames.CERTIFIED).mean())
        steps = float(fit.iterations.mean())
        row = {
            "joints": n_joints,
            "us_per_frame": 1e6 / rate,
            "steps": steps,
            "certified": certified,
        }
        rows.append(row)
        print(
            f"{n_joints:>7}{1e6 / rate:>12.2f}{1e9 / rate / n_joints:>12.1f}{steps:>7.2f}"
            f"{certified:>11.4f}"
        )
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--frames", type=int, default=20_000)
    parser.add_argument("--slsqp-frames", type=int, default=300)
    parser.add_argument("--json", type=Path, help="write the figures here as well")
    parser.add_argument("--quick", action="store_true", help="the peers only")
    args = parser.parse_args()
    result: dict[str, Any] = {
        "python": platform.python_version(),
        "machine": platform.processor() or platform.machine(),
        "cores": os.cpu_count(),
        "peers": peer_table(args.frames, args.slsqp_frames),
    }
    if not args.quick:
        result["two_cores"] = two_cores(3 * args.frames)
        result["uncertified"] = uncertified_table(args.frames)
        result["hard_sets"] = hard_table(400)
        result["scaling"] = scaling_table()
    if args.json:
        args.json.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
