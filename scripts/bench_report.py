"""How long the page of a fit takes to make, and how large it is.

Usage: python scripts/bench_report.py [--frames 10000] [--json FILE]

A simulated walk, two sources, 20 joints; the page is made three times and the fastest is told. The
same for a take of a tenth of the length, and for one of ten times the length, of which the player
shows every second frame or fewer.
"""

from __future__ import annotations

import argparse
import json
import re
import time
from pathlib import Path

import fitpipe as fp
from fitpipe.simulate import DepthSensor, observe, walk


def fitted(n_frames: int) -> fp.Fit:
    """The fit of a walk that two depth sensors saw."""
    motion = walk(n_frames, 30.0)
    places = {"a": (0.3, 1.2, 3.4), "b": (3.4, 1.6, 0.5)}
    sensors = [DepthSensor.looking_at(s, (0, 0.9, 0), from_m=at) for s, at in places.items()]
    return fp.fit([observe(motion, sensor, seed=k) for k, sensor in enumerate(sensors)])


def main(n_frames: int, path: Path | None) -> None:
    rows = []
    print(f"{'frames':>8} {'seconds':>8} {'page':>8}  player shows")
    for n in (n_frames // 10, n_frames, 10 * n_frames):
        fit = fitted(n)
        seconds = []
        for _ in range(3):
            begin = time.perf_counter()
            page = fp.report_page(fit)
            seconds.append(time.perf_counter() - begin)
        stride = int(re.search(r'"stride":(\d+)', page)[1])
        rows.append(
            {"frames": n, "seconds": min(seconds), "bytes": len(page.encode()), "stride": stride}
        )
        shown = "all" if stride == 1 else f"one in {stride}"
        print(f"{n:8,} {min(seconds):8.2f} {len(page.encode()) / 1e6:5.1f} MB  {shown}")
    if path is not None:
        path.write_text(json.dumps(rows, indent=1), encoding="utf-8")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--frames", type=int, default=10_000)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    main(arguments.frames, arguments.json)
