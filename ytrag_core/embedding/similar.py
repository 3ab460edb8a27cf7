"""Similar rows of every row: candidates by the thousand, for a graph of neighbours."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ytrag_core.config import available_cores
from ytrag_core.embedding.neighbour_graph import NeighbourGraph
from ytrag_core.errors import SnapshotError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ytrag_core.embedding.index import VectorIndex

__all__ = ["SimilarRows"]


class SimilarRows:
    """Finds some two dozen similar rows of any row of an index, good candidates rather than the best.

    Parameters
    ----------
    index
        The index; where it has no graph, or one of an earlier version, one is built here.

    Notes
    -----
    Of many rows of one vector (names in a script that the encoder does not know) one is taken in turn, and
    they form a ring among themselves, so that none of them becomes a hub.
    """

    def __init__(self, index: VectorIndex) -> None:
        bits: NDArray[np.uint16] = index.vectors.view(np.uint16)
        n = len(bits)
        graph = index.graph
        if n and (graph is None or graph.near is None):
            graph = NeighbourGraph.build(bits, available_cores(), None)
        self._near = np.empty((0, 0), np.int32) if graph is None or graph.near is None else graph.near
        self._groups = None if graph is None else graph.groups
        if graph is not None:
            groups = graph.groups
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
            Best first but for the first, which has the row's own vector; -1 where there are fewer. None is
            the row itself.

        Raises
        ------
        SnapshotError
            If what is on disk leads out of the index.
        """
        groups = self._groups
        if groups is None:
            return np.empty((0, 0), np.int32)
        asked = self._group[rows]
        near = np.column_stack([asked, self._near[asked]])
        if near.size and near.max() >= len(groups):
            raise SnapshotError("similar vectors lead out of the index: run `ytrag repair`")
        step = np.zeros(near.shape[1], np.int64)
        step[0] = 1
        start = groups.indptr[np.maximum(near, 0)]
        size = groups.indptr[np.maximum(near, 0) + 1] - start
        similar = groups.members[start + (self._turn[rows][:, None] + step) % size]
        return np.where((near < 0) | (similar == rows[:, None]), np.int32(-1), similar)
