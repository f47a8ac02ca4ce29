"""How long takes are fitted: time to read, fit and write, memory, size.

Usage: python scripts/bench_long.py [--frames 1000000] [--format h5] [--sources 1]
           [--temporal none] [--compression 4] [--folder FOLDER] [--json FILE]

Makes a walk of so many frames (20 joints, 30 Hz, 15 mm noise per axis, 1% outliers of 150 mm) as
HDF5 or CSV, one file per source, and runs `fitpipe fit` on it in a process of its own. Blocks are
read, fitted and written at the same time; so what each of these costs is told in processor time.
Reading is all that opens and reads the takes (also in the process that parses HDF5), writing all
that writes, packs and seals the output, the fit is the rest but starting Python and loading the
compiled code. With --set solve.threads=1 one thing is done after the other. Memory is the largest
resident set of the process. Files that were made before are used again.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from fitpipe.simulate import walk

RATE_HZ = 30.0
BLOCK = 50_000


def blocks(n_frames: int, source: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Stamps and positions, block by block: one walk after the other, as a person walks on."""
    motion = walk(BLOCK, RATE_HZ)
    rng = np.random.default_rng(source)
    for begin in range(0, n_frames, BLOCK):
        n = min(BLOCK, n_frames - begin)
        position = motion.position_m[:n] + rng.normal(0, 0.015, motion.position_m[:n].shape)
        outlier = rng.random(position.shape[:2]) < 0.01
        away = rng.normal(size=(np.count_nonzero(outlier), 3))
        position[outlier] += 0.15 * away / np.linalg.norm(away, axis=1, keepdims=True)
        yield (begin + np.arange(n)) / RATE_HZ, position


def make_take(path: Path, n_frames: int, source: int) -> None:
    """Write one source's file, unless it is there."""
    if path.exists():
        return
    joints = walk(2, RATE_HZ).skeleton.joints
    if path.suffix == ".h5":
        with h5py.File(path, "w") as file:
            position = file.create_dataset("position", (n_frames, len(joints), 3), np.float64)
            position.attrs["units"] = "m"
            stamps = file.create_dataset("time_s", (n_frames,), np.float64)
            file["labels"] = np.array(joints, dtype=h5py.string_dtype())
            done = 0
            for time_s, values in blocks(n_frames, source):
                stamps[done : done + len(values)] = time_s
                position[done : done + len(values)] = values
                done += len(values)
        return
    with path.open("w", encoding="utf-8") as file:
        file.write("time_s," + ",".join(f"{j}_{axis}" for j in joints for axis in "xyz") + "\n")
        for time_s, values in blocks(n_frames, source):
            rows = np.column_stack([time_s, values.reshape(len(values), -1)])
            np.savetxt(file, rows, fmt="%.5f", delimiter=",")


class Clock:
    """Processor seconds that threads spent in what is wrapped."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self._lock = threading.Lock()
        self._inside = threading.local()

    def wrap(self, call: Callable[..., Any]) -> Callable[..., Any]:
        def timed(*args: Any, **kwargs: Any) -> Any:
            if getattr(self._inside, "it", False):
                return call(*args, **kwargs)
            self._inside.it, begin = True, time.thread_time()
            try:
                return call(*args, **kwargs)
            finally:
                self._inside.it = False
                with self._lock:
                    self.seconds += time.thread_time() - begin

        return timed


def child(arguments: list[str]) -> None:
    """`fitpipe fit` with clocks in it; prints their readings as the last line."""
    from fitpipe import cli, io, output
    from fitpipe.angles import AnglesOfFit
    from fitpipe.config import FitConfig
    from fitpipe.output import column
    from fitpipe.pipeline import load_kernels
    from fitpipe.records import LongTake, Take

    load_kernels(FitConfig())
    loading = time.process_time()
    reading, writing, angles = Clock(), Clock(), Clock()
    AnglesOfFit.of_block = angles.wrap(AnglesOfFit.of_block)
    io.open_takes = reading.wrap(io.open_takes)
    LongTake.frames = reading.wrap(LongTake.frames)
    Take.frames = reading.wrap(Take.frames)
    for name in ("add", "finish"):
        setattr(output.FitWriter, name, writing.wrap(getattr(output.FitWriter, name)))
    column.packed = writing.wrap(column.packed)
    sys.argv = ["fitpipe", "fit", *arguments]
    begin = time.perf_counter()
    try:
        cli.main()
    except SystemExit as ended:
        if ended.code:
            raise
    total = time.perf_counter() - begin
    own, parser = (
        resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    )
    parsing = parser.ru_utime + parser.ru_stime
    processor = time.process_time() - loading
    print(
        json.dumps(
            {
                "total_s": total,
                "total_cpu_s": processor + parsing,
                "reading_cpu_s": reading.seconds + parsing,
                "fit_cpu_s": processor - reading.seconds - writing.seconds - angles.seconds,
                "angles_cpu_s": angles.seconds,
                "writing_cpu_s": writing.seconds,
                "peak_mb": own.ru_maxrss / 1024,
            }
        )
    )


def measure(folder: Path, args: argparse.Namespace) -> dict[str, Any]:
    files = [folder / f"walk_{args.frames}_{s}.{args.format}" for s in range(args.sources)]
    for number, path in enumerate(files):
        make_take(path, args.frames, number)
    out = folder / "fit.h5"
    command = [sys.executable, __file__, "--child", *map(str, files), "-o", str(out)]
    command += ["--set", f"solve.temporal={args.temporal}", *args.set]
    begin = time.perf_counter()
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    wall = time.perf_counter() - begin
    if done.returncode:
        raise SystemExit(done.stderr)
    *said, numbers = done.stdout.strip().splitlines()
    result = json.loads(numbers) | {
        "frames": args.frames,
        "format": args.format,
        "sources": args.sources,
        "temporal": args.temporal,
        "wall_s": wall,
        "input_mb": sum(path.stat().st_size for path in files) / 2**20,
        "output_mb": out.stat().st_size / 2**20,
        "said": said[-1],
    }
    out.unlink()
    return result


def main() -> None:
    if sys.argv[1:2] == ["--child"]:
        child(sys.argv[2:])
        return
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--frames", type=int, default=1_000_000)
    parser.add_argument("--format", choices=("h5", "csv"), default="h5")
    parser.add_argument("--sources", type=int, default=1)
    parser.add_argument("--temporal", choices=("none", "previous", "trajectory"), default="none")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE")
    parser.add_argument("--folder", type=Path, help="where the takes are made, and kept")
    parser.add_argument("--json", type=Path, help="write the figures here as well")
    args = parser.parse_args()
    args.set = [part for setting in args.set for part in ("--set", setting)]
    if args.folder:
        args.folder.mkdir(parents=True, exist_ok=True)
        result = measure(args.folder, args)
    else:
        with tempfile.TemporaryDirectory() as folder:
            result = measure(Path(folder), args)
    print(
        f"{args.frames:,} frames, {args.sources} source(s) in {args.format}, "
        f"temporal = {args.temporal}\n{result['said']}"
    )
    for what in ("reading", "fit", "angles", "writing"):
        share = result[f"{what}_cpu_s"] / result["total_cpu_s"]
        print(f"{what:>8}: {result[f'{what}_cpu_s']:7.1f} s of processor time, {share:.0%}")
    print(
        f"elapsed: {result['total_s']:.1f} s, {result['wall_s']:.1f} s with starting Python; peak "
        f"memory {result['peak_mb']:.0f} MB; input {result['input_mb']:.0f} MB, output "
        f" {result['output_mb']:.0f} MB"
    )
    if args.json:
        args.json.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
