"""Leiden: communities of high modularity in a weighted undirected graph, on one thread."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ytrag_core.errors import GraphFormatError
from ytrag_core.kernels.leiden import move_nodes, refine_communities
from ytrag_core.kernels.partition import contract_graph, modularity, number_communities, split_disconnected

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["WeightedGraph", "leiden", "modularity_of"]


@dataclass(frozen=True, slots=True, eq=False)
class WeightedGraph:
    """A symmetric matrix in compressed sparse rows.

    Attributes
    ----------
    indptr : (n + 1,) int64
    indices : (n_entries,) int32
        Neighbours, distinct in each row.
    weights : (n_entries,) float32
        Finite and not negative. The diagonal is taken as it stands: an undirected loop of weight w, which
        counts at both its ends, is an entry 2 w.
    """

    indptr: NDArray[np.int64]
    indices: NDArray[np.int32]
    weights: NDArray[np.float32]

    @property
    def n_nodes(self) -> int:
        """Rows of the matrix."""
        return len(self.indptr) - 1


def leiden(
    graph: WeightedGraph, *, resolution: float = 1.0, n_iterations: int = 3, seed: int = 0
) -> NDArray[np.int32]:
    """Find communities of high modularity.

    Parameters
    ----------
    graph : WeightedGraph
    resolution : float
        More than 1 gives more and smaller communities.
    n_iterations : int
        Each starts from the communities of the one before; fewer are made where nothing changes any more.
    seed : int
        Draws the order in which nodes are looked at, anew in each iteration.

    Returns
    -------
    (n_nodes,) int32
        Communities 0, 1, ... by smallest member. Each is connected; a node without edges is alone.

    Raises
    ------
    GraphFormatError
        If the arrays do not form a graph.

    Notes
    -----
    Traag, Waltman and van Eck, "From Louvain to Leiden" (2019). Ours refines greedily, where theirs draws,
    and ends by parting communities that are not connected, which never lowers modularity. Time is that of a
    few dozen passes over the entries, memory that of the graph once more and some 60 bytes a node.
    """
    check_graph(graph)
    labels = np.arange(graph.n_nodes, dtype=np.int32)
    strength = _row_sums(graph)
    total = float(strength.sum())
    if total <= 0.0:
        return labels
    rng = np.random.default_rng(seed)
    for _ in range(n_iterations):
        before = labels
        order = rng.permutation(graph.n_nodes).astype(np.int32)
        labels = _improve(graph, strength, order, resolution / total, labels)
        split_disconnected(graph.indptr, graph.indices, graph.weights, labels)
        if np.array_equal(before, labels):
            break
    return labels


def modularity_of(graph: WeightedGraph, labels: NDArray[np.int32], resolution: float = 1.0) -> float:
    """Return the modularity of communities, 0 for a graph without edges."""
    return modularity(graph.indptr, graph.indices, graph.weights, labels, resolution)


def check_graph(graph: WeightedGraph) -> None:
    """Refuse arrays that the kernels would read out of bounds; symmetry is the caller's promise."""
    indptr, indices, weights = graph.indptr, graph.indices, graph.weights
    if indptr.dtype != np.int64 or indices.dtype != np.int32 or weights.dtype != np.float32:
        raise GraphFormatError(
            f"a graph of {indptr.dtype}, {indices.dtype}, {weights.dtype}; wanted int64, int32, float32"
        )
    n = len(indptr) - 1
    if n < 0 or indptr[0] != 0 or indptr[-1] != len(indices) or (np.diff(indptr) < 0).any():
        raise GraphFormatError(f"row pointers do not cover {len(indices)} entries in order")
    if len(weights) != len(indices):
        raise GraphFormatError(f"{len(weights)} weights for {len(indices)} entries; wanted one each")
    if len(indices) and not 0 <= int(indices.min()) <= int(indices.max()) < n:
        raise GraphFormatError(f"indices from {indices.min()} to {indices.max()}; they must be below {n}")
    if len(weights) and not (float(weights.min()) >= 0.0 and float(weights.max()) < np.inf):
        raise GraphFormatError("weights hold negative numbers, NaN or infinity; wanted finite ones from 0 up")


def _row_sums(graph: WeightedGraph) -> NDArray[np.float64]:
    """Return the sum of each row, added in float64."""
    sums = np.zeros(len(graph.weights) + 1, np.float64)
    np.cumsum(graph.weights, dtype=np.float64, out=sums[1:])
    return sums[graph.indptr[1:]] - sums[graph.indptr[:-1]]


def _improve(
    graph: WeightedGraph,
    strength: NDArray[np.float64],
    order: NDArray[np.int32],
    factor: float,
    labels: NDArray[np.int32],
) -> NDArray[np.int32]:
    """Move, refine and contract until every community is one node; return labels of the first nodes."""
    labels = labels.copy()
    node_of: NDArray[np.int32] | None = None
    while True:
        arrays = (graph.indptr, graph.indices, graph.weights)
        move_nodes(*arrays, strength, order, factor, labels)
        n_communities = number_communities(labels, order, labels)
        if n_communities == graph.n_nodes:
            break
        parts = refine_communities(*arrays, strength, order, factor, labels)
        n_parts = number_communities(parts, order, parts)
        if n_parts == graph.n_nodes:
            parts, n_parts = labels, n_communities
        contracted = np.empty(n_parts, np.int32)
        contracted[parts] = labels
        labels = contracted
        graph = WeightedGraph(*contract_graph(*arrays, parts, n_parts))
        strength = np.asarray(np.bincount(parts, weights=strength, minlength=n_parts), np.float64)
        order = np.arange(n_parts, dtype=np.int32)
        node_of = parts if node_of is None else parts[node_of]
    return labels if node_of is None else labels[node_of]
