"""The routes that need no vectors: passages by words, and by walks from the names in a question."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ytrag_core.retrieval.fusion import RouteChunks, best_chunks
from ytrag_core.retrieval.pagerank import seed_mass, visited_passages, walk_from
from ytrag_core.retrieval.triples import ScoredTriples

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ytrag_core.config import RetrievalSettings
    from ytrag_core.retrieval.question import Asked
    from ytrag_core.retrieval.relation_words import AskedWords
    from ytrag_core.retrieval.view import SnapshotView

__all__ = ["Worded", "find_by_words"]

_COARSE = 10.0
"""A walk that only weighs passages is followed less far than one that also puts them forward."""


@dataclass(frozen=True, slots=True, eq=False)
class Worded:
    """What a question finds by its words alone; None is what no route asks for.

    Attributes
    ----------
    bm25
        The passages by words.
    coverage
        (n_chunks,) float32; empty where no route asks for it.
    from_names
        (n_chunks,) float32, how often walks from the question's names visit each passage.
    relations
        The words of relations that it asks with.
    """

    bm25: RouteChunks | None
    coverage: NDArray[np.float32]
    from_names: NDArray[np.float32] | None
    relations: AskedWords | None


def find_by_words(
    view: SnapshotView,
    settings: RetrievalSettings,
    asked: Asked,
    wanted: frozenset[str],
    n_candidates: int,
    allowed: NDArray[np.bool_] | None,
) -> Worded:
    """Return what a question finds by its words alone.

    Parameters
    ----------
    view, settings
        The snapshot, and the few numbers of retrieval.
    asked
        The question.
    wanted
        The routes that are asked for.
    n_candidates
        Most passages by words.
    allowed
        (n_chunks,) bool, the passages that may be returned; all without it.
    """
    n_chunks, clock = view.n_chunks, asked.clock
    bm25, coverage = None, np.empty(0, np.float32)
    if n_chunks and wanted & {"ppr", "bm25", "bridge"}:
        with clock.stage("bm25"):
            coverage = view.lexical.coverage(asked.text)
            if allowed is not None:
                coverage = np.where(allowed, coverage, np.float32(0.0))
            bm25 = best_chunks(coverage, n_candidates)
    from_names = None
    if n_chunks and "entity" in wanted:
        with clock.stage("entity"):
            from_names = _walk_from_names(view, settings, asked, allowed)
    relations = None
    if "path" in wanted:
        with clock.stage("path"):
            relations = view.relation_words.asked(asked.residual or asked.text)
    return Worded(bm25, coverage, from_names, relations)


def _walk_from_names(
    view: SnapshotView, settings: RetrievalSettings, asked: Asked, allowed: NDArray[np.bool_] | None
) -> NDArray[np.float32]:
    seeds = seed_mass(view, asked.mentions, ScoredTriples.none(), 0.0, (), settings)
    rows, visits = visited_passages(view, walk_from(view, seeds, settings, coarse=_COARSE), allowed)
    walked = np.zeros(view.n_chunks, np.float32)
    walked[rows] = visits
    return walked
