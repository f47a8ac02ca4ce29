"""Symbolic part of the graph kernel: elimination order and fill pattern, once per skeleton.

Eliminating a joint joins all its later neighbours to each other (fill-in). The order is that of
minimum degree: on a tree every joint is then a leaf when its turn comes, so nothing fills in and
the cost is linear in the joints.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

Int = npt.NDArray[np.int64]


class Plan(NamedTuple):
    """Sparse LDLᵀ of a matrix with one block a joint and one a pair; all arrays int64.

    A slot is the place of a block below the diagonal; the slots of the p-th joint eliminated are
    ``column[p]`` up to ``column[p + 1]``.
    """

    order: Any  # (joint,) joint eliminated p-th
    column: Any  # (joint + 1,) first slot of every column
    row: Any  # (slot,) joint of the block's row, in order of elimination within a column
    update: Any  # slot that each product of two blocks of a column is subtracted from
    pair: Any  # (pair, 2) its joints
    pair_slot: Any  # (pair,) slot of its block; -1 where both ends are one joint

    @property
    def n_fill(self) -> int:
        """Blocks of the factor that the matrix does not have."""
        return len(self.row) - len(set(self.pair_slot.tolist()) - {-1})


class Neighbours(NamedTuple):
    """Joints joined to each joint by a pair, each once: `joint[first[i] : first[i + 1]]`."""

    first: Any  # (joint + 1,)
    joint: Any


def find_neighbours(n_joints: int, pairs: Int) -> Neighbours:
    """Neighbours of every joint in the graph of `pairs`, shape (pair, 2)."""
    adjacent = _adjacent(n_joints, pairs.tolist())
    return Neighbours(
        first=_ints(np.cumsum([0, *map(len, adjacent)])),
        joint=_ints([j for joints in adjacent for j in sorted(joints)]),
    )


def make_plan(n_joints: int, pairs: Int) -> Plan:
    """Elimination order and fill pattern of the graph of `pairs`, shape (pair, 2).

    A pair may be listed twice: both share one block. A pair of a joint with itself has none.

    References
    ----------
    George, Liu (1989), The evolution of the minimum degree ordering algorithm,
    doi:10.1137/1031001.
    """
    pairs = np.ascontiguousarray(pairs, dtype=np.int64).reshape(-1, 2)
    return _make_plan(n_joints, tuple(map(tuple, pairs.tolist())))


@lru_cache(maxsize=8)
def _make_plan(n_joints: int, pairs: tuple[tuple[int, int], ...]) -> Plan:
    left = _adjacent(n_joints, pairs)
    waiting = set(range(n_joints))
    order: list[int] = []
    columns: list[set[int]] = []
    while waiting:
        # The highest number among equals: in a tree with parents first, leaves before the trunk.
        joint = min(waiting, key=lambda j: (len(left[j]), -j))
        waiting.remove(joint)
        order.append(joint)
        columns.append(left[joint])
        for other in left[joint]:
            left[other] |= left[joint]
            left[other] -= {other, joint}

    turn = {joint: p for p, joint in enumerate(order)}
    rows = [sorted(joints, key=turn.__getitem__) for joints in columns]
    first = np.cumsum([0, *map(len, rows)])
    slot = {
        (row, order[p]): int(first[p]) + s for p in range(n_joints) for s, row in enumerate(rows[p])
    }
    update = [
        slot[later, earlier] for joints in rows for s, later in enumerate(joints)
        for earlier in joints[:s]
    ]  # fmt: skip
    pair_slot = [slot.get((a, b), slot.get((b, a), -1)) for a, b in pairs]
    return Plan(
        order=_ints(order),
        column=_ints(first),
        row=_ints([row for joints in rows for row in joints]),
        update=_ints(update),
        pair=_ints(pairs).reshape(-1, 2),
        pair_slot=_ints(pair_slot),
    )


def _adjacent(n_joints: int, pairs: Iterable[Sequence[int]]) -> list[set[int]]:
    adjacent: list[set[int]] = [set() for _ in range(n_joints)]
    for a, b in pairs:
        if a != b:
            adjacent[a].add(b)
            adjacent[b].add(a)
    return adjacent


def _ints(values: Any) -> Int:
    return np.array(values, dtype=np.int64)
