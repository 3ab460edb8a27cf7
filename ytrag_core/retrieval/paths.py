"""Path search: chains of triples from the question's names, scored against the question as a whole."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ytrag_core.kernels.topk import top_k
from ytrag_core.retrieval.triples import incident_triples, triple_scores, triple_vectors

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from ytrag_core.config import RetrievalSettings
    from ytrag_core.retrieval.view import SnapshotView

__all__ = ["Path", "find_paths"]

_EXPANDED = 512
_N_PATHS = 10
_MAX_SEEDS = 24
_HUB_PENALTY = np.float32(0.02)


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
        Similarity of the question and the mean of the triples' vectors, damped by the hubs passed through.
    """

    triples: tuple[int, ...]
    nodes: tuple[int, ...]
    score: float


@dataclass(frozen=True, slots=True, eq=False)
class _Beam:
    """Paths of one length: their ends and the sums of their triples' vectors."""

    paths: list[Path]
    ends: NDArray[np.int32]
    sums: NDArray[np.float32]
    penalties: NDArray[np.float32]


def find_paths(
    view: SnapshotView, query: NDArray[np.float32], seeds: Mapping[int, float], settings: RetrievalSettings
) -> list[Path]:
    """Search chains of up to `max_hops` triples that start at a seed, best first.

    A path is scored by the cosine of the question and the sum of its triples' vectors, so a bridge is found
    whose own triple does not resemble the question. Passing through a node of degree g costs
    0.02 ln(1 + g): a hub links everything and says little.

    Parameters
    ----------
    view
        The snapshot.
    query
        (d,) float32 vector of the question.
    seeds
        Node -> weight in [0, 1]; the heaviest few are started from.
    settings
        Beam width, longest path and the edges looked at per node.
    """
    starts = sorted(seeds, key=lambda node: (-seeds[node], node))[:_MAX_SEEDS]
    if not starts or view.n_triples == 0:
        return []
    beam = _Beam(
        [Path((), (node,), 0.0) for node in starts],
        np.array(starts, np.int32),
        np.zeros((len(starts), query.shape[0]), np.float32),
        np.zeros(len(starts), np.float32),
    )
    found: list[Path] = []
    for _ in range(settings.max_hops):
        beam = _extend(view, query, beam, settings)
        if not beam.paths:
            break
        found.extend(beam.paths)
    return _distinct(sorted(found, key=lambda path: (-path.score, path.triples)))


def _extend(
    view: SnapshotView, query: NDArray[np.float32], beam: _Beam, settings: RetrievalSettings
) -> _Beam:
    """Return the best paths that are one triple longer."""
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
        rough = triple_scores(view, triples, query) + beam.sums[owner] @ query
        kept = np.sort(top_k(rough.astype(np.float32), _EXPANDED))
        triples, other, owner = triples[kept], other[kept], owner[kept]
    sums = beam.sums[owner] + triple_vectors(view, triples)
    penalties = beam.penalties[owner]
    if beam.paths[0].triples:
        penalties = penalties + _HUB_PENALTY * np.log1p(_degree(view, beam.ends)[owner])
    norms = np.maximum(np.linalg.norm(sums, axis=1), np.float32(1e-12))
    scores = ((sums @ query) / norms - penalties).astype(np.float32)
    best = top_k(scores, min(settings.beam, scores.shape[0]))
    paths = [
        Path(
            (*beam.paths[owner[row]].triples, int(triples[row])),
            (*beam.paths[owner[row]].nodes, int(other[row])),
            float(scores[row]),
        )
        for row in best.tolist()
    ]
    return _Beam(paths, other[best], sums[best], penalties[best])


def _degree(view: SnapshotView, nodes: NDArray[np.int32]) -> NDArray[np.float32]:
    degree = sum(csr.indptr[nodes + 1] - csr.indptr[nodes] for csr in (view.out, view.into))
    return np.asarray(degree, np.float32)


def _distinct(paths: Sequence[Path]) -> list[Path]:
    """Keep the best path of each set of triples, and none that is only a part of a better one."""
    kept: list[Path] = []
    for path in paths:
        triples = set(path.triples)
        if not any(triples <= set(other.triples) for other in kept):
            kept.append(path)
        if len(kept) == _N_PATHS:
            break
    return kept
