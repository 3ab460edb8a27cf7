"""Personalised PageRank over nodes and chunks, seeded by names, facts and passages."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ytrag_core.kernels.ppr import ppr_push
from ytrag_core.retrieval.distinct import distinct_places

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ytrag_core.config import RetrievalSettings
    from ytrag_core.retrieval.mentions import Mention
    from ytrag_core.retrieval.triples import ScoredTriples
    from ytrag_core.retrieval.view import PushScratch, SnapshotView

__all__ = ["Seeds", "Visits", "seed_mass", "visited_passages", "walk_from"]

Visits = tuple[NDArray[np.int32], NDArray[np.float32]]
"""Vertices and how often walks visit each."""


class Seeds(NamedTuple):
    """Where walks start; chunks lie behind the nodes.

    Attributes
    ----------
    vertices
        (n,) int32, ascending.
    mass
        (n,) float64, positive, summing to 1.
    """

    vertices: NDArray[np.int32]
    mass: NDArray[np.float64]

    @classmethod
    def none(cls) -> Seeds:
        """Return that walks start nowhere."""
        return cls(np.empty(0, np.int32), np.empty(0, np.float64))

    def at(self, vertex: int) -> float:
        """Return the mass of a vertex, 0 where no walk starts."""
        return float(self.mass[self.vertices == vertex].sum())


def seed_mass(
    view: SnapshotView,
    mentions: Sequence[Mention],
    facts: ScoredTriples,
    facts_trust: float,
    passages: Sequence[tuple[NDArray[np.int32], NDArray[np.float32], float]],
    settings: RetrievalSettings,
) -> Seeds:
    """Return where walks start.

    The names in the question weigh 1, the ends of its best facts `facts_share` times the trust in them, each
    text route `passage_share` times the trust that comes with it. A fact's end counts less the more chunks
    mention it (HippoRAG 2, arXiv 2502.14802, section 3.2, whose seeds these are but for the names and BM25).
    """
    named = [(node, mention.weight / len(mention.nodes)) for mention in mentions for node in mention.nodes]
    ends, weights = _fact_ends(view, facts, settings.n_facts)
    vertices = [np.array([node for node, _ in named], np.int32), ends]
    masses: list[NDArray[Any]] = [
        np.array([mass for _, mass in named], np.float64),
        settings.facts_share * facts_trust * weights,
    ]
    for rows, scores, trust in passages:
        above = np.maximum(scores - scores.min(), 0.0) if scores.size else scores
        total = float(above.sum())
        if total > 0.0:
            vertices.append(rows + np.int32(view.n_nodes))
            masses.append(settings.passage_share * trust * above / total)
    seeded, place = distinct_places(np.concatenate(vertices))
    mass = np.bincount(place, np.concatenate(masses), seeded.shape[0])
    is_seed = mass > 0.0
    seeded, mass = seeded[is_seed], mass[is_seed]
    return Seeds(seeded, mass / mass.sum()) if seeded.size else Seeds.none()


def _fact_ends(
    view: SnapshotView, facts: ScoredTriples, n_facts: int
) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
    """Return the ends of the most similar facts, ascending, and weights that sum to 1."""
    best = np.argsort(-facts.similarity, kind="stable")[:n_facts]
    ids, similarity = facts.ids[best], facts.similarity[best]
    if not ids.size or similarity[0] <= 0.0:
        return Seeds.none()
    ends = np.concatenate((view.heads(ids), view.out.indices[ids]))
    relative = np.maximum(similarity / similarity[0], 0.0).astype(np.float64)
    indptr = view.node_chunks.indptr
    weights = np.concatenate((relative, relative)) / np.maximum(indptr[ends + 1] - indptr[ends], 1)
    nodes, place = distinct_places(ends)
    means = np.bincount(place, weights) / np.bincount(place)
    total = means.sum()
    return (nodes, means / total) if total > 0.0 else Seeds.none()


def walk_from(
    view: SnapshotView, seeds: Seeds, settings: RetrievalSettings, *, coarse: float = 1.0
) -> Visits:
    """Return the vertices that walks from `seeds` visit and how often, in no order.

    Walks are followed down to `settings.epsilon` times `coarse`.
    """
    if not seeds.vertices.size:
        return np.empty(0, np.int32), np.empty(0, np.float32)
    weights = seeds.mass.astype(np.float32)
    walk = view.walk

    def push(scratch: PushScratch) -> Visits:
        return ppr_push(
            walk.indptr,
            walk.indices,
            walk.weights,
            walk.strength,
            seeds.vertices,
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
