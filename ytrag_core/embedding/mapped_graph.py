"""A proximity graph in the file format of hnswlib, searched where it lies, on disk or in memory."""

from __future__ import annotations

import logging
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from ytrag_core.embedding.layers import M
from ytrag_core.errors import SnapshotError
from ytrag_core.kernels.graph_search import search_graph, upper_layers
from ytrag_core.storage.advice import repair_advice

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from ytrag_core.embedding.layers import GraphLayers

__all__ = ["MappedGraph"]

_log = logging.getLogger(__name__)

_HEADER = np.dtype(
    [
        ("offset", "<u8"),
        ("capacity", "<u8"),
        ("n_nodes", "<u8"),
        ("node_bytes", "<u8"),
        ("label_at", "<u8"),
        ("vector_at", "<u8"),
        ("n_layers", "<i4"),
        ("entry", "<u4"),
        ("max_links", "<u8"),
        ("max_bottom_links", "<u8"),
        ("m", "<u8"),
        ("multiplier", "<f8"),
        ("ef_construction", "<u8"),
    ]
)


class MappedGraph:
    """A graph as hnswlib saves it: inner product of float32 vectors; made by `open` or `assemble`.

    Nothing is read when it is opened but the header; a search reads the nodes that it looks at. Safe to
    search from several threads at once, and all processes share one copy in the page cache.

    Parameters
    ----------
    words
        (n_words,) uint32, the file.
    n
        Wanted number of vectors.
    width
        Wanted width of a vector.
    path
        Where the file lies, for messages.

    Raises
    ------
    SnapshotError
        If the file is cut short, of another layout, or holds other vectors.
    """

    def __init__(self, words: NDArray[np.uint32], n: int, width: int, path: Path | str = "the graph") -> None:
        self._path = path
        self._words = words
        header_words = _HEADER.itemsize // 4
        if self._words.shape[0] < header_words:
            raise SnapshotError(f"{path} cannot be read, it is cut short: {repair_advice(path)}")
        header = self._words[:header_words].view(_HEADER)[0]
        fields = {name: int(header[name]) for name in _HEADER.names or () if name != "multiplier"}
        links = 4 * (fields["max_bottom_links"] + 1)
        fits = (
            fields["offset"] == 0
            and fields["vector_at"] == links
            and fields["label_at"] == links + 4 * width
            and fields["node_bytes"] == links + 4 * width + 8
            and 0 <= fields["n_layers"] < 64
            and 1 <= fields["max_links"] <= fields["max_bottom_links"] < 1 << 15
            and fields["entry"] < fields["n_nodes"]
        )
        if not fits or fields["n_nodes"] != n:
            raise SnapshotError(
                f"{path} holds {fields['n_nodes']} vectors in nodes of {fields['node_bytes']} bytes, "
                f"wanted {n} of width {width}: {repair_advice(path)}"
            )
        self._n = n
        self._first = header_words
        self._stride = fields["node_bytes"] // 4
        self._vector_at = fields["vector_at"] // 4
        self._label_at = fields["label_at"] // 4
        self._upper_stride = fields["max_links"] + 1
        self._entry = fields["entry"]
        self._n_layers = fields["n_layers"]
        if self._first + n * self._stride > self._words.shape[0]:
            raise SnapshotError(f"{path} cannot be read, it is cut short: {repair_advice(path)}")

    @classmethod
    def open(cls, path: Path, n: int, width: int) -> MappedGraph:
        """Map a file.

        Parameters
        ----------
        path
            The file.
        n
            Wanted number of vectors.
        width
            Wanted width of a vector.

        Raises
        ------
        SnapshotError
            If the file is missing, cut short, of another layout, or holds other vectors.
        """
        try:
            words: NDArray[np.uint32] = np.memmap(path, np.uint32, "r").view(np.ndarray)
        except (OSError, ValueError) as error:
            raise SnapshotError(f"{path} cannot be read ({error}): {repair_advice(path)}") from error
        return cls(words, n, width, path)

    @classmethod
    def assemble(cls, layers: GraphLayers, rows: NDArray[np.float32]) -> MappedGraph:
        """Lay a graph out in memory as it will lie in its file.

        Parameters
        ----------
        layers
            The graph; the labels of its nodes are their numbers.
        rows
            (n, d) float32, the vectors of the nodes.
        """
        n, width = rows.shape
        bottom, *upper = layers.layers
        stride = 1 + 2 * M + width + 2
        sizes = np.zeros(n, np.int64)
        for layer in upper:
            sizes[layer.nodes] += M + 1
        starts = np.cumsum(sizes + 1) - sizes
        header = np.zeros(1, _HEADER)
        header["capacity"] = header["n_nodes"] = n
        header["node_bytes"] = 4 * stride
        header["vector_at"] = 4 * (1 + 2 * M)
        header["label_at"] = 4 * (1 + 2 * M + width)
        header["n_layers"] = len(upper)
        header["entry"] = layers.entry
        header["max_links"] = header["m"] = M
        header["max_bottom_links"] = 2 * M
        header["multiplier"] = 1 / np.log(M)
        head = header.view(np.uint32)
        words = np.zeros(len(head) + n * stride + n + int(sizes.sum()), np.uint32)
        words[: len(head)] = head
        nodes = words[len(head) : len(head) + n * stride].reshape(n, stride)
        nodes[:, : 1 + 2 * M] = _counted(bottom.links)
        nodes[:, 1 + 2 * M : -2] = rows.view(np.uint32)
        nodes[:, -2] = np.arange(n)
        tail = words[len(head) + n * stride :]
        tail[starts - 1] = 4 * sizes
        for level, layer in enumerate(upper):
            first = starts[layer.nodes] + level * (M + 1)
            tail[first[:, None] + np.arange(M + 1)] = _counted(layer.links)
        return cls(words, n, width)

    @cached_property
    def _upper(self) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        try:
            return upper_layers(self._words, self._first + self._n * self._stride, self._n)
        except ValueError as error:
            raise SnapshotError(f"{self._path}: {error}; {repair_advice(self._path)}") from error

    def search_all(self, queries: NDArray[np.float32], width: int) -> NDArray[np.int32] | None:
        """Return the labels that a beam of some width ends with, for each query.

        Parameters
        ----------
        queries
            (n_queries, d) float32.
        width
            At least 1.

        Returns
        -------
        ndarray or None
            (n_queries, width) int32, ascending in each row; None where the graph reaches fewer.

        Raises
        ------
        SnapshotError
            If the file is cut short or its links lead out of it.
        """
        labels = np.empty((len(queries), width), np.int32)
        for i, query in enumerate(queries):
            found = self._search(query, width)
            if len(found) < width:
                _log.info("the graph reaches fewer than %d of %d vectors; scanning them all", width, self._n)
                return None
            labels[i] = np.sort(found)
        if labels.size and (labels.min() < 0 or labels.max() >= self._n):
            raise SnapshotError(f"{self._path} has a label that no vector has: {repair_advice(self._path)}")
        return labels

    def save(self, path: Path) -> None:
        """Write the file."""
        self._words.tofile(path)

    def _search(self, query: NDArray[np.float32], width: int) -> NDArray[np.int32]:
        nodes, positions = self._upper
        try:
            return search_graph(
                self._words,
                self._words.view(np.float32),
                self._first,
                self._stride,
                self._vector_at,
                self._label_at,
                self._upper_stride,
                self._n,
                nodes,
                positions,
                self._entry,
                self._n_layers,
                query,
                width,
            )
        except ValueError as error:
            raise SnapshotError(f"{self._path}: {error}; {repair_advice(self._path)}") from error


def _counted(links: NDArray[np.int32]) -> NDArray[np.uint32]:
    """Put the number of links before them, and 0 where there is none."""
    n_links = (links >= 0).sum(axis=1, keepdims=True)
    return np.hstack([n_links, np.maximum(links, 0)]).astype(np.uint32)
