"""Measures how long fitpipe takes to start: import, help, and a whole fit of the demo take.

Usage: python scripts/bench_startup.py [--json FILE]

Each command runs in a process of its own; the first fit may compile and is shown apart, the
others are the median of several runs with Numba's cache filled. An empty Python process is
measured beside them, since it is part of every figure. Python may keep its bytecode, as it does
unless told not to.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parent.parent
REPEATS = 7


def seconds(*arguments: str, bytecode: Path) -> float:
    """Wall time of a Python process with these arguments."""
    settings = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    settings["PYTHONPYCACHEPREFIX"] = str(bytecode)
    command = [sys.executable, *arguments]
    begin = time.perf_counter()
    subprocess.run(command, check=True, capture_output=True, cwd=ROOT, env=settings)
    return time.perf_counter() - begin


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", type=Path, help="write the figures here")
    options = parser.parse_args()
    files = [str(ROOT / "data" / f"walk_kinect_{sensor}.csv") for sensor in "ab"]
    with tempfile.TemporaryDirectory() as folder:
        bytecode = Path(folder, "bytecode")
        fit = ("-m", "fitpipe.cli", "fit", *files, "-o", str(Path(folder) / "walk.h5"))
        commands = {
            "empty Python process": ("-c", ""),
            "import fitpipe": ("-c", "import fitpipe"),
            "fitpipe --help": ("-m", "fitpipe.cli", "--help"),
            "fitpipe fit, demo walk (240 frames, 2 sources)": fit,
        }
        figures = {
            "first fit in this run (compiles if the cache is empty)": seconds(
                *fit, bytecode=bytecode
            )
        }
        for name, command in commands.items():
            times = [seconds(*command, bytecode=bytecode) for _ in range(REPEATS)]
            figures[name] = statistics.median(times)
    for name, value in figures.items():
        print(f"{value:7.3f} s  {name}")
    if options.json:
        options.json.write_text(json.dumps(figures, indent=2))


if __name__ == "__main__":
    main()
