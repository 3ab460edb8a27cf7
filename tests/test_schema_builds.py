"""The schema of a knowledge base over its builds: put in force, grown, mapped, rolled back."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.bases import table_rows, write_openie
from tests.schema_evolution import supported
from ytrag_core.config import BuildSettings, EvolutionSettings
from ytrag_core.errors import DocumentError, SchemaError
from ytrag_core.knowledge_base import KnowledgeBase
from ytrag_core.schema.changes import difference
from ytrag_core.schema.history import SchemaHistory
from ytrag_core.schema.load import load_schema
from ytrag_core.schema.proposals import record
from ytrag_core.storage.schema_store import SchemaStore

if TYPE_CHECKING:
    from pathlib import Path

    from ytrag_core.embedding.encoder import Encoder
    from ytrag_core.pipeline.report import BuildReport
    from ytrag_core.schema.proposals import TypeProposal
    from ytrag_core.storage.schema_store import ChangeRow

AUTO = BuildSettings(evolution=EvolutionSettings(mode="auto"))


def index(
    root: Path, text: str, encoder: Encoder, settings: BuildSettings | None = None, schema: str | None = None
) -> BuildReport:
    file = root.parent / "notes.txt"
    file.write_text(text, encoding="utf-8")
    return KnowledgeBase.build(
        root, [file], encoder=encoder, settings=settings or BuildSettings(), schema=schema
    )


def propose(root: Path, said: list[TypeProposal]) -> None:
    with SchemaStore.open(root) as store:
        record(store, said)


def changes(root: Path) -> list[ChangeRow]:
    with SchemaStore.open(root, writable=False) as store:
        return store.changes()


def version(root: Path) -> str:
    with SchemaStore.open(root, writable=False) as store:
        schema = SchemaHistory(store).in_force()
    assert schema is not None
    return schema.version


def test_a_first_build_puts_the_general_schema_in_force(tmp_path: Path, encoder: Encoder) -> None:
    root = tmp_path / "kb"
    index(root, "Ada Lovelace was born in London.", encoder)
    assert [(change.action, change.who) for change in changes(root)] == [("seed", "auto")]
    assert version(root) == load_schema("general").version
    assert KnowledgeBase.open(root, encoder=encoder).info()["schema_version"] == version(root)


def test_a_failed_build_changes_no_schema(tmp_path: Path, encoder: Encoder) -> None:
    root = tmp_path / "kb"
    index(root, "Ada Lovelace was born in London.", encoder)
    with pytest.raises(SchemaError):
        index(root, "More.", encoder, schema="no_such_schema")
    with pytest.raises(DocumentError):
        KnowledgeBase.build(root, [tmp_path / "nowhere.txt"], encoder=encoder, schema="general_zh")
    assert version(root) == load_schema("general").version


def test_types_enter_at_the_end_of_a_build_in_mode_auto_only(tmp_path: Path, encoder: Encoder) -> None:
    root = tmp_path / "kb"
    index(root, "Ada Lovelace was born in London.", encoder)
    propose(root, supported("chess opening", description="How a game of chess begins."))
    report = index(root, "Ada Lovelace was born in London. So she said.", encoder)
    assert not any("proposed types" in told for told in report.notes)
    assert version(root) == load_schema("general").version

    report = index(root, "Ada Lovelace was born in London. So they said.", encoder, AUTO)
    assert any("proposed types that entered the schema (1): chess opening" in told for told in report.notes)
    assert [change.action for change in changes(root)] == ["seed", "evolve"]
    grown = version(root)
    assert grown != load_schema("general").version
    assert KnowledgeBase.open(root, encoder=encoder).info()["schema_version"] == grown

    index(root, "Ada Lovelace was born in London. So we said.", encoder, AUTO, schema="general")
    assert version(root) == grown, "naming the same seed again undoes nothing"
    index(root, "Ada Lovelace was born in London. So I said.", encoder, AUTO, schema="general_zh")
    assert [change.action for change in changes(root)] == ["seed", "evolve", "seed", "evolve"]
    chinese = load_schema("general_zh")
    with SchemaStore.open(root) as store:
        differences = difference(chinese, SchemaHistory(store).schema_at(4))
        assert SchemaHistory(store).schema_at(3) == chinese
    assert [each.name for each in differences] == ["chess opening"], "what is proposed goes for any seed"


def test_a_change_between_builds_is_taken_up_and_taken_back(tmp_path: Path, encoder: Encoder) -> None:
    root, folder = tmp_path / "kb", tmp_path / "openie"
    corpus = [{"id": f"p{i}", "title": "", "text": f"Ada {i} was married to Will {i}."} for i in range(3)]
    records = [
        {"passage_id": f"p{i}", "entities": [], "triples": [[f"Ada {i}", "wed", f"Will {i}"]]}
        for i in range(3)
    ]
    write_openie(folder, corpus, records)
    KnowledgeBase.build(root, [folder], format="openie", encoder=encoder, schema="general")
    assert [row["name"] for row in table_rows(root, "relations")] == ["wed"]

    propose(root, supported("wed", kind="relation"))
    with SchemaStore.open(root) as store:
        history = SchemaHistory(store)
        from ytrag_core.schema.review import acceptances, named

        history.accept(
            lambda schema, found: acceptances(schema, named(found, ["wed"], None), target="married to"),
            who="ann",
            why="",
        )
    KnowledgeBase.build(root, [folder], format="openie", encoder=encoder)
    assert [row["name"] for row in table_rows(root, "relations")] == ["married to"]
    assert KnowledgeBase.open(root, encoder=encoder).info()["schema_version"] == version(root)

    with SchemaStore.open(root) as store:
        SchemaHistory(store).rollback(1, who="ann", why="")
    KnowledgeBase.build(root, [folder], format="openie", encoder=encoder)
    assert [row["name"] for row in table_rows(root, "relations")] == ["wed"]


def test_an_import_without_a_schema_stays_without(tmp_path: Path, encoder: Encoder) -> None:
    root, folder = tmp_path / "kb", tmp_path / "openie"
    write_openie(
        folder,
        [{"id": "p", "title": "", "text": "Ada wed Will."}],
        [{"passage_id": "p", "entities": [], "triples": [["Ada", "wed", "Will"]]}],
    )
    KnowledgeBase.build(root, [folder], format="openie", encoder=encoder, settings=AUTO)
    assert changes(root) == []
    assert KnowledgeBase.open(root, encoder=encoder).info()["schema_version"] == ""


def test_a_knowledge_base_from_before_keeps_its_schema(tmp_path: Path, encoder: Encoder) -> None:
    """What an older version left: the schema in the manifest and the store, but no history."""
    root = tmp_path / "kb"
    index(root, "Ada Lovelace was born in London.", encoder, schema="general_zh")
    with SchemaStore.open(root) as store, store.database.transaction() as connection:
        connection.execute("DROP TABLE schema_changes")
        connection.execute("DROP TABLE type_proposals")
    assert changes(root) == []
    index(root, "Ada Lovelace was born in Paris.", encoder)
    info = KnowledgeBase.open(root, encoder=encoder).info()
    assert info["schema_version"] == load_schema("general_zh").version
    assert changes(root) == []
    propose(root, supported("棋局"))
    with SchemaStore.open(root) as store:
        history = SchemaHistory(store, info["schema_version"])
        from ytrag_core.schema.review import acceptances, named

        history.accept(
            lambda schema, found: acceptances(schema, named(found, ["棋局"], None)), who="ann", why=""
        )
    assert [(change.number, change.action) for change in changes(root)] == [(1, "seed"), (2, "accept")]
