"""Path search: chains of triples from the question's names, scored against the question as a whole."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ytrag_core.kernels.topk import top_k
from ytrag_core.retrieval.triples import (
    incident_triples,
    relation_scores,
    relation_vectors,
    triple_scores,
    triple_vectors,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from ytrag_core.config import RetrievalSettings
    from ytrag_core.retrieval.view import SnapshotView

__all__ = ["Path", "PathQuery", "find_paths"]

_EXPANDED = 512
_N_PATHS = 20
_MAX_SEEDS = 24
_HUB_PENALTY = np.float32(0.02)
_VALUE_PENALTY = np.float32(0.1)
_STEP_BONUS = np.float32(0.1)


@dataclass(frozen=True, slots=True)
class Path:
    """A chain of triples.

    Attributes
    ----------
    triples
        Ids, in walking order.
    nodes
        The nodes passed, one more than triples.
    score
        See `find_paths`; comparable within one question.
    """

    triples: tuple[int, ...]
    nodes: tuple[int, ...]
    score: float


@dataclass(frozen=True, slots=True, eq=False)
class _Beam:
    """Paths of one length.

    Attributes
    ----------
    paths
        The paths, n of them.
    ends
        (n,) int32 last nodes.
    facts, relations
        (n, d) float32 sums of the vectors of their triples and of their relations.
    penalties
        (n,) float32 cost of the hubs passed through.
    """

    paths: list[Path]
    ends: NDArray[np.int32]
    facts: NDArray[np.float32]
    relations: NDArray[np.float32]
    penalties: NDArray[np.float32]


@dataclass(frozen=True, slots=True, eq=False)
class PathQuery:
    """What paths are scored against.

    Attributes
    ----------
    question
        (d,) float32 vector of the question.
    residual
        (d,) float32 vector of the question without its names.
    """

    question: NDArray[np.float32]
    residual: NDArray[np.float32]


def find_paths(
    view: SnapshotView, query: PathQuery, seeds: Mapping[int, float], settings: RetrievalSettings
) -> list[Path]:
    """Search chains of up to `max_hops` triples that start at a seed, best first.

    A path is scored as a whole: the cosine of the question and the sum of its triples' vectors, so that a
    bridge is found whose own triple does not resemble the question; plus the cosine of the question without
    its names and the sum of its relations' vectors ("the designer of ... was born in" is built + born in);
    plus 0.1 a triple after the first, for a longer path must not lose to its own first step. Passing through
    a node of degree g costs 0.02 ln(1 + g): a hub links everything and says little; through an attribute
    value it costs 0.1 more, for a year that two things share links them by chance as a rule.

    Parameters
    ----------
    view
        The snapshot.
    query
        The vectors of the question.
    seeds
        Node -> weight in [0, 1]; the heaviest few are started from.
    settings
        Beam width, longest path and the edges looked at per node.
    """
    starts = sorted(seeds, key=lambda node: (-seeds[node], node))[:_MAX_SEEDS]
    if not starts or view.n_triples == 0:
        return []
    zeros = np.zeros((len(starts), query.question.shape[0]), np.float32)
    beam = _Beam(
        [Path((), (node,), 0.0) for node in starts],
        np.array(starts, np.int32),
        zeros,
        zeros,
        np.zeros(len(starts), np.float32),
    )
    found: list[Path] = []
    for _ in range(settings.max_hops):
        beam = _extend(view, query, beam, settings)
        if not beam.paths:
            break
        found.extend(beam.paths)
    return _distinct(sorted(found, key=lambda path: (-path.score, path.triples)))


def _steps(
    view: SnapshotView, query: PathQuery, beam: _Beam, settings: RetrievalSettings
) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int32]]:
    """Return the triples that prolong the beam without a loop, the nodes they lead to and their paths."""
    triples, other, owner = incident_triples(view, beam.ends, settings.row_limit)
    fresh = np.fromiter(
        (
            node not in beam.paths[path].nodes
            for node, path in zip(other.tolist(), owner.tolist(), strict=True)
        ),
        bool,
        other.shape[0],
    )
    triples, other, owner = triples[fresh], other[fresh], owner[fresh]
    if triples.shape[0] > _EXPANDED:
        rough = triple_scores(view, triples, query.question) + relation_scores(view, triples, query.residual)
        kept = np.sort(top_k((rough + beam.facts[owner] @ query.question).astype(np.float32), _EXPANDED))
        triples, other, owner = triples[kept], other[kept], owner[kept]
    return triples, other, owner


def _extend(view: SnapshotView, query: PathQuery, beam: _Beam, settings: RetrievalSettings) -> _Beam:
    """Return the best paths that are one triple longer."""
    triples, other, owner = _steps(view, query, beam, settings)
    n_before = len(beam.paths[0].triples)
    facts = beam.facts[owner] + triple_vectors(view, triples)
    relations = beam.relations[owner] + relation_vectors(view, triples)
    penalties = beam.penalties[owner]
    if n_before:
        passed = _HUB_PENALTY * np.log1p(_degree(view, beam.ends))
        passed += np.where(beam.ends >= view.n_entities, _VALUE_PENALTY, np.float32(0.0))
        penalties = (penalties + passed[owner]).astype(np.float32)
    alike = _cosine(facts, query.question) + _cosine(relations, query.residual)
    scores = (alike - penalties + _STEP_BONUS * n_before).astype(np.float32)
    best = top_k(scores, min(settings.beam, scores.shape[0]))
    paths = [
        Path(
            (*beam.paths[owner[row]].triples, int(triples[row])),
            (*beam.paths[owner[row]].nodes, int(other[row])),
            float(scores[row]),
        )
        for row in best.tolist()
    ]
    return _Beam(paths, other[best], facts[best], relations[best], penalties[best])


def _cosine(rows: NDArray[np.float32], query: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the cosine of each row and a unit vector."""
    norms = np.maximum(np.linalg.norm(rows, axis=1), np.float32(1e-12))
    cosine: NDArray[np.float32] = np.divide(rows @ query, norms, dtype=np.float32)
    return cosine


def _degree(view: SnapshotView, nodes: NDArray[np.int32]) -> NDArray[np.float32]:
    degree = sum(csr.indptr[nodes + 1] - csr.indptr[nodes] for csr in (view.out, view.into))
    return np.asarray(degree, np.float32)


def _distinct(paths: Sequence[Path]) -> list[Path]:
    """Keep the best path of each set of triples."""
    kept: dict[frozenset[int], Path] = {}
    for path in paths:
        kept.setdefault(frozenset(path.triples), path)
        if len(kept) == _N_PATHS:
            break
    return list(kept.values())
