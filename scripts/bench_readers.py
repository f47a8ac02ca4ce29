"""How long reading takes, beside the parser library and beside a loop in Python.

    python scripts/bench_readers.py [--repeats 7]

C3D: ``fitpipe.io.read_take`` (parsing, checks, hash) against ``ezc3d.c3d`` alone, alternately, on
recordings in ../shared/data and a simulated take. TRC and CSV: against a loop over lines and cells
that makes floats of them and knows words for missing, and does no more. Processor time, medians of
the repeats; the last column is what one can compare between machines.
"""

from __future__ import annotations

import argparse
import csv
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import ezc3d
import numpy as np

from fitpipe.io import read_take
from fitpipe.io.table import read_numbers
from fitpipe.simulate import walk

SHARED = Path(__file__).resolve().parents[2] / "shared" / "data"
RECORDINGS = (
    "nimblephysics/squat.c3d",
    "kineticstoolkit/sprintbasket.c3d",
    "pycgm/Movement_trial.c3d",
    "nimblephysics/cmu_dribble_shoot_basketball.c3d",
    "btkdata/PiG_Motion-FlatFoot-Full.c3d",
)
FRAMES = 5_000


def alternately(first: Callable[[], object], second: Callable[[], object], n: int) -> list[float]:
    """Median seconds of two functions that take turns."""
    spent: list[list[float]] = [[], []]
    for _ in range(n):
        for function, times in zip((first, second), spent, strict=True):
            began = time.process_time()
            function()
            times.append(time.process_time() - began)
    return [statistics.median(times) for times in spent]


MISSING = frozenset(("", "nan", "na", "null", "none", "-"))


def number(cell: str) -> float:
    """A cell, or NaN for a word that stands for missing."""
    cell = cell.strip()
    return float("nan") if cell.lower() in MISSING else float(cell)


def parse(path: Path) -> np.ndarray:
    """What fitpipe has Arrow do: the rows of a file as numbers."""
    mark = "\t" if path.suffix == ".trc" else ","
    rows = path.read_text().splitlines()[5 if mark == "\t" else 1 :]
    return read_numbers(rows, n_columns=rows[0].count(mark) + 1, separator=mark)[0]


def loop_trc(path: Path) -> np.ndarray:
    """What one would write without a library: line by line, cell by cell."""
    rows = []
    with path.open() as file:
        for i, line in enumerate(file):
            if i >= 5 and line.strip():
                rows.append([number(cell) for cell in line.rstrip("\n").split("\t")])
    return np.array(rows)


def loop_csv(path: Path) -> np.ndarray:
    """The same for CSV."""
    with path.open(newline="") as file:
        reader = csv.reader(file)
        next(reader)
        return np.array([[number(cell) for cell in row] for row in reader])


def texts(folder: Path) -> list[tuple[str, Path, Callable[[Path], np.ndarray]]]:
    """A TRC and a CSV of one simulated walk."""
    motion = walk(FRAMES, 100.0)
    labels = motion.skeleton.joints
    flat = motion.position_m.reshape(FRAMES, -1)
    lines = [",".join(["time", *(f"{label}_{axis}" for label in labels for axis in "xyz")])]
    trc = [
        "PathFileType\t4\t(X/Y/Z)\twalk.trc", "DataRate\tCameraRate\tNumFrames\tNumMarkers\tUnits",
        f"100\t100\t{FRAMES}\t{len(labels)}\tm", "Frame#\tTime\t" + "\t\t\t".join(labels),
        "\t\t" + "\t".join(f"{axis}{i + 1}" for i in range(len(labels)) for axis in "XYZ"),
    ]  # fmt: skip
    for i, row in enumerate(flat):
        cells = [f"{value:.6f}" for value in row]
        lines.append(",".join([f"{i / 100:.3f}", *cells]))
        trc.append("\t".join([str(i + 1), f"{i / 100:.3f}", *cells]))
    (folder / "walk.csv").write_text("\n".join(lines) + "\n")
    (folder / "walk.trc").write_text("\n".join(trc) + "\n")
    return [("TRC", folder / "walk.trc", loop_trc), ("CSV", folder / "walk.csv", loop_csv)]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--repeats", type=int, default=7)
    n = parser.parse_args().repeats
    print("| file | fitpipe ms | other ms | fitpipe / other |")
    print("|---|---:|---:|---:|")
    for name in RECORDINGS:
        path = SHARED / name
        if path.is_file():
            ours, theirs = alternately(
                lambda p=path: read_take(p), lambda p=path: ezc3d.c3d(str(p)), n
            )
            row(f"{path.name} (ezc3d)", ours, theirs)
    with tempfile.TemporaryDirectory() as folder:
        for kind, path, loop in texts(Path(folder)):
            numbers, theirs = alternately(lambda p=path: parse(p), lambda p=path, f=loop: f(p), n)
            row(f"{kind}: numbers of {FRAMES:,} frames of 20 points (Python loop)", numbers, theirs)
            ours, theirs = alternately(lambda p=path: read_take(p), lambda p=path, f=loop: f(p), n)
            row(f"{kind}: the whole read_take of the same (the same loop)", ours, theirs)


def row(name: str, ours: float, theirs: float) -> None:
    print(f"| {name} | {1000 * ours:.1f} | {1000 * theirs:.1f} | {ours / theirs:.2f} |")


if __name__ == "__main__":
    main()
