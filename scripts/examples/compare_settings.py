"""Fits one take with a grid of settings and plots which comes nearest to the truth.

Usage: python scripts/examples/compare_settings.py [results/compare_settings.png]
"""

from __future__ import annotations

import itertools
import sys
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import pandas as pd

import fitpipe as fp

DATA = Path(__file__).parents[2] / "data"

# every combination of these; any key of the config will do (docs/config.md lists them)
TEMPORAL = ("none", "previous", "trajectory")
NOISE_FLOOR_M = (0.001, 0.003, 0.01, 0.03)


def main(path: Path) -> None:
    takes = [fp.read_take(DATA / f"walk_kinect_{sensor}.csv") for sensor in "ab"]
    truth = fp.read_take(DATA / "truth" / "walk.csv")

    rows = []
    for temporal, floor_m in itertools.product(TEMPORAL, NOISE_FLOOR_M):
        config = {"solve": {"temporal": temporal}, "weights": {"noise_floor_m": floor_m}}
        fit = fp.fit(takes, config=config)
        against = fp.compare(fit, truth)
        rows.append(
            {
                "temporal": temporal,
                "noise_floor_m": floor_m,
                "error_mm": 1e3 * against.error.mean_m,
                "p90_mm": 1e3 * against.error.p90_m,
                "jitter_m_s2": against.of_result.acceleration_m_s2,
            }
        )
    table = pd.DataFrame(rows)
    print(table.round(3).to_string(index=False))
    best = table.loc[table["error_mm"].idxmin()]
    print(f"best: temporal = {best['temporal']!r}, noise_floor_m = {best['noise_floor_m']}")

    figure, axes = plt.subplots(1, 2, figsize=(9, 3.4), layout="constrained")
    columns = {"error_mm": "mean error (mm)", "jitter_m_s2": "rms acceleration (m/s²)"}
    for (name, label), ax in zip(columns.items(), axes, strict=True):
        for marker, (temporal, part) in zip("os^", table.groupby("temporal"), strict=True):
            ax.plot(1e3 * part["noise_floor_m"], part[name], f"{marker}-", label=temporal)
        ax.set(xlabel="noise_floor_m (mm)", ylabel=label, xscale="log")
        ax.set_ylim(bottom=0)
    axes[0].legend(title="temporal", frameon=False)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=120)


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path("results/compare_settings.png"))
