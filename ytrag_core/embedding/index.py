"""Nearest neighbours of a query among unit-norm vectors: exact for few rows, a graph for many."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from ytrag_core.config import available_cores
from ytrag_core.embedding.exact import FEW_QUERIES, RoundedRows, search_exact
from ytrag_core.embedding.neighbour_graph import NeighbourGraph
from ytrag_core.errors import GraphFormatError, SnapshotError
from ytrag_core.storage.advice import repair_advice

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from numpy.typing import NDArray

__all__ = ["EXACT_BELOW", "VectorIndex"]

EXACT_BELOW = 50_000
"""Fewer rows than this are scanned, in a few milliseconds."""


_ROUNDED_FROM = 8192
"""So many rows are looked at in a byte a value first; fewer are as soon scored in full."""


class VectorIndex:
    """Cosine nearest neighbours; made by `build` or `load`.

    Below `exact_below` rows every row is scored. Above, a graph finds candidates, which are scored with their
    full rows, so that a score is the same number either way. Safe to search from several threads at once.

    Attributes
    ----------
    vectors
        (n, d) float16, unit-norm rows, possibly memory-mapped.
    graph
        Proposes candidates; None where every row is scored.
    """

    def __init__(self, vectors: NDArray[np.float16], graph: NeighbourGraph | None = None) -> None:
        self.vectors = vectors
        self._bits: NDArray[np.uint16] = vectors.view(np.uint16)
        self.graph = graph

    @classmethod
    def build(
        cls,
        vectors: NDArray[np.float16] | NDArray[np.float32],
        *,
        exact_below: int = EXACT_BELOW,
        n_threads: int | None = None,
        progress: Callable[[int, int], None] | None = None,
    ) -> VectorIndex:
        """Build an index; the same rows give the same index, whatever the number of threads.

        Parameters
        ----------
        vectors
            (n, d) float16 or float32, unit-norm rows. float32 is rounded to float16, as it will be stored;
            float16 is kept as it is, without a copy.
        exact_below
            Fewer rows than this get no graph.
        n_threads
            Threads for building and for many queries at once; all available cores by default.
        progress
            Called with (vectors done, distinct vectors).

        Returns
        -------
        VectorIndex
            Ready to search.

        Raises
        ------
        GraphFormatError
            If the array has another dtype or shape.
        """
        rows = _check_rows(vectors)
        if len(rows) < max(exact_below, 1):
            return cls(rows)
        bits: NDArray[np.uint16] = rows.view(np.uint16)
        return cls(rows, NeighbourGraph.build(bits, n_threads or available_cores(), progress))

    @cached_property
    def _rounded(self) -> RoundedRows | None:
        if self.graph is not None or len(self.vectors) < _ROUNDED_FROM:
            return None
        return RoundedRows.of(self._bits)

    @property
    def is_exact(self) -> bool:
        """Whether every row is scored for every query."""
        return self.graph is None

    def search(
        self, queries: NDArray[np.float32], k: int, *, n_candidates: int | None = None
    ) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
        """Return the nearest rows of each query.

        Parameters
        ----------
        queries
            (d,) or (n_queries, d) float32, unit-norm.
        k
            How many; more than there are rows gives all rows.
        n_candidates
            Distinct vectors that the graph proposes for each query, at least `k`; the larger of 400 and 8 k
            by default. Fewer are found faster and miss more.

        Returns
        -------
        ids
            (n_queries, min(k, n)) int32, best first; of equal scores the lower id first.
        scores
            (n_queries, min(k, n)) float32 cosines.

        Raises
        ------
        GraphFormatError
            If the queries have another width or dtype, or k is negative.
        SnapshotError
            If the graph on disk cannot be read.
        """
        rows = self._check_queries(queries)
        if k < 0:
            raise GraphFormatError(f"k is {k}; wanted the number of neighbours, 0 or more")
        k = min(k, len(self.vectors))
        found = None
        if self.graph is not None and k > 0:
            found = self.graph.search(self._bits, rows, k, max(n_candidates or max(400, 8 * k), k))
        if found is not None:
            return found
        return search_exact(self._bits, rows, k, self._rounded if len(rows) <= FEW_QUERIES else None)

    def warm(self) -> None:
        """Read, and round, what the first search would.

        Raises
        ------
        SnapshotError
            If the graph on disk cannot be read.
        """
        if self.graph is not None:
            self.graph.warm()
        _ = self._rounded

    def save(self, folder: Path, name: str) -> None:
        """Write `hnsw/<name>.bin` and `hnsw/<name>.pca.arrow`; an exact index has nothing to write.

        Parameters
        ----------
        folder
            Folder of a snapshot.
        name
            Name of the vectors.
        """
        if self.graph is not None:
            self.graph.save(folder / "hnsw", name)

    @classmethod
    def load(
        cls,
        folder: Path,
        name: str,
        vectors: NDArray[np.float16],
        *,
        exact_below: int = EXACT_BELOW,
        n_threads: int | None = None,
    ) -> VectorIndex:
        """Open an index written by `save`; the graph is read at the first search, or by `warm`.

        Parameters
        ----------
        folder
            Folder of a snapshot.
        name
            Name of the vectors.
        vectors
            (n, d) float16, the rows that it was built from.
        exact_below
            As many rows or more must have a graph on disk.
        n_threads
            Threads for many queries at once; all available cores by default.

        Returns
        -------
        VectorIndex
            Ready to search.

        Raises
        ------
        SnapshotError
            If the graph is missing, or does not fit the vectors.
        """
        rows = _check_rows(vectors)
        n, d = rows.shape
        graph = NeighbourGraph.load(folder / "hnsw", name, n, d, n_threads or available_cores())
        if graph is None and n >= max(exact_below, 1):
            raise SnapshotError(
                f"{folder / 'hnsw' / name}.bin is missing, and {n} vectors need it: {repair_advice(folder)}"
            )
        return cls(rows, graph)

    def _check_queries(self, queries: NDArray[np.float32]) -> NDArray[np.float32]:
        d = self.vectors.shape[1]
        if queries.dtype != np.float32 or queries.ndim not in (1, 2) or queries.shape[-1] != d:
            raise GraphFormatError(
                f"queries of shape {queries.shape} and type {queries.dtype}; wanted (..., {d}) float32"
            )
        if not np.isfinite(queries).all():
            raise GraphFormatError("queries hold NaN or infinity; wanted finite unit-norm vectors")
        return np.ascontiguousarray(np.atleast_2d(queries))


def _check_rows(vectors: NDArray[Any]) -> NDArray[np.float16]:
    if vectors.ndim != 2 or vectors.dtype not in (np.float16, np.float32):
        raise GraphFormatError(
            f"vectors of shape {vectors.shape} and type {vectors.dtype}; wanted (n, d) float16 or float32"
        )
    return np.ascontiguousarray(vectors, dtype=np.float16)
