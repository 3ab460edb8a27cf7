"""Filters act inside every route: what is returned is the best of what plain Python says is allowed."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pytest

from tests.bases import live_folder, table_rows, write_edges, write_openie
from tests.tiny_bases import tiny_encoder
from ytrag_core.config import ROUTES, BuildSettings
from ytrag_core.errors import QueryError
from ytrag_core.knowledge_base import KnowledgeBase
from ytrag_core.retrieval.layout import METADATA, SENTENCES
from ytrag_core.retrieval.pagerank import walk_from
from ytrag_core.retrieval.type_filter import TypeFilter
from ytrag_core.retrieval.view import SnapshotView
from ytrag_core.storage.arrays import map_arrays

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from ytrag_core.retrieval.model import Evidence
    from ytrag_core.retrieval.retriever import Retriever
    from ytrag_core.retrieval.routes import Run

N = 240
QUESTION = "What is in River Delta and who was born in the town of a b?"
NAMES = ["a b", "b c", "c d", "d e", "e f", "f g"]
RELATIONS = ["born in", "lives in", "has year"]


def name(number: int) -> str:
    return f"{NAMES[number % 6]} {number}"


def source(folder: Any) -> Any:
    """Passages in two languages around a hub that most of them speak of, with metadata of every kind."""
    corpus, records = [], []
    for i in range(N):
        language = "zh" if i % 4 == 0 else "en"
        person = f"周岚{i}" if language == "zh" else name(i)
        corpus.append(
            {
                "id": f"p{i}",
                "title": f"{person} title",
                "text": f"{person} was born in River Delta. In the town of a b is a river {i}.",
                "year": 1990 + i % 40,
                "date": f"20{10 + i % 12}-{1 + i % 12:02}-0{1 + i % 9}",
                "lang": language,
                "tags": ["sea", "town"] if i % 3 == 0 else ["town"],
                "by": {"name": name(i % 7)},
            }
        )
        triples = [[person, RELATIONS[i % 2], "River Delta"], [person, "has year", str(1990 + i % 40)]]
        if i % 5 == 0:
            triples.append(["River Delta", "next to", name(i + 1)])
        if i % 6 == 0:
            triples.append([person, "met", "a b"])
        kinds = {person: "person" if i % 2 else "Sea_Captain", "River Delta": "place"}
        records.append(
            {
                "passage_id": f"p{i}",
                "entities": [{"name": entity, "type": kind} for entity, kind in kinds.items()],
                "triples": triples,
            }
        )
    return write_openie(folder, corpus, records)


@pytest.fixture(scope="module", params=[True, False], ids=["sentences", "parts"])
def kb(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> KnowledgeBase:
    folder = tmp_path_factory.mktemp("filters")
    encoder = tiny_encoder(folder)
    settings = BuildSettings() if request.param else BuildSettings(sentence_triples=0)
    KnowledgeBase.build(
        folder / "kb", [source(folder / "in")], format="openie", settings=settings, encoder=encoder
    )
    return KnowledgeBase.open(folder / "kb", encoder=encoder)


WHERE: dict[str, Callable[[dict[str, Any]], bool]] = {
    "year>=2025": lambda row: row["year"] >= 2025,
    "lang=zh": lambda row: row["lang"] == "zh",
    "tags=sea": lambda row: "sea" in row["tags"],
    "document=p17": lambda row: row["id"] == "p17",
    "title~岚1": lambda row: "岚1" in row["title"],
    "date>=2020-03-02": lambda row: row["date"] >= "2020-03-02",
    "by.name in a b 0,b c 1": lambda row: row["by"] in ("a b 0", "b c 1"),
    "text~river 23": lambda row: "river 23" in row["text"].lower(),
}


class Plain:
    """The tables of a knowledge base, and what a filter allows, by loops over them."""

    def __init__(self, kb: KnowledgeBase) -> None:
        self.kb = kb
        self.documents = table_rows(kb.path, "documents")
        self.chunks = table_rows(kb.path, "chunks")
        self.entities = table_rows(kb.path, "entities")
        self.attributes = table_rows(kb.path, "attributes")
        self.relations = [row["name"] for row in table_rows(kb.path, "relations")]
        self.triples = table_rows(kb.path, "triples")
        self.stated: list[set[int]] = [set() for _ in self.triples]
        self.named: list[set[int]] = [set() for _ in (*self.entities, *self.attributes)]
        for row in table_rows(kb.path, "mentions"):
            (self.stated if row["subject"] == "triple" else self.named)[row["id"]].add(row["chunk"])
        self.n_entities = len(self.entities)

    def meeting(self, meets: Callable[[dict[str, Any]], bool]) -> set[int]:
        met = set()
        for row, chunk in enumerate(self.chunks):
            fields = json.loads(self.documents[chunk["document"]]["metadata"])
            fields |= {
                "id": chunk["id"],
                "title": chunk["title"],
                "text": chunk["text"],
                "by": fields["by"]["name"],
            }
            if meets(fields):
                met.add(row)
        return met

    def of_types(self, types: TypeFilter) -> tuple[set[int], set[int], set[int]]:
        """Chunks, triples and entities that a hard filter allows."""
        wanted = {kind.casefold().replace("_", " ") for kind in types.entity_types}
        entities = {
            row
            for row, entity in enumerate(self.entities)
            if entity["type"].casefold().replace("_", " ") in wanted
        }
        triples = set()
        for row, triple in enumerate(self.triples):
            relation, tail = self.relations[triple["relation"]], triple["tail"]
            named = relation in types.relations or (relation in types.attributes and tail >= self.n_entities)
            if (types.relations or types.attributes) and not named:
                continue
            if types.entity_types and not {triple["head"], tail} & entities:
                continue
            triples.add(row)
        chunks = set().union(*(self.stated[row] for row in triples))
        if not (types.relations or types.attributes):
            chunks |= set().union(*(self.named[row] for row in entities))
        if not types.entity_types:
            entities = {
                end for row in triples for end in (self.triples[row]["head"], self.triples[row]["tail"])
            }
        return chunks, triples, entities


def ids_of(plain: Plain, rows: set[int]) -> set[str]:
    return {plain.chunks[row]["id"] for row in rows}


@pytest.mark.parametrize("where", list(WHERE))
@pytest.mark.parametrize("route", ROUTES)
def test_each_route_returns_only_passages_that_meet(kb: KnowledgeBase, route: str, where: str) -> None:
    plain = Plain(kb)
    met = plain.meeting(WHERE[where])
    assert 0 < len(met) < N
    evidence = kb.retrieve(QUESTION, top_k=N, routes=[route], where=where)
    assert {chunk.id for chunk in evidence.chunks} <= ids_of(plain, met)
    assert not evidence.notes
    for hit in (*evidence.triples, *(hit for path in evidence.paths for hit in path.triples)):
        assert set(hit.chunk_ids)
        assert set(hit.chunk_ids) <= ids_of(plain, met)
    if route in ("dense", "bm25"):
        few = kb.retrieve(QUESTION, top_k=5, routes=[route], where=where)
        assert len(few.chunks) == min(len(met), 5)


@pytest.mark.parametrize("where", list(WHERE))
def test_the_text_routes_rank_all_that_meet(kb: KnowledgeBase, where: str) -> None:
    plain = Plain(kb)
    met = sorted(plain.meeting(WHERE[where]))
    arrays = map_arrays(live_folder(kb.path) / "vectors" / "chunks.arrow")
    query = kb.encoder.encode_query(QUESTION)
    best: dict[int, float] = {}
    owners = arrays.get("window_chunk", np.arange(len(arrays["vectors"])))
    for row, score in zip(
        owners.tolist(), (arrays["vectors"].astype(np.float32) @ query).tolist(), strict=True
    ):
        best[row] = max(best.get(row, -2.0), score)
    for route, scores in (
        ("dense", [best[row] for row in met]),
        ("bm25", kb.view.lexical.coverage(QUESTION)[met].tolist()),
    ):
        evidence = kb.retrieve(QUESTION, top_k=N, routes=[route], where=where)
        ranks = {chunk.routes[route]: chunk.id for chunk in evidence.chunks}
        score_of = dict(zip((plain.chunks[row]["id"] for row in met), scores, strict=True))
        found = [score_of[ranks[rank]] for rank in sorted(ranks)]
        wanted = sorted((score for score in scores if route == "dense" or score > 0), reverse=True)
        assert found == pytest.approx(wanted[:100], abs=1e-3)


HARD = [
    TypeFilter(relations=("born in",), hard=True),
    TypeFilter(relations=("next to", "met"), hard=True),
    TypeFilter(attributes=("has year",), hard=True),
    TypeFilter(entity_types=("sea captain",), hard=True),
    TypeFilter(entity_types=("PERSON",), relations=("Lives_In",), hard=True),
]


def lowered(types: TypeFilter) -> TypeFilter:
    return TypeFilter(
        types.entity_types,
        tuple(name.casefold().replace("_", " ") for name in types.relations),
        types.attributes,
        types.hard,
    )


@pytest.mark.parametrize("types", HARD, ids=str)
@pytest.mark.parametrize("route", [*ROUTES, None])
def test_hard_types_let_nothing_else_through(kb: KnowledgeBase, route: str | None, types: TypeFilter) -> None:
    plain = Plain(kb)
    chunks, triples, _ = plain.of_types(lowered(types))
    if not triples:
        pytest.skip("this graph has no attributes")
    routes = None if route is None else [route]
    evidence = kb.retrieve(QUESTION, top_k=N, routes=routes, types=types)
    if any("only ranks" in note for note in evidence.notes):
        assert route in ("entity", "path", "triple", "community")
        return
    names = [row["name"] for row in plain.entities] + [row["value"] for row in plain.attributes]
    allowed = {
        (names[t["head"]], plain.relations[t["relation"]], names[t["tail"]])
        for t in (plain.triples[row] for row in triples)
    }
    assert {chunk.id for chunk in evidence.chunks} <= ids_of(plain, chunks)
    for hit in (*evidence.triples, *(hit for path in evidence.paths for hit in path.triples)):
        assert (hit.head, hit.relation, hit.tail) in allowed
    if route in (None, "triple", "ppr", "path"):
        assert evidence.triples


def retriever_of(kb: KnowledgeBase) -> Retriever:
    return kb._retriever


def run_of(kb: KnowledgeBase, types: TypeFilter | None, where: str | None, routes: set[str]) -> Run:
    retriever = retriever_of(kb)
    masks, _ = retriever._masks({"types": types, "where": where})
    run = retriever._ask(QUESTION, frozenset(routes), masks, N, N)
    run.rank()
    return run


@pytest.mark.parametrize("where", ["year>=2025", "document=p17", "lang=zh"])
def test_the_walk_passes_through_everything_and_arrives_where_it_may(kb: KnowledgeBase, where: str) -> None:
    plain = Plain(kb)
    met = plain.meeting(WHERE[where])
    run = run_of(kb, None, where, {"ppr"})
    vertices, visits = walk_from(kb.view, run.seeds, retriever_of(kb)._settings)
    reached = {
        int(vertex) - kb.view.n_nodes: float(visit)
        for vertex, visit in zip(vertices, visits, strict=True)
        if vertex >= kb.view.n_nodes
    }
    assert not set(reached) <= met
    wanted = sorted((-visit, row) for row, visit in reached.items() if row in met and visit > 0)
    found = run._found["ppr"]
    assert found.rows.tolist() == [row for _, row in wanted][: len(found.rows)]
    assert len(found.rows) == len(wanted)


@pytest.mark.parametrize(
    ("types", "where"),
    [
        (None, "year>=2025"),
        (None, "document=p17"),
        (HARD[0], None),
        (HARD[1], "lang=zh"),
        (HARD[3], "tags=sea"),
    ],
)
def test_the_best_triples_are_taken_among_those_allowed(
    kb: KnowledgeBase, types: TypeFilter | None, where: str | None
) -> None:
    plain = Plain(kb)
    allowed = set(range(len(plain.triples)))
    if types is not None:
        allowed &= plain.of_types(types)[1]
    if where is not None:
        met = plain.meeting(WHERE[where])
        allowed = {row for row in allowed if plain.stated[row] & met}
    run = run_of(kb, types, where, {"triple"})
    found = run.facts.ids.tolist()
    assert allowed
    assert set(found) <= allowed
    if len(allowed) <= 100:
        assert set(found) == allowed or kb.view.triple_index is None
    if kb.view.triple_index is not None:
        vectors = kb.view.triple_index.vectors.astype(np.float32)
        similar = vectors @ run.query.question
        nearest = sorted(allowed, key=lambda row: -similar[row])[:20]
        bar = float(run.facts.scores.min())
        assert all(row in found or similar[row] <= bar + 1e-3 for row in nearest)


def test_at_a_hub_the_few_wanted_edges_are_found(kb: KnowledgeBase) -> None:
    plain = Plain(kb)
    names = [row["name"] for row in plain.entities]
    hub = names.index("River Delta")
    degree = sum(hub in (row["head"], row["tail"]) for row in plain.triples)
    assert degree > 200
    rare = TypeFilter(relations=("next to",), hard=True)
    evidence = kb.retrieve("What is next to River Delta?", top_k=N, types=rare)
    allowed = plain.of_types(rare)[1]
    assert 0 < len(allowed) < 64
    assert len(evidence.triples) == len(allowed)
    single = [path for path in evidence.paths if len(path.triples) == 1]
    assert len(single) == min(20, len(evidence.paths))
    one = kb.retrieve("What is in River Delta?", where="document=p17", routes=["path", "triple"])
    assert {hit.chunk_ids for hit in one.triples} == {("p17",)}
    assert one.paths


@pytest.mark.parametrize("where", ["year>=2025", "document=p17"])
def test_communities_have_a_member_there(kb: KnowledgeBase, where: str) -> None:
    plain = Plain(kb)
    met = plain.meeting(WHERE[where])
    members = kb.view.members
    run = run_of(kb, None, where, {"community"})
    arrays = map_arrays(live_folder(kb.path) / "vectors" / "communities.arrow")["vectors"].astype(np.float32)
    allowed = [
        community
        for community in range(kb.view.n_communities)
        if any(
            plain.named[node] & met
            for node in members.chunks[members.indptr[community] : members.indptr[community + 1]].tolist()
        )
    ]
    similar = arrays @ run.query.question
    wanted = sorted((float(similar[community]) for community in allowed), reverse=True)[:5]
    assert {community for community, _ in run.communities} <= set(allowed)
    assert [score for _, score in run.communities] == pytest.approx(wanted, abs=1e-3)


def test_soft_types_raise_what_they_name(kb: KnowledgeBase) -> None:
    plain = Plain(kb)
    types = TypeFilter(relations=("next to",))
    without, soft = kb.retrieve(QUESTION), kb.retrieve(QUESTION, types=types)
    chunks = ids_of(plain, plain.of_types(types)[0])

    def share(evidence: Evidence) -> int:
        return sum(chunk.id in chunks for chunk in evidence.chunks)

    assert share(soft) > share(without)
    assert {hit.relation for hit in soft.triples[:3]} == {"next to"}
    assert {chunk.id for chunk in soft.chunks} - chunks
    assert not soft.notes


def test_what_a_hard_filter_cannot_leave_is_told(kb: KnowledgeBase) -> None:
    plainly = kb.retrieve(QUESTION)
    unknown = kb.retrieve(QUESTION, types=TypeFilter(entity_types=("persn",), hard=True))
    assert [chunk.id for chunk in unknown.chunks] == [chunk.id for chunk in plainly.chunks]
    assert "no entity is of type 'persn'; there are person" in unknown.notes[0]
    assert "left aside" in unknown.notes[1]
    assert unknown.to_json()["notes"] == list(unknown.notes)
    softened = kb.retrieve(QUESTION, routes=["entity"], types=TypeFilter(relations=("next to",), hard=True))
    assert softened.chunks
    both = kb.retrieve(QUESTION, where="document=p3", types=TypeFilter(relations=("met",), hard=True))
    assert [chunk.id for chunk in both.chunks] == ["p3"]
    assert "among the passages that meet document=p3" in both.notes[0]


def test_a_filter_that_no_passage_meets_gives_nothing_and_says_why(kb: KnowledgeBase) -> None:
    evidence = kb.retrieve(QUESTION, where="year>2050")
    assert [*evidence.chunks, *evidence.triples, *evidence.paths, *evidence.communities] == []
    assert evidence.notes == ("no passage meets year>2050: year has 40 values, from 1990 to 2029",)
    evidence = kb.retrieve(QUESTION, where=["lang=zh", "document=p1"])
    assert "all of them by none" in evidence.notes[0]


def test_an_unknown_field_is_an_error_that_names_the_others(kb: KnowledgeBase) -> None:
    with pytest.raises(
        QueryError, match=r"no field 'yaer' \(is year meant\?\).*document.*by\.name.*lang.*tags"
    ):
        kb.retrieve(QUESTION, where="yaer=3")
    with pytest.raises(QueryError, match="make a TypeFilter"):
        kb.retrieve(QUESTION, types="person")  # type: ignore[arg-type]


def test_options_that_there_are_not_are_refused(kb: KnowledgeBase) -> None:
    options: dict[str, Any] = {"were": "lang=zh"}
    with pytest.raises(QueryError, match="no option 'were'; choose from types, where, reranker"):
        kb.retrieve(QUESTION, **options)
    options = {"reranker": "model/"}
    with pytest.raises(QueryError, match="the reranker is of type str"):
        kb.retrieve_many([QUESTION], **options)


def test_masks_are_made_once(kb: KnowledgeBase) -> None:
    filters = retriever_of(kb)._filters
    types = TypeFilter(relations=("met",))
    first = retriever_of(kb)._masks({"types": types, "where": "lang=zh"})[0]
    again = retriever_of(kb)._masks({"types": TypeFilter(relations=("met",)), "where": ["lang=zh"]})
    assert again[0] is first
    everything = filters.of(None, None).allowed
    assert everything.chunks is everything.triples is everything.nodes is None
    assert filters.of(TypeFilter(), None) is filters.of(None, None)


def test_many_questions_share_a_filter(kb: KnowledgeBase) -> None:
    many = kb.retrieve_many([QUESTION, "Who met a b?"], where="lang=zh", top_k=7)
    for question, evidence in zip([QUESTION, "Who met a b?"], many, strict=True):
        single = kb.retrieve(question, where="lang=zh", top_k=7)
        assert [chunk.id for chunk in evidence.chunks] == [chunk.id for chunk in single.chunks]
        assert all(chunk.text.startswith("周岚") for chunk in evidence.chunks)


@pytest.mark.parametrize("hard", [False, True])
def test_many_questions_share_what_types_are_wanted(kb: KnowledgeBase, hard: bool) -> None:
    types = TypeFilter(relations=("met",), hard=hard)
    questions = [QUESTION, "Who met a b?", "Who met nobody at all?"]
    many = kb.retrieve_many(questions, types=types, top_k=7)
    for question, evidence in zip(questions, many, strict=True):
        single = kb.retrieve(question, types=types, top_k=7)
        assert replace(evidence, timings_ms={}) == replace(single, timings_ms={})


def test_snapshots_of_earlier_versions_are_parsed_when_asked(kb: KnowledgeBase) -> None:
    snapshot = kb.view.snapshot
    files = {
        name: entry for name, entry in snapshot.manifest.files.items() if name not in (METADATA, SENTENCES)
    }
    assert len(files) == len(snapshot.manifest.files) - 2
    older = replace(snapshot, manifest=snapshot.manifest.model_copy(update={"files": files}))
    opened = KnowledgeBase(kb.path, SnapshotView(older), kb.encoder)
    for where in WHERE:
        found, plain = (base.retrieve(QUESTION, where=where) for base in (opened, kb))
        assert replace(found, timings_ms={}) == replace(plain, timings_ms={})


def test_a_graph_without_passages_has_types_but_no_fields(tmp_path: Path) -> None:
    encoder = tiny_encoder(tmp_path)
    nodes = pa.table({"id": [0, 1, 2], "name": ["a b", "c d", "e f"], "type": ["town", "river", "town"]})
    edges = pa.table({"src": [0, 1, 2], "relation": ["on", "through", "near"], "dst": [1, 2, 0]})
    source = write_edges(tmp_path / "in", nodes, edges)
    KnowledgeBase.build(tmp_path / "kb", [source], format="edges", encoder=encoder)
    graph = KnowledgeBase.open(tmp_path / "kb", encoder=encoder)
    found = graph.retrieve("Where is a b?", types=TypeFilter(relations=("on",), hard=True))
    assert [hit.relation for hit in found.triples] == ["on"]
    assert {hit.relation for path in found.paths for hit in path.triples} == {"on"}
    found = graph.retrieve("Where is a b?", types=TypeFilter(entity_types=("River",), hard=True))
    assert {hit.relation for hit in found.triples} == {"on", "through"}
    with pytest.raises(QueryError, match="has no passages"):
        graph.retrieve("Where is a b?", where="id=3")
    assert graph.explain("Where is a b?").chunks == ()
