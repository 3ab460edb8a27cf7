"""K-means on unit rows: the best of a few starts on a seeded sample, then passes over all, in blocks."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ytrag_core.kernels.aggregate import unit_rows
from ytrag_core.kernels.kmeans import accumulate_clusters, plus_plus_seeds
from ytrag_core.workers import SERIAL, blocks

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ytrag_core.config import TreeSettings
    from ytrag_core.workers import Workers

__all__ = ["assign_rows", "cluster_entities", "lloyd", "n_clusters", "seed_rows", "sum_clusters", "sum_rows"]

_ROWS_PER_BLOCK = 4096
_SEED_CANDIDATES_PER_CLUSTER = 8
_SAME = 1e-6
_BLOCKS_AT_ONCE = 16
_STARTS = 3
_FULL_PASSES = 2


def n_clusters(n: int, most: int = 200) -> int:
    """Return the paper's k = min(floor(n / 10), 200), at least one."""
    return max(1, min(n // 10, most))


def cluster_entities(
    bits: NDArray[np.uint16], members: NDArray[np.int32], settings: TreeSettings, workers: Workers
) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
    """Divide entities by k-means on their vectors, each scaled to length one.

    Parameters
    ----------
    bits : (n_entities, 3 d) uint16
        Float16 bits of the entity vectors.
    members : (m,) int32
        Entities to divide.
    settings : TreeSettings
    workers : Workers

    Returns
    -------
    labels : (m,) int32
        Cluster of each member; every cluster has one.
    sums : (n_clusters, 3 d) float64
        Sum of the members' vectors, as they are (not scaled).

    Notes
    -----
    Draws depend on the seed and on the vectors in their order, on nothing else. Where there are more members
    than `sample_size`, two passes over all follow the sample: vectors are read as they lie, in float16, and
    those of one block at a time are widened.
    """
    rng = np.random.default_rng(settings.seed)
    k = n_clusters(len(members), settings.max_clusters)
    sample = members
    if len(members) > settings.sample_size:
        sample = members[np.sort(rng.choice(len(members), settings.sample_size, replace=False))]
    rows, norms = _unit(bits, sample, workers)
    labels, centres = _best_start(rows, k, rng, settings.max_iterations, workers)
    if len(sample) == len(members):
        sums = sum_rows(rows, norms, labels, len(centres))[0]
    else:
        del rows
        for _ in range(1, _FULL_PASSES):
            labels, sums = _assign_all(bits, members, centres, workers, scaled=True)
            sizes = np.bincount(labels, minlength=len(centres))
            centres = (sums[sizes > 0] / sizes[sizes > 0, None]).astype(np.float32)
        labels, sums = _assign_all(bits, members, centres, workers, scaled=False)
    used, dense = np.unique(labels, return_inverse=True)
    return dense.astype(np.int32), sums[used]


def _best_start(
    rows: NDArray[np.float32], k: int, rng: np.random.Generator, max_iterations: int, workers: Workers
) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
    """Return labels and centres of the start that ends nearest to its rows, the first one of equals."""
    starts = []
    for _ in range(_STARTS if k > 1 else 1):
        labels, centres = lloyd(rows, rows[seed_rows(rows, k, rng)], max_iterations, workers)
        sums, sizes = sum_rows(rows, np.ones(len(rows), np.float32), labels, len(centres))
        squares = np.einsum("ij,ij->i", centres, centres)
        # The squared distances to the centres, less the rows' own squares.
        starts.append((float(sizes @ squares - 2 * np.sum(sums * centres)), labels, centres))
    return min(starts, key=lambda start: start[0])[1:]


def seed_rows(rows: NDArray[np.float32], k: int, rng: np.random.Generator) -> NDArray[np.int32]:
    """Pick up to `k` distinct rows by k-means++ among at most eight times as many random candidates.

    Parameters
    ----------
    rows : (n, width) float32
    k : int
    rng : numpy Generator

    Returns
    -------
    (up to k,) int32
        Fewer where the candidates have fewer distinct rows.
    """
    n_candidates = min(len(rows), _SEED_CANDIDATES_PER_CLUSTER * k)
    candidates = np.sort(rng.choice(len(rows), n_candidates, replace=False))
    chosen = rows[candidates]
    seeds = plus_plus_seeds(chosen @ chosen.T, rng.random(k), _SAME)
    return np.asarray(candidates[seeds], np.int32)


def lloyd(
    rows: NDArray[np.float32], centres: NDArray[np.float32], max_iterations: int, workers: Workers
) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
    """Alternate assignment and means until the labels stay, or `max_iterations` times.

    Parameters
    ----------
    rows : (n, width) float32
    centres : (k, width) float32
        Where to start.
    max_iterations : int
    workers : Workers

    Returns
    -------
    labels : (n,) int32
        Nearest of the returned centres, the lower one where two are equally near.
    centres : (up to k, width) float32
        Clusters that became empty are gone.
    """
    ones = np.ones(len(rows), np.float32)
    labels = assign_rows(rows, centres, workers)
    for _ in range(max_iterations):
        sums, sizes = sum_rows(rows, ones, labels, len(centres))
        kept = sizes > 0
        centres = (sums[kept] / sizes[kept, None]).astype(np.float32)
        former = (np.cumsum(kept) - 1)[labels]
        labels = assign_rows(rows, centres, workers)
        if np.array_equal(labels, former):
            break
    return labels, centres


def assign_rows(
    rows: NDArray[np.float32], centres: NDArray[np.float32], workers: Workers
) -> NDArray[np.int32]:
    """Return the nearest centre of every row, the lower one where two are equally near.

    Parameters
    ----------
    rows : (n, width) float32
    centres : (k, width) float32
    workers : Workers

    Returns
    -------
    (n,) int32
    """
    half_squares = (np.einsum("ij,ij->i", centres, centres) / 2).astype(np.float32)
    found = workers.map(
        lambda block: _nearest(rows[block], centres, half_squares), blocks(len(rows), _ROWS_PER_BLOCK)
    )
    return np.concatenate([np.empty(0, np.int32), *found])


def sum_rows(
    rows: NDArray[np.float32], scale: NDArray[np.float32], labels: NDArray[np.int32], k: int
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return sum and number of each cluster's rows, every row times its `scale`.

    Parameters
    ----------
    rows : (n, width) float32
    scale : (n,) float32
    labels : (n,) int32
    k : int
        Labels are below it.

    Returns
    -------
    sums : (k, width) float64
    sizes : (k,) int64
    """
    sums = np.zeros((k, rows.shape[1]), np.float64)
    sizes = np.zeros(k, np.int64)
    accumulate_clusters(rows, scale, labels, sums, sizes)
    return sums, sizes


def sum_clusters(
    bits: NDArray[np.uint16], members: NDArray[np.int32], labels: NDArray[np.int32], k: int, workers: Workers
) -> NDArray[np.float64]:
    """Return the sum of the vectors of each cluster's members, added in the members' order.

    Parameters
    ----------
    bits : (n_entities, 3 d) uint16
        Float16 bits of the entity vectors.
    members : (m,) int32
    labels : (m,) int32
    k : int
        Labels are below it.
    workers : Workers

    Returns
    -------
    (k, 3 d) float64
    """
    sums = np.zeros((k, bits.shape[1]), np.float64)
    sizes = np.zeros(k, np.int64)

    def read(block: slice) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        return _unit(bits, members[block], SERIAL)

    parts = blocks(len(members), _ROWS_PER_BLOCK)
    for start in range(0, len(parts), _BLOCKS_AT_ONCE):
        some = parts[start : start + _BLOCKS_AT_ONCE]
        for block, (rows, norms) in zip(some, workers.map(read, some), strict=True):
            accumulate_clusters(rows, norms, labels[block], sums, sizes)
    return sums


def _nearest(
    rows: NDArray[np.float32], centres: NDArray[np.float32], half_squares: NDArray[np.float32]
) -> NDArray[np.int32]:
    """Return argmin of the distance, that is argmax of x.c - |c|^2 / 2."""
    scores = rows @ centres.T
    scores -= half_squares
    return np.asarray(scores.argmax(axis=1), np.int32)


def _unit(
    bits: NDArray[np.uint16], members: NDArray[np.int32], workers: Workers
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Return the members' unit rows and their former lengths."""
    rows = np.empty((len(members), bits.shape[1]), np.float32)
    norms = np.empty(len(members), np.float32)

    def fill(block: slice) -> None:
        unit_rows(bits, members[block], rows[block], norms[block])

    for _ in workers.map(fill, blocks(len(members), _ROWS_PER_BLOCK)):
        pass
    return rows, norms


def _assign_all(
    bits: NDArray[np.uint16],
    members: NDArray[np.int32],
    centres: NDArray[np.float32],
    workers: Workers,
    *,
    scaled: bool,
) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
    """Assign members block by block and sum up their vectors, scaled to length one or as they are."""
    half_squares = (np.einsum("ij,ij->i", centres, centres) / 2).astype(np.float32)

    def assign(block: slice) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
        rows = np.empty((block.stop - block.start, bits.shape[1]), np.float32)
        norms = np.empty(len(rows), np.float32)
        unit_rows(bits, members[block], rows, norms)
        labels = _nearest(rows, centres, half_squares)
        if scaled:
            norms[:] = 1.0
        return labels, sum_rows(rows, norms, labels, len(centres))[0].astype(np.float32)

    labels = np.empty(len(members), np.int32)
    sums = np.zeros(centres.shape, np.float64)
    parts = blocks(len(members), _ROWS_PER_BLOCK)
    for block, (block_labels, block_sums) in zip(parts, workers.map(assign, parts), strict=True):
        labels[block] = block_labels
        sums += block_sums
    return labels, sums
