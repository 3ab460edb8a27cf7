"""The parts of k-means that are not a matrix product: seeding and the sums of clusters."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numba import float32, float64, int32, int64

from .decorator import kernel, ro, rw

if TYPE_CHECKING:
    from numpy.typing import NDArray


@kernel((ro(float32, 2), ro(float64), float32))
def plus_plus_seeds(
    gram: NDArray[np.float32], uniforms: NDArray[np.float64], same: float
) -> NDArray[np.int32]:
    """Draw k-means++ seeds: each next one with probability proportional to its squared distance to the rest.

    Parameters
    ----------
    gram : (n, n) float32
        Dot products of the candidates.
    uniforms : (k,) float64
        Random numbers in [0, 1), one a seed.
    same : float
        Squared distances up to here count as zero.

    Returns
    -------
    (up to k,) int32
        Distinct candidates, in the order drawn; fewer than k where the rest coincides with them.

    Notes
    -----
    For a seed: 12 n bytes and 5 n flops. The matrix product before it is BLAS's.
    """
    n = gram.shape[0]
    distances = np.full(n, np.inf, np.float32)
    seeds = np.empty(min(uniforms.shape[0], n), np.int32)
    n_seeds = 0
    while n_seeds < seeds.shape[0]:
        if n_seeds == 0:
            seed = min(int(uniforms[0] * n), n - 1)
        else:
            total = 0.0
            for candidate in range(n):
                total += distances[candidate]
            if total <= 0.0:
                break
            target = uniforms[n_seeds] * total
            seed = -1
            running = 0.0
            for candidate in range(n):
                running += distances[candidate]
                if distances[candidate] > 0.0:
                    seed = candidate
                    if running > target:
                        break
        seeds[n_seeds] = seed
        n_seeds += 1
        for candidate in range(n):
            distance = gram[seed, seed] + gram[candidate, candidate] - 2 * gram[seed, candidate]
            if distance <= same or candidate == seed:
                distance = np.float32(0.0)
            distances[candidate] = min(distances[candidate], distance)
    return seeds[:n_seeds].copy()


@kernel((ro(float32, 2), ro(float32), ro(int32), rw(float64, 2), rw(int64)))
def accumulate_clusters(
    rows: NDArray[np.float32],
    scale: NDArray[np.float32],
    labels: NDArray[np.int32],
    out_sums: NDArray[np.float64],
    out_sizes: NDArray[np.int64],
) -> None:
    """Add scaled rows to the sums of their clusters, in row order.

    Parameters
    ----------
    rows : (n, width) float32
    scale : (n,) float32
        Factor of each row.
    labels : (n,) int32
        Cluster of each row.
    out_sums : (k, width) float64
        Added to.
    out_sizes : (k,) int64
        Added to.

    Notes
    -----
    4 bytes read, 16 of the sums from the cache and 2 flops for an element.
    """
    for row in range(rows.shape[0]):
        cluster = labels[row]
        out_sizes[cluster] += 1
        for column in range(rows.shape[1]):
            out_sums[cluster, column] += np.float64(scale[row]) * rows[row, column]
