"""How often, and for how long, do the sensors of a folder lose which joint?

Usage: python scripts/examples/gap_statistics.py [results/gaps.png] [FOLDER]

FOLDER holds takes of any readable format; default: the demo takes.
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


def gaps(take: fp.Take) -> list[dict[str, object]]:
    """One row per gap: label, first frame, frames, seconds."""
    rows: list[dict[str, object]] = []
    for label, seen in zip(take.labels, take.is_observed.T, strict=True):
        # +1 where a gap begins, -1 behind its end
        edge = np.diff(np.concatenate(([0], ~seen, [0])).astype(int))
        for begin, end in zip(np.flatnonzero(edge == 1), np.flatnonzero(edge == -1), strict=True):
            rows.append(
                {
                    "take": take.source,
                    "joint": label,
                    "begin": begin,
                    "frames": end - begin,
                    "seconds": (end - begin) / take.rate_hz,
                }
            )
    return rows


def main(path: Path, folder: Path) -> None:
    rows, n_samples = [], 0
    for file in sorted(f for f in folder.iterdir() if f.is_file()):
        try:
            takes = fp.read_takes(file)  # a file may hold several sources or people
        except fp.FitpipeError as error:
            print(f"left out: {error}")  # one file that is no take does not stop the rest
            continue
        for take in takes:
            rows += gaps(take)
            n_samples += take.is_observed.size
    table = pd.DataFrame(rows)
    print(f"{len(table)} gaps, {table['frames'].sum() / n_samples:.1%} of all samples")
    print(table.groupby("take")["seconds"].describe()[["count", "mean", "50%", "max"]].round(3))
    lost = table.groupby("joint")["seconds"].agg(["count", "sum", "max"])
    print(lost.sort_values("sum", ascending=False).head(8).round(2))

    figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
    # 1, 2, 3-4, 5-8, 9-16, ... frames
    powers = 2 ** np.arange(int(np.ceil(np.log2(table["frames"].max()))) + 1)
    counts, _ = np.histogram(table["frames"], bins=[0.5, *(powers + 0.5)])
    left.bar(range(len(powers)), counts, color="#0072B2")
    left.set_xticks(range(len(powers)), [f"to {power}" for power in powers])
    left.set(xlabel="length of a gap (frames)", ylabel="gaps")
    order = lost.sort_values("sum").index[-12:]
    right.barh(range(len(order)), lost.loc[order, "sum"], color="#D55E00")
    right.set_yticks(range(len(order)), order, fontsize=8)
    right.set(xlabel="seconds lost, all takes")
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=120)
    table.to_csv(path.with_suffix(".csv"), index=False)


if __name__ == "__main__":
    arguments = [Path(argument) for argument in sys.argv[1:]]
    main(arguments[0] if arguments else Path("results/gaps.png"), (*arguments[1:], DATA)[0])
