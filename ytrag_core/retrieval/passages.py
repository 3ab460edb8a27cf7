"""Passages by meaning: a passage is as near to a question as the nearest of its windows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ytrag_core.errors import SnapshotError
from ytrag_core.kernels.gather import gather_rows
from ytrag_core.kernels.half_dot import half_dot, half_pairs
from ytrag_core.retrieval.distinct import first_places
from ytrag_core.retrieval.masked import search_allowed
from ytrag_core.retrieval.trust import Background, sample_rows

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ytrag_core.embedding.index import VectorIndex

__all__ = ["PassageIndex"]

_SURPLUS = 1.1


class PassageIndex:
    """Scores of passages over the vectors of their windows.

    Parameters
    ----------
    index
        Index over windows.
    window_chunk
        (n_windows,) int32, the passage of each window, ascending; None where every passage is one window.
    n_chunks
        Number of passages.

    Raises
    ------
    SnapshotError
        If a passage has no window, or there are windows of none.
    """

    def __init__(self, index: VectorIndex, window_chunk: NDArray[np.int32] | None, n_chunks: int) -> None:
        n_windows = len(index.vectors)
        owners = np.arange(n_windows, dtype=np.int32) if window_chunk is None else window_chunk
        indptr = np.searchsorted(owners, np.arange(n_chunks + 1)).astype(np.int64)
        ordered = len(owners) == n_windows == indptr[-1] and bool((owners[1:] >= owners[:-1]).all())
        if not ordered or bool((np.diff(indptr) < 1).any()):
            raise SnapshotError(
                f"{n_windows} windows do not belong to {n_chunks} passages as they should: build the "
                "knowledge base again"
            )
        self._index = index
        self._bits: NDArray[np.uint16] = index.vectors.view(np.uint16)
        self._owners = owners
        self._indptr = indptr
        self._one_each = n_windows == n_chunks

    def search(
        self, query: NDArray[np.float32], k: int, allowed: NDArray[np.bool_] | None = None
    ) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
        """Return the nearest passages of a question.

        Parameters
        ----------
        query
            (d,) float32, unit-norm.
        k
            How many passages.
        allowed
            (n_chunks,) bool, the passages to choose from; all without it.

        Returns
        -------
        rows
            (min(k, n allowed),) int32, best first; of equal scores the lower row first.
        scores
            float32 cosines of each passage's best window.
        """
        n_windows, n_all = len(self._owners), len(self._indptr) - 1
        n_chunks = n_all if allowed is None else int(np.count_nonzero(allowed))
        windows = allowed if allowed is None or self._one_each else allowed[self._owners]
        # Some of the best windows will be of one passage.
        wanted = k if self._one_each else min(int(_SURPLUS * k * n_windows / max(n_all, 1)) + 1, n_windows)
        while True:
            ids, scores = search_allowed(self._index, query, wanted, windows)
            if self._one_each:
                return ids, scores
            owners = self._owners[ids]
            first = first_places(owners)
            if len(first) >= min(k, n_chunks) or wanted >= n_windows:
                return owners[first[:k]], scores[first[:k]]
            wanted = min(2 * wanted, n_windows)

    def background(self) -> Background:
        """Return a sample of the windows, to tell what a similarity to any of them is like."""
        n_windows = len(self._owners)
        return Background(self._bits[sample_rows(n_windows)], n_windows)

    def alike(self, rows: NDArray[np.int32], least: float) -> list[tuple[int, int]]:
        """Return the pairs of places in `rows` whose first windows have at least such a cosine, in order.

        By our own kernel: a matrix product of this size would wake the threads of BLAS for nothing.
        """
        pairs: list[tuple[int, int]] = list(
            map(tuple, half_pairs(self._bits[self._indptr[rows]], least).tolist())
        )
        return pairs

    def scores(
        self, query: NDArray[np.float32], rows: NDArray[np.int32] | None = None
    ) -> NDArray[np.float32]:
        """Return the cosine of each passage's best window.

        Parameters
        ----------
        query
            (d,) float32, unit-norm.
        rows
            (n,) int32 passages; all by default.

        Returns
        -------
        ndarray
            (n,) float32.
        """
        if rows is None:
            of_windows, starts = half_dot(self._bits, query), self._indptr[:-1]
        elif self._one_each:
            return half_dot(self._bits[rows], query)
        else:
            positions, owner = gather_rows(self._indptr, rows, 0)
            of_windows = half_dot(self._bits[positions], query)
            starts = np.searchsorted(owner, np.arange(len(rows)))
        if self._one_each or not len(starts):
            return of_windows
        best: NDArray[np.float32] = np.maximum.reduceat(of_windows, starts)
        return best
