"""Is it worth a second sensor? Each alone and both fused, against a reference.

Usage: python scripts/examples/fuse_and_evaluate.py [results/fuse_and_evaluate.png]

The reference here is the truth of the demo takes; an optical system's file does as well. If its
frame is another one, the columns "aligned" are those to read.
"""

from __future__ import annotations

import sys
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

import fitpipe as fp

DATA = Path(__file__).parents[2] / "data"
COLOURS = ("#999999", "#56B4E9", "#0072B2")


def main(path: Path) -> None:
    rows, by_joint = [], {}
    for name in ("walk", "reach"):
        a, b = (fp.read_take(DATA / f"{name}_kinect_{sensor}.csv") for sensor in "ab")
        truth = fp.read_take(DATA / "truth" / f"{name}.csv")
        results = {
            "sensor a, raw": a,  # a take can be compared as well as a fit
            "sensor a, fitted": fp.fit(a),
            "a and b, fused": fp.fit([a, b]),
        }
        for label, result in results.items():
            against = fp.compare(result, truth)
            rows.append(
                {
                    "take": name,
                    "result": label,
                    "error (mm)": 1e3 * against.error.mean_m,
                    "aligned (mm)": 1e3 * against.aligned.mean_m,
                    "bones stray (mm)": 1e3 * against.of_result.rms_bone_spread_m,
                    "given": against.coverage,
                }
            )
            if name == "walk":
                by_joint[label] = {j: 1e3 * e.mean_m for j, e in against.joint.items()}
    print(pd.DataFrame(rows).round(3).to_string(index=False))

    # which joints gain: the truth's own order of joints, one group of bars each
    table = pd.DataFrame(by_joint)
    figure, ax = plt.subplots(figsize=(9, 3.8), layout="constrained")
    x = np.arange(len(table))
    for k, (label, colour) in enumerate(zip(table, COLOURS, strict=True)):
        ax.bar(x + 0.28 * (k - 1), table[label], 0.26, color=colour, label=label)
    ax.set_xticks(x, table.index, rotation=60, ha="right", fontsize=8)
    ax.set(ylabel="mean error (mm)", title="walk")
    ax.legend(frameon=False, ncols=3)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=120)


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path("results/fuse_and_evaluate.png"))
