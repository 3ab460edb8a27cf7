"""A graph over distinct vectors in few dimensions (hnswlib) that proposes rows to be scored in full."""

from __future__ import annotations

import logging
import threading
from typing import TYPE_CHECKING, Any

import hnswlib
import numpy as np

from ytrag_core.embedding.distinct import RowGroups, group_rows
from ytrag_core.embedding.mapped_graph import MappedGraph
from ytrag_core.embedding.projection import fit_projection, project
from ytrag_core.errors import SnapshotError
from ytrag_core.kernels.half_dot import half_dot, half_to_float
from ytrag_core.kernels.topk import top_k
from ytrag_core.storage.arrays import ArraySpec, map_arrays, write_arrays

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from numpy.typing import NDArray

__all__ = ["NeighbourGraph"]

_log = logging.getLogger(__name__)

_DIMENSIONS = 128
_M = 12
_EF_CONSTRUCTION = 60
_ADD_ROWS = 2048
_SEED = 100
_N_SIMILAR = 2 * _M


class NeighbourGraph:
    """Candidates for the nearest rows of a query.

    Attributes
    ----------
    groups
        The distinct vectors and the rows that have them; a node of the graph is a group.
    projection
        (d, 128) float32, or None where rows are no wider than that.
    n_threads
        Threads for many queries at once.
    """

    def __init__(
        self,
        groups: RowGroups,
        projection: NDArray[np.float32] | None,
        n_threads: int,
        graph: Any,
        file: tuple[Path, int] | None = None,
    ) -> None:
        self.groups = groups
        self.projection = projection
        self.n_threads = n_threads
        self._graph = graph
        self._file = file
        self._lock = threading.Lock()

    @classmethod
    def build(
        cls, bits: NDArray[np.uint16], n_threads: int, progress: Callable[[int, int], None] | None
    ) -> NeighbourGraph:
        """Build the graph of (n, d) float16 rows, given by their bits; n >= 1.

        One thread adds the rows in their order, so that the graph is the same every time.
        """
        groups = group_rows(bits)
        first_rows = groups.first_rows(slice(None))
        n, d = len(groups), bits.shape[1]
        projection = fit_projection(bits, first_rows, _DIMENSIONS) if d > _DIMENSIONS else None
        graph: Any = hnswlib.Index(space="ip", dim=min(d, _DIMENSIONS))
        graph.init_index(max_elements=n, M=_M, ef_construction=_EF_CONSTRUCTION, random_seed=_SEED)
        for start in range(0, n, _ADD_ROWS):
            stop = min(start + _ADD_ROWS, n)
            rows = project(half_to_float(bits[first_rows[start:stop]]), projection)
            graph.add_items(rows, np.arange(start, stop), num_threads=1)
            if progress is not None:
                progress(stop, n)
        return cls(groups, projection, n_threads, graph)

    def search(
        self, bits: NDArray[np.uint16], queries: NDArray[np.float32], k: int, n_candidates: int
    ) -> tuple[NDArray[np.int32], NDArray[np.float32]] | None:
        """Return the best `k` of the rows that the graph proposes.

        Parameters
        ----------
        bits
            (n, d) uint16, the rows the graph was built from.
        queries
            (n_queries, d) float32.
        k
            In [1, n].
        n_candidates
            Distinct vectors to score for each query, at least `k`.

        Returns
        -------
        tuple of ndarray or None
            (n_queries, k) int32 ids and float32 scores, best first, of equal scores the lower id first; None
            where the graph cannot serve: it reaches too few vectors, or nearly all of them are wanted.
        """
        proposals = self._propose(queries, n_candidates)
        if proposals is None:
            return None
        ids = np.empty((len(queries), k), np.int32)
        scores = np.empty((len(queries), k), np.float32)
        for i, query in enumerate(queries):
            first_scores = half_dot(bits[self.groups.first_rows(proposals[i])], query)
            best_groups = top_k(first_scores, k)
            rows, owner = self.groups.expand(proposals[i][best_groups], k)
            order = np.argsort(rows)
            row_scores = first_scores[best_groups][owner][order]
            best = top_k(row_scores, k)
            ids[i], scores[i] = rows[order][best], row_scores[best]
        return ids, scores

    def similar(self, bits: NDArray[np.uint16], asked: NDArray[np.int32]) -> NDArray[np.int32]:
        """Return groups whose vectors are similar to those of some groups.

        Parameters
        ----------
        bits
            (n, d) uint16, the rows the graph was built from.
        asked
            (n_asked,) int32 groups.

        Returns
        -------
        ndarray
            (n_asked, 24) int32, in no order, -1 where there are fewer; none is the group asked for.

        Notes
        -----
        A graph on disk gives its own links, which costs two reads a group; one in memory, which does not tell
        its links, is searched.
        """
        graph = self.warm()
        if isinstance(graph, MappedGraph):
            return graph.links(asked)
        queries = project(half_to_float(bits[self.groups.first_rows(asked)]), self.projection)
        k = min(_N_SIMILAR + 1, len(self.groups))
        graph.set_ef(2 * _N_SIMILAR)
        near = np.full((len(asked), _N_SIMILAR + 1), -1, np.int32)
        try:
            near[:, :k] = graph.knn_query(queries, k, num_threads=1)[0]
        except RuntimeError:
            _log.info("the graph reaches fewer than %d of %d vectors", k, len(self.groups))
        is_self = near == asked[:, None]
        is_self[~is_self.any(axis=1), -1] = True
        return np.reshape(near[~is_self], (len(asked), _N_SIMILAR))

    def _propose(self, queries: NDArray[np.float32], n_candidates: int) -> NDArray[np.int32] | None:
        """Return (n_queries, n_candidates) int32 groups, ascending in each row, or None."""
        n = len(self.groups)
        if n <= 4 * n_candidates:
            everything = np.arange(n, dtype=np.int32)
            return np.broadcast_to(everything, (len(queries), n))
        graph = self.warm()
        if isinstance(graph, MappedGraph):
            return graph.search_all(project(queries, self.projection), n_candidates)
        graph.set_ef(n_candidates)
        n_threads = self.n_threads if len(queries) > 1 else 1
        try:
            labels, _ = graph.knn_query(project(queries, self.projection), n_candidates, n_threads)
        except RuntimeError:
            _log.info("the graph reaches fewer than %d of %d vectors; scanning them all", n_candidates, n)
            return None
        groups: NDArray[np.int32] = np.sort(labels.astype(np.int32), axis=1)
        return groups

    def warm(self) -> Any:
        """Map the graph if it is on disk and not mapped yet, and return it."""
        with self._lock:
            if self._graph is None and self._file is not None:
                path, width = self._file
                self._graph = MappedGraph(path, len(self.groups), width)
            return self._graph

    def save(self, folder: Path, name: str) -> None:
        """Write `<name>.bin` and `<name>.pca.arrow` into a folder."""
        graph_path, arrays_path = _paths(folder, name)
        folder.mkdir(parents=True, exist_ok=True)
        graph = self.warm()
        graph.save_index(str(graph_path))
        if not isinstance(graph, MappedGraph):
            _check_written(graph_path, len(self.groups), graph.dim)
        arrays: dict[str, NDArray[Any]] = {"indptr": self.groups.indptr, "members": self.groups.members}
        if self.projection is not None:
            arrays["projection"] = self.projection
        write_arrays(arrays_path, arrays)

    @classmethod
    def load(cls, folder: Path, name: str, n: int, d: int, n_threads: int) -> NeighbourGraph | None:
        """Open what `save` wrote for (n, d) rows; None where there is no graph of that name."""
        graph_path, arrays_path = _paths(folder, name)
        if not graph_path.is_file():
            return None
        spec = {"indptr": ArraySpec(np.int64), "members": ArraySpec(np.int32, length=n)}
        if d > _DIMENSIONS:
            spec["projection"] = ArraySpec(np.float32, 2, d, _DIMENSIONS)
        arrays = map_arrays(arrays_path, spec)
        indptr, members = arrays["indptr"], arrays["members"]
        if len(indptr) < 2 or indptr[0] != 0 or indptr[-1] != n or (np.diff(indptr) < 1).any():
            raise SnapshotError(
                f"{arrays_path}: groups do not cover {n} rows; build the knowledge base again"
            )
        if members.min() < 0 or members.max() >= n:
            raise SnapshotError(f"{arrays_path}: row ids outside [0, {n}); build the knowledge base again")
        groups = RowGroups(indptr, members)
        return cls(groups, arrays.get("projection"), n_threads, None, (graph_path, min(d, _DIMENSIONS)))


def _paths(folder: Path, name: str) -> tuple[Path, Path]:
    return folder / f"{name}.bin", folder / f"{name}.pca.arrow"


def _check_written(path: Path, n: int, width: int) -> None:
    """Refuse a file that ends early: hnswlib does not tell when it cannot write on."""
    try:
        MappedGraph(path, n, width).check_whole()
    except SnapshotError as error:
        raise SnapshotError(
            f"{path} could not be written whole ({path.stat().st_size:,} bytes were): the disk is full or "
            "files may not be that large; make room and build again"
        ) from error
