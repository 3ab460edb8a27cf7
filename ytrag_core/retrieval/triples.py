"""Triple match: facts by their meaning and by the names in the question."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ytrag_core.kernels.edges import row_dots
from ytrag_core.kernels.gather import gather_rows
from ytrag_core.kernels.topk import top_k
from ytrag_core.retrieval.distinct import distinct
from ytrag_core.retrieval.masked import allowed_entries, search_allowed
from ytrag_core.retrieval.masks import Selection

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from ytrag_core.retrieval.masks import Masks
    from ytrag_core.retrieval.mentions import Mention
    from ytrag_core.retrieval.view import SnapshotView

__all__ = [
    "QueryVectors",
    "ScoredTriples",
    "incident_triples",
    "match_triples",
    "nearest_triples",
    "relation_scores",
    "triple_scores",
]

_N_STRINGS = 64
_N_TRIPLES = 128
_ROW_LIMIT = 256
_BEARERS = 32
_NEAR_BEARERS = 4
_NEAR_ROW_LIMIT = 32
_MENTION_BONUS = 0.5
_HEAD_BONUS = 0.2
_OTHER_SPELLING = 0.5
_RELATION_WEIGHT = 0.5
_PREFERRED_BONUS = 0.2


@dataclass(frozen=True, slots=True, eq=False)
class QueryVectors:
    """What triples and paths are scored against.

    Attributes
    ----------
    question
        (d,) float32 vector of the question.
    residual
        (d,) float32 vector of the question without its names: what it asks about them.
    """

    question: NDArray[np.float32]
    residual: NDArray[np.float32]

    @classmethod
    def of(cls, question: NDArray[np.float32], residual: NDArray[np.float32] | None) -> QueryVectors:
        """Return the vectors of a question; one that has no residual is its own."""
        return cls(question, question if residual is None else residual)


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

    @classmethod
    def none(cls) -> ScoredTriples:
        """Return no triples."""
        return cls(np.empty(0, np.int32), np.empty(0, np.float32), np.empty(0, np.float32))


def triple_scores(
    view: SnapshotView, triples: NDArray[np.int32], query: NDArray[np.float32]
) -> NDArray[np.float32]:
    """Return the similarity of the question and each triple, (n,) float32.

    Of a triple's sentence where sentences are encoded, else the mean over head, relation and tail.
    """
    index = view.triple_index
    if index is not None:
        return row_dots(index.vectors.view(np.uint16), triples, query)
    strings = view.strings
    node_string, relation_string = strings["node_string"], strings["relation_string"]
    rows = np.concatenate(
        [
            node_string[view.heads(triples)],
            relation_string[view.out.relation[triples]],
            node_string[view.out.indices[triples]],
        ]
    )
    scores = row_dots(strings["vectors"].view(np.uint16), rows, query)
    mean: NDArray[np.float32] = scores.reshape(3, -1).mean(axis=0, dtype=np.float32)
    return mean


def relation_scores(
    view: SnapshotView, triples: NDArray[np.int32], query: NDArray[np.float32]
) -> NDArray[np.float32]:
    """Return the cosine of `query` and each triple's relation name, (n,) float32."""
    rows = view.strings["relation_string"][view.out.relation[triples]]
    return row_dots(view.strings["vectors"].view(np.uint16), rows, query)


def incident_triples(
    view: SnapshotView, nodes: NDArray[np.int32], row_limit: int, allowed: Selection | None = None
) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int32]]:
    """Return the triples of some nodes in both directions.

    Parameters
    ----------
    nodes
        (n,) int32.
    row_limit
        Most edges of one node and direction; a longer row is sampled evenly.
    allowed
        The triples to choose from; all without it.

    Returns
    -------
    triples, other, owner
        (m,) int32 each: triple id, the node at the other end, and the position in `nodes`.
    """
    allowed = allowed or Selection(view)
    parts = []
    for csr, mask in ((view.out, allowed.out_triples), (view.into, allowed.into_triples)):
        positions, owner = allowed_entries(csr, nodes, mask, row_limit)
        parts.append((csr.triple[positions], csr.indices[positions], owner))
    triples, other, owner = (np.concatenate(column) for column in zip(*parts, strict=True))
    return triples, other, owner


def nearest_triples(
    view: SnapshotView, question: NDArray[np.float32], masks: Masks, n_triples: int = _N_TRIPLES
) -> list[NDArray[np.int32]]:
    """Return the triples nearest to a question by meaning, among those allowed and among those preferred.

    By their sentences; without sentences, the triples of the nodes with the nearest names.

    Parameters
    ----------
    view
        The snapshot.
    question
        (d,) float32 vector of the question.
    masks
        What may be returned.
    n_triples
        Most sentences of each.
    """
    found = []
    for chosen in (masks.allowed, masks.preferred):
        if chosen is None or view.n_triples == 0:
            continue
        if view.triple_index is not None:
            found.append(search_allowed(view.triple_index, question, n_triples, chosen.triples)[0])
        else:
            names = search_allowed(view.string_index, question, _N_STRINGS, chosen.strings)[0]
            found.append(_triples_of_names(view, names, chosen))
    return found


def _triples_of_names(view: SnapshotView, names: NDArray[np.int32], allowed: Selection) -> NDArray[np.int32]:
    """Return the triples of the nodes of some names, given by their rows."""
    strings = view.strings
    positions, _ = gather_rows(strings["string_nodes_indptr"], names, _NEAR_BEARERS)
    nodes = np.unique(strings["string_nodes"][positions])
    return incident_triples(view, nodes, _NEAR_ROW_LIMIT, allowed)[0]


def match_triples(
    view: SnapshotView,
    query: QueryVectors,
    mentions: Sequence[Mention],
    near: Sequence[NDArray[np.int32]],
    masks: Masks,
    n_triples: int = _N_TRIPLES,
) -> ScoredTriples:
    """Return the triples that answer to the question by meaning or by name.

    Candidates are those near by meaning, as `nearest_triples` gives them, and the triples of the nodes that
    the question names: all of a node, or those of the relations nearest to the question where it has very
    many. A triple of a named node scores its similarity and half the name's weight. Without sentences a fifth
    is added where the name is the head ("the part of X" is no part of which X is), and half the cosine of the
    relation and of what the question asks about its names, because the mean over a triple's parts says little
    about the relation. With masks, the best are taken among the triples that they allow; those that they
    prefer score a fifth more.
    """
    if view.n_triples == 0:
        return ScoredTriples.none()
    nodes, weights = _named_nodes(mentions)
    composed = view.triple_index is None
    candidates = list(near)
    for chosen in (masks.allowed, masks.preferred):
        if chosen is not None:
            candidates += _named_triples(view, nodes, query.residual, chosen)
    ids = distinct(np.concatenate(candidates))
    similarity = triple_scores(view, ids, query.question)
    heads = _weight_of(view.heads(ids), nodes, weights)
    tails = _weight_of(view.out.indices[ids], nodes, weights)
    scores = similarity + np.float32(_MENTION_BONUS) * (heads + tails)
    if composed:
        scores += np.float32(_HEAD_BONUS) * (heads > 0)
        scores += np.float32(_RELATION_WEIGHT) * relation_scores(view, ids, query.residual)
    if masks.preferred is not None and masks.preferred.triples is not None:
        scores += np.float32(_PREFERRED_BONUS) * masks.preferred.triples[ids]
    best = top_k(scores.astype(np.float32), min(n_triples, scores.shape[0]))
    return ScoredTriples(ids[best], scores[best].astype(np.float32), similarity[best])


def _named_triples(
    view: SnapshotView, nodes: NDArray[np.int32], residual: NDArray[np.float32], allowed: Selection
) -> list[NDArray[np.int32]]:
    """Return the triples out of and into the named nodes, of a long row those of the best relations."""
    sides = (view.out, view.into)
    if all((side.indptr[nodes + 1] - side.indptr[nodes] <= _ROW_LIMIT).all() for side in sides):
        return [incident_triples(view, nodes, 0, allowed)[0]]
    vectors = view.strings["vectors"].view(np.uint16)
    alike = row_dots(vectors, view.strings["relation_string"], residual)
    permitted = (allowed.out_triples, allowed.into_triples)
    return [
        side.triple[allowed_entries(side, nodes, mask, _ROW_LIMIT, alike)[0]]
        for side, mask in zip(sides, permitted, strict=True)
    ]


def _named_nodes(mentions: Sequence[Mention]) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
    """Return the nodes that the question names, ascending, and their weights.

    Beside a node whose name is written exactly so, those of another spelling count half ("Base" and "base").
    """
    weight: dict[int, float] = {}
    for mention in mentions:
        for position, node in enumerate(mention.nodes[:_BEARERS]):
            share = 1.0 if position < mention.n_exact or not mention.n_exact else _OTHER_SPELLING
            weight[node] = max(weight.get(node, 0.0), share * mention.weight)
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
