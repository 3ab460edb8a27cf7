"""The graph that walks run on: nodes, chunks and alias edges, undirected and weighted."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ytrag_core.graph.tables import GraphTables, Provenance
from ytrag_core.kernels.csr import walk_csr

if TYPE_CHECKING:
    from collections.abc import Callable

    from ytrag_core.embedding.index import VectorIndex

__all__ = ["AliasEdges", "alias_edges", "reverse", "walk_graph"]

AliasEdges = tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.float32]]
"""Two nodes and the cosine of their names, the lower node first, sorted."""

_BLOCK = 4096
_SHORTEST_NAME = 3


def alias_edges(
    graph: GraphTables,
    node_string: NDArray[np.int32],
    index: VectorIndex,
    *,
    similarity: float,
    n_neighbours: int,
    progress: Callable[[int, int], None] | None = None,
) -> AliasEdges:
    """Link entities whose names mean nearly the same.

    Names that several nodes bear are left out: homonyms are not aliases. So are attribute values, which
    resemble each other without being the same ("1963", "1964").

    Parameters
    ----------
    graph
        The graph.
    node_string
        (n_nodes,) int32 row of each node's name in the vectors of `index`.
    index
        Index over unique strings.
    similarity
        Least cosine.
    n_neighbours
        Nearest names looked at for each name.
    progress
        Called with (names done, all names).
    """
    bearers = np.bincount(node_string, minlength=index.vectors.shape[0])
    entity_string = node_string[: graph.n_entities]
    node_of = np.full(index.vectors.shape[0], -1, np.int32)
    node_of[entity_string] = np.arange(graph.n_entities, dtype=np.int32)
    names = graph.entities["name"].to_pylist()
    short = np.fromiter((len(name) < _SHORTEST_NAME for name in names), bool, graph.n_entities)
    node_of[entity_string[short]] = -1
    node_of[bearers != 1] = -1
    rows = np.flatnonzero(node_of >= 0)
    sources, targets, scores = [], [], []
    for start in range(0, rows.shape[0], _BLOCK):
        block = rows[start : start + _BLOCK]
        near, cosine = index.search(index.vectors[block].astype(np.float32), n_neighbours + 1)
        source = np.repeat(node_of[block], near.shape[1])
        target = node_of[near.ravel()]
        kept = (target >= 0) & (source != target) & (cosine.ravel() >= similarity)
        sources.append(np.minimum(source, target)[kept])
        targets.append(np.maximum(source, target)[kept])
        scores.append(cosine.ravel()[kept])
        if progress is not None:
            progress(min(start + _BLOCK, rows.shape[0]), rows.shape[0])
    if not sources:
        return np.empty(0, np.int32), np.empty(0, np.int32), np.empty(0, np.float32)
    source, target, score = map(np.concatenate, (sources, targets, scores))
    pair = source.astype(np.int64) * graph.n_nodes + target
    order = np.lexsort((-score, pair))
    first = np.ones(order.shape[0], bool)
    first[1:] = pair[order][1:] != pair[order][:-1]
    unique = order[first]
    return source[unique], target[unique], score[unique]


def walk_graph(graph: GraphTables, n_chunks: int, aliases: AliasEdges) -> dict[str, NDArray[np.generic]]:
    """Return `walk_*` of `graph.arrow`: nodes 0..n_nodes-1, then chunks.

    A triple weighs the number of chunks that state it (1 without passages), a mention 1, an alias its cosine.
    """
    node_chunks = graph.node_chunks
    nodes = np.repeat(np.arange(graph.n_nodes, dtype=np.int32), np.diff(node_chunks.indptr))
    stated = np.maximum(np.diff(graph.triple_chunks.indptr), 1).astype(np.float32)
    indptr, indices, weights, strength = walk_csr(
        np.concatenate([graph.head, nodes, aliases[0]]),
        np.concatenate([graph.tail, node_chunks.chunks + np.int32(graph.n_nodes), aliases[1]]),
        np.concatenate([stated, np.ones(nodes.shape[0], np.float32), aliases[2]]),
        graph.n_nodes + n_chunks,
    )
    return {
        "walk_indptr": indptr,
        "walk_indices": indices,
        "walk_weights": weights,
        "walk_strength": strength,
    }


def reverse(provenance: Provenance, n_chunks: int) -> Provenance:
    """Return chunk -> subjects for subject -> chunks, both ascending."""
    subjects = np.repeat(
        np.arange(provenance.indptr.shape[0] - 1, dtype=np.int32), np.diff(provenance.indptr)
    )
    order = np.argsort(provenance.chunks, kind="stable")
    indptr = np.zeros(n_chunks + 1, np.int64)
    np.cumsum(np.bincount(provenance.chunks, minlength=n_chunks), out=indptr[1:])
    return Provenance(indptr, subjects[order])
