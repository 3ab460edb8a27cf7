"""Merges and splits of entities: recorded, applied at once, honoured ever after, and undone to the byte."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

from tests.bases import live_folder, table_bytes, table_rows, write_edges, write_openie
from tests.tiny_bases import CountingEncoder, tiny_encoder
from ytrag_core.config import BuildSettings
from ytrag_core.errors import ConfigError, QueryError
from ytrag_core.knowledge_base import KnowledgeBase
from ytrag_core.pipeline import sources
from ytrag_core.pipeline.entities import merge_entities, read_merges, split_entity
from ytrag_core.pipeline.records import recorded_key
from ytrag_core.pipeline.report import StageRecorder
from ytrag_core.pipeline.sources import rebuild_documents
from ytrag_core.storage.entity_rules import EntityRule, read_entity_rules
from ytrag_core.storage.snapshot import Snapshot, SnapshotWriter

if TYPE_CHECKING:
    from pathlib import Path

    from ytrag_core.pipeline.entities import EntityChange
    from ytrag_core.pipeline.report import BuildReport

FACTS = (
    ("Dr. Alice Stell", "designed", "Salt Tower"),
    ("Alice Stell", "born in", "Ismarra"),
    ("Alice Stell", "designed", "Salt Tower"),
    ("Stell", "met", "Alice Stell"),
    ("曹雪芹", "写了", "红楼梦"),
    ("曹雪芹先生", "生于", "南京"),
    ("Heron Press", "printed", "Atlas"),
    ("Gull Press", "printed", "Atlas"),
    ("Tern Press", "printed", "Almanac"),
)


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("entities")


@pytest.fixture(scope="module")
def encoder(home: Path) -> CountingEncoder:
    return tiny_encoder(home)


@pytest.fixture(scope="module")
def folder(home: Path) -> Path:
    corpus = [{"id": f"p{i}", "title": f"T{i}", "text": " ".join(fact)} for i, fact in enumerate(FACTS)]
    records = [
        {"passage_id": f"p{i}", "entities": [fact[0]], "triples": [list(fact)]}
        for i, fact in enumerate(FACTS)
    ]
    return write_openie(home / "corpus", corpus, records)


def build(root: Path, folder: Path, encoder: CountingEncoder, resolve: str = "similar") -> BuildReport:
    settings = BuildSettings.model_validate({"resolve": resolve})
    return KnowledgeBase.build(root, [folder], format="openie", encoder=encoder, settings=settings)


@pytest.fixture(scope="module")
def built(home: Path, folder: Path, encoder: CountingEncoder) -> Path:
    build(home / "kb", folder, encoder)
    return home / "kb"


@pytest.fixture(scope="module")
def exact(home: Path, folder: Path, encoder: CountingEncoder) -> Path:
    build(home / "exact", folder, encoder, "exact")
    return home / "exact"


@pytest.fixture
def kb(built: Path, tmp_path: Path) -> Path:
    return shutil.copytree(built, tmp_path / "kb")


@pytest.fixture
def plain(exact: Path, tmp_path: Path) -> Path:
    return shutil.copytree(exact, tmp_path / "plain")


def merge(root: Path, encoder: CountingEncoder, *names: str) -> EntityChange:
    return _unencoded(merge_entities(root, names, encoder, StageRecorder()))


def split(root: Path, encoder: CountingEncoder, name: str, form: str | None = None) -> EntityChange:
    return _unencoded(split_entity(root, name, encoder, StageRecorder(), form))


def _unencoded(change: EntityChange) -> EntityChange:
    assert change.report.encoded_strings == 0
    assert change.report.problems == ()
    return change


def entities(root: Path) -> dict[str, list[str]]:
    return {row["name"]: row["aliases"] for row in table_rows(root, "entities")}


def test_what_is_written_alike_is_one_and_recorded(kb: Path) -> None:
    assert entities(kb)["Alice Stell"] == ["Dr. Alice Stell"]
    assert entities(kb)["曹雪芹"] == ["曹雪芹先生"]
    ada, cao = read_merges(kb)
    assert [member.name for member in ada.members] == ["Alice Stell", "Dr. Alice Stell"]
    kept, came = ada.members
    assert (kept.kind, came.kind, came.linked_to) == ("", "title", "Alice Stell")
    assert came.chunk_ids == ("p0",)
    assert came.triples == (("Alice Stell", "designed", "Salt Tower"),)
    assert kept.chunk_ids == ("p1", "p2", "p3")
    assert len(kept.triples) == 3
    assert read_merges(kb, "曹雪芹先生") == [cao]
    assert read_merges(kb, "Salt Tower") == []


def test_a_split_gives_back_what_there_was(
    kb: Path, exact: Path, home: Path, folder: Path, encoder: CountingEncoder
) -> None:
    change = split(kb, encoder, "Alice Stell")
    assert change.entities == {"Alice Stell": ["alice stell"], "Dr. Alice Stell": ["dr. alice stell"]}
    split(kb, encoder, "曹雪芹先生")
    assert table_bytes(kb) == table_bytes(exact)
    assert not (live_folder(kb) / "merges.parquet").exists()
    again = build(kb, folder, encoder)
    assert (again.snapshot, again.encoded_strings) == ("000004", 0)
    assert table_bytes(kb) == table_bytes(exact)
    assert read_merges(kb) == []


def test_a_person_merges_and_splits_again(plain: Path, folder: Path, encoder: CountingEncoder) -> None:
    before = table_bytes(plain)
    change = merge(plain, encoder, "heron press", "Gull Press")
    assert change.entities == {"Gull Press": ["gull press", "heron press"]}
    (one,) = read_merges(plain)
    assert [(member.name, member.kind, member.chunk_ids) for member in one.members] == [
        ("Gull Press", "", ("p7",)),
        ("Heron Press", "rule", ("p6",)),
    ]
    (printed,) = [row for row in table_rows(plain, "triples") if row["n_chunks"] == 2][:1]
    assert printed["head"] == one.id
    assert build(plain, folder, encoder, "exact").encoded_strings == 0
    assert "Heron Press" not in entities(plain)
    back = split(plain, encoder, "Gull Press", "Heron Press")
    assert back.entities == {"Gull Press": ["gull press"], "Heron Press": ["heron press"]}
    assert table_bytes(plain) == before


def test_a_chain_falls_apart_where_it_is_split(plain: Path, encoder: CountingEncoder) -> None:
    before = table_bytes(plain)
    merge(plain, encoder, "Heron Press", "Gull Press")
    merge(plain, encoder, "Gull Press", "Tern Press")
    assert [len(entity.members) for entity in read_merges(plain)] == [3]
    split(plain, encoder, "Heron Press", "Gull Press")
    assert read_merges(plain) == []
    assert "Gull Press" in entities(plain)
    merge(plain, encoder, "Heron Press", "Gull Press", "Tern Press")
    assert [len(entity.members) for entity in read_merges(plain)] == [3]
    split(plain, encoder, "Tern Press")
    assert table_bytes(plain) == before


def test_the_later_decision_holds(kb: Path, encoder: CountingEncoder) -> None:
    before = table_bytes(kb)
    split(kb, encoder, "Alice Stell", "Dr. Alice Stell")
    merge(kb, encoder, "Alice Stell", "Dr. Alice Stell")
    assert table_bytes(kb) == before
    with Snapshot.open(kb).open_meta() as meta:
        assert read_entity_rules(meta, 3) == [EntityRule("alice stell", "dr. alice stell", together=True)]
        assert read_entity_rules(meta, 2) == [EntityRule("alice stell", "dr. alice stell", together=False)]


def test_a_part_of_a_name_is_merged_by_a_person_only(kb: Path, encoder: CountingEncoder) -> None:
    assert "Stell" in entities(kb)
    assert merge(kb, encoder, "Stell", "Dr. Alice Stell").entities == {
        "Alice Stell": ["alice stell", "dr. alice stell", "stell"]
    }
    (ada,) = read_merges(kb, "stell")
    assert {member.kind for member in ada.members} == {"", "title", "rule"}


def test_names_that_mean_nothing_are_told_with_the_nearest(kb: Path, encoder: CountingEncoder) -> None:
    with pytest.raises(QueryError, match="no entity is called 'Alice Stel'; the nearest are 'Alice Stell'"):
        split(kb, encoder, "Alice Stel")
    with pytest.raises(QueryError, match="no entity is called '曹雪斤'; the nearest are '曹雪芹'"):
        merge(kb, encoder, "曹雪斤", "Alice Stell")
    with pytest.raises(QueryError, match="mean one entity already, 'Alice Stell'"):
        merge(kb, encoder, "Alice Stell", "Dr. Alice Stell")
    with pytest.raises(QueryError, match="'Salt Tower' goes by one name"):
        split(kb, encoder, "salt tower")
    with pytest.raises(QueryError, match="'Atlas' is none of the names that 'Alice Stell' was merged from"):
        split(kb, encoder, "Alice Stell", "Atlas")
    with pytest.raises(QueryError, match="no entity is called"):
        read_merges(kb, "Nobody at all")
    assert Snapshot.open(kb).manifest.snapshot == "000001"


def test_a_build_that_dies_leaves_no_rule(
    kb: Path, encoder: CountingEncoder, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = table_bytes(kb)

    def die(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(sources, "build_snapshot", die)
        with pytest.raises(KeyboardInterrupt):
            merge(kb, encoder, "Heron Press", "Gull Press")
    assert build(kb, folder, encoder).encoded_strings == 0
    assert table_bytes(kb) == before


def test_an_imported_graph_has_identities_of_its_own(tmp_path: Path, encoder: CountingEncoder) -> None:
    nodes = pa.table({"id": [1, 2, 3], "name": ["Dr. Alice Stell", "Alice Stell", "Alice Stell"]})
    edges = pa.table({"src": [1], "relation": ["met"], "dst": [2]})
    graph = write_edges(tmp_path / "graph", nodes, edges)
    KnowledgeBase.build(tmp_path / "kb", [graph], format="edges", encoder=encoder)
    assert len(table_rows(tmp_path / "kb", "entities")) == 3
    assert read_merges(tmp_path / "kb") == []
    with pytest.raises(ConfigError, match="imported graph, whose ids are the identity"):
        merge(tmp_path / "kb", encoder, "Alice Stell", "Dr. Alice Stell")


def test_another_encoder_keeps_the_record_of_merges(kb: Path, tmp_path: Path) -> None:
    before = [entity.to_json() for entity in read_merges(kb)]
    other = tiny_encoder(tmp_path, seed=3)
    KnowledgeBase.reembed(kb, encoder=other)
    assert [entity.to_json() for entity in read_merges(kb)] == before
    split(kb, other, "Alice Stell")
    assert "Dr. Alice Stell" in entities(kb)


def test_homonyms_are_told_by_their_types(plain: Path, encoder: CountingEncoder) -> None:
    with SnapshotWriter(plain) as writer:
        rows = {row.id: row for row in writer.meta.chunks()}
        said = {"p4": ("Vale", "person", "met", "Orla"), "p6": ("Vale", "place", "lies in", "Nimbrel")}
        keys = {chunk: recorded_key(row.id, row.title, row.text) for chunk, row in rows.items()}
        writer.meta.put_extractions(
            "recorded",
            [
                (keys[chunk], {"entities": [[name, kind, []]], "triples": [[name, relation, other]]})
                for chunk, (name, kind, relation, other) in said.items()
            ],
        )
    rebuild_documents(plain, encoder, StageRecorder(), (), BuildSettings(resolve="aliases"))
    before = table_bytes(plain)
    kinds = [row["type"] for row in table_rows(plain, "entities") if row["name"] == "Vale"]
    assert kinds == ["person", "place"]
    with pytest.raises(QueryError, match=r"means 2 entities: give one of Vale \[person\], Vale \[place\]"):
        merge(plain, encoder, "Vale", "Heron Press")
    change = merge_entities(plain, ["Vale [person]", "Vale [place]"], encoder, StageRecorder())
    assert change.entities == {"Vale": ["vale", "vale"]}
    assert [row["type"] for row in table_rows(plain, "entities") if row["name"] == "Vale"] == ["person"]
    assert split(plain, encoder, "Vale").entities == {"Vale [person]": ["vale"], "Vale [place]": ["vale"]}
    assert table_bytes(plain) == before
