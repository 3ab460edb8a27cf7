"""Cuts vectors into small sets of similar ones, at random and in time n log n."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from ytrag_core.workers import blocks

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ytrag_core.workers import Workers

__all__ = ["partition"]

_LEADERS = 256
_BLOCK_ROWS = 4096
_ROUNDS = 8


def partition(
    rows: NDArray[np.float32], most: int, rng: np.random.Generator, workers: Workers
) -> list[NDArray[np.int32]]:
    """Divide rows among random leaders, by the largest product, again and again until every set is small.

    Parameters
    ----------
    rows
        (n, d) float32, unit-norm.
    most
        Rows of a set at most.
    rng
        Chooses the leaders.
    workers
        Threads; their number changes nothing.

    Returns
    -------
    list of ndarray
        (m,) int32 row ids, ascending in each set; every row is in exactly one. Sets that parted late stand
        side by side.

    Notes
    -----
    Two rounds of at most 256 leaders serve a million rows: 512 d flops a row, in matrix products. Rows that
    do not fall apart in eight rounds are cut as they stand.
    """
    sets = [np.arange(len(rows), dtype=np.int32)] if len(rows) else []
    for _ in range(_ROUNDS):
        large = [members for members in sets if len(members) > most]
        if not large:
            break
        divided = iter(_divide(rows, large, most, rng, workers))
        sets = [part for members in sets for part in (next(divided) if len(members) > most else [members])]
    return [part for members in sets for part in np.array_split(members, _parts(members, most))]


def _divide(
    rows: NDArray[np.float32],
    sets: list[NDArray[np.int32]],
    most: int,
    rng: np.random.Generator,
    workers: Workers,
) -> list[list[NDArray[np.int32]]]:
    """Divide each set among leaders of its own."""
    wanted = [min(_LEADERS, 2 * _parts(members, most), len(members)) for members in sets]
    leaders = [
        rows[np.sort(rng.choice(members, n, replace=False))] for members, n in zip(sets, wanted, strict=True)
    ]
    work = [(i, block) for i, members in enumerate(sets) for block in blocks(len(members), _BLOCK_ROWS)]

    def nearest(item: tuple[int, slice]) -> NDArray[np.intp]:
        i, block = item
        labels: NDArray[np.intp] = np.argmax(rows[sets[i][block]] @ leaders[i].T, axis=1)
        return labels

    found: list[list[NDArray[np.intp]]] = [[] for _ in sets]
    for (i, _), labels in zip(work, workers.map(nearest, work), strict=True):
        found[i].append(labels)
    return [_split(members, np.concatenate(labels)) for members, labels in zip(sets, found, strict=True)]


def _split(members: NDArray[np.int32], labels: NDArray[np.intp]) -> list[NDArray[np.int32]]:
    """Return the members of each label that there is."""
    by_label = members[np.argsort(labels, kind="stable")]
    ends = np.cumsum(np.bincount(labels))
    return [part for part in np.split(by_label, ends[:-1]) if len(part)]


def _parts(members: NDArray[np.int32], most: int) -> int:
    return math.ceil(len(members) / most)
