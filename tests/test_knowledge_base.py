"""The facade: build, open, retrieve, ask, info; and what it refuses."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from tests.bases import live_folder, table_bytes, table_rows, write_edges, write_facts
from ytrag_core.config import BuildSettings
from ytrag_core.errors import (
    ConfigError,
    DocumentError,
    GraphFormatError,
    ModelError,
    QueryError,
    SnapshotError,
)
from ytrag_core.knowledge_base import KnowledgeBase
from ytrag_core.pipeline.settings import settings_for
from ytrag_core.retrieval.model import Evidence, SentenceSpan, TripleHit

if TYPE_CHECKING:
    from pathlib import Path

    from ytrag_core.embedding.encoder import Encoder
    from ytrag_core.pipeline.report import BuildReport

QUESTION = "In which city was the designer of the Thirteen Lamps Bridge born?"
FACTS = [("Ada Stell", "born in", "Quellmouth"), ("Quellmouth", "capital of", "Orvane")]
NODES = {
    "id": [1, 2, 3, 4, 5],
    "name": ["Nenciulești", "Romania", "Springfield", "Springfield", "Oregon"],
    "type": ["village", "country", "city", "city", "state"],
}
EDGES = {
    "src": [1, 3, 4],
    "relation": ["/location/location/country", "located in", "located in"],
    "dst": [2, 5, 2],
}


def edges_folder(folder: Path, **changes: Any) -> Path:
    return write_edges(folder, pa.table(NODES), pa.table({**EDGES, **changes}))


def import_edges(root: Path, folder: Path, encoder: Encoder, **options: Any) -> BuildReport:
    return KnowledgeBase.build(root, [folder], format="edges", encoder=encoder, **options)


def without_timings(evidence: Evidence) -> Evidence:
    return replace(evidence, timings_ms={})


def test_the_json_of_retrieve(sample_kb: KnowledgeBase) -> None:
    document = json.loads(json.dumps(sample_kb.retrieve(QUESTION, top_k=5).to_json(), allow_nan=False))
    assert set(document) == {"question", "triples", "chunks", "communities", "paths", "timings_ms"}
    triple_keys = {"head", "relation", "tail", "score", "chunk_ids"}
    for triple in [*document["triples"], *(hit for path in document["paths"] for hit in path["triples"])]:
        assert set(triple) - {"sentences"} == triple_keys
    chunk_keys = {"id", "title", "text", "score", "routes", "document", "start", "sentences"}
    assert all(set(chunk) == chunk_keys for chunk in document["chunks"])
    assert all(set(community) == {"id", "name", "score"} for community in document["communities"])
    assert all(set(path) == {"triples", "score"} for path in document["paths"])
    assert all(value >= 0 for value in document["timings_ms"].values())
    assert {"encode", "total"} < set(document["timings_ms"])
    for name in ("triples", "chunks", "communities", "paths"):
        assert document[name], name


def test_the_json_of_ask(sample_kb: KnowledgeBase) -> None:
    answer = sample_kb.ask(QUESTION)
    document = json.loads(json.dumps(answer.to_json(), allow_nan=False))
    assert set(document) == {"answer", "refused", "citations", "steps", "usage", "timings_ms"}
    assert document["usage"] == {"llm_calls": 0, "prompt_tokens": 0, "completion_tokens": 0}
    assert {"sample-en-23", "sample-en-24"} <= set(document["citations"])
    assert "Ismarra" in document["answer"]
    assert document["refused"] is False


def test_info(sample_kb: KnowledgeBase) -> None:
    info = json.loads(json.dumps(sample_kb.info()))
    tables = ("documents", "chunks", "entities", "attributes", "relations", "triples", "communities")
    assert info["counts"] == {name: len(table_rows(sample_kb.path, name)) for name in tables}
    assert info["snapshot"] == "000001" == live_folder(sample_kb.path).name
    files = [path for path in live_folder(sample_kb.path).rglob("[!.]*") if path.is_file()]
    assert info["bytes"] == sum(path.stat().st_size for path in files)
    assert info["encoder"]["fingerprint"] == sample_kb.encoder.fingerprint
    assert info["encoder"]["dimension"] == 384
    assert isinstance(info["schema_version"], str)
    assert [source["format"] for source in info["sources"]] == ["openie"]


def test_a_graph_of_edges_is_asked_by_name_and_meaning(tmp_path: Path, encoder: Encoder) -> None:
    report = import_edges(tmp_path / "kb", edges_folder(tmp_path / "in"), encoder)
    assert (report.counts["entities"], report.counts["triples"], report.counts["chunks"]) == (5, 3, 0)
    kb = KnowledgeBase.open(tmp_path / "kb", encoder=encoder)
    evidence = kb.retrieve("Which country is Nenciulești located in?")
    assert evidence.chunks == ()
    assert (evidence.triples[0].head, evidence.triples[0].tail) == ("Nenciulești", "Romania")
    assert evidence.triples[0].chunk_ids == ()
    answer = kb.ask("Which country is Nenciulești located in?")
    assert "Romania" in answer.answer
    assert answer.citations == ()


@pytest.mark.parametrize("sentence_triples", [0, 1000])
def test_homonyms_are_told_apart_by_a_neighbour(
    tmp_path: Path, encoder: Encoder, sentence_triples: int
) -> None:
    folder = edges_folder(
        tmp_path / "in", src=[3, 3, 4], dst=[2, 5, 2], relation=["twinned with", "in", "in"]
    )
    settings = BuildSettings(sentence_triples=sentence_triples)
    import_edges(tmp_path / "kb", folder, encoder, settings=settings)
    kb = KnowledgeBase.open(tmp_path / "kb", encoder=encoder)
    hits = {
        (hit.relation, hit.tail, hit.head_hint): hit for hit in kb.retrieve("Where is Springfield?").triples
    }
    assert set(hits) == {
        ("twinned with", "Romania", "city, in Oregon"),
        ("in", "Oregon", "city, twinned with Romania"),
        ("in", "Romania", "city"),
    }
    assert all(hit.tail_hint == "" for hit in hits.values())
    document = hits["in", "Romania", "city"].to_json()
    assert document["head_hint"] == "city"
    assert "tail_hint" not in document


def test_the_same_graph_again_is_no_other_graph(tmp_path: Path, encoder: Encoder) -> None:
    root, folder = tmp_path / "kb", edges_folder(tmp_path / "in")
    import_edges(root, folder, encoder)
    tables = table_bytes(root)
    again = import_edges(root, shutil.copytree(folder, tmp_path / "copy"), encoder)
    assert (again.snapshot, again.encoded_strings) == ("000002", 0)
    assert table_bytes(root) == tables


def test_another_graph_needs_replace(tmp_path: Path, encoder: Encoder) -> None:
    root = tmp_path / "kb"
    import_edges(root, edges_folder(tmp_path / "one"), encoder)
    tables = table_bytes(root)
    other = edges_folder(tmp_path / "two", relation=["in", "in", "in"])
    with pytest.raises(ConfigError, match=rf"holds another graph, from '{tmp_path / 'one'}'.*--replace"):
        import_edges(root, other, encoder)
    assert table_bytes(root) == tables
    import_edges(root, other, encoder, replace=True)
    assert [row["name"] for row in table_rows(root, "relations")] == ["in"]
    assert KnowledgeBase.open(root, encoder=encoder).info()["sources"][0]["path"] == str(tmp_path / "two")


def test_documents_and_a_graph_do_not_mix(tmp_path: Path, encoder: Encoder) -> None:
    edges, facts = edges_folder(tmp_path / "edges"), write_facts(tmp_path / "facts", FACTS)
    import_edges(tmp_path / "graph", edges, encoder)
    KnowledgeBase.build(tmp_path / "texts", [facts], format="openie", encoder=encoder)
    for replace_graph in (False, True):
        with pytest.raises(ConfigError, match="holds documents, and a graph arrived"):
            import_edges(tmp_path / "texts", edges, encoder, replace=replace_graph)
    with pytest.raises(ConfigError, match="holds an imported graph, and documents arrived"):
        KnowledgeBase.build(tmp_path / "graph", [facts], format="openie", encoder=encoder)
    with pytest.raises(ConfigError, match="holds an imported graph, and documents arrived"):
        KnowledgeBase.build(tmp_path / "graph", [facts / "corpus.jsonl"], encoder=encoder)
    assert live_folder(tmp_path / "graph").name == live_folder(tmp_path / "texts").name == "000001"


def test_a_broken_graph_leaves_no_snapshot(tmp_path: Path, encoder: Encoder) -> None:
    folder = write_edges(tmp_path / "in", pa.table({"id": [1], "title": ["x"]}), pa.table(EDGES))
    with pytest.raises(GraphFormatError, match="name"):
        import_edges(tmp_path / "kb", folder, encoder)
    with pytest.raises(SnapshotError):
        KnowledgeBase.open(tmp_path / "kb", encoder=encoder)


def test_vectors_of_another_encoder_are_refused_and_not_reused(tmp_path: Path, encoder: Encoder) -> None:
    root, folder = tmp_path / "kb", write_facts(tmp_path / "in", FACTS)
    first = KnowledgeBase.build(root, [folder], format="openie", encoder=encoder)
    manifest = live_folder(root) / "manifest.json"
    text = manifest.read_text(encoding="utf-8")
    assert text.count(encoder.fingerprint) == 1
    manifest.write_text(text.replace(encoder.fingerprint, "another:fp32"), encoding="utf-8")
    with pytest.raises(ModelError, match=rf"made by 'another:fp32', the encoder is '{encoder.fingerprint}'"):
        KnowledgeBase.open(root, encoder=encoder)
    with pytest.raises(ConfigError, match="ytrag reembed"):
        KnowledgeBase.build(root, [folder], format="openie", encoder=encoder)
    again = KnowledgeBase.reembed(root, encoder=encoder)
    assert (again.encoded_strings, again.reused_strings) == (first.encoded_strings, 0)
    assert (
        KnowledgeBase.open(root, encoder=encoder).retrieve("Where was Ada Stell born?").chunks[0].id == "p0"
    )


def test_what_cannot_be_opened(tmp_path: Path, encoder: Encoder) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "foreign").mkdir()
    (tmp_path / "foreign" / "thesis.tex").write_text("x", encoding="utf-8")
    for name in ("missing", "empty", "foreign"):
        with pytest.raises(SnapshotError, match=name):
            KnowledgeBase.open(tmp_path / name, encoder=encoder)
    with pytest.raises(SnapshotError):
        KnowledgeBase.build(
            tmp_path / "foreign", [write_facts(tmp_path / "in", FACTS)], format="openie", encoder=encoder
        )
    assert [path.name for path in (tmp_path / "foreign").iterdir()] == ["thesis.tex"]


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"sources": []}, ConfigError, "0 sources arrived; documents takes at least one path"),
        (
            {"sources": [], "format": "edges"},
            ConfigError,
            "0 sources arrived; edges takes exactly one folder",
        ),
        (
            {"sources": ["a", "b"], "format": "openie"},
            ConfigError,
            "2 sources arrived; openie takes exactly one",
        ),
        (
            {"sources": ["a"], "format": "graphml"},
            ConfigError,
            "'graphml' arrived; choose documents, openie or edges",
        ),
        ({"sources": ["nowhere"], "format": "openie"}, DocumentError, "nowhere does not exist"),
        ({"sources": ["nowhere"]}, DocumentError, "nowhere does not exist"),
        ({"sources": ["nowhere"], "format": "edges"}, GraphFormatError, r"nodes\.parquet does not exist"),
    ],
)
def test_what_cannot_be_built(
    tmp_path: Path, encoder: Encoder, options: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        KnowledgeBase.build(tmp_path / "kb", encoder=encoder, **options)
    with pytest.raises(SnapshotError):
        KnowledgeBase.open(tmp_path / "kb", encoder=encoder)


def test_bad_questions(sample_kb: KnowledgeBase) -> None:
    with pytest.raises(ConfigError, match="'maybe' arrived; choose open, reject"):
        sample_kb.ask(QUESTION, mode="maybe")  # type: ignore[arg-type]
    with pytest.raises(QueryError, match="empty"):
        sample_kb.ask(" ")
    with pytest.raises(QueryError, match="top_k is 0"):
        sample_kb.ask(QUESTION, top_k=0)


def test_progress_is_told_for_every_stage(tmp_path: Path, encoder: Encoder) -> None:
    told: dict[str, list[tuple[int, int | None]]] = {}

    def listen(stage: str, done: int, total: int | None) -> None:
        told.setdefault(stage, []).append((done, total))

    report = KnowledgeBase.build(
        tmp_path / "kb",
        [write_facts(tmp_path / "in", FACTS)],
        format="openie",
        encoder=encoder,
        progress=listen,
    )
    assert set(told) == {stage.name for stage in report.stages}
    for stage in report.stages:
        assert told[stage.name][-1] == (stage.items, stage.items)


def test_a_later_build_does_not_disturb_a_reader(tmp_path: Path, encoder: Encoder) -> None:
    root = tmp_path / "kb"
    folder = write_facts(tmp_path / "in", FACTS)
    KnowledgeBase.build(root, [folder], format="openie", encoder=encoder)
    reader = KnowledgeBase.open(root, encoder=encoder)
    first = without_timings(reader.retrieve("Where was Ada Stell born?"))
    for place in ("Ismarra", "Nimbrel", "Ullerfen"):
        write_facts(tmp_path / "in", [("Ada Stell", "born in", place)])
        KnowledgeBase.build(root, [folder], format="openie", encoder=encoder)
        assert without_timings(reader.retrieve("Where was Ada Stell born?")) == first
    newer = KnowledgeBase.open(root, encoder=encoder).retrieve("Where was Ada Stell born?").triples
    stated = (SentenceSpan("p0", 0, 27),)
    assert TripleHit("Ada Stell", "born in", "Ullerfen", newer[0].score, ("p0",), "", "", stated) == newer[0]
    assert "Quellmouth" in {hit.tail for hit in first.triples}


def test_a_base_of_before_there_was_a_choice_keeps_its_names_apart(
    sample_kb: KnowledgeBase, tmp_path: Path
) -> None:
    root = tmp_path / "kb"
    shutil.copytree(sample_kb.path, root)
    file = live_folder(root) / "manifest.json"
    manifest = json.loads(file.read_text(encoding="utf-8"))
    assert manifest["settings"].pop("resolve") == "similar"
    file.write_text(json.dumps(manifest), encoding="utf-8")
    assert settings_for(root).resolve == "exact"
    assert settings_for(root, resolve="similar").resolve == "similar"
