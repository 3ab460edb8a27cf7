"""Triple match: facts by their meaning and by the names in the question."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ytrag_core.kernels.gather import gather_rows
from ytrag_core.kernels.half_dot import half_dot
from ytrag_core.kernels.topk import top_k

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from ytrag_core.retrieval.mentions import Mention
    from ytrag_core.retrieval.view import SnapshotView

__all__ = [
    "ScoredTriples",
    "incident_triples",
    "match_triples",
    "relation_scores",
    "relation_vectors",
    "triple_scores",
    "triple_vectors",
]

_N_STRINGS = 64
_N_TRIPLES = 128
_ROW_LIMIT = 256
_BEARERS = 32
_NEAR_BEARERS = 4
_NEAR_ROW_LIMIT = 32
_MENTION_BONUS = 0.5


@dataclass(frozen=True, slots=True, eq=False)
class ScoredTriples:
    """Triples, best first.

    Attributes
    ----------
    ids
        (n,) int32 triple ids.
    scores
        (n,) float32: similarity plus a bonus for the question's own names.
    similarity
        (n,) float32 in [-1, 1], of the question and the triple alone.
    """

    ids: NDArray[np.int32]
    scores: NDArray[np.float32]
    similarity: NDArray[np.float32]


def _half_rows(vectors: NDArray[np.float16], rows: NDArray[np.int32]) -> NDArray[np.uint16]:
    bits: NDArray[np.uint16] = vectors.view(np.uint16)[rows]
    return bits


def triple_scores(
    view: SnapshotView, triples: NDArray[np.int32], query: NDArray[np.float32]
) -> NDArray[np.float32]:
    """Return the similarity of the question and each triple, (n,) float32.

    Of a triple's sentence where sentences are encoded, else the mean over head, relation and tail.
    """
    index = view.triple_index
    if index is not None:
        return half_dot(_half_rows(index.vectors, triples), query)
    strings = view.strings
    node_string, relation_string = strings["node_string"], strings["relation_string"]
    rows = np.concatenate(
        [
            node_string[view.heads(triples)],
            relation_string[view.out.relation[triples]],
            node_string[view.out.indices[triples]],
        ]
    )
    distinct, inverse = np.unique(rows, return_inverse=True)
    scores = half_dot(_half_rows(strings["vectors"], distinct), query)[inverse]
    mean: NDArray[np.float32] = scores.reshape(3, -1).mean(axis=0, dtype=np.float32)
    return mean


def triple_vectors(view: SnapshotView, triples: NDArray[np.int32]) -> NDArray[np.float32]:
    """Return a unit vector for each triple, (n, d) float32."""
    index = view.triple_index
    if index is not None:
        return index.vectors[triples].astype(np.float32)
    strings = view.strings
    vectors = strings["vectors"]
    total = (
        vectors[strings["node_string"][view.heads(triples)]].astype(np.float32)
        + vectors[strings["relation_string"][view.out.relation[triples]]]
        + vectors[strings["node_string"][view.out.indices[triples]]]
    )
    norm = np.linalg.norm(total, axis=1, keepdims=True)
    unit: NDArray[np.float32] = total / np.maximum(norm, np.float32(1e-12))
    return unit


def relation_scores(
    view: SnapshotView, triples: NDArray[np.int32], query: NDArray[np.float32]
) -> NDArray[np.float32]:
    """Return the cosine of `query` and each triple's relation name, (n,) float32."""
    distinct, inverse = np.unique(view.out.relation[triples], return_inverse=True)
    rows = view.strings["relation_string"][distinct]
    return half_dot(_half_rows(view.strings["vectors"], rows), query)[inverse]


def relation_vectors(view: SnapshotView, triples: NDArray[np.int32]) -> NDArray[np.float32]:
    """Return the unit vector of each triple's relation name, (n, d) float32."""
    distinct, inverse = np.unique(view.out.relation[triples], return_inverse=True)
    rows = view.strings["relation_string"][distinct]
    vectors: NDArray[np.float32] = view.strings["vectors"][rows].astype(np.float32)[inverse]
    return vectors


def incident_triples(
    view: SnapshotView, nodes: NDArray[np.int32], row_limit: int
) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int32]]:
    """Return the triples of some nodes in both directions.

    Parameters
    ----------
    nodes
        (n,) int32.
    row_limit
        Most edges of one node and direction; a longer row is sampled evenly.

    Returns
    -------
    triples, other, owner
        (m,) int32 each: triple id, the node at the other end, and the position in `nodes`.
    """
    parts = []
    for csr in (view.out, view.into):
        positions, owner = gather_rows(csr.indptr, nodes, row_limit)
        parts.append((csr.triple[positions], csr.indices[positions], owner))
    triples, other, owner = (np.concatenate(column) for column in zip(*parts, strict=True))
    return triples, other, owner


def match_triples(
    view: SnapshotView, query: NDArray[np.float32], mentions: Sequence[Mention], n_triples: int = _N_TRIPLES
) -> ScoredTriples:
    """Return the triples that answer to the question by meaning or by name.

    Candidates are the nearest sentences (or, without sentences, the triples of the nearest names) and the
    triples of the nodes that the question names.
    """
    if view.n_triples == 0:
        return ScoredTriples(np.empty(0, np.int32), np.empty(0, np.float32), np.empty(0, np.float32))
    nodes, weights = _named_nodes(mentions)
    candidates = [incident_triples(view, nodes, _ROW_LIMIT)[0]]
    if view.triple_index is not None:
        candidates.append(view.triple_index.search(query, n_triples)[0][0])
    else:
        candidates.append(incident_triples(view, _nearest_nodes(view, query), _NEAR_ROW_LIMIT)[0])
    ids = np.unique(np.concatenate(candidates)).astype(np.int32)
    similarity = triple_scores(view, ids, query)
    bonus = sum(_weight_of(ends, nodes, weights) for ends in (view.heads(ids), view.out.indices[ids]))
    scores = (similarity + np.float32(_MENTION_BONUS) * bonus).astype(np.float32)
    best = top_k(scores, min(n_triples, scores.shape[0]))
    return ScoredTriples(ids[best], scores[best], similarity[best])


def _named_nodes(mentions: Sequence[Mention]) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
    """Return the nodes that the question names, ascending, and their weights."""
    weight: dict[int, float] = {}
    for mention in mentions:
        for node in mention.nodes[:_BEARERS]:
            weight[node] = max(weight.get(node, 0.0), mention.weight)
    nodes = sorted(weight)
    return np.array(nodes, np.int32), np.array([weight[node] for node in nodes], np.float32)


def _weight_of(
    ends: NDArray[np.int32], nodes: NDArray[np.int32], weights: NDArray[np.float32]
) -> NDArray[np.float32]:
    """Return the weight of each end, 0 where it is not among the ascending `nodes`."""
    if not nodes.size:
        return np.zeros(ends.shape[0], np.float32)
    rows = np.minimum(np.searchsorted(nodes, ends), nodes.shape[0] - 1)
    return np.where(nodes[rows] == ends, weights[rows], np.float32(0.0))


def _nearest_nodes(view: SnapshotView, query: NDArray[np.float32]) -> NDArray[np.int32]:
    """Return the nodes whose names are nearest to the question."""
    strings = view.strings
    near = view.string_index.search(query, _N_STRINGS)[0][0]
    positions, _ = gather_rows(strings["string_nodes_indptr"], near, _NEAR_BEARERS)
    nodes: NDArray[np.int32] = np.unique(strings["string_nodes"][positions])
    return nodes
