"""A graph over distinct vectors in few dimensions that proposes rows to be scored in full."""

from __future__ import annotations

import logging
import threading
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from ytrag_core.embedding.distinct import RowGroups, group_rows
from ytrag_core.embedding.layers import N_NEAR, SET_ROWS, build_layers
from ytrag_core.embedding.mapped_graph import MappedGraph
from ytrag_core.embedding.partition import partition
from ytrag_core.embedding.projection import fit_projection, project
from ytrag_core.errors import SnapshotError, WriteError
from ytrag_core.kernels.half_dot import half_dot, half_to_float
from ytrag_core.kernels.topk import top_k
from ytrag_core.storage.advice import repair_advice
from ytrag_core.storage.arrays import ArraySpec, map_arrays, write_arrays
from ytrag_core.workers import blocks, open_workers

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from numpy.typing import NDArray

__all__ = ["NeighbourGraph"]

_log = logging.getLogger(__name__)

_DIMENSIONS = 128
_PROJECTED_ROWS = 2048
_QUERIES_AT_ONCE = 64
_SEED = 0


class NeighbourGraph:
    """Candidates for the nearest rows of a query.

    Attributes
    ----------
    groups
        The distinct vectors and the rows that have them; a node of the graph is a group.
    projection
        (d, 128) float32, or None where rows are no wider than that.
    near
        (n_groups, 24) int32, groups of similar vectors, best first, then -1; a few of the nearest are missed.
        None where an earlier version wrote the graph.
    n_threads
        Threads for many queries at once.
    """

    def __init__(
        self,
        groups: RowGroups,
        projection: NDArray[np.float32] | None,
        n_threads: int,
        near: NDArray[np.int32] | None,
        graph: MappedGraph | Callable[[], MappedGraph],
    ) -> None:
        self.groups = groups
        self.projection = projection
        self.near = near
        self.n_threads = n_threads
        self._graph = graph
        self._lock = threading.Lock()

    @classmethod
    def build(
        cls, bits: NDArray[np.uint16], n_threads: int, progress: Callable[[int, int], None] | None
    ) -> NeighbourGraph:
        """Build the graph of (n, d) float16 rows, given by their bits; n >= 1.

        The same rows give the same graph, whatever the number of threads.
        """
        groups = group_rows(bits)
        first_rows = groups.first_rows(slice(None))
        n, d = len(groups), bits.shape[1]
        projection = fit_projection(bits, first_rows, _DIMENSIONS) if d > _DIMENSIONS else None
        rows = np.empty((n, min(d, _DIMENSIONS)), np.float32)

        def fill(block: slice) -> None:
            rows[block] = project(half_to_float(bits[first_rows[block]]), projection)

        with open_workers(n_threads) as workers:
            for _ in workers.map(fill, blocks(n, _PROJECTED_ROWS)):
                pass
            # Similar rows side by side: building and searching then find in the cache what they look at next.
            sets = partition(rows, SET_ROWS, np.random.default_rng(_SEED), workers)
            order = np.concatenate(sets)
            groups, rows = groups.reordered(order), rows[order]
            layers = build_layers(rows, workers, progress)
        return cls(groups, projection, n_threads, layers.near, MappedGraph.assemble(layers, rows))

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

    def _propose(self, queries: NDArray[np.float32], n_candidates: int) -> NDArray[np.int32] | None:
        """Return (n_queries, n_candidates) int32 groups, ascending in each row, or None."""
        n = len(self.groups)
        if n <= 4 * n_candidates:
            everything = np.arange(n, dtype=np.int32)
            return np.broadcast_to(everything, (len(queries), n))
        graph = self.warm()
        mapped = project(queries, self.projection)
        if len(queries) <= _QUERIES_AT_ONCE:
            return graph.search_all(mapped, n_candidates)
        with open_workers(self.n_threads) as workers:
            parts = blocks(len(queries), _QUERIES_AT_ONCE)
            found = list(workers.map(lambda part: graph.search_all(mapped[part], n_candidates), parts))
        whole = [proposals for proposals in found if proposals is not None]
        return np.concatenate(whole) if len(whole) == len(found) else None

    def warm(self) -> MappedGraph:
        """Map the graph if it is on disk and not mapped yet, and return it."""
        with self._lock:
            if not isinstance(self._graph, MappedGraph):
                self._graph = self._graph()
            return self._graph

    def save(self, folder: Path, name: str) -> None:
        """Write `<name>.bin` and `<name>.pca.arrow` into a folder."""
        graph_path, arrays_path = _paths(folder, name)
        folder.mkdir(parents=True, exist_ok=True)
        graph = self.warm()
        try:
            graph.save(graph_path)
        except OSError as error:
            raise WriteError(
                f"{graph_path} could not be written whole ({error}): the disk is full or files may not be "
                "that large; make room and build again"
            ) from error
        arrays: dict[str, NDArray[Any]] = {"indptr": self.groups.indptr, "members": self.groups.members}
        if self.near is not None:
            arrays["near"] = self.near
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
            raise SnapshotError(f"{arrays_path}: groups do not cover {n} rows; {repair_advice(arrays_path)}")
        if members.min() < 0 or members.max() >= n:
            raise SnapshotError(f"{arrays_path}: row ids outside [0, {n}); {repair_advice(arrays_path)}")
        groups = RowGroups(indptr, members)
        near = arrays.get("near")
        if near is not None and (near.dtype != np.int32 or near.shape != (len(groups), N_NEAR)):
            raise SnapshotError(
                f"{arrays_path}: near is {near.dtype} of shape {near.shape}, wanted int32 of "
                f"({len(groups)}, {N_NEAR}); {repair_advice(arrays_path)}"
            )
        graph = partial(MappedGraph.open, graph_path, len(groups), min(d, _DIMENSIONS))
        return cls(groups, arrays.get("projection"), n_threads, near, graph)


def _paths(folder: Path, name: str) -> tuple[Path, Path]:
    return folder / f"{name}.bin", folder / f"{name}.pca.arrow"
