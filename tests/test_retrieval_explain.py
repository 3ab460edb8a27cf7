"""An explanation adds up: shares sum to the score, and what it names is in the evidence."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import numpy as np
import pytest

from ytrag_core.config import RetrievalSettings
from ytrag_core.errors import QueryError
from ytrag_core.knowledge_base import KnowledgeBase
from ytrag_core.retrieval.type_filter import TypeFilter

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

ENGLISH = "In which city was the designer of the Thirteen Lamps Bridge born?"
CHINESE = "盐管风琴是谁造的？"


@pytest.mark.parametrize("question", [ENGLISH, CHINESE])
def test_shares_sum_to_the_scores_of_the_evidence(sample_kb: KnowledgeBase, question: str) -> None:
    evidence = sample_kb.retrieve(question, top_k=10)
    told = sample_kb.explain(question, top_k=10)
    assert [chunk.id for chunk in told.chunks] == [chunk.id for chunk in evidence.chunks]
    assert [chunk.rank for chunk in told.chunks] == list(range(1, 11))
    for chunk, found in zip(told.chunks, evidence.chunks, strict=True):
        assert chunk.score == pytest.approx(found.score, abs=1e-5)
        assert sum(share.contribution for share in chunk.routes.values()) == pytest.approx(
            chunk.score, abs=1e-4
        )
        ranks = {route: share.rank for route, share in chunk.routes.items() if share.rank is not None}
        assert ranks == dict(found.routes)


@pytest.mark.parametrize("question", [ENGLISH, CHINESE])
def test_names_facts_paths_and_seeds_are_those_of_the_evidence(
    sample_kb: KnowledgeBase, question: str
) -> None:
    evidence = sample_kb.retrieve(question, top_k=57)
    told = sample_kb.explain(question, top_k=57)
    for chunk in told.chunks:
        for triple in chunk.triples:
            assert chunk.id in triple.chunk_ids
        for path in chunk.paths:
            assert path.score in [found.score for found in evidence.paths]
            assert any(chunk.id in triple.chunk_ids for triple in path.triples)
        assert set(chunk.names) <= {name.surface for name in told.names}
        if "path" in chunk.routes and chunk.routes["path"].rank:
            assert chunk.paths
        if "triple" in chunk.routes and chunk.routes["triple"].rank:
            assert chunk.triples
        named = "entity" in chunk.routes and chunk.routes["entity"].rank is not None
        assert bool(chunk.names) == named
    assert sum(name.weight for name in told.names) == pytest.approx(1.0, abs=1e-4)
    masses = [seed.mass for seed in told.seeds]
    assert masses == sorted(masses, reverse=True)
    assert told.n_seeds >= len(masses) > 0
    assert sum(masses) <= 1.0 + 1e-6


def test_walks_start_at_the_same_places_however_much_is_explained(sample_kb: KnowledgeBase) -> None:
    few = RetrievalSettings(n_candidates=5)
    kb = KnowledgeBase.open(sample_kb.path, encoder=sample_kb.encoder, settings=few)
    told = kb.explain(ENGLISH, top_k=57)
    assert sum(chunk.seed_mass > 0 for chunk in told.chunks) <= 2 * 5


def test_one_passage_and_one_that_no_route_finds(sample_kb: KnowledgeBase) -> None:
    best = sample_kb.retrieve(ENGLISH, top_k=1).chunks[0]
    (one,) = sample_kb.explain(ENGLISH, best.id).chunks
    assert (one.id, one.rank) == (best.id, 1)
    found = {chunk.id for chunk in sample_kb.retrieve(ENGLISH, top_k=57, routes=["entity"]).chunks}
    lost = next(name for name in sample_kb.view.chunks.ids if name not in found)
    (absent,) = sample_kb.explain(ENGLISH, lost, routes=["entity"]).chunks
    assert (absent.rank, absent.score, dict(absent.routes), absent.names) == (None, 0.0, {}, ())
    with pytest.raises(QueryError, match=r"no passage 'sample-en-9x'.*there are sample-en-"):
        sample_kb.explain(ENGLISH, "sample-en-9x")


def test_filters_and_rerankers_are_explained(sample_kb: KnowledgeBase) -> None:
    relation = sample_kb.view.relation_names[0]
    told = sample_kb.explain(ENGLISH, top_k=57, types=TypeFilter(relations=(relation,)))
    assert any("types" in chunk.routes for chunk in told.chunks)
    for chunk in told.chunks:
        assert sum(share.contribution for share in chunk.routes.values()) == pytest.approx(
            chunk.score, abs=1e-4
        )
    none = sample_kb.explain(ENGLISH, where="id=nothing")
    assert none.chunks == ()
    assert none.notes

    class Backwards:
        def score(self, question: str, passages: Sequence[str]) -> NDArray[np.float32]:
            return np.arange(len(passages), dtype=np.float32)

    read = sample_kb.explain(ENGLISH, top_k=3, reranker=Backwards())
    assert all(chunk.routes["rerank"].rank for chunk in read.chunks)


def test_the_json_of_explain(sample_kb: KnowledgeBase) -> None:
    document = json.loads(json.dumps(sample_kb.explain(CHINESE, top_k=2).to_json(), allow_nan=False))
    assert set(document) == {"question", "read_as", "names", "seeds", "n_seeds", "trust", "chunks", "notes"}
    for chunk in document["chunks"]:
        assert set(chunk) == {
            "id", "title", "rank", "score", "routes", "names", "triples", "paths", "seed_mass"
        }  # fmt: skip
        assert all(set(share) == {"rank", "score", "contribution"} for share in chunk["routes"].values())
