"""Kills 50 runs, or their workers, at random moments and counts what is found afterwards.

Usage: python scripts/fault_runs.py [--runs 50]

It is the test tests/faults/test_kills.py with more runs: every output that opens is compared byte
for byte with that of an undisturbed run, every row of the manifest with the file it speaks of, and
the run is begun again to its end.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parent.parent


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=50)
    options = parser.parse_args()
    begin = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.json"
        own = {"FITPIPE_KILL_RUNS": str(options.runs), "FITPIPE_KILL_REPORT": str(report)}
        test = ["-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/faults/test_kills.py"]
        done = subprocess.run([sys.executable, *test], cwd=ROOT, env=os.environ | own, check=False)
        if done.returncode:
            sys.exit(done.returncode)
        told = json.loads(report.read_text())
    for name, count in told.items():
        print(f"{count:6d}  {name}")
    print(f"nothing wrong and nothing lost, in {time.perf_counter() - begin:.0f} s")


if __name__ == "__main__":
    main()
