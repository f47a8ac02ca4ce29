"""Draws the picture of the README: the fitted demo walk among what its two sensors saw.

Usage: python scripts/draw_walk.py [docs/walk.png]
"""

from __future__ import annotations

import sys
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

import fitpipe as fp

ROOT = Path(__file__).parent.parent
FRAMES = range(20, 68, 6)  # a step and a half, 0.2 s apart
APART_M = 0.8  # between two drawn skeletons
BLUE, ORANGE, INK = "#0072B2", "#D55E00", "#222222"  # apart for colour-blind eyes too


def bone_spread_mm(position: np.ndarray, skeleton: fp.Skeleton) -> np.ndarray:
    """Deviation of every bone from its median length, shape (time, bone), millimetres."""
    parent, child = np.array(skeleton.bones).T
    length = np.linalg.norm(position[:, child] - position[:, parent], axis=-1)
    return 1e3 * (length - np.nanmedian(length, axis=0))


def view_axes(position: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Horizontal axis of the drawing, and the axis towards a viewer at the left side."""
    hip_left, hip_right = position[12], position[16]
    towards = (hip_left - hip_right) * [1, 0, 1]
    towards /= np.linalg.norm(towards)
    turn = np.radians(25)  # a little from the front
    forward = np.cross(towards, [0.0, 1.0, 0.0])
    depth = np.cos(turn) * towards + np.sin(turn) * forward
    return np.cross([0.0, 1.0, 0.0], depth), depth


def main(path: Path) -> None:
    takes = [fp.read_take(ROOT / f"data/walk_kinect_{sensor}.csv") for sensor in "ab"]
    fit = fp.fit(takes)
    seen = [
        transform.apply(take.position_m)
        for transform, take in zip(fit.calibration.transforms, takes, strict=True)
    ]

    figure = plt.figure(figsize=(11, 3.8), layout="constrained")
    grid = figure.add_gridspec(1, 2, width_ratios=[3, 1])
    axes = figure.add_subplot(grid[0])
    for place, f in enumerate(FRAMES):
        centre = fit.position[f, 0] * [1, 0, 1]
        side, depth = view_axes(fit.position[f])
        for parent, child in fit.skeleton.bones:
            ends = fit.position[f, [parent, child]] - centre
            axes.plot(
                place * APART_M + ends @ side, ends[:, 1],
                color=INK, lw=1.8, solid_capstyle="round", zorder=2 + 0.1 * (ends @ depth).mean(),
            )  # fmt: skip
        for position, colour in zip(seen, (BLUE, ORANGE), strict=True):
            points = position[f] - centre
            axes.scatter(
                place * APART_M + points @ side, points[:, 1],
                s=14, color=colour, alpha=0.75, linewidths=0, zorder=4,
            )  # fmt: skip
    axes.set_aspect("equal")
    axes.set_axis_off()
    axes.set_title(
        "A walk, 0.2 s from one to the next: fitted skeletons and what two sensors saw", fontsize=10
    )
    for color, label in ((BLUE, "sensor a"), (ORANGE, "sensor b"), (INK, "fit")):
        axes.plot([], [], "o" if label != "fit" else "-", ms=4, color=color, label=label)
    axes.legend(loc="lower center", ncols=3, fontsize=9, frameon=False, bbox_to_anchor=(0.5, -0.1))

    spread = figure.add_subplot(grid[1])
    bins = np.linspace(-82.5, 82.5, 56)
    for position, colour, label in (
        (seen[0], BLUE, "sensor a"),
        (seen[1], ORANGE, "sensor b"),
        (fit.position, INK, "fit"),
    ):
        values = bone_spread_mm(position, fit.skeleton)
        values = values[~np.isnan(values)]
        spread.hist(
            values, bins=bins, weights=np.full(values.size, 100 / values.size),
            histtype="step", color=colour, lw=1.4, label=label,
        )  # fmt: skip
    spread.set_yscale("log")
    spread.set(xlabel="bone length - median (mm)", ylabel="share of samples (%)")
    spread.set_title("Do the bones keep their length?", fontsize=10)
    spread.tick_params(labelsize=8)
    spread.legend(fontsize=8, frameon=False)
    spread.spines[["top", "right"]].set_visible(False)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=130)
    print(f"wrote {path}")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "docs" / "walk.png")
