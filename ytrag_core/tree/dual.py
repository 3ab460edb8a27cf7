"""The dual-perceived graph: relations and similar names as edges, weighted by phi of their ends."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ytrag_core.embedding.index import VectorIndex
from ytrag_core.embedding.similar import SimilarRows
from ytrag_core.kernels.csr import walk_csr
from ytrag_core.kernels.partition import induced_graph
from ytrag_core.kernels.phi import phi_edges
from ytrag_core.tree.leiden import WeightedGraph, leiden
from ytrag_core.workers import SERIAL, blocks

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ytrag_core.config import TreeSettings
    from ytrag_core.tree.features import EntityFeatures, TripleArrays
    from ytrag_core.workers import Workers

__all__ = ["dual_graph", "name_pairs", "part_graph", "relation_pairs"]

_FULL_RESOLUTION = 20_000
_EDGES_PER_BLOCK = 65_536
_ENTITIES_PER_BLOCK = 4096


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
        Over entities, without a diagonal. A pair weighs phi of its ends, once, however many triples state it.

    Notes
    -----
    Of some two dozen entities of similar names the `n_neighbours` of the highest phi are linked: in planted
    graphs with weak vectors that finds far more than the most similar names do.
    """
    n = triples.n_entities
    stated = relation_pairs(triples)
    stated_phi = _phi(features, stated, settings.weight, workers)
    alike, alike_phi = name_pairs(triples, features, settings, string_index, workers)
    pairs = np.concatenate([stated, alike])
    key = pairs.min(axis=1) * np.int64(n) + pairs.max(axis=1)
    key, place = np.unique(key, return_index=True)
    first, second = (key // max(n, 1)).astype(np.int32), (key % max(n, 1)).astype(np.int32)
    phi = np.concatenate([stated_phi, alike_phi])[place]
    return WeightedGraph(*walk_csr(first, second, phi, n)[:3])


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
    """Return the distinct (n_pairs, 2) int64 pairs of different entities that triples state, ascending."""
    kept = (triples.tail < triples.n_entities) & (triples.head != triples.tail)
    head, tail = triples.head[kept].astype(np.int64), triples.tail[kept]
    # `np.unique` hashes, which takes seconds for millions of keys.
    key = np.sort(np.minimum(head, tail) * np.int64(triples.n_entities) + np.maximum(head, tail))
    key = key[np.diff(key, prepend=-1) > 0]
    return np.column_stack(np.divmod(key, max(triples.n_entities, 1)))


def name_pairs(
    triples: TripleArrays,
    features: EntityFeatures,
    settings: TreeSettings,
    string_index: VectorIndex | None,
    workers: Workers,
) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """Link each entity to those of similar names that are the most like it.

    Parameters
    ----------
    triples : TripleArrays
    features : EntityFeatures
    settings : TreeSettings
    string_index : VectorIndex, optional
        Over the string vectors; else those of the entities' names are indexed.
    workers : Workers

    Returns
    -------
    pairs : (n_pairs, 2) int64
        At most `n_neighbours` pairs an entity.
    phi : (n_pairs,) float32
        Above 0.

    Notes
    -----
    Candidates are a bearer of each similar name and another bearer of the same one, taken in turn, so that a
    common name costs no more than a rare one.
    """
    own = triples.node_string[: triples.n_entities].astype(np.int64)
    if settings.n_neighbours == 0 or len(own) == 0:
        return np.empty((0, 2), np.int64), np.empty(0, np.float32)
    names = _Bearers(own, len(triples.string_vectors))
    used = np.flatnonzero(names.counts)
    if string_index is None:
        string_index, string_of = VectorIndex.build(triples.string_vectors[used]), used
    else:
        string_of = np.arange(len(triples.string_vectors))
    row_of = np.full(len(triples.string_vectors), -1, np.int64)
    row_of[string_of] = np.arange(len(string_of))
    similar = SimilarRows(string_index)

    def link(block: slice) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        entities = np.arange(block.start, block.stop)
        near = similar.of(row_of[own[block]])
        strings = np.column_stack([own[block], np.where(near < 0, -1, string_of[near])])
        strings[(strings < 0) | (names.counts[strings] == 0)] = -1
        others = names.bearer(strings, entities)
        entity, column = np.nonzero((others >= 0) & (others != entities[:, None]))
        pairs = np.column_stack([entities[entity], others[entity, column]])
        phi = _phi(features, pairs, settings.weight, SERIAL)
        best = np.lexsort((pairs[:, 1], -phi, entity))
        rank = np.arange(len(entity)) - np.searchsorted(entity, entity)
        kept = best[(rank < settings.n_neighbours) & (phi[best] > 0)]
        return pairs[kept], phi[kept]

    found = list(workers.map(link, blocks(len(own), _ENTITIES_PER_BLOCK)))
    return np.concatenate([pairs for pairs, _ in found]), np.concatenate([phi for _, phi in found])


class _Bearers:
    """The entities that bear each name.

    Attributes
    ----------
    counts
        (n_strings,) int64 bearers of each string.
    """

    def __init__(self, own: NDArray[np.int64], n_strings: int) -> None:
        self.counts = np.bincount(own, minlength=n_strings)
        self._own = own
        self._by_string = np.argsort(own, kind="stable")
        self._first = np.cumsum(self.counts) - self.counts
        self._turn = np.empty(len(own), np.int64)
        self._turn[self._by_string] = np.arange(len(own)) - self._first[own[self._by_string]]

    def bearer(self, strings: NDArray[np.int64], entities: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return a bearer of each of the (m, k) strings for (m,) entities, the next one of its own name."""
        turn = self._turn[entities][:, None] + (strings == self._own[entities][:, None])
        known = np.maximum(strings, 0)
        place = self._first[known] + turn % np.maximum(self.counts[known], 1)
        return np.where(strings < 0, -1, self._by_string[np.minimum(place, len(self._own) - 1)])


def _phi(
    features: EntityFeatures, pairs: NDArray[np.int64], weight: float, workers: Workers
) -> NDArray[np.float32]:
    """Return phi of the ends of each pair, not below 0."""
    profiles = features.profiles
    first, second = np.ascontiguousarray(pairs.T, np.int32)
    scores = workers.map(
        lambda block: phi_edges(
            features.bits,
            profiles.indptr,
            profiles.codes,
            profiles.frequencies,
            first[block],
            second[block],
            weight,
        ),
        blocks(len(first), _EDGES_PER_BLOCK),
    )
    return np.concatenate([np.empty(0, np.float32), *scores])
