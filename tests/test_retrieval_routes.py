"""Routes can be switched, and what they say of a passage is true."""

from __future__ import annotations

import math
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from tests.bases import live_folder, read_lines, table_rows, write_openie
from ytrag_core.config import ROUTES
from ytrag_core.errors import QueryError
from ytrag_core.knowledge_base import KnowledgeBase
from ytrag_core.sample import sample_folder
from ytrag_core.storage.arrays import map_arrays

if TYPE_CHECKING:
    from pathlib import Path

    from ytrag_core.embedding.encoder import Encoder
    from ytrag_core.retrieval.model import Evidence, TripleHit

QUESTION = "In which city was the designer of the Thirteen Lamps Bridge born?"
CORPUS = {row["id"]: row for row in read_lines(sample_folder() / "corpus.jsonl")}
RECORDS = {row["passage_id"]: row for row in read_lines(sample_folder() / "openie.jsonl")}
QUESTIONS = read_lines(sample_folder() / "questions.jsonl")
ASKED = [row["question"] for row in QUESTIONS]


def fold(name: str) -> str:
    return name.strip(" 《》“”'\".").casefold()


def stated_in() -> dict[tuple[str, ...], set[str]]:
    found: dict[tuple[str, ...], set[str]] = defaultdict(set)
    for passage, record in RECORDS.items():
        for triple in record["triples"]:
            found[tuple(map(fold, triple))].add(passage)
    return found


def named_in() -> dict[str, set[str]]:
    found: dict[str, set[str]] = defaultdict(set)
    for passage, record in RECORDS.items():
        for name in [*record["entities"], *(end for triple in record["triples"] for end in triple[::2])]:
            found[fold(name)].add(passage)
    return found


STATED, NAMED = stated_in(), named_in()


def without_timings(evidence: Evidence) -> dict[str, Any]:
    return {name: value for name, value in evidence.to_json().items() if name != "timings_ms"}


def found_by(evidence: Evidence, route: str) -> list[str]:
    """Ids of the passages that a route put forward, by its own ranks."""
    ranks = {chunk.routes[route]: chunk.id for chunk in evidence.chunks if route in chunk.routes}
    return [ranks[rank] for rank in sorted(ranks)]


@pytest.mark.parametrize("question", ASKED)
def test_every_triple_names_exactly_the_passages_that_state_it(
    sample_kb: KnowledgeBase, question: str
) -> None:
    evidence = sample_kb.retrieve(question, top_k=200)
    hits: list[TripleHit] = [*evidence.triples, *(hit for path in evidence.paths for hit in path.triples)]
    assert len(hits) > 100
    for hit in hits:
        key = tuple(map(fold, (hit.head, hit.relation, hit.tail)))
        assert set(hit.chunk_ids) == STATED[key] != set()
        assert len(hit.chunk_ids) == len(set(hit.chunk_ids))


@pytest.mark.parametrize("question", ASKED)
def test_passages_are_those_of_the_corpus_best_first(sample_kb: KnowledgeBase, question: str) -> None:
    evidence = sample_kb.retrieve(question, top_k=200)
    assert len({chunk.id for chunk in evidence.chunks}) == len(evidence.chunks) <= len(CORPUS)
    for chunk in evidence.chunks:
        passage = CORPUS[chunk.id]
        assert (chunk.title, chunk.text) == (passage["title"], passage["text"])
        assert chunk.routes
        assert set(chunk.routes) <= set(ROUTES)
    ranked = (evidence.chunks, evidence.triples, evidence.paths, evidence.communities)
    for scores in ([hit.score for hit in hits] for hits in ranked):
        assert all(first >= second for first, second in pairwise(scores))
    assert evidence.question == question


@pytest.mark.parametrize("question", ASKED)
def test_what_the_routes_say_of_a_passage_is_true(sample_kb: KnowledgeBase, question: str) -> None:
    evidence = sample_kb.retrieve(question, top_k=200)
    by_triple = {passage for hit in evidence.triples for passage in hit.chunk_ids}
    by_path = {passage for path in evidence.paths for hit in path.triples for passage in hit.chunk_ids}
    folded = question.casefold()
    by_name = set().union(*(passages for name, passages in NAMED.items() if name in folded))
    entities = table_rows(sample_kb.path, "entities")
    graph = map_arrays(live_folder(sample_kb.path) / "graph.arrow")
    by_community = set()
    for hit in evidence.communities:
        start, end = graph["members_indptr"][hit.id : hit.id + 2].tolist()
        for member in graph["members"][start:end].tolist():
            by_community |= NAMED[fold(entities[member]["name"])]
    assert set(found_by(evidence, "triple")) <= by_triple
    assert set(found_by(evidence, "path")) == by_path
    assert set(found_by(evidence, "entity")) <= by_name
    assert set(found_by(evidence, "community")) <= by_community
    for route in ROUTES:
        ranks = sorted(chunk.routes[route] for chunk in evidence.chunks if route in chunk.routes)
        assert ranks == list(range(1, len(ranks) + 1))


@pytest.mark.parametrize("question", ASKED)
def test_the_dense_route_ranks_by_cosine(sample_kb: KnowledgeBase, question: str) -> None:
    arrays = map_arrays(live_folder(sample_kb.path) / "vectors" / "chunks.arrow")
    ids = [row["id"] for row in table_rows(sample_kb.path, "chunks")]
    evidence = sample_kb.retrieve(question, top_k=60, routes=["dense"])
    asked = evidence.read_as or question
    cosine = arrays["vectors"].astype(np.float64) @ sample_kb.encoder.encode_query(asked)
    ranked = found_by(evidence, "dense")
    assert sorted(ranked) == sorted(ids) == sorted(CORPUS)
    assert [chunk.id for chunk in evidence.chunks] == ranked
    above = [chunk.id for chunk in evidence.chunks if chunk.score > 0]
    assert len(above) == (cosine > cosine.mean()).sum()
    scores = dict(zip(ids, cosine.tolist(), strict=True))
    assert [scores[name] for name in ranked] == pytest.approx(sorted(scores.values(), reverse=True), abs=1e-5)


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda row: str(row["id"]))
def test_gold_passages_in_the_language_of_the_question_are_found(
    sample_kb: KnowledgeBase, question: dict[str, Any]
) -> None:
    language = "sample-en-" if question["question"].isascii() else "sample-zh-"
    gold = {name for name in question["supporting_ids"] if name.startswith(language)}
    assert len(gold) >= 2
    assert {chunk.id for chunk in sample_kb.retrieve(question["question"], top_k=20).chunks} >= gold


@pytest.mark.parametrize("route", ROUTES)
def test_a_route_alone(sample_kb: KnowledgeBase, route: str) -> None:
    evidence = sample_kb.retrieve(QUESTION, routes=[route])
    assert evidence.chunks
    assert {name for chunk in evidence.chunks for name in chunk.routes} == {route}
    assert bool(evidence.paths) == (route == "path")
    assert bool(evidence.communities) == (route == "community")
    assert bool(evidence.triples) == (route in {"triple", "path", "ppr"})
    others = set(ROUTES) - {route, "entity", "triple", "dense", "bm25"}
    assert not others & set(evidence.timings_ms)
    assert {"encode", route, "total"} <= set(evidence.timings_ms)


def test_a_route_left_out_leaves_no_trace(sample_kb: KnowledgeBase) -> None:
    for route in ROUTES:
        rest = [name for name in ROUTES if name != route]
        evidence = sample_kb.retrieve(QUESTION, routes=rest)
        assert {name for chunk in evidence.chunks for name in chunk.routes} == set(rest)


def test_all_routes_are_the_default_and_their_order_does_not_matter(sample_kb: KnowledgeBase) -> None:
    by_default = without_timings(sample_kb.retrieve(QUESTION))
    assert without_timings(sample_kb.retrieve(QUESTION, routes=ROUTES)) == by_default
    assert without_timings(sample_kb.retrieve(QUESTION, routes=[*ROUTES[::-1], "ppr"])) == by_default


@pytest.mark.parametrize("top_k", [1, 3, 20])
def test_top_k_cuts_one_ranking(sample_kb: KnowledgeBase, top_k: int) -> None:
    full, cut = (sample_kb.retrieve(QUESTION, top_k=k) for k in (50, top_k))
    assert [chunk.id for chunk in cut.chunks] == [chunk.id for chunk in full.chunks[:top_k]]
    assert cut.triples == full.triples[:top_k]


@pytest.mark.parametrize(
    ("question", "options", "message"),
    [
        ("", {}, "question is empty"),
        (" \n\u3000", {}, "question is empty"),
        (QUESTION, {"top_k": 0}, "top_k is 0; at least 1"),
        (QUESTION, {"top_k": -3}, "top_k is -3"),
        (
            QUESTION,
            {"routes": ["dense", "teleport"]},
            r"\['teleport'\].*entity, triple, community, path, ppr",
        ),
        (QUESTION, {"routes": []}, "none arrived; choose from entity"),
    ],
)
def test_bad_queries(sample_kb: KnowledgeBase, question: str, options: dict[str, Any], message: str) -> None:
    with pytest.raises(QueryError, match=message):
        sample_kb.retrieve(question, **options)


@pytest.mark.parametrize("question", ["?!", "zzz qqq", "\ud800 sea", "a\0b", "海", "the " * 5000, "🙂"])
def test_strange_questions_get_evidence(sample_kb: KnowledgeBase, question: str) -> None:
    evidence = sample_kb.retrieve(question)
    assert len(evidence.chunks) == 20
    assert all(math.isfinite(chunk.score) for chunk in evidence.chunks)


def test_threads_get_what_one_thread_gets(sample_kb: KnowledgeBase) -> None:
    alone = [without_timings(sample_kb.retrieve(question)) for question in ASKED]
    assert alone == [without_timings(sample_kb.retrieve(question)) for question in ASKED]
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(sample_kb.retrieve, ASKED * 5))
    assert [without_timings(evidence) for evidence in together] == alone * 5


@pytest.mark.parametrize(
    ("title", "triples"),
    [("", []), ("The sea", []), ("The sea", [["sea", "colour", "blue"]]), ("", [["1", "2", "3"]])],
)
def test_small_knowledge_bases_answer(
    tmp_path: Path, encoder: Encoder, title: str, triples: list[list[str]]
) -> None:
    corpus = [{"id": "a", "title": title, "text": "!!! 1963"}]
    records = [{"passage_id": "a", "entities": [], "triples": triples}]
    KnowledgeBase.build(
        tmp_path / "kb", [write_openie(tmp_path / "in", corpus, records)], format="openie", encoder=encoder
    )
    kb = KnowledgeBase.open(tmp_path / "kb", encoder=encoder)
    evidence = kb.retrieve("What colour has the sea?")
    assert [chunk.id for chunk in evidence.chunks] == ["a"]
    assert len(evidence.triples) == len(triples)
    for route in ROUTES:
        assert len(kb.retrieve("What colour has the sea?", routes=[route]).chunks) <= 1


def test_many_questions_are_answered_as_one_by_one(sample_kb: KnowledgeBase) -> None:
    questions = [*ASKED, ASKED[0], "?", "And what of zeppelins"]
    many = sample_kb.retrieve_many(questions, top_k=7)
    assert [evidence.question for evidence in many] == questions
    for question, evidence in zip(questions, many, strict=True):
        single = sample_kb.retrieve(question, top_k=7)
        assert [chunk.id for chunk in evidence.chunks] == [chunk.id for chunk in single.chunks]
        assert [chunk.score for chunk in evidence.chunks] == pytest.approx(
            [chunk.score for chunk in single.chunks], abs=1e-4
        )
        assert [(fact.head, fact.relation, fact.tail) for fact in evidence.triples] == [
            (fact.head, fact.relation, fact.tail) for fact in single.triples
        ]
        assert set(evidence.timings_ms) == set(single.timings_ms)
    assert sample_kb.retrieve_many([]) == []


@pytest.mark.parametrize(
    ("questions", "told"), [(["Who?", " "], "question 1: "), (["Who?", 3], "question 1: "), ("Who?", "list")]
)
def test_what_is_wrong_with_one_of_many_is_told(sample_kb: KnowledgeBase, questions: Any, told: str) -> None:
    with pytest.raises(QueryError, match=told):
        sample_kb.retrieve_many(questions)
