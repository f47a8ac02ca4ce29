"""Two-link planar arm: its Jacobian's columns at the hand, and where the arm is singular.

Each column of J is the velocity of the hand when one joint turns: square to the line from that
joint to the hand. Where both columns are parallel, det J = L1 L2 sin(theta2) is zero and the hand
cannot move along the arm.

Usage: python scripts/examples/planar_arm.py [results/planar_arm.png]
"""

from __future__ import annotations

import sys
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

from fitpipe import angles

ARM = angles.Chain.planar([2.0, 1.5])
POSES = {"90°": np.pi / 2, "35°": np.radians(35), "0°: singular": 0.0}
BLUE, ORANGE, INK, GREY = "#0072B2", "#D55E00", "#222222", "#999999"


def draw_pose(axes: plt.Axes, title: str, theta2: float) -> None:
    q = np.array([np.radians(25), theta2])
    J = angles.jacobian(ARM, q)
    placed = ARM.forward(q)
    points = np.vstack([placed.joint_m, placed.tip_m])[:, :2]
    hand = points[-1]
    axes.plot(points[:, 0], points[:, 1], color=INK, lw=3, solid_capstyle="round", zorder=2)
    axes.plot(points[:-1, 0], points[:-1, 1], "o", color="white", mec=INK, ms=8, mew=1.8, zorder=3)
    for j, color in enumerate((BLUE, ORANGE)):
        axes.plot(*np.transpose([points[j], hand]), color=color, lw=1, ls=":", zorder=1)
        axes.annotate(
            "", hand + 0.5 * J[:, j], hand,
            arrowprops={"arrowstyle": "-|>", "color": color, "lw": 2.2, "shrinkA": 0, "shrinkB": 0},
            zorder=5 + (j == 1),
        )  # fmt: skip
    axes.plot(*hand, "o", color=INK, ms=6, zorder=7)
    axes.set_title(
        f"θ₂ = {title}\ndet J = {round(float(angles.determinant(J)), 2) + 0.0:.2f} m²", fontsize=10
    )
    axes.set_aspect("equal")
    axes.set(xlim=(-0.9, 3.7), ylim=(-0.7, 3.6))
    axes.set_xlabel("x (m)")
    axes.spines[["top", "right"]].set_visible(False)


def draw_measures(axes: plt.Axes) -> None:
    theta2 = np.linspace(-np.pi, np.pi, 721)
    J = angles.jacobian(ARM, np.column_stack([np.zeros_like(theta2), theta2]))
    degrees = np.degrees(theta2)
    axes.axhline(0, color=GREY, lw=0.8)
    axes.plot(degrees, angles.determinant(J), color=BLUE, lw=2, label="det J")
    axes.plot(
        degrees, angles.manipulability(J), color=ORANGE, lw=2, ls="--",
        label="manipulability √det(JJᵀ)",
    )  # fmt: skip
    axes.plot(
        degrees, angles.singularity_distance(J), color=GREY, lw=1.5,
        label="smallest singular value (m)",
    )  # fmt: skip
    axes.plot([-180, 0, 180], [0, 0, 0], "o", color=INK, ms=6, zorder=5, label="singular")
    axes.set_xticks(range(-180, 181, 45))
    axes.set(xlabel="θ₂ (degrees)", ylabel="m²", xlim=(-184, 184), ylim=(-3.4, 3.4))
    axes.legend(frameon=False, fontsize=9, loc="lower right")
    axes.spines[["top", "right"]].set_visible(False)


def main(path: Path) -> None:
    figure = plt.figure(figsize=(10, 7), layout="constrained")
    grid = figure.add_gridspec(2, 3, height_ratios=[1.1, 1])
    for k, (title, theta2) in enumerate(POSES.items()):
        draw_pose(figure.add_subplot(grid[0, k]), title, theta2)
    figure.axes[0].set_ylabel("y (m)")
    last = figure.axes[2]
    last.plot([], [], color=BLUE, lw=2.2, label="hand when θ₁ turns")
    last.plot([], [], color=ORANGE, lw=2.2, label="hand when θ₂ turns")
    last.legend(
        frameon=False, fontsize=8.5, loc="lower right", title="columns of J, half size",
        title_fontsize=8.5,
    )  # fmt: skip
    draw_measures(figure.add_subplot(grid[1, :]))
    figure.suptitle("Planar arm of 2 and 1.5 m: the columns of J, and where they are parallel")
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=110)
    print(f"wrote {path}")
    for theta2 in (0.0, np.pi / 2, np.pi):
        J = angles.jacobian(ARM, [0.0, theta2])
        det = float(angles.determinant(J)) + 0.0
        print(f"theta2 = {np.degrees(theta2):5.1f} deg: det J = {det:+.6f}")


if __name__ == "__main__":
    here = Path(__file__).parents[2] / "results"
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else here / "planar_arm.png")
