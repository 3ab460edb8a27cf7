"""Exact nearest rows by inner product, over float16 rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ytrag_core.kernels.half_dot import half_dot, half_to_float
from ytrag_core.kernels.topk import best_byte_rows, best_rows, byte_rows, top_k

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["FEW_QUERIES", "RoundedRows", "search_exact"]

FEW_QUERIES = 8
"""Up to here one pass over the rows is about as fast as a matrix product, and wakes no threads of BLAS."""

_BLOCK_ROWS = 2048
_SCORES = 1 << 24
"""Most scores held at once (64 MiB)."""

_MARGIN = np.float32(1e-5)
"""Far above the rounding of a matrix product of unit-norm vectors, about 1e-6."""


@dataclass(frozen=True, slots=True, eq=False)
class RoundedRows:
    """Rows in a byte a value: they tell which rows cannot be among the best, for half the reading.

    Attributes
    ----------
    codes
        (n, d) int8.
    scale
        (n,) float32; a row is about its codes times its scale.
    lost
        (n,) float32, length of what is lost of each row.
    """

    codes: NDArray[np.int8]
    scale: NDArray[np.float32]
    lost: NDArray[np.float32]

    @classmethod
    def of(cls, bits: NDArray[np.uint16]) -> RoundedRows:
        """Round (n, d) float16 rows, given by their bits; takes about a millisecond for 700 rows."""
        return cls(*byte_rows(bits))


def search_exact(
    bits: NDArray[np.uint16], queries: NDArray[np.float32], k: int, rounded: RoundedRows | None = None
) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
    """Return the `k` best rows for each query.

    Parameters
    ----------
    bits
        (n, d) uint16, float16 rows by their bits.
    queries
        (n_queries, d) float32.
    k
        In [0, n].
    rounded
        The same rows, to look at first where there are few queries; the result is the same without.

    Returns
    -------
    ids
        (n_queries, k) int32, best first; of equal scores the lower id first.
    scores
        (n_queries, k) float32 inner products. They do not depend on what else is asked at the same time.
    """
    if k == 0 or len(queries) <= FEW_QUERIES:
        return _best(bits, queries, k, rounded)
    ids = np.empty((len(queries), k), np.int32)
    scores = np.empty((len(queries), k), np.float32)
    step = max(1, _SCORES // len(bits))
    for start in range(0, len(queries), step):
        block = queries[start : start + step]
        for i, rough in enumerate(_rough_scores(bits, block), start):
            bar = rough[top_k(rough, k)[-1]]
            close = np.flatnonzero(rough >= bar - _MARGIN * max(np.float32(1), abs(bar))).astype(np.int32)
            close_scores = half_dot(bits[close], queries[i])
            best = top_k(close_scores, k)
            ids[i], scores[i] = close[best], close_scores[best]
    return ids, scores


def _best(
    bits: NDArray[np.uint16], queries: NDArray[np.float32], k: int, rounded: RoundedRows | None
) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
    if rounded is None:
        return best_rows(bits, queries, k)
    return best_byte_rows(bits, rounded.codes, rounded.scale, rounded.lost, queries, k)


def _rough_scores(bits: NDArray[np.uint16], queries: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return (n_queries, n) float32 scores that differ from `half_dot` by rounding."""
    scores = np.empty((len(queries), len(bits)), np.float32)
    for start in range(0, len(bits), _BLOCK_ROWS):
        block = half_to_float(bits[start : start + _BLOCK_ROWS])
        scores[:, start : start + _BLOCK_ROWS] = queries @ block.T
    return scores
