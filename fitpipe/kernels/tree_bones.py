"""Bone constraints of all frames, linearised: N x, Nᵀ l, and the solution with N Nᵀ.

Row (frame, bone) of N holds the bone's unit direction n at its child and -n at its parent. N Nᵀ is
one small matrix per frame: 2 on the diagonal, and an entry for two bones that share a joint. Bones
that meet in a joint all couple with each other, so elimination from leaf to root makes no fill-in.
Positions are planes, (time, 3, joint).
"""

# mypy: allow-untyped-defs, allow-untyped-calls
# (Numba infers the types of compiled functions; the Python faces are annotated.)

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from fitpipe.kernels._jit import kernel

Float = npt.NDArray[np.float64]
Int = npt.NDArray[np.int64]


class Pattern(NamedTuple):
    """N Nᵀ of any frame: bones (by child) coupled where they share a joint."""

    parent: Any  # (joint,) -1 for a root; parents first
    length: Any  # (joint,) above 0, of a root anything
    first: Any  # (joint + 1,) entries of bone k are first[k] ... first[k + 1] - 1
    neighbour: Any  # (entry,) bone below k in order
    sign: Any  # (entry,)
    update_first: Any  # (joint + 1,)
    update: Any  # (update, 3) entries: the product of two goes to the third when k is eliminated


def make_pattern(parent: Int, length: Float) -> Pattern:
    """Where N Nᵀ has entries, and the program that eliminates it from leaf to root."""
    neighbours: list[list[int]] = []
    entry: dict[tuple[int, int], int] = {}
    for k, p in enumerate(parent.tolist()):
        near = [] if p < 0 else [m for m in range(k) if parent[m] == p]
        if p >= 0 and parent[p] >= 0:
            near.append(p)
        neighbours.append(sorted(near))
        for m in neighbours[-1]:
            entry[k, m] = len(entry)
    updates = [
        [(entry[k, a], entry[k, b], entry[a, b]) for a in near for b in near if b < a]
        for k, near in enumerate(neighbours)
    ]
    flat = [row for rows in updates for row in rows]
    return Pattern(
        parent,
        length,
        np.cumsum([0, *map(len, neighbours)], dtype=np.int64),
        np.array([m for near in neighbours for m in near], dtype=np.int64),
        np.array([-1.0 if parent[k] == m else 1.0 for k, m in entry], dtype=np.float64),
        np.cumsum([0, *map(len, updates)], dtype=np.int64),
        np.array(flat, dtype=np.int64).reshape(len(flat), 3),
    )


@kernel()
def point(x, is_bone, pattern, n):
    """Write unit directions of the bones into `n` (time, 3, joint); 0 where there is no bone."""
    for t in range(x.shape[0]):
        for j in range(x.shape[2]):
            p = pattern.parent[j]
            n[t, 0, j] = n[t, 1, j] = n[t, 2, j] = 0.0
            if is_bone[t, j]:
                d0 = x[t, 0, j] - x[t, 0, p]
                d1 = x[t, 1, j] - x[t, 1, p]
                d2 = x[t, 2, j] - x[t, 2, p]
                distance = math.sqrt(d0 * d0 + d1 * d1 + d2 * d2)
                inverse = 1.0 / distance if distance > 0.0 else 0.0
                n[t, 0, j] = d0 * inverse
                n[t, 1, j] = d1 * inverse
                n[t, 2, j] = d2 * inverse


@kernel()
def lay(x, n, is_bone, pattern):
    """Move children in `x` so that bones lie along `n` with their lengths."""
    for t in range(x.shape[0]):
        for j in range(x.shape[2]):
            if is_bone[t, j]:
                p, length = pattern.parent[j], pattern.length[j]
                for c in range(3):
                    x[t, c, j] = x[t, c, p] + length * n[t, c, j]


@kernel()
def stretch(x, n, pattern, out):
    """Write N x into `out` (time, joint)."""
    for t in range(x.shape[0]):
        for j in range(x.shape[2]):
            p = max(pattern.parent[j], 0)  # a root has direction 0
            out[t, j] = (
                n[t, 0, j] * (x[t, 0, j] - x[t, 0, p])
                + n[t, 1, j] * (x[t, 1, j] - x[t, 1, p])
                + n[t, 2, j] * (x[t, 2, j] - x[t, 2, p])
            )


@kernel()
def pull(multiplier, n, pattern, out):
    """Write Nᵀ l into `out` (time, 3, joint)."""
    for t in range(out.shape[0]):
        for c in range(3):
            for j in range(out.shape[2]):
                out[t, c, j] = n[t, c, j] * multiplier[t, j]
            for j in range(out.shape[2]):
                p = pattern.parent[j]
                if p >= 0:
                    out[t, c, p] -= n[t, c, j] * multiplier[t, j]


@kernel()
def factor_gram(n, is_bone, pattern, pivot, entry):
    """L D Lᵀ of N Nᵀ in every frame: 1 / d in `pivot` (time, joint), L in `entry`."""
    first, neighbour, update = pattern.first, pattern.neighbour, pattern.update
    for t in range(n.shape[0]):
        for k in range(n.shape[2]):
            pivot[t, k] = 2.0 if is_bone[t, k] else 1.0
            for e in range(first[k], first[k + 1]):
                m = neighbour[e]
                entry[t, e] = pattern.sign[e] * (
                    n[t, 0, k] * n[t, 0, m] + n[t, 1, k] * n[t, 1, m] + n[t, 2, k] * n[t, 2, m]
                )
        for k in range(n.shape[2] - 1, -1, -1):
            inverse = 1.0 / pivot[t, k]
            for u in range(pattern.update_first[k], pattern.update_first[k + 1]):
                product = entry[t, update[u, 0]] * entry[t, update[u, 1]]
                entry[t, update[u, 2]] -= product * inverse
            for e in range(first[k], first[k + 1]):
                scaled = entry[t, e] * inverse
                pivot[t, neighbour[e]] -= scaled * entry[t, e]
                entry[t, e] = scaled
            pivot[t, k] = inverse


@kernel()
def solve_gram(pivot, entry, pattern, x):
    """Solve N Nᵀ in place for `x` (time, joint)."""
    first, neighbour = pattern.first, pattern.neighbour
    for t in range(x.shape[0]):
        for k in range(x.shape[1] - 1, -1, -1):
            for e in range(first[k], first[k + 1]):
                x[t, neighbour[e]] -= entry[t, e] * x[t, k]
        for k in range(x.shape[1]):
            value = x[t, k] * pivot[t, k]
            for e in range(first[k], first[k + 1]):
                value -= entry[t, e] * x[t, neighbour[e]]
            x[t, k] = value
