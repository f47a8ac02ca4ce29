"""Draws what every inverse-kinematics solver does to a two-link arm near its singularity.

The arm is almost straight. One target lies half a metre beyond its reach, the other back along the
arm, where hardly any step leads. One picture per solver shows the poses after the first steps.

Usage: python scripts/draw_ik.py [docs]
"""

from __future__ import annotations

import sys
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

from fitpipe.angles import SOLVERS, Chain, IkResult, jacobian, manipulability, solve_ik

ROOT = Path(__file__).parent.parent
ARM = Chain.planar([2.0, 1.5])
START = np.array([0.05, 0.02])  # almost straight: manipulability 0.06 of at most 3
TARGETS = {"out of reach": (3.4, 2.1), "back along the arm": (1.9, 0.1)}
MOST = 400
BLUE, ORANGE, GREEN, INK, GREY = "#0072B2", "#D55E00", "#009E73", "#222222", "#BBBBBB"


def poses_on_the_way(solver: str, target: tuple[float, float]) -> tuple[np.ndarray, IkResult]:
    """Joint values after 0, 1, 2, ... iterations, shape (step, 2), and the end."""
    end = solve_ik(ARM, target, solver=solver, q0=START, restarts=0)
    cut_off = (
        solve_ik(ARM, target, solver=solver, q0=START, restarts=0, max_iterations=n).q
        for n in range(1, min(int(end.iterations), MOST) + 1)
    )
    return np.array([START, *cut_off, end.q]), end


def draw_arm(axes: plt.Axes, q: np.ndarray, **style: object) -> None:
    placed = ARM.forward(q)
    points = np.vstack([placed.joint_m, placed.tip_m])
    axes.plot(points[:, 0], points[:, 1], solid_capstyle="round", **style)


def draw_solver(axes: plt.Axes, solver: str, target: tuple[float, float]) -> None:
    steps, end = poses_on_the_way(solver, target)
    edge = np.linspace(-0.5, 1.9, 200)
    axes.plot(3.5 * np.cos(edge), 3.5 * np.sin(edge), color=GREY, lw=1, ls=":")
    shown = steps[1:-1][:6]
    for k, q in enumerate(shown):
        draw_arm(axes, q, color=BLUE, lw=1.2, alpha=0.25 + 0.5 * k / max(len(shown), 1))
    draw_arm(axes, START, color=GREY, lw=2.5)
    draw_arm(axes, end.q, color=INK, lw=2.5, marker="o", ms=4)
    axes.plot(*target, marker="x", color=ORANGE, ms=9, mew=2.2, ls="none")
    tips = ARM.forward(steps).tip_m[:, 0]
    axes.plot(tips[:, 0], tips[:, 1], color=GREEN, lw=1, marker=".", ms=4)
    turned = np.abs(np.diff(steps, axis=0)).max()
    how = "closed form" if end.iterations == 0 else f"{end.iterations} iterations"
    axes.set_title(
        f"{end.status}, {how}\n{end.error:.4f} m left, largest step {np.degrees(turned):.0f}°",
        fontsize=8.5,
    )
    axes.set_aspect("equal")
    axes.set(xlim=(-0.5, 4.0), ylim=(-1.6, 2.6))
    axes.tick_params(labelsize=7)
    axes.spines[["top", "right"]].set_visible(False)


def draw(solver: str, path: Path) -> None:
    figure, both = plt.subplots(1, 2, figsize=(8.2, 5.0), sharey=True)
    figure.subplots_adjust(left=0.06, right=0.99, top=0.84, bottom=0.16, wspace=0.06)
    for axes, (name, target) in zip(both, TARGETS.items(), strict=True):
        draw_solver(axes, solver, target)
        axes.set_xlabel(f"target {name} (m)", fontsize=9)
    start = float(manipulability(jacobian(ARM, START)))
    figure.suptitle(
        f"{solver}: arm of 2 and 1.5 m, almost straight (manipulability {start:.2f} of 3)",
        fontsize=10.5,
    )
    for color, label in (
        (GREY, "start"), (BLUE, "first steps"), (GREEN, "path of the hand"), (INK, "end")
    ):  # fmt: skip
        both[0].plot([], [], color=color, lw=2, label=label)
    both[0].plot([], [], color=ORANGE, marker="x", mew=2, ls="none", label="target")
    figure.legend(
        *both[0].get_legend_handles_labels(), loc="lower center", ncols=5, frameon=False,
        fontsize=8.5,
    )  # fmt: skip
    figure.savefig(path, dpi=110)
    plt.close(figure)
    print(f"wrote {path}")


def main(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for solver in SOLVERS:
        draw(solver, folder / f"ik_{solver}.png")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "docs")
