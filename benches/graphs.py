"""Seeded random graphs that the benches share."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

import igraph
import numpy as np

from ytrag_core.kernels.csr import walk_csr

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Edges", "Walk", "igraph_of", "random_edges", "random_walk"]

HUB_SHARE = 0.02


class Edges(NamedTuple):
    src: NDArray[np.int32]
    dst: NDArray[np.int32]
    relation: NDArray[np.int32]
    weight: NDArray[np.float32]
    n_nodes: int


class Walk(NamedTuple):
    indptr: NDArray[np.int64]
    indices: NDArray[np.int32]
    weights: NDArray[np.float32]
    strength: NDArray[np.float32]


@lru_cache(maxsize=1)
def random_edges(n_nodes: int) -> Edges:
    """Three edges a node, one hub with 2% of all edges, a ring so that no node is left alone."""
    rng = np.random.default_rng(17)
    n_edges = 3 * n_nodes
    src = rng.integers(0, n_nodes, n_edges).astype(np.int32)
    dst = rng.integers(0, n_nodes, n_edges).astype(np.int32)
    src[:n_nodes] = np.arange(n_nodes)
    dst[:n_nodes] = (np.arange(n_nodes) + 1) % n_nodes
    src[n_nodes : n_nodes + int(HUB_SHARE * n_edges)] = n_nodes // 2
    order = rng.permutation(n_edges)
    weight = rng.random(n_edges, dtype=np.float32) + np.float32(0.1)
    return Edges(src[order], dst[order], rng.integers(0, 40, n_edges).astype(np.int32), weight, n_nodes)


@lru_cache(maxsize=1)
def random_walk(n_nodes: int) -> Walk:
    edges = random_edges(n_nodes)
    return Walk(*walk_csr(edges.src, edges.dst, edges.weight, n_nodes))


def igraph_of(
    indptr: NDArray[np.int64], indices: NDArray[np.int32], weights: NDArray[np.float32]
) -> tuple[igraph.Graph, NDArray[np.float64]]:
    """Return an undirected graph, and the weights of its edges, of a symmetric CSR matrix."""
    n_nodes = len(indptr) - 1
    owner = np.repeat(np.arange(n_nodes, dtype=np.int32), np.diff(indptr))
    once = owner < indices
    pairs = np.stack([owner[once], indices[once]], axis=1)
    return igraph.Graph(n=n_nodes, edges=pairs), weights[once].astype(np.float64)
