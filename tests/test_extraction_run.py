"""Runs of a language model over documents, against a real server: bounds, failures, retries, switches."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from tests.bases import read_lines, table_rows, write_lines
from tests.chat_endpoint import Reply, chat, failure
from tests.reading_endpoint import Asked, ReadingServer, facts_of, reading_server, reads
from tests.tiny_bases import tiny_encoder
from ytrag_core.config import BuildSettings, EvolutionSettings, ExtractionSettings, LLMSettings
from ytrag_core.errors import ConfigError
from ytrag_core.knowledge_base import KnowledgeBase
from ytrag_core.llm.stages import StageModels
from ytrag_core.llm.usage import Usage
from ytrag_core.pipeline.estimate import estimate_extraction
from ytrag_core.pipeline.jobs import list_jobs
from ytrag_core.pipeline.plan import ExtractionPlan, parse_rule
from ytrag_core.pipeline.report import StageRecorder
from ytrag_core.pipeline.settings import extraction_settings_for
from ytrag_core.pipeline.sources import rebuild_documents
from ytrag_core.schema.history import SchemaHistory
from ytrag_core.storage.meta import MetaStore
from ytrag_core.storage.schema_store import SchemaStore

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from ytrag_core.embedding.encoder import Encoder
    from ytrag_core.pipeline.plan import ExtractorName
    from ytrag_core.pipeline.report import BuildReport

PEOPLE = (
    "Ada Marrick",
    "Tom Pell",
    "Rufina Stell",
    "Bastian Orrel",
    "Perrin Dask",
    "Nora Quade",
    "Lucan Ferrow",
)
DEAD = "http://127.0.0.1:9/v1"


def tower(person: str) -> str:
    return f"{person.split()[1]} Tower"


def passage(person: str) -> str:
    return f"{person} built the {tower(person)}. It stands on a hill."


def built_by(kb: Path) -> set[str]:
    """Return who built what, as the model says it; rules find other words."""
    entities = [row["name"] for row in table_rows(kb, "entities")]
    relations = [row["name"] for row in table_rows(kb, "relations")]
    return {
        entities[row["head"]] for row in table_rows(kb, "triples") if relations[row["relation"]] == "built"
    }


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Encoder:
    return tiny_encoder(tmp_path_factory.mktemp("tiny"))


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    rows = [{"id": f"d{n}", "title": f"Doc {n}", "text": passage(who)} for n, who in enumerate(PEOPLE)]
    return write_lines(tmp_path / "docs.jsonl", rows)


def models(server: ReadingServer | str, **settings: Any) -> StageModels:
    url = server if isinstance(server, str) else server.base_url
    chosen: dict[str, Any] = {"timeout": 10.0, "max_retries": 0, **settings}
    return StageModels.of_endpoint(LLMSettings(base_url=url, model="reader", **chosen))


def plan(
    server: ReadingServer | str | None, extractor: ExtractorName = "auto", **more: Any
) -> ExtractionPlan:
    names = ("rules", "retry_failed", "summaries", "models")
    given: dict[str, Any] = {"summaries": False, **{name: more.pop(name) for name in names if name in more}}
    given.setdefault("models", None if server is None else models(server))
    return ExtractionPlan(extractor, settings=ExtractionSettings(**more), **given)


def index(
    kb: Path,
    encoder: Encoder,
    plan: ExtractionPlan | None,
    *sources: Path,
    schema: str | None = None,
    settings: BuildSettings | None = None,
) -> BuildReport:
    return KnowledgeBase.build(kb, sources, encoder=encoder, plan=plan, schema=schema, settings=settings)


def test_passages_are_read_once_and_kept(tmp_path: Path, docs: Path, tiny: Encoder) -> None:
    kb = tmp_path / "kb"
    with reading_server() as server:
        report = index(kb, tiny, plan(server, concurrency=3), docs)
        assert sorted(server.passages()) == sorted(map(passage, PEOPLE))
        again = index(kb, tiny, plan(server), docs)
        assert len(server.asked) == len(PEOPLE)
    assert built_by(kb) == set(PEOPLE)
    assert report.problems == again.problems == ()
    assert report.language_model is not None
    assert again.language_model is not None
    assert (report.language_model["done"], again.language_model["known"]) == (len(PEOPLE), len(PEOPLE))
    assert report.to_json()["language_model"]["prompt_tokens"] == 120 * len(PEOPLE)
    assert list_jobs(kb).counts == {"done": len(PEOPLE), "salvaged": 0, "failed": 0, "pending": 0}
    assert {row["type"] for row in table_rows(kb, "entities")} == {"person", "structure"}


def test_identical_passages_are_sent_once(tmp_path: Path, tiny: Encoder) -> None:
    rows = [{"id": f"d{n}", "title": "Same", "text": passage("Ada Marrick")} for n in range(5)]
    with reading_server() as server:
        report = index(tmp_path / "kb", tiny, plan(server), write_lines(tmp_path / "a.jsonl", rows))
        assert len(server.asked) == 1
    assert report.counts["chunks"] == 5
    assert table_rows(tmp_path / "kb", "triples")[0]["n_chunks"] == 5


def misbehaves(asked: Asked) -> Reply:
    """Fail in the way that the passage, or the turns that quote it, is about."""
    said = " ".join(turn["content"] for turn in asked.turns[3:])
    whole = json.dumps(facts_of(said.partition("Passage:\n")[2].partition("\n")[0]))
    if PEOPLE[0] in said:
        return failure(429, "slow down") if asked.n_before < 1 else chat(whole)
    if PEOPLE[1] in said:
        return failure(500)
    if PEOPLE[2] in said:
        return replace(chat(whole), delay=30.0)
    if PEOPLE[3] in said:
        return chat("I would rather tell you a story about a tower.")
    if PEOPLE[4] in said:
        return chat(whole[: whole.index('], "new_types"')])
    if PEOPLE[5] in said:
        return chat(json.dumps({"entities": 5, "relations": "none", "attributes": True}))
    return Reply("")


def test_every_document_ends_indexed_or_listed_with_its_reason(
    tmp_path: Path, docs: Path, tiny: Encoder
) -> None:
    kb = tmp_path / "kb"
    with reading_server(misbehaves) as server:
        asking = plan(server, models=models(server, timeout=1.0, max_retries=1), concurrency=4)
        report = index(kb, tiny, asking, docs)
        sent = len(server.asked)
        index(kb, tiny, asking, docs)
        assert len(server.asked) == sent
    listed = {job.document_id: job for job in list_jobs(kb).jobs}
    statuses = {each: job.status for each, job in listed.items()}
    assert statuses == {
        "d0": "done",
        "d1": "failed",
        "d2": "failed",
        "d3": "failed",
        "d4": "salvaged",
        "d5": "failed",
        "d6": "failed",
    }
    reasons = {
        "d1": "HTTP 500",
        "d2": "no answer",
        "d3": "I would rather tell",
        "d4": "breaks off; facts kept: 1",
        "d5": "malformed",
        "d6": "empty",
    }
    problems = {problem.source: problem.reason for problem in report.problems}
    assert set(problems) == set(reasons)
    for document_id, words in reasons.items():
        assert words in listed[document_id].reason
        assert listed[document_id].reason in problems[document_id]
    assert (report.counts["documents"], report.counts["chunks"]) == (7, 7)
    assert {"Ada Marrick", "Perrin Dask"} <= built_by(kb)
    # Rules have read what the model has not.
    assert {row["name"] for row in table_rows(kb, "entities")} >= {tower(person) for person in PEOPLE}
    assert any("--retry-failed" in told for told in report.notes)
    with reading_server() as server:
        retried = index(kb, tiny, plan(server, retry_failed=True))
        assert sorted(server.passages()) == sorted(passage(PEOPLE[n]) for n in (1, 2, 3, 4, 5, 6))
    assert retried.language_model is not None
    assert retried.language_model["done"] == 6
    assert built_by(kb) == set(PEOPLE)
    report_now = list_jobs(kb)
    assert report_now.counts == {"done": 7, "salvaged": 0, "failed": 0, "pending": 0}
    assert {job.document_id: job.tries for job in report_now.jobs}["d1"] == 2


def test_without_a_fallback_a_failed_passage_is_found_by_its_text(
    tmp_path: Path, docs: Path, tiny: Encoder
) -> None:
    kb = tmp_path / "kb"
    with reading_server(lambda asked: reads(asked) if PEOPLE[0] in asked.text else chat("no")) as server:
        report = index(kb, tiny, plan(server, fallback="none"), docs)
    assert (report.counts["chunks"], report.counts["triples"]) == (7, 1)
    base = KnowledgeBase.open(kb, encoder=tiny)
    assert base.retrieve("Who built the Quade Tower?", routes=["bm25"]).chunks[0].id == "d5"


def dear(asked: Asked) -> Reply:
    usage = {"prompt_tokens": 2500, "completion_tokens": 60, "total_tokens": 2560}
    return chat(json.dumps(facts_of(asked.passage)), usage=usage)


@pytest.mark.parametrize(
    "bound", [{"max_tokens": 12_000}, {"max_cost": 0.013, "price_in": 1.0, "price_out": 2.0}]
)
def test_a_bound_stops_cleanly_and_the_next_run_goes_on(
    tmp_path: Path, docs: Path, tiny: Encoder, bound: dict[str, Any]
) -> None:
    kb = tmp_path / "kb"
    settings: dict[str, Any] = {"max_reply_tokens": 200, "concurrency": 3}
    with reading_server(dear) as server:
        report = index(kb, tiny, plan(server, **settings, **bound), docs)
        first = server.passages()
        spent = report.language_model
        assert spent is not None
        assert 1 <= len(first) < len(PEOPLE)
        assert spent["prompt_tokens"] + spent["completion_tokens"] <= 12_000
        if "max_cost" in bound:
            assert 0 < spent["cost"] <= 0.013
        assert spent["pending"] == len(PEOPLE) - len(first)
        assert "could exceed" in spent["stopped"]
        assert any("run the same command again" in told for told in report.notes)
        assert report.counts["chunks"] == len(PEOPLE)
        assert list_jobs(kb).counts["pending"] == len(PEOPLE) - len(first)
        rest = index(kb, tiny, plan(server, **settings), docs)
        assert rest.language_model is not None
        assert rest.language_model["stopped"] == ""
        assert sorted(server.passages()) == sorted(map(passage, PEOPLE))
    assert built_by(kb) == set(PEOPLE)


def test_a_dead_endpoint_stops_the_run_and_costs_no_document(
    tmp_path: Path, docs: Path, tiny: Encoder
) -> None:
    report = index(tmp_path / "kb", tiny, plan(DEAD, concurrency=2), docs)
    spent = report.language_model
    assert spent is not None
    assert (spent["failed"], spent["pending"]) == (5, 2) or spent["failed"] + spent["pending"] == len(PEOPLE)
    assert "in a row failed" in spent["stopped"]
    assert "cannot be reached" in spent["stopped"]
    assert report.counts["chunks"] == len(PEOPLE)
    assert {row["name"] for row in table_rows(tmp_path / "kb", "entities")} >= set(PEOPLE)


def test_extractors_are_chosen_by_pattern(tmp_path: Path, tiny: Encoder) -> None:
    folder = tmp_path / "notes"
    folder.mkdir()
    for name, person in (("a.md", PEOPLE[0]), ("b.txt", PEOPLE[1]), ("c.txt", PEOPLE[2])):
        (folder / name).write_text(passage(person), encoding="utf-8")
    rules = (parse_rule("*.txt=llm"), parse_rule("*/c.*=offline"))
    with reading_server() as server:
        index(tmp_path / "kb", tiny, plan(server, "offline", rules=rules), folder)
        assert server.passages() == [passage(PEOPLE[1])]
        index(tmp_path / "kb", tiny, plan(server, "llm", rules=(("a.md", "offline"),)), folder)
        assert sorted(server.passages()) == sorted(map(passage, PEOPLE[1:3]))


@pytest.mark.parametrize("text", ["*.pdf", "=llm", "*.pdf=gpt", ""])
def test_a_malformed_pattern_is_refused(text: str) -> None:
    with pytest.raises(ConfigError, match="was wanted"):
        parse_rule(text)


def test_switching_the_extractor_uses_what_each_has_read(tmp_path: Path, docs: Path, tiny: Encoder) -> None:
    kb = tmp_path / "kb"

    def relations() -> set[str]:
        return {row["name"] for row in table_rows(kb, "relations")}

    index(kb, tiny, None, docs)
    by_rules = relations()
    # A model that says it in words of its own.
    with reading_server(lambda asked: chat(reads(asked).body and json.dumps(own_words(asked)))) as server:
        index(kb, tiny, plan(server), docs)
        assert relations() == {"raised"}
        index(kb, tiny, plan(server, "offline"), docs)
        assert relations() == by_rules
        index(kb, tiny, plan(server, "llm"), docs)
        assert relations() == {"raised"}
        assert len(server.asked) == len(PEOPLE)
    index(kb, tiny, plan(None), docs)
    assert relations() == {"raised"}  # without a model, auto keeps what one has read
    other = write_lines(tmp_path / "other.jsonl", [{"id": "x", "title": "X", "text": "Ada built a hut."}])
    index(kb, tiny, None, other)
    assert "raised" in relations()
    index(kb, tiny, plan(None, "offline"), docs)
    assert "raised" not in relations()


def own_words(asked: Asked) -> dict[str, Any]:
    said = facts_of(asked.passage)
    for triple in said["relations"]:
        triple["relation"] = "raised"
    return said


def test_a_model_that_is_wanted_has_to_be_there(tmp_path: Path, docs: Path, tiny: Encoder) -> None:
    wishes: tuple[dict[str, Any], ...] = (
        {"extractor": "llm"},
        {"rules": (("*", "llm"),)},
        {"retry_failed": True},
        {"summaries": True},
    )
    for wanted in wishes:
        with pytest.raises(ConfigError, match="YTRAG_LLM_BASE_URL"):
            ExtractionPlan(**wanted)
    with pytest.raises(ConfigError, match="--price-in"):
        ExtractionPlan(settings=ExtractionSettings(max_cost=1.0, price_in=1.0))
    report = index(tmp_path / "kb", tiny, ExtractionPlan(), docs)
    assert report.language_model is None


def test_unknown_types_are_proposed_and_a_schema_that_grows_costs_no_call(
    tmp_path: Path, docs: Path, encoder: Encoder
) -> None:
    kb = tmp_path / "kb"
    growing = BuildSettings(
        evolution=EvolutionSettings(mode="auto", min_confidence=0.1, min_chunks=2, min_documents=2)
    )
    with reading_server(lambda asked: chat(json.dumps(own_words(asked)))) as server:
        index(kb, encoder, plan(server), docs)
        with MetaStore(kb / "meta.sqlite", snapshot=1, writable=False) as meta:
            rows = SchemaStore(meta.database).proposals()
        assert {(row.kind, row.name) for row in rows} == {("relation", "raised")}
        assert len({row.chunk_id for row in rows}) == len(PEOPLE)
        assert "built the Marrick Tower" in rows[0].evidence
        grown = index(kb, encoder, plan(server), docs, settings=growing)
        with MetaStore(kb / "meta.sqlite", snapshot=2, writable=False) as meta:
            in_force = SchemaHistory(SchemaStore(meta.database)).in_force()
        assert in_force is not None
        assert in_force.relation_type("raised") is not None
        assert any("entered the schema" in told for told in grown.notes)
        index(kb, encoder, plan(server), docs)
        index(kb, encoder, plan(server), docs, schema="general")
        assert len(server.asked) == len(PEOPLE)


def test_types_may_be_held_to_the_schema(tmp_path: Path, docs: Path, tiny: Encoder) -> None:
    with reading_server(lambda asked: chat(json.dumps(own_words(asked)))) as server:
        report = index(tmp_path / "kb", tiny, plan(server, unknown_types="drop"), docs)
    assert report.counts["triples"] == 0
    assert report.counts["entities"] == 2 * len(PEOPLE)


def test_an_estimate_sends_and_changes_nothing(tmp_path: Path, docs: Path, tiny: Encoder) -> None:
    kb = tmp_path / "kb"
    asking: dict[str, Any] = {"price_in": 1.0, "price_out": 4.0}

    def estimate(plan: ExtractionPlan) -> Any:
        return estimate_extraction(kb, [docs], tiny, BuildSettings(), plan, StageRecorder())

    with reading_server() as server:
        before = estimate(plan(server, **asking))
        assert not kb.exists()
        assert not server.asked
        assert (before.documents, before.chunks, before.to_send) == (7, 7, 7)
        assert before.cost == pytest.approx((before.prompt_tokens + 4 * before.completion_tokens) / 1e6)
        index(kb, tiny, plan(server, rules=(("d0", "offline"),)), docs)
        n_asked = len(server.asked)
        snapshot = sorted(path.name for path in (kb / "snapshots").iterdir())
        after = estimate(plan(server, **asking))
        assert (after.to_send, after.known) == (1, 6)
        assert len(server.asked) == n_asked
        assert sorted(path.name for path in (kb / "snapshots").iterdir()) == snapshot
    nobody = estimate(plan(None))
    assert (nobody.to_send, nobody.cost) == (7, None)
    assert nobody.to_json()["dry_run"] is True


def test_an_estimate_leaves_out_what_failed_before(tmp_path: Path, docs: Path, tiny: Encoder) -> None:
    kb = tmp_path / "kb"
    with reading_server(lambda asked: chat("no facts today")) as server:
        index(kb, tiny, plan(server), docs)
        told = estimate_extraction(kb, [docs], tiny, BuildSettings(), plan(server), StageRecorder())
        n_asked = len(server.asked)
        index(kb, tiny, plan(server), docs)
        assert len(server.asked) == n_asked
    assert (told.to_send, told.failed_before) == (0, 7)
    assert told.prompt_tokens == 0


def community_words(kb: Path, column: str) -> list[str]:
    return [row[column] for row in table_rows(kb, "communities")]


def test_communities_are_named_by_the_model_and_remembered(tmp_path: Path, docs: Path, tiny: Encoder) -> None:
    kb = tmp_path / "kb"
    with reading_server() as server:
        report = index(kb, tiny, plan(server, summaries=None), docs)
        assert report.language_model is not None
        assert report.language_model["communities"]["described"] == report.counts["communities"]
        assert all(name.startswith("Group ") for name in community_words(kb, "name"))
        assert all(text.startswith("Summary ") for text in community_words(kb, "summary"))
        n_asked = len(server.asked)
        index(kb, tiny, plan(server, summaries=True), docs)
        assert len(server.asked) == n_asked
    index(kb, tiny, plan(None), docs)
    assert not any(name.startswith("Group ") for name in community_words(kb, "name"))
    index(kb, tiny, None, docs)  # nobody is asked, and what was written before still fits
    assert all(name.startswith("Group ") for name in community_words(kb, "name"))


@pytest.mark.parametrize(
    "reply", [failure(500), chat("no"), chat('{"communities": [{"id": 99, "name": "x"}]}')]
)
def test_communities_keep_names_by_rules_where_the_model_fails(
    tmp_path: Path, docs: Path, tiny: Encoder, reply: Reply
) -> None:
    kb = tmp_path / "kb"
    with reading_server(lambda asked: reads(asked) if asked.passage else reply) as server:
        report = index(kb, tiny, plan(server, summaries=True), docs)
    assert report.counts["communities"] > 0
    assert all(community_words(kb, "name"))
    assert not any(community_words(kb, "summary"))


@pytest.mark.parametrize("numbers", [lambda place: place, lambda place: 1])
def test_communities_that_are_numbered_otherwise_are_told_apart_by_their_place(
    tmp_path: Path, docs: Path, tiny: Encoder, numbers: Callable[[int], int]
) -> None:
    def named(asked: Asked) -> Reply:
        n_groups = len(re.findall(r"^\[\d+\] ", asked.turns[-1]["content"], re.MULTILINE))
        groups = [
            {"id": numbers(place), "name": f"Group {place}", "summary": "So."} for place in range(n_groups)
        ]
        return chat(json.dumps({"communities": groups}))

    kb = tmp_path / "kb"
    with reading_server(lambda asked: reads(asked) if asked.passage else named(asked)) as server:
        report = index(kb, tiny, plan(server, summaries=True), docs)
    assert report.language_model is not None
    assert report.language_model["communities"]["described"] == report.counts["communities"]
    assert all(name.startswith("Group ") for name in community_words(kb, "name"))


def test_naming_communities_stays_below_its_bound(tmp_path: Path, docs: Path, tiny: Encoder) -> None:
    with reading_server() as server:
        report = index(tmp_path / "a", tiny, plan(server, summaries=True, community_tokens=100), docs)
        assert not [asked for asked in server.asked if not asked.passage]
        assert report.language_model is not None
        assert report.language_model["communities"]["described"] == 0


def test_a_recorded_extraction_counts_before_all_others(tmp_path: Path, tiny: Encoder) -> None:
    record = {"id": "p0", "title": "Doc", "text": passage(PEOPLE[0])}
    folder = tmp_path / "openie"
    write_lines(folder / "corpus.jsonl", [record])
    write_lines(folder / "openie.jsonl", [{"passage_id": "p0", "entities": [], "triples": [["A", "r", "B"]]}])
    kb = tmp_path / "kb"
    KnowledgeBase.build(kb, [folder], format="openie", encoder=tiny)
    with reading_server() as server:
        index(kb, tiny, plan(server), write_lines(tmp_path / "again.jsonl", [record]))
        assert not server.asked
    assert "r" in {row["name"] for row in table_rows(kb, "relations")}


def test_a_passage_is_asked_about_in_the_users_words(tmp_path: Path, tiny: Encoder) -> None:
    prompts = tmp_path / "prompts"
    prompts.mkdir()
    (prompts / "extract.en.txt").write_text("Read it my way. {types_rule}", encoding="utf-8")
    note = tmp_path / "harbour.md"
    note.write_text(f"# Harbour\n\n{passage(PEOPLE[0])}\n", encoding="utf-8")
    with reading_server() as server:
        settings = LLMSettings(base_url=server.base_url, model="reader")
        asking = plan(None, models=StageModels.of_endpoint(settings, prompts=prompts))
        index(tmp_path / "kb", tiny, asking, note)
        (asked,) = server.asked
    assert asked.turns[0]["content"].startswith("Read it my way. - Use the types")
    assert "Title: Harbour\n" in asked.text


def test_what_is_left_of_a_bound_is_what_naming_may_take() -> None:
    settings = ExtractionSettings(max_tokens=5000, community_tokens=4000)
    used = Usage(3, 2500, 500)
    assert ExtractionPlan(settings=settings).after(used).settings.community_tokens == 2000
    assert ExtractionPlan().after(used).settings.community_tokens == 10_000
    dear = ExtractionSettings(max_cost=0.01, price_in=1.0, price_out=4.0)
    assert ExtractionPlan(settings=dear).after(used).settings.community_tokens == 1375
    free = ExtractionSettings(max_cost=0.01, price_in=0.0, price_out=0.0)
    assert ExtractionPlan(settings=free).after(used).settings.community_tokens == 10_000
    assert ExtractionPlan(settings=settings).after(Usage(9, 9000, 0)).settings.community_tokens == 0


def test_style_and_bounds_last_until_someone_says_otherwise(
    tmp_path: Path, docs: Path, tiny: Encoder
) -> None:
    kb = tmp_path / "kb"
    assert extraction_settings_for(kb) == ExtractionSettings()
    with reading_server(lambda asked: chat(json.dumps(own_words(asked)))) as server:
        index(kb, tiny, plan(server, unknown_types="drop"), docs)
    assert table_rows(kb, "triples") == []
    lasting = extraction_settings_for(kb, concurrency=3, style=None)
    assert (lasting.unknown_types, lasting.style, lasting.concurrency) == ("drop", "chunk", 3)
    assert extraction_settings_for(kb, unknown_types="propose").unknown_types == "propose"
    rebuild_documents(kb, tiny, StageRecorder())
    assert table_rows(kb, "triples") == []
    assert len(table_rows(kb, "entities")) == 2 * len(PEOPLE)


def test_recorded_replies_with_their_flaws_end_in_triples(
    tmp_path: Path, tiny: Encoder, shared_data: Path
) -> None:
    folder = shared_data / "hongloumeng_extraction_zh"
    texts = {row["id"]: row["text"] for row in read_lines(folder / "corpus.jsonl")}
    replies: dict[str, list[str]] = {}
    for row in read_lines(folder / "raw_responses.jsonl"):
        replies.setdefault(row["passage_id"], []).append(row["response"])

    def recorded(asked: Asked) -> Reply:
        said = asked.turns[3]["content"].partition("文字：\n")[2].strip()
        recording = replies[next(each for each, text in texts.items() if said in text)]
        return chat(recording[min(len(asked.turns) > 4, len(recording) - 1)])

    kb = tmp_path / "kb"
    with reading_server(recorded) as server:
        report = index(kb, tiny, plan(server), folder / "corpus.jsonl", schema="general_zh")
    chunks = table_rows(kb, "chunks")
    stating = {row["chunk"] for row in table_rows(kb, "mentions") if row["subject"] == "triple"}
    assert {chunk["id"].partition("#")[0] for n, chunk in enumerate(chunks) if n in stating} == set(texts)
    jobs = [(job.document_id, job.status) for job in list_jobs(kb).jobs]
    assert len(jobs) == len(chunks)
    assert {status for _, status in jobs} == {"salvaged", "failed"}
    salvaged = {document for document, status in jobs if status == "salvaged"}
    assert salvaged == set(texts) - {"hlm-002", "hlm-003"}  # these two stop before the first relation
    assert {problem.source for problem in report.problems} == set(texts)
