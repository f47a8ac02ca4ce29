"""The same targets by all six solvers, side by side, on a leg (ball hip, hinge knee).

Usage: python scripts/examples/six_solvers.py [results/six_solvers.png]
"""

from __future__ import annotations

import sys
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

from fitpipe.angles import SOLVERS, Chain, Effector, Joint, solve_ik

LEG = Chain(
    [
        Joint("hip", kind="ball"),
        Joint("knee", axis=(1, 0, 0), offset_m=(0, -0.42, 0), lower=0.0, upper=2.4),
    ],
    [Effector("knee", (0, -0.40, 0), "ankle")],
)
START = [-0.3, 0.0, 0.0, 0.6]
TARGETS = {
    "in reach": (0.10, -0.60, 0.25),
    "too far": (0.10, -0.85, -0.45),
    "too near for the knee": (0.02, -0.12, 0.10),
}
COLORS = dict(zip(TARGETS, ("#0072B2", "#D55E00", "#009E73"), strict=True))


def main(path: Path) -> None:
    figure, grid = plt.subplots(1, len(SOLVERS), figsize=(13, 4.2), sharey=True, sharex=True)
    figure.subplots_adjust(left=0.05, right=0.99, top=0.83, bottom=0.27, wspace=0.08)
    print(f"{'solver':9} {'target':22} {'status':9} {'left (m)':>10} iterations")
    for axes, solver in zip(grid, SOLVERS, strict=True):
        told = []
        for name, target in TARGETS.items():
            result = solve_ik(LEG, target, solver=solver, q0=START)
            placed = LEG.forward(result.q)
            points = np.vstack([placed.joint_m, placed.tip_m])
            axes.plot(
                points[:, 2], points[:, 1], color=COLORS[name], lw=3, marker="o", ms=5, mfc="white",
                solid_capstyle="round", label=name,
            )  # fmt: skip
            axes.plot(target[2], target[1], "x", color=COLORS[name], ms=9, mew=2)
            told.append(f"{result.status}, {result.error:.3f} m, {result.iterations} it.")
            print(
                f"{solver:9} {name:22} {result.status:9} {result.error:10.6f} {result.iterations}"
            )
        axes.set_title(solver, fontsize=11)
        for line, (text, color) in enumerate(zip(told, COLORS.values(), strict=True)):
            axes.text(
                0.5, -0.24 - 0.08 * line, text, transform=axes.transAxes, ha="center", va="top",
                fontsize=8, color=color,
            )  # fmt: skip
        axes.set_aspect("equal")
        axes.set(xlim=(-0.55, 0.5), ylim=(-0.92, 0.16))
        axes.set_xlabel("forward (m)", fontsize=8.5)
        axes.set_xticks([-0.4, 0.0, 0.4])
        axes.tick_params(labelsize=8)
        axes.spines[["top", "right"]].set_visible(False)
    grid[0].set_ylabel("up (m)")
    handles, labels = grid[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="upper center", ncols=3, frameon=False)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=110)
    print(f"wrote {path}")


if __name__ == "__main__":
    here = Path(__file__).parents[2] / "results"
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else here / "six_solvers.png")
