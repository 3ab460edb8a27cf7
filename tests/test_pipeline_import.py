"""Recorded extractions to a snapshot: one content has one form, whatever the order or the past."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq
import pytest

from tests.bases import (
    TABLES,
    live_folder,
    provenance_rows,
    read_lines,
    table_bytes,
    table_rows,
    write_facts,
    write_openie,
)
from ytrag_core.errors import DocumentError, SnapshotError
from ytrag_core.graph.tables import Provenance
from ytrag_core.knowledge_base import KnowledgeBase
from ytrag_core.sample import sample_folder
from ytrag_core.storage.arrays import map_arrays
from ytrag_core.storage.snapshot import Snapshot

if TYPE_CHECKING:
    from pathlib import Path

    from ytrag_core.embedding.encoder import Encoder
    from ytrag_core.pipeline.report import BuildReport

CORPUS = read_lines(sample_folder() / "corpus.jsonl")
RECORDS = read_lines(sample_folder() / "openie.jsonl")
FACTS = [
    ("Ada", "born in", "Quellmouth"),
    ("Quellmouth", "capital of", "Orvane"),
    ("Ada", "founded", "1812"),
    ("Tidal Institute", "founded", "1812"),
]


def build(root: Path, folder: Path, encoder: Encoder) -> BuildReport:
    return KnowledgeBase.build(root, [folder], format="openie", encoder=encoder)


def all_files(root: Path) -> dict[str, bytes]:
    """Everything of the live snapshot but its manifest, which has the snapshot's number in it."""
    folder = live_folder(root)
    files = {path.relative_to(folder).as_posix(): path for path in folder.rglob("[!.]*") if path.is_file()}
    return {name: path.read_bytes() for name, path in files.items() if name != "manifest.json"}


def shuffled(items: list[Any], seed: int) -> list[Any]:
    return random.Random(seed).sample(items, len(items))


@pytest.fixture(scope="module")
def twice(tmp_path_factory: pytest.TempPathFactory, encoder: Encoder) -> tuple[Path, list[BuildReport]]:
    """The sample with its lines and lists shuffled, then imported again from another shuffle."""
    home = tmp_path_factory.mktemp("shuffled")
    reports = []
    for seed in (1, 2):
        records = [{**row, "triples": shuffled(row["triples"], seed)} for row in RECORDS]
        write_openie(home / "in", shuffled(CORPUS, seed), shuffled(records, seed + 10))
        reports.append(build(home / "kb", home / "in", encoder))
    return home / "kb", reports


def test_the_order_of_lines_and_triples_changes_nothing(
    sample_kb: KnowledgeBase, twice: tuple[Path, list[BuildReport]]
) -> None:
    first, second = all_files(sample_kb.path), all_files(twice[0])
    assert sorted(first) == sorted(second)
    assert {name for name in first if first[name] != second[name]} == {"documents.parquet"}
    straight, permuted = (table_rows(root, "documents") for root in (sample_kb.path, twice[0]))
    for rows in (straight, permuted):
        for row in rows:
            assert row.pop("source").endswith("corpus.jsonl")
    assert straight == permuted


def test_a_second_import_encodes_nothing_and_gives_the_same_bytes(
    twice: tuple[Path, list[BuildReport]], tmp_path: Path
) -> None:
    root, (first, second) = twice
    assert (first.snapshot, second.snapshot) == ("000001", "000002")
    assert first.counts == second.counts
    assert first.encoded_strings > 800
    assert (second.encoded_strings, second.reused_strings) == (
        0,
        first.encoded_strings + first.reused_strings,
    )
    before = root / "snapshots" / "000001"
    assert table_bytes(root) == {name: (before / f"{name}.parquet").read_bytes() for name in TABLES}


def test_the_report_counts_what_the_tables_hold(twice: tuple[Path, list[BuildReport]]) -> None:
    root, (report, _) = twice
    assert report.counts == {name: len(table_rows(root, name)) for name in TABLES if name != "mentions"}
    assert report.counts["documents"] == report.counts["chunks"] == 57
    assert list(report.problems) == []
    json_form = report.to_json()
    assert set(json_form) == {
        *("snapshot", "counts", "encoded_strings", "reused_strings", "stages", "problems", "notes")
    }
    assert set(json_form["counts"]) == {
        *("documents", "chunks", "entities", "attributes", "relations", "triples", "communities")
    }
    assert all(set(stage) == {"name", "seconds", "items", "peak_rss_mb"} for stage in json_form["stages"])
    assert len({stage["name"] for stage in json_form["stages"]}) == len(json_form["stages"]) > 5


def test_every_entity_is_in_exactly_one_leaf_community(sample_kb: KnowledgeBase) -> None:
    entities = table_rows(sample_kb.path, "entities")
    communities = table_rows(sample_kb.path, "communities")
    graph = map_arrays(live_folder(sample_kb.path) / "graph.arrow")
    members = provenance_rows(Provenance(graph["members_indptr"], graph["members"]))
    assert len(members) == len(communities)
    assert [row["id"] for row in communities] == list(range(len(communities)))
    parents = {row["parent"] for row in communities}
    for row, below in zip(communities, members, strict=True):
        assert below == sorted(set(below))
        assert len(below) == row["size"] > 0
        assert row["is_leaf"] == (row["id"] not in parents)
        assert row["centre"] in below
        assert set(row["keywords"]) <= set(below)
        assert row["level"] == (0 if row["parent"] < 0 else communities[row["parent"]]["level"] + 1)
        if row["parent"] >= 0:
            assert set(below) <= set(members[row["parent"]])
        if row["is_leaf"]:
            assert below == [entity["id"] for entity in entities if entity["community"] == row["id"]]
    in_leaves = [entity for row in communities if row["is_leaf"] for entity in members[row["id"]]]
    assert sorted(in_leaves) == list(range(len(entities)))
    assert sum(row["size"] for row in communities if row["parent"] < 0) == len(entities)


def test_mentions_are_those_of_the_recorded_triples(sample_kb: KnowledgeBase) -> None:
    chunks = [row["id"] for row in table_rows(sample_kb.path, "chunks")]
    relations = table_rows(sample_kb.path, "relations")
    keys = [row["key"] for name in ("entities", "attributes") for row in table_rows(sample_kb.path, name)]
    triples = table_rows(sample_kb.path, "triples")

    def fold(name: str) -> str:
        return name.strip(" 《》“”'\".").casefold()

    stated = {
        (*(fold(part) for part in triple), row["passage_id"]) for row in RECORDS for triple in row["triples"]
    }
    written = set()
    for row in table_rows(sample_kb.path, "mentions"):
        if row["subject"] == "triple":
            triple = triples[row["id"]]
            head, tail = keys[triple["head"]], keys[triple["tail"]]
            written.add((head, relations[triple["relation"]]["key"], tail, chunks[row["chunk"]]))
    assert written == stated


def test_nothing_of_the_past_is_left_when_passages_change_and_change_back(
    tmp_path: Path, encoder: Encoder
) -> None:
    changed = [("Ada", "born in", "Port Hale"), *FACTS[1:]]
    folders = [write_facts(tmp_path / name, facts) for name, facts in (("a", FACTS), ("b", changed))]
    states = []
    for folder in [*folders, folders[0]]:
        build(tmp_path / "kb", folder, encoder)
        states.append(all_files(tmp_path / "kb"))
    build(tmp_path / "fresh", folders[1], encoder)
    assert table_bytes(tmp_path / "fresh")["triples"] == states[1]["triples.parquet"]
    assert [row["value"] for row in table_rows(tmp_path / "fresh", "attributes")] == ["1812"]
    fresh = all_files(tmp_path / "fresh")
    assert {name for name in fresh if fresh[name] != states[1][name]} <= {"documents.parquet"}
    assert states[0] == states[2] != states[1]


def test_a_second_folder_adds_up(tmp_path: Path, encoder: Encoder) -> None:
    corpus = [{"id": "q0", "title": "Mayor", "text": "Ivo governs Quellmouth."}]
    record = {"passage_id": "q0", "entities": ["Ivo"], "triples": [["Ivo", "governs", "QUELLMOUTH"]]}
    build(tmp_path / "kb", write_facts(tmp_path / "a", FACTS), encoder)
    report = build(tmp_path / "kb", write_openie(tmp_path / "b", corpus, [record]), encoder)
    assert report.counts["documents"] == report.counts["triples"] == 5
    names = {row["name"]: row for row in table_rows(tmp_path / "kb", "entities")}
    assert sorted(names) == ["Ada", "Ivo", "Orvane", "Quellmouth", "Tidal Institute"]
    assert names["Quellmouth"]["aliases"] == ["QUELLMOUTH"]
    kb = KnowledgeBase.open(tmp_path / "kb", encoder=encoder)
    assert [source["path"] for source in kb.info()["sources"]] == [str(tmp_path / "a"), str(tmp_path / "b")]
    assert kb.retrieve("Who governs Quellmouth?").chunks[0].id == "q0"


def test_problems_are_reported_and_the_rest_is_imported(tmp_path: Path, encoder: Encoder) -> None:
    corpus: list[object] = [
        {"id": "a", "title": "Ada", "text": "Ada was born."},
        "{broken",
        {"id": "a", "text": "again"},
        {"id": "b", "title": "Bob", "text": "Bob too."},
    ]
    records: list[object] = [
        {"passage_id": "a", "triples": [["Ada", "born in", "Orvane"], ["Ada", "knew"], 7]},
        {"passage_id": "zz", "triples": []},
    ]
    report = build(tmp_path / "kb", write_openie(tmp_path / "in", corpus, records), encoder)
    where = [problem.source.rsplit("/", 1)[-1] for problem in report.problems]
    assert where == ["corpus.jsonl:2", "corpus.jsonl:3", "openie.jsonl:1", "openie.jsonl:2"]
    assert (report.counts["documents"], report.counts["triples"]) == (2, 1)
    assert [row["id"] for row in table_rows(tmp_path / "kb", "chunks")] == ["a", "b"]


@pytest.mark.parametrize("corpus", [[], ["{broken"], [{"id": "a", "title": "A", "text": " "}]])
def test_without_a_passage_there_is_no_snapshot(
    tmp_path: Path, encoder: Encoder, corpus: list[object]
) -> None:
    root = tmp_path / "kb"
    with pytest.raises(DocumentError, match="no text was found"):
        build(root, write_openie(tmp_path / "in", corpus, []), encoder)
    with pytest.raises(SnapshotError):
        Snapshot.open(root)
    assert build(root, write_facts(tmp_path / "good", FACTS), encoder).snapshot == "000001"


def test_a_failed_import_leaves_the_snapshot_before(tmp_path: Path, encoder: Encoder) -> None:
    root = tmp_path / "kb"
    build(root, write_facts(tmp_path / "in", FACTS), encoder)
    before = all_files(root)
    (tmp_path / "in" / "openie.jsonl").unlink()
    with pytest.raises(DocumentError, match=r"openie\.jsonl"):
        build(root, tmp_path / "in", encoder)
    assert all_files(root) == before
    assert Snapshot.open(root, verify="full").number == 1


def test_tables_are_plain_parquet(sample_kb: KnowledgeBase) -> None:
    for name in TABLES:
        table = pq.read_table(live_folder(sample_kb.path) / f"{name}.parquet")
        assert table.num_rows > 0
        assert not table.schema.metadata


def test_damaged_vectors_are_encoded_again(tmp_path: Path, encoder: Encoder) -> None:
    write_facts(tmp_path / "in", FACTS)
    first = build(tmp_path / "kb", tmp_path / "in", encoder)
    path = live_folder(tmp_path / "kb") / "vectors" / "strings.arrow"
    clean = path.read_bytes()
    path.write_bytes(clean[:2000] + bytes(8) + clean[2008:])
    again = build(tmp_path / "kb", tmp_path / "in", encoder)
    assert again.snapshot != first.snapshot
    assert again.encoded_strings > 0
    assert (live_folder(tmp_path / "kb") / "vectors" / "strings.arrow").read_bytes() == clean
    assert build(tmp_path / "kb", tmp_path / "in", encoder).encoded_strings == 0
