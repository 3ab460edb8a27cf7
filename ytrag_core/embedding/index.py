"""Nearest neighbours of a query among unit-norm vectors: exact for few rows, a graph for many."""

from __future__ import annotations

import logging
import os
import threading
from typing import TYPE_CHECKING, Any

import hnswlib
import numpy as np

from ytrag_core.embedding.exact import best_of, search_exact
from ytrag_core.embedding.projection import fit_projection, project
from ytrag_core.errors import GraphFormatError, SnapshotError
from ytrag_core.kernels.half_dot import half_to_float
from ytrag_core.storage.arrays import ArraySpec, map_arrays, write_arrays

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from numpy.typing import NDArray

__all__ = ["EXACT_BELOW", "VectorIndex"]

_log = logging.getLogger(__name__)

EXACT_BELOW = 50_000
"""Fewer rows than this are scanned, in a few milliseconds."""

_GRAPH_DIMENSIONS = 128
_M = 12
_EF_CONSTRUCTION = 60
_EXTRA_CANDIDATES = 64
_CANDIDATES_PER_RESULT = 3
_EF_PER_CANDIDATE = 1.5
_BLOCK_ROWS = 2048
_ADD_ROWS = 32_768
_SEED = 100


class VectorIndex:
    """Cosine nearest neighbours; made by `build` or `load`.

    Below `exact_below` rows every row is scored. Above, hnswlib finds candidates in at most 128 dimensions
    and the candidates are scored with their full rows, so the scores are the same ones in both ways. Safe to
    search from several threads at once.

    Attributes
    ----------
    vectors
        (n, d) float16, unit-norm rows, possibly memory-mapped.
    n_threads
        Threads for building, and for many queries at once.
    """

    def __init__(
        self,
        vectors: NDArray[np.float16],
        *,
        graph: Any = None,
        graph_path: Path | None = None,
        projection: NDArray[np.float32] | None = None,
        n_threads: int | None = None,
    ) -> None:
        self.vectors = vectors
        self.n_threads = n_threads or _available_cores()
        self._bits: NDArray[np.uint16] = vectors.view(np.uint16)
        self._graph = graph
        self._graph_path = graph_path
        self._projection = projection
        self._lock = threading.Lock()

    @classmethod
    def build(
        cls,
        vectors: NDArray[np.float16] | NDArray[np.float32],
        *,
        exact_below: int = EXACT_BELOW,
        n_threads: int | None = None,
        progress: Callable[[int, int], None] | None = None,
    ) -> VectorIndex:
        """Build an index.

        Parameters
        ----------
        vectors
            (n, d) float16 or float32, unit-norm rows. float32 is rounded to float16, as it will be stored;
            float16 is kept as it is, without a copy.
        exact_below
            Fewer rows than this get no graph.
        n_threads
            All available cores by default. The graph is the same each time with 1 thread only.
        progress
            Called with (rows added, all rows).

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
        n_threads = n_threads or _available_cores()
        n, d = rows.shape
        if n < max(exact_below, 1):
            return cls(rows, n_threads=n_threads)
        bits: NDArray[np.uint16] = rows.view(np.uint16)
        projection = fit_projection(bits, _GRAPH_DIMENSIONS) if d > _GRAPH_DIMENSIONS else None
        graph: Any = hnswlib.Index(space="ip", dim=d if projection is None else _GRAPH_DIMENSIONS)
        graph.init_index(max_elements=n, M=_M, ef_construction=_EF_CONSTRUCTION, random_seed=_SEED)
        for start in range(0, n, _ADD_ROWS):
            stop = min(start + _ADD_ROWS, n)
            graph.add_items(_projected(bits[start:stop], projection), np.arange(start, stop), n_threads)
            if progress is not None:
                progress(stop, n)
        return cls(rows, graph=graph, projection=projection, n_threads=n_threads)

    @property
    def is_exact(self) -> bool:
        """Whether every row is scored for every query."""
        return self._graph is None and self._graph_path is None

    def search(self, queries: NDArray[np.float32], k: int) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
        """Return the nearest rows of each query.

        Parameters
        ----------
        queries
            (d,) or (n_queries, d) float32, unit-norm.
        k
            How many; more than there are rows gives all rows.

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
        if self.is_exact or k == 0:
            return search_exact(self._bits, rows, k)
        n_candidates = _CANDIDATES_PER_RESULT * k + _EXTRA_CANDIDATES
        if 4 * n_candidates > len(self.vectors):
            return search_exact(self._bits, rows, k)
        candidates = self._candidates(rows, n_candidates)
        if candidates is None:
            return search_exact(self._bits, rows, k)
        ids = np.empty((len(rows), k), np.int32)
        scores = np.empty((len(rows), k), np.float32)
        for i, query in enumerate(rows):
            ids[i], scores[i] = best_of(self._bits, candidates[i], query, k)
        return ids, scores

    def save(self, folder: Path, name: str) -> None:
        """Write the graph as `hnsw/<name>.bin` and its projection as `hnsw/<name>.pca.arrow`.

        An exact index has nothing to write.

        Parameters
        ----------
        folder
            Folder of a snapshot.
        name
            Name of the vectors.
        """
        if self.is_exact:
            return
        graph_path, projection_path = _paths(folder, name)
        graph_path.parent.mkdir(parents=True, exist_ok=True)
        self.warm().save_index(str(graph_path))
        if self._projection is not None:
            write_arrays(projection_path, {"projection": self._projection})

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
            If the graph or its projection is missing or does not fit the vectors.
        """
        rows = _check_rows(vectors)
        graph_path, projection_path = _paths(folder, name)
        if not graph_path.is_file():
            if len(rows) >= max(exact_below, 1):
                raise SnapshotError(
                    f"{graph_path} is missing: {len(rows)} vectors need it. Build the knowledge base again"
                )
            return cls(rows, n_threads=n_threads)
        projection = None
        if rows.shape[1] > _GRAPH_DIMENSIONS:
            spec = ArraySpec(np.float32, 2, rows.shape[1], _GRAPH_DIMENSIONS)
            projection = map_arrays(projection_path, {"projection": spec})["projection"]
        return cls(rows, graph_path=graph_path, projection=projection, n_threads=n_threads)

    def warm(self) -> Any:
        """Read the graph now, if there is one and it is not in memory yet; return it.

        Raises
        ------
        SnapshotError
            If the file is damaged or has another number of rows.
        """
        with self._lock:
            if self._graph is None and self._graph_path is not None:
                self._graph = self._read_graph(self._graph_path)
            return self._graph

    def _read_graph(self, path: Path) -> Any:
        width = self.vectors.shape[1] if self._projection is None else _GRAPH_DIMENSIONS
        graph: Any = hnswlib.Index(space="ip", dim=width)
        try:
            graph.load_index(str(path))
        except RuntimeError as error:
            raise SnapshotError(f"{path} cannot be read ({error}): build the knowledge base again") from error
        if graph.get_current_count() != len(self.vectors):
            raise SnapshotError(
                f"{path} holds {graph.get_current_count()} rows, there are {len(self.vectors)} vectors: "
                "build the knowledge base again"
            )
        return graph

    def _candidates(self, queries: NDArray[np.float32], n_candidates: int) -> NDArray[np.int32] | None:
        """Return (n_queries, n_candidates) int32 ascending ids, or None where the graph has too few links."""
        graph = self.warm()
        graph.set_ef(int(n_candidates * _EF_PER_CANDIDATE))
        n_threads = self.n_threads if len(queries) > 1 else 1
        try:
            labels, _ = graph.knn_query(project(queries, self._projection), n_candidates, n_threads)
        except RuntimeError:
            _log.warning(
                "the graph reaches fewer than %d of %d rows; scanning", n_candidates, len(self.vectors)
            )
            return None
        ids: NDArray[np.int32] = np.sort(labels.astype(np.int32), axis=1)
        return ids

    def _check_queries(self, queries: NDArray[np.float32]) -> NDArray[np.float32]:
        d = self.vectors.shape[1]
        if queries.dtype != np.float32 or queries.ndim not in (1, 2) or queries.shape[-1] != d:
            raise GraphFormatError(
                f"queries of shape {queries.shape} and type {queries.dtype}; wanted (..., {d}) float32"
            )
        return np.ascontiguousarray(np.atleast_2d(queries))


def _available_cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _paths(folder: Path, name: str) -> tuple[Path, Path]:
    return folder / "hnsw" / f"{name}.bin", folder / "hnsw" / f"{name}.pca.arrow"


def _check_rows(vectors: NDArray[Any]) -> NDArray[np.float16]:
    if vectors.ndim != 2 or vectors.dtype not in (np.float16, np.float32):
        raise GraphFormatError(
            f"vectors of shape {vectors.shape} and type {vectors.dtype}; wanted (n, d) float16 or float32"
        )
    return np.ascontiguousarray(vectors, dtype=np.float16)


def _projected(bits: NDArray[np.uint16], projection: NDArray[np.float32] | None) -> NDArray[np.float32]:
    blocks = [
        project(half_to_float(bits[start : start + _BLOCK_ROWS]), projection)
        for start in range(0, len(bits), _BLOCK_ROWS)
    ]
    return np.concatenate(blocks)
