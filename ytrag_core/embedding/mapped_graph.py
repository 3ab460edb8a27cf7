"""A proximity graph in the file format of hnswlib, searched where it is mapped instead of being loaded."""

from __future__ import annotations

import logging
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from ytrag_core.errors import SnapshotError
from ytrag_core.kernels.graph_search import search_graph, upper_layers

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

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
    """An index that hnswlib saved: inner product of float32 vectors.

    Nothing is read when it is opened but the header; a search reads the nodes that it looks at. Safe to
    search from several threads at once, and all processes share one copy in the page cache.

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

    def __init__(self, path: Path, n: int, width: int) -> None:
        self._path = path
        try:
            self._words: NDArray[np.uint32] = np.memmap(path, np.uint32, "r").view(np.ndarray)
        except (OSError, ValueError) as error:
            raise SnapshotError(f"{path} cannot be read ({error}): build the knowledge base again") from error
        header_words = _HEADER.itemsize // 4
        if self._words.shape[0] < header_words:
            raise SnapshotError(f"{path} cannot be read, it is cut short: build the knowledge base again")
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
                f"wanted {n} of width {width}: build the knowledge base again"
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
            raise SnapshotError(f"{path} cannot be read, it is cut short: build the knowledge base again")

    @cached_property
    def _upper(self) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        try:
            return upper_layers(self._words, self._first + self._n * self._stride, self._n)
        except ValueError as error:
            raise SnapshotError(f"{self._path}: {error}; build the knowledge base again") from error

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
            raise SnapshotError(
                f"{self._path} has a label that no vector has: build the knowledge base again"
            )
        return labels

    def links(self, asked: NDArray[np.int32]) -> NDArray[np.int32]:
        """Return what vectors are linked to on the bottom layer.

        Parameters
        ----------
        asked
            (n_asked,) int32 labels.

        Returns
        -------
        ndarray
            (n_asked, max_bottom_links) int32 labels, those of the first link last where a vector has fewer of
            its own; -1 for none. All are distinct, and none is the label asked for.

        Raises
        ------
        SnapshotError
            If the links lead out of the file.
        """
        labels, node_of = self._labels
        nodes = node_of[asked]
        own = self._bottom_links(nodes)
        second = self._bottom_links(np.maximum(own[:, 0], 0))
        second[(second == nodes[:, None]) | (second[:, :, None] == own[:, None, :]).any(axis=2)] = -1
        both = np.hstack([own, np.where(own[:, :1] < 0, -1, second)])
        order = np.argsort(both < 0, axis=1, kind="stable")[:, : own.shape[1]]
        links = np.take_along_axis(both, order, axis=1)
        return np.where(links < 0, np.int32(-1), labels[links])

    def _bottom_links(self, nodes: NDArray[np.int32]) -> NDArray[np.int64]:
        """Return (n_asked, max_bottom_links) nodes, -1 where there are fewer."""
        table = self._words[self._first : self._first + self._n * self._stride].reshape(self._n, self._stride)
        rows = table[nodes, : self._vector_at]
        links = rows[:, 1:].astype(np.int64)
        is_link = np.arange(links.shape[1]) < (rows[:, :1] & np.uint32(0xFFFF))
        if (links[is_link] >= self._n).any():
            raise SnapshotError(
                f"{self._path}: a link leads out of the graph; build the knowledge base again"
            )
        links[~is_link] = -1
        return links

    @cached_property
    def _labels(self) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """The label of each node and the node of each label."""
        end = self._first + self._n * self._stride
        labels = self._words[self._first + self._label_at : end : self._stride].astype(np.int32)
        node_of = np.full(self._n, -1, np.int32)
        inside = (labels >= 0) & (labels < self._n)
        node_of[labels[inside]] = np.flatnonzero(inside)
        if (node_of < 0).any():
            raise SnapshotError(
                f"{self._path}: labels are not 0 to {self._n}; build the knowledge base again"
            )
        return labels, node_of

    def check_whole(self) -> None:
        """Read the file to its end.

        Raises
        ------
        SnapshotError
            If it is cut short.
        """
        _ = self._upper

    def save_index(self, path: str) -> None:
        """Write the file once more."""
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
            raise SnapshotError(f"{self._path}: {error}; build the knowledge base again") from error
