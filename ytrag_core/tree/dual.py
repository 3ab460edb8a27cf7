"""The dual-perceived graph: relations and similar names as edges, weighted by phi of their ends."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ytrag_core.embedding.index import VectorIndex
from ytrag_core.kernels.csr import walk_csr
from ytrag_core.kernels.half_dot import half_to_float
from ytrag_core.kernels.partition import induced_graph
from ytrag_core.kernels.phi import phi_edges
from ytrag_core.tree.leiden import WeightedGraph, leiden
from ytrag_core.tree.workers import blocks

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ytrag_core.config import TreeSettings
    from ytrag_core.tree.features import EntityFeatures, TripleArrays
    from ytrag_core.tree.workers import Workers

__all__ = ["dual_graph", "name_pairs", "part_graph", "relation_pairs"]

_FULL_RESOLUTION = 20_000
_EDGES_PER_BLOCK = 65_536
_NAMES_PER_BLOCK = 1024
_CANDIDATES_PER_NEIGHBOUR = 6


def dual_graph(
    triples: TripleArrays,
    features: EntityFeatures,
    settings: TreeSettings,
    string_index: VectorIndex | None,
    workers: Workers,
) -> WeightedGraph:
    """Link entities by their relations and by their names.

    Parameters
    ----------
    triples : TripleArrays
    features : EntityFeatures
    settings : TreeSettings
        `n_neighbours` and `weight`, lambda.
    string_index : VectorIndex, optional
        Over the string vectors.
    workers : Workers

    Returns
    -------
    WeightedGraph
        Over entities, without a diagonal. A pair weighs the square of phi of its ends, once, however many
        triples state it.

    Notes
    -----
    Vectors of one graph have much in common, so phi is seldom low; its square tells links apart. In planted
    graphs it finds more than phi itself, and weights that count repeated triples find less.
    """
    n = triples.n_entities
    pairs = np.concatenate(
        [relation_pairs(triples), name_pairs(triples, settings.n_neighbours, string_index, workers)]
    )
    key = np.unique(pairs.min(axis=1) * np.int64(n) + pairs.max(axis=1))
    first, second = (key // max(n, 1)).astype(np.int32), (key % max(n, 1)).astype(np.int32)
    profiles = features.profiles
    phi = workers.map(
        lambda block: phi_edges(
            features.bits,
            profiles.indptr,
            profiles.codes,
            profiles.frequencies,
            first[block],
            second[block],
            settings.weight,
        ),
        blocks(len(first), _EDGES_PER_BLOCK),
    )
    scores = np.concatenate([np.empty(0, np.float32), *phi])
    return WeightedGraph(*walk_csr(first, second, scores * scores, n)[:3])


def part_graph(
    graph: WeightedGraph, members: NDArray[np.int32], settings: TreeSettings
) -> NDArray[np.int32] | None:
    """Divide some nodes by Leiden on the graph between them.

    Parameters
    ----------
    graph : WeightedGraph
    members : (m,) int32, ascending
    settings : TreeSettings

    Returns
    -------
    (m,) int32 or None
        Communities 0, 1, ... by smallest member; None where there is one only, or no edge.
    """
    if len(members) < graph.n_nodes:
        graph = WeightedGraph(*induced_graph(graph.indptr, graph.indices, graph.weights, members))
    if len(graph.indices) == 0:
        return None
    labels = leiden(graph, resolution=resolution_of(len(members), settings.resolution), seed=settings.seed)
    return labels if labels.max() > 0 else None


def resolution_of(n: int, resolution: float) -> float:
    """Return `resolution` from 20,000 nodes up, less in proportion below, at least 1.

    Modularity alone cannot see communities far below the square root of the edges; among few nodes it can.
    """
    return max(1.0, resolution * min(1.0, n / _FULL_RESOLUTION))


def relation_pairs(triples: TripleArrays) -> NDArray[np.int64]:
    """Return the (n_pairs, 2) int64 pairs of different entities that triples state, in their order."""
    kept = (triples.tail < triples.n_entities) & (triples.head != triples.tail)
    return np.column_stack([triples.head[kept], triples.tail[kept]]).astype(np.int64)


def name_pairs(
    triples: TripleArrays, n_neighbours: int, string_index: VectorIndex | None, workers: Workers
) -> NDArray[np.int64]:
    """Link each entity to those of the most similar names.

    Parameters
    ----------
    triples : TripleArrays
    n_neighbours : int
    string_index : VectorIndex, optional
        Over the string vectors; else those of the entities' names are indexed.
    workers : Workers

    Returns
    -------
    (n_pairs, 2) int64
        At most ``n_neighbours + 1`` pairs an entity: bearers of one name form a ring, and of the bearers of a
        similar name, one is taken in turn, so that a common name costs no more than a rare one.
    """
    own = triples.node_string[: triples.n_entities].astype(np.int64)
    by_string = np.argsort(own, kind="stable")
    n_bearers = np.bincount(own, minlength=len(triples.string_vectors))
    first = np.cumsum(n_bearers) - n_bearers
    turn = np.empty(len(own), np.int64)
    turn[by_string] = np.arange(len(own)) - first[own[by_string]]

    def bearer(string: NDArray[np.int64], entity: NDArray[np.int64], step: int) -> NDArray[np.int64]:
        return by_string[first[string] + (turn[entity] + step) % n_bearers[string]]

    if n_neighbours == 0 or len(own) == 0:
        return np.empty((0, 2), np.int64)
    shared = np.flatnonzero(n_bearers[own] > 1)
    rings = np.column_stack([shared, bearer(own[shared], shared, 1)])
    used = np.flatnonzero(n_bearers)
    near = _similar_strings(triples.string_vectors, used, n_neighbours, string_index, workers)
    near[near >= 0] = np.where(n_bearers[near[near >= 0]] > 0, near[near >= 0], -1)
    of_entity = near[np.searchsorted(used, own)]
    of_entity[np.cumsum(of_entity >= 0, axis=1) > n_neighbours] = -1
    entity, column = np.nonzero(of_entity >= 0)
    links = np.column_stack([entity, bearer(of_entity[entity, column], entity, 0)])
    return np.concatenate([rings, links])


def _similar_strings(
    vectors: NDArray[np.float16],
    used: NDArray[np.int64],
    n_neighbours: int,
    string_index: VectorIndex | None,
    workers: Workers,
) -> NDArray[np.int64]:
    """Return (n_used, k) strings similar to each used one, most similar first, -1 for none."""
    if string_index is None:
        string_index, string_of = VectorIndex.build(vectors[used], n_threads=1), used
        k = n_neighbours + 1
    else:
        string_of = np.arange(len(vectors))
        k = 2 * n_neighbours + 1
    bits = vectors.view(np.uint16)

    def search(block: slice) -> NDArray[np.int64]:
        rows = half_to_float(bits[used[block]])
        found, scores = string_index.search(rows, k, n_candidates=_CANDIDATES_PER_NEIGHBOUR * k)
        strings = string_of[found]
        strings[(scores <= 0) | (strings == used[block, None])] = -1
        return strings

    return np.concatenate(list(workers.map(search, blocks(len(used), _NAMES_PER_BLOCK))))
