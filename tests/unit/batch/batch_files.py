"""Takes so small that a fit takes milliseconds, and configs that run them."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

SKELETON = """name = "chain"
joint = [{ name = "a" }, { name = "b", parent = "a" }, { name = "c", parent = "b" }]
"""


def write_take(path, *, seed=0, frames=12):
    """One sensor's file of a bending chain of three joints."""
    time_s = np.arange(frames) / 30.0
    noise = np.random.default_rng(seed).normal(scale=2e-3, size=(frames, 3, 3))
    bend = 0.4 * np.sin(2.0 * time_s + seed)
    position = np.zeros((frames, 3, 3))
    position[:, 1, 1] = 0.3
    position[:, 2] = [0, 0.3, 0] + 0.25 * np.stack(
        [np.sin(bend), np.cos(bend), 0.3 * np.sin(3 * bend)], axis=-1
    )
    position += noise
    header = ["time_s"] + [f"{joint}_{axis}_m" for joint in "abc" for axis in "xyz"]
    rows = np.column_stack([time_s, position.reshape(frames, -1)])
    lines = [",".join(header), *(",".join(f"{v:.6f}" for v in row) for row in rows)]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(lines) + "\n")
    return path


def write_takes(folder, n, *, sources="ab", frames=12):
    for i in range(n):
        for s, source in enumerate(sources):
            write_take(folder / f"take{i:03d}_{source}.csv", seed=10 * i + s, frames=frames)
    return folder


def write_config(folder, text="", *, pattern="takes/{take}_{source}.csv", name="run.toml"):
    """A config over the takes in ``folder``; ``text`` goes behind it."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "chain.toml").write_text(SKELETON)
    path = folder / name
    path.write_text(
        f'[takes]\npattern = "{pattern}"\n[skeleton]\npreset = "chain.toml"\n'
        f'[output]\nfolder = "out"\n{text}'
    )
    return path


def journal(out):
    """Rows of summary.jsonl by take; every line must be whole."""
    lines = (Path(out) / "summary.jsonl").read_text().splitlines()
    return {row["take"]: row for row in map(json.loads, lines)}
