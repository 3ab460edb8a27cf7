"""The passages behind what routes find in the graph: names, triples, paths and communities."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ytrag_core.kernels.gather import scores_behind
from ytrag_core.retrieval.fusion import RouteChunks, best_chunks

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from ytrag_core.graph.tables import Provenance
    from ytrag_core.retrieval.masks import Masks
    from ytrag_core.retrieval.mentions import Mention
    from ytrag_core.retrieval.paths import Path
    from ytrag_core.retrieval.triples import ScoredTriples
    from ytrag_core.retrieval.view import SnapshotView

__all__ = ["behind_communities", "behind_names", "behind_paths", "behind_triples"]

_MEMBERS = 512
_NODE_BONUS = 0.5
_EVERY = np.empty(0, bool)


def behind_names(view: SnapshotView, mentions: Sequence[Mention], masks: Masks, k: int) -> RouteChunks:
    """Return the passages that mention the named nodes; nodes of preferred types count half as much again."""
    weights = {node: m.weight / len(m.nodes) for m in mentions for node in m.nodes}
    allowed, preferred = masks.allowed.nodes, masks.preferred
    if allowed is not None:
        weights = {node: weight for node, weight in weights.items() if allowed[node]}
    if preferred is not None and preferred.nodes is not None:
        factor = 1.0 + _NODE_BONUS
        weights = {
            node: factor * weight if preferred.nodes[node] else weight for node, weight in weights.items()
        }
    return _behind(view.node_chunks, weights, k, masks)


def behind_triples(view: SnapshotView, facts: ScoredTriples, masks: Masks, k: int) -> RouteChunks:
    """Return the passages that state facts."""
    return _behind_rows(view.triple_chunks, facts.ids, facts.scores, k, masks)


def behind_paths(view: SnapshotView, paths: Sequence[Path], masks: Masks, k: int) -> RouteChunks:
    """Return the passages that state the triples of paths, given best first."""
    scores = {triple: path.score for path in reversed(paths) for triple in path.triples}
    return _behind(view.triple_chunks, scores, k, masks)


def behind_communities(
    view: SnapshotView, communities: Sequence[tuple[int, float]], masks: Masks, k: int
) -> RouteChunks:
    """Return the passages that mention members of communities, given best first with their scores."""
    scores: dict[int, float] = {}
    for community, score in reversed(communities):
        start, end = view.members.indptr[community : community + 2].tolist()
        members = view.members.chunks[start:end]
        if masks.allowed.nodes is not None:
            members = members[masks.allowed.nodes[members]]
        n_members = max(members.shape[0], 1)
        scores.update(dict.fromkeys(members[:_MEMBERS].tolist(), score / n_members))
    return _behind(view.node_chunks, scores, k, masks, add=True)


def _behind(
    provenance: Provenance, scores: Mapping[int, float], k: int, masks: Masks, *, add: bool = False
) -> RouteChunks:
    subjects = np.fromiter(scores, np.int32, len(scores))
    return _behind_rows(
        provenance, subjects, np.fromiter(scores.values(), np.float32, len(scores)), k, masks, add=add
    )


def _behind_rows(
    provenance: Provenance,
    subjects: NDArray[np.int32],
    scores: NDArray[np.float32],
    k: int,
    masks: Masks,
    *,
    add: bool = False,
) -> RouteChunks:
    """Return the chunks behind scored subjects: each with its best subject's score, or with their sum."""
    allowed = masks.allowed.chunks
    rows, totals = scores_behind(
        provenance.indptr, provenance.chunks, subjects, scores, _EVERY if allowed is None else allowed, add
    )
    return best_chunks(totals, k, rows)
