"""Reads mutations of files of every format and counts how each attempt ends.

    python scripts/fuzz_readers.py [--number 20000] [--format c3d ...] [--out counts.json]

A mutation is a file that is cut, has bytes changed, lines or cells exchanged, or a block repeated;
which, is decided by its number alone, so that every one can be made again (``--keep FOLDER`` writes
the ones that end badly). Seeds are recordings in ../shared/data where it is there, and small files
written here. Attempts run in child processes with a limit on memory and time; the parent sees a
crash or a hang, blames the mutation that was being read, and goes on after it.

Ends: read, read with a warning, refused (an error of fitpipe), and the bad ones: wrong (any other
exception), crash (the process died), hang (a minute), memory, nonsense (positions accepted without
a warning that are all missing or more than 100 m away).
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import signal
import sys
import tempfile
import time
import warnings
from collections import Counter
from pathlib import Path
from typing import Any

import fuzz_seeds
import numpy as np

ENDS = ("read", "warned", "refused", "wrong", "crash", "hang", "memory", "nonsense")
BAD = ENDS[3:]
_LIMIT_S = 60
_MEMORY = 4 << 30
_FAR_M = 100.0
# what these files do not say by themselves
_OPTIONS: dict[str, dict[str, Any]] = {
    "deeplabcut": {"rate_hz": 100.0},
    "npy": {"rate_hz": 100.0, "units": "m"},
    "bvh": {"units": "cm"},
}
_ODD_BYTES = b'\t,;\n\r" 0x-.\xff\x00eE#<>{}&nan'
_ODD_CELLS = (b"", b"abc", b"1e999", b"-1", b'"', b"nan", b"99999999999", b"0", b"1e12", b"-9999")


def mutate(content: bytes, r: random.Random) -> bytes:
    """One mutation of a file."""
    data = bytearray(content)
    kind = r.randrange(7)
    if kind == 0:
        return bytes(data[: r.randrange(len(data))])
    if kind == 1:  # anywhere
        for _ in range(r.choice((1, 3, 20))):
            data[r.randrange(len(data))] = r.randrange(256)
    elif kind == 2:  # where headers are
        for _ in range(r.choice((1, 3, 10))):
            data[r.randrange(min(len(data), r.choice((24, 600, 6000))))] = r.randrange(256)
    elif kind == 3:
        for _ in range(r.choice((1, 3, 20))):
            data[r.randrange(len(data))] = r.choice(_ODD_BYTES)
    elif kind == 4:  # a block repeated, moved or removed
        a, n = r.randrange(len(data)), r.choice((1, 16, 512, 5000))
        block = data[a : a + n]
        if r.random() < 0.5:
            del data[a : a + n]
        at = r.randrange(len(data) + 1)
        data[at:at] = block
    elif kind == 5:  # lines
        lines = data.split(b"\n")
        for _ in range(r.choice((1, 2))):
            i = r.randrange(len(lines))
            if r.random() < 0.5:
                lines.insert(i, lines[r.randrange(len(lines))])
            elif len(lines) > 1:
                del lines[i]
        return b"\n".join(lines)
    else:  # cells
        lines = data.split(b"\n")
        i = r.randrange(min(12, len(lines)))
        mark = r.choice((b"\t", b",", b" ", b";"))
        cells = lines[i].split(mark)
        cells[r.randrange(len(cells))] = bytes(r.choice((*_ODD_CELLS, r.choice(cells))))
        lines[i] = mark.join(cells)
        return b"\n".join(lines)
    return bytes(data)


def make(name: str, seeds: list[tuple[str, bytes]], number: int) -> tuple[str, bytes]:
    """File name and content of one mutation."""
    r = random.Random(f"{name}-{number}")  # noqa: S311 - reproducible, not secret
    file, content = seeds[number % len(seeds)]
    return file, mutate(content, r)


def attempt(path: Path, options: dict[str, Any]) -> tuple[str, str]:
    """How reading a file ends, and the exception if it ends badly."""
    from fitpipe.errors import FitpipeError
    from fitpipe.io import read_takes

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            takes = read_takes(path, **options)
        except FitpipeError:
            return "refused", ""
        except MemoryError as error:
            return "memory", repr(error)
        except Exception as error:
            return "wrong", f"{type(error).__name__}: {error}"
    warned = all(any(f.severity == "warning" for f in take.repairs) for take in takes)
    for take in takes:
        seen = take.position_m[take.is_observed]
        told = any(f.severity == "warning" for f in take.repairs)
        if not told and (not len(seen) or np.abs(seen).max() > _FAR_M):
            return "nonsense", f"{take!r}"
    return ("warned" if warned else "read"), ""


def child(name: str, seeds: list[tuple[str, bytes]], numbers: range, pipe: int) -> None:
    """Try mutations one after another; write one line to the pipe after each."""
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    signal.signal(signal.SIGALRM, signal.SIG_DFL)  # ends the process, also inside C code
    with tempfile.TemporaryDirectory() as folder:
        for number in numbers:
            file, content = make(name, seeds, number)
            path = Path(folder) / file
            path.write_bytes(content)
            signal.alarm(_LIMIT_S)
            end, said = attempt(path, _OPTIONS.get(name, {}))
            signal.alarm(0)
            os.write(pipe, f"{end}\t{said[:300]}".replace("\n", " ").encode() + b"\n")
    os._exit(0)


def run(name: str, seeds: list[tuple[str, bytes]], n: int) -> tuple[Counter[str], list[str]]:
    """Count the ends of ``n`` mutations, and list the bad ones."""
    counts: Counter[str] = Counter()
    bad: list[str] = []
    done = 0
    while done < n:
        reading, writing = os.pipe()
        pid = os.fork()
        if pid == 0:
            os.close(reading)
            try:
                child(name, seeds, range(done, n), writing)
            finally:
                os._exit(70)
        os.close(writing)
        with os.fdopen(reading, errors="replace") as lines:
            for line in lines:
                end, _, said = line.rstrip("\n").partition("\t")
                counts[end] += 1
                if end in BAD:
                    bad.append(f"{name} {done}: {end}: {said}")
                done += 1
        _, status = os.waitpid(pid, 0)
        if done < n:  # the child died on this one
            number = os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0
            end = "hang" if number == signal.SIGALRM else "crash"
            counts[end] += 1
            bad.append(f"{name} {done}: {end}: status {status}")
            done += 1
    return counts, bad


def table(results: dict[str, Counter[str]], n: int) -> str:
    """The counts as a Markdown table."""
    lines = [
        f"{n:,} mutations per format:\n",
        "| format | " + " | ".join(ENDS) + " |",
        "|---|" + "---:|" * len(ENDS),
    ]
    for name, counts in results.items():
        lines.append(f"| {name} | " + " | ".join(f"{counts[end]:,}" for end in ENDS) + " |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--number", type=int, default=20_000, help="mutations per format")
    parser.add_argument("--format", action="append", help="only this one (repeat for several)")
    parser.add_argument("--out", type=Path, help="write the counts as JSON")
    parser.add_argument("--keep", type=Path, help="folder for mutations that end badly")
    given = parser.parse_args()
    seeds = fuzz_seeds.collect()
    names = given.format or list(seeds)
    results: dict[str, Counter[str]] = {}
    every: list[str] = []
    for name in names:
        began = time.perf_counter()
        results[name], bad = run(name, seeds[name], given.number)
        every += bad
        took = time.perf_counter() - began
        print(f"{name}: {dict(results[name])} in {took:.0f} s", file=sys.stderr, flush=True)
        for line in bad:
            print("  " + line, file=sys.stderr, flush=True)
            if given.keep is not None:
                number = int(line.split(":")[0].split()[1])
                file, content = make(name, seeds[name], number)
                given.keep.mkdir(parents=True, exist_ok=True)
                (given.keep / f"{name}-{number}-{file}").write_bytes(content)
    print(table(results, given.number))
    if given.out is not None:
        given.out.write_text(json.dumps(results, indent=1))
    sys.exit(1 if every else 0)


if __name__ == "__main__":
    main()
