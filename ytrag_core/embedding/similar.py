"""Similar rows of every row: candidates by the thousand, for a graph of neighbours."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ytrag_core.embedding.neighbour_graph import NeighbourGraph

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ytrag_core.embedding.index import VectorIndex

__all__ = ["SimilarRows"]


class SimilarRows:
    """Finds some two dozen similar rows of any row of an index, good candidates rather than the best.

    Parameters
    ----------
    index
        The index; where it has no graph, one is built here, by one thread.

    Notes
    -----
    Of many rows of one vector (names in a script that the encoder does not know) one is taken in turn, and
    they form a ring among themselves, so that none of them becomes a hub.
    """

    def __init__(self, index: VectorIndex) -> None:
        self._bits: NDArray[np.uint16] = index.vectors.view(np.uint16)
        n = len(self._bits)
        self._graph = index.graph or (NeighbourGraph.build(self._bits, 1, None) if n else None)
        if self._graph is not None:
            groups = self._graph.groups
            sizes = np.diff(groups.indptr)
            self._group = np.empty(n, np.int32)
            self._group[groups.members] = np.repeat(np.arange(len(groups), dtype=np.int32), sizes)
            self._turn = np.empty(n, np.int64)
            self._turn[groups.members] = np.arange(n) - np.repeat(groups.indptr[:-1], sizes)

    def of(self, rows: NDArray[np.int64]) -> NDArray[np.int32]:
        """Return rows similar to each of some rows.

        Parameters
        ----------
        rows
            (m,) int64.

        Returns
        -------
        (m, 25) int32
            In no order; -1 where there are fewer. None is the row itself.

        Raises
        ------
        SnapshotError
            If the graph on disk cannot be read.
        """
        if self._graph is None:
            return np.empty((0, 0), np.int32)
        groups, asked = self._graph.groups, self._group[rows]
        near = np.column_stack([asked, self._graph.similar(self._bits, asked)])
        step = np.zeros(near.shape[1], np.int64)
        step[0] = 1
        start = groups.indptr[np.maximum(near, 0)]
        size = groups.indptr[np.maximum(near, 0) + 1] - start
        similar = groups.members[start + (self._turn[rows][:, None] + step) % size]
        return np.where((near < 0) | (similar == rows[:, None]), np.int32(-1), similar)
