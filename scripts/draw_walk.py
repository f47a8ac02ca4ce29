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
FRAMES = range(12, 232, 22)
BLUE, ORANGE, INK = "#0072B2", "#D55E00", "#222222"  # apart for colour-blind eyes too


def bone_spread_mm(position: np.ndarray, skeleton: fp.Skeleton) -> np.ndarray:
    """Deviation of every bone from its median length, shape (time, bone), millimetres."""
    parent, child = np.array(skeleton.bones).T
    length = np.linalg.norm(position[:, child] - position[:, parent], axis=-1)
    return 1e3 * (length - np.nanmedian(length, axis=0))


def main(path: Path) -> None:
    takes = [fp.read_take(ROOT / f"data/walk_kinect_{sensor}.csv") for sensor in "ab"]
    fit = fp.fit(takes)
    seen = [
        transform.apply(take.position_m)
        for transform, take in zip(fit.calibration.transforms, takes, strict=True)
    ]

    figure = plt.figure(figsize=(10, 4.2), layout="constrained")
    grid = figure.add_gridspec(1, 2, width_ratios=[2.2, 1])
    axes = figure.add_subplot(grid[0], projection="3d", computed_zorder=False)
    for f in FRAMES:
        for position, colour in zip(seen, (BLUE, ORANGE), strict=True):
            x, y, z = position[f].T
            axes.scatter(x, z, y, s=5, color=colour, alpha=0.6, linewidths=0)
        for parent, child in fit.skeleton.bones:
            x, y, z = fit.position[f, [parent, child]].T
            axes.plot(x, z, y, color=INK, lw=1.4, solid_capstyle="round")
    axes.set_aspect("equal")
    axes.view_init(elev=14, azim=-60)
    axes.set(xlabel="x (m)", ylabel="z (m)", zlabel="y (m)")
    axes.set_title("Fitted skeletons and what two sensors saw", fontsize=10)
    axes.tick_params(labelsize=7)
    for color, label in ((BLUE, "sensor a"), (ORANGE, "sensor b"), (INK, "fit")):
        axes.plot([], [], [], "o" if label != "fit" else "-", ms=4, color=color, label=label)
    axes.legend(loc="upper left", fontsize=8, frameon=False)

    spread = figure.add_subplot(grid[1])
    bins = np.linspace(-80, 80, 65)
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
