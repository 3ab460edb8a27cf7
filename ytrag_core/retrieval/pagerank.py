"""Personalised PageRank over nodes and chunks, seeded by names, facts and passages."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ytrag_core.kernels.ppr import ppr_push

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ytrag_core.config import RetrievalSettings
    from ytrag_core.retrieval.mentions import Mention
    from ytrag_core.retrieval.triples import ScoredTriples
    from ytrag_core.retrieval.view import PushScratch, SnapshotView

__all__ = ["Visits", "seed_mass", "visited_passages", "walk_from"]

Visits = tuple[NDArray[np.int32], NDArray[np.float32]]
"""Vertices and how often walks visit each."""


def seed_mass(
    view: SnapshotView,
    mentions: Sequence[Mention],
    facts: ScoredTriples,
    facts_trust: float,
    passages: Sequence[tuple[NDArray[np.int32], NDArray[np.float32], float]],
    settings: RetrievalSettings,
) -> dict[int, float]:
    """Return where walks start: vertex -> mass, summing to 1; chunks lie behind the nodes.

    The names in the question weigh 1, the ends of its best facts `facts_share` times the trust in them, each
    text route `passage_share` times the trust that comes with it. A fact's end counts less the more chunks
    mention it (HippoRAG 2, arXiv 2502.14802, section 3.2, whose seeds these are but for the names and BM25).
    """
    mass: dict[int, float] = {}
    for mention in mentions:
        for node in mention.nodes:
            mass[node] = mass.get(node, 0.0) + mention.weight / len(mention.nodes)
    for node, weight in _fact_ends(view, facts, settings.n_facts).items():
        mass[node] = mass.get(node, 0.0) + settings.facts_share * facts_trust * weight
    seeded, shares = [np.empty(0, np.int32)], [np.empty(0, np.float32)]
    for rows, scores, trust in passages:
        above = np.maximum(scores - scores.min(), 0.0) if scores.size else scores
        total = float(above.sum())
        if total > 0.0:
            seeded.append(rows)
            shares.append(settings.passage_share * trust * above / total)
    rows, owner = np.unique(np.concatenate(seeded), return_inverse=True)
    mass |= zip(
        (rows + view.n_nodes).tolist(), np.bincount(owner, np.concatenate(shares)).tolist(), strict=True
    )
    total = sum(mass.values())
    return {vertex: value / total for vertex, value in mass.items() if value > 0.0} if total > 0.0 else {}


def _fact_ends(view: SnapshotView, facts: ScoredTriples, n_facts: int) -> dict[int, float]:
    """Return the ends of the most similar facts with weights that sum to 1."""
    best = np.argsort(-facts.similarity, kind="stable")[:n_facts]
    ids, similarity = facts.ids[best], facts.similarity[best]
    if not ids.size or similarity[0] <= 0.0:
        return {}
    chunk_counts = view.node_chunks.indptr
    gathered: dict[int, list[float]] = {}
    for ends in (view.heads(ids), view.out.indices[ids]):
        for node, score in zip(ends.tolist(), (similarity / similarity[0]).tolist(), strict=True):
            n_chunks = int(chunk_counts[node + 1] - chunk_counts[node])
            gathered.setdefault(node, []).append(max(score, 0.0) / max(n_chunks, 1))
    means = {node: sum(values) / len(values) for node, values in gathered.items()}
    total = sum(means.values())
    return {node: value / total for node, value in means.items()} if total > 0.0 else {}


def walk_from(
    view: SnapshotView, mass: Mapping[int, float], settings: RetrievalSettings, *, coarse: float = 1.0
) -> Visits:
    """Return the vertices that walks from `mass` visit and how often, in no order.

    Walks are followed down to `settings.epsilon` times `coarse`.
    """
    if not mass:
        return np.empty(0, np.int32), np.empty(0, np.float32)
    vertices = np.fromiter(sorted(mass), np.int32, len(mass))
    weights = np.fromiter((mass[vertex] for vertex in vertices.tolist()), np.float32, len(mass))
    walk = view.walk

    def push(scratch: PushScratch) -> Visits:
        return ppr_push(
            walk.indptr,
            walk.indices,
            walk.weights,
            walk.strength,
            vertices,
            weights,
            settings.damping,
            coarse * settings.epsilon,
            settings.max_pushes,
            scratch.mass,
            scratch.queue,
            scratch.touched,
        )

    return view.with_scratch(push)


def visited_passages(
    view: SnapshotView, visited: Visits, allowed: NDArray[np.bool_] | None
) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
    """Return the passages that walks visit and that may be put forward; a walk passes through everything.

    Parameters
    ----------
    view
        The snapshot.
    visited
        As `walk_from` gives it.
    allowed
        (n_chunks,) bool; all without it.

    Returns
    -------
    rows, visits
        (n,) int32 and float32, in no order.
    """
    vertices, visits = visited
    is_chunk = vertices >= view.n_nodes
    rows, visits = vertices[is_chunk] - np.int32(view.n_nodes), visits[is_chunk]
    return (rows, visits) if allowed is None else (rows[allowed[rows]], visits[allowed[rows]])
