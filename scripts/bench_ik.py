"""Success rate and time per solve of every inverse-kinematics solver, beside other libraries.

Random joint values give targets that can be reached; every solver starts from the same neutral pose
and, where it fails, from the same ten others. Success: all effectors within a micrometre.

Usage: python scripts/bench_ik.py [--targets 10000] [--calls 200] [--peer-calls 40] [--seed 1]
Peers that are not installed are named and skipped: pip install "fitpipe[bench]".
"""

from __future__ import annotations

import argparse
import time
from statistics import median

import numpy as np
from ik_chains import CHAINS, random_poses
from ik_peers import PEERS, TOLERANCE_M, reached

from fitpipe.angles import Chain, solve_ik
from fitpipe.angles.solve import ITERATIVE, RESTARTS, other_starts

SLOW = {"ccd": 10, "fabrik": 50}  # this many times fewer targets for the body


def as_target(chain: Chain, tips: np.ndarray) -> np.ndarray:
    return tips[:, 0] if len(chain.effectors) == 1 else tips


def measure(chain: Chain, solver: str, tips: np.ndarray, calls: int) -> dict[str, float]:
    target = as_target(chain, tips)
    solve_ik(chain, target[:2], solver=solver)  # compile
    began = time.perf_counter()
    result = solve_ik(chain, target, solver=solver)
    batch = (time.perf_counter() - began) / len(target)
    single = []
    for one in target[:calls]:
        began = time.perf_counter()
        solve_ik(chain, one, solver=solver)
        single.append(time.perf_counter() - began)
    return {
        "targets": len(target),
        "success": float(np.mean(result.error <= TOLERANCE_M)),
        "iterations": float(np.median(result.iterations)),
        "batch": batch,
        "single": median(single),
    }


def measure_peer(chain: Chain, name: str, tips: np.ndarray) -> tuple[str, dict[str, float]]:
    version, solve = PEERS[name](chain)
    starts = np.vstack([chain.neutral, other_starts(chain, RESTARTS)])
    solve(tips[0], starts)
    times, good = [], 0
    for one in tips:
        began = time.perf_counter()
        q = solve(one, starts)
        times.append(time.perf_counter() - began)
        good += reached(chain, q, one)
    row = {"targets": len(tips), "success": good / len(tips), "single": median(times)}
    return f"{name} {version}", row


def tell(name: str, row: dict[str, float]) -> None:
    iterations = f"{row['iterations']:.0f}" if "iterations" in row else ""
    batch = f"{1e6 * row['batch']:,.0f}" if "batch" in row else ""
    print(
        f"| {name} | {row['targets']:,.0f} | {100 * row['success']:.2f}% | {iterations} "
        f"| {batch} | {1e6 * row['single']:,.0f} |"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--targets", type=int, default=10_000)
    parser.add_argument("--calls", type=int, default=200, help="single calls, for their median")
    parser.add_argument("--peer-calls", type=int, default=40)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    missing = set()
    for title, make in CHAINS.items():
        chain = make()
        tips = chain.forward(random_poses(chain, options.targets, options.seed)).tip_m
        print(f"\n{title} ({chain.dof} joint values)\n")
        print("| solver | targets | within 1 µm | iterations | µs each, many | µs a call |")
        print("|---|---:|---:|---:|---:|---:|")
        rows = {}
        for solver in ITERATIVE:
            n = len(tips) // SLOW.get(solver, 1) if len(chain.effectors) > 1 else len(tips)
            rows[solver] = measure(chain, solver, tips[:n], min(options.calls, n))
            tell(solver, rows[solver])
        best = min((rows[s] for s in ("dls", "newton")), key=lambda row: row["single"])
        ratios = []
        for name in PEERS:
            try:
                label, row = measure_peer(chain, name, tips[: options.peer_calls])
            except ImportError as error:
                missing.add(f"{name} (needs {error.name})")
                continue
            except ValueError as error:
                print(f"| {name} | | | | | cannot take this chain: {error} |")
                continue
            tell(label, row)
            ratios.append(
                f"{name}: {row['single'] / best['single']:,.1f} times the time of a call, "
                f"{row['single'] / best['batch']:,.1f} times that of one among many"
            )
        for line in ratios:
            print(f"\n{line}")
    for name in sorted(missing):
        print(f"\nnot installed, skipped: {name}")


if __name__ == "__main__":
    main()
