"""The commands `ytrag schema`, on files and on a knowledge base."""

from __future__ import annotations

import json
import shutil
from typing import TYPE_CHECKING, Any

import pytest
from typer.testing import CliRunner, Result

from tests.schema_evolution import proposal, supported
from ytrag_core.cli import app
from ytrag_core.schema.load import load_schema, schema_names
from ytrag_core.schema.proposals import record
from ytrag_core.storage.schema_store import SchemaStore

if TYPE_CHECKING:
    from pathlib import Path

    from ytrag_core.knowledge_base import KnowledgeBase


def run(*words: object) -> Result:
    return CliRunner().invoke(app, ["schema", *map(str, words)])


def answer(*words: object) -> Any:
    result = run(*words, "--json")
    assert result.exit_code == 0, result.stderr
    return json.loads(result.stdout)


@pytest.fixture
def kb(tmp_path: Path, sample_kb: KnowledgeBase) -> Path:
    """Return a knowledge base whose schema is general, with proposed types."""
    root = tmp_path / "kb"
    shutil.copytree(sample_kb.path, root)
    from ytrag_core.schema.history import SchemaHistory

    with SchemaStore.open(root) as store:
        SchemaHistory(store).set_seed(load_schema("general"), who="tester", why="a start")
        record(store, supported("chess opening", n=4, description="How a game of chess begins."))
        record(
            store, [*supported("Organization"), proposal("omen", 1), proposal("omen", 2, kind="attribute")]
        )
    return root


def test_schemas_are_listed_and_shown() -> None:
    assert [schema["name"] for schema in answer("list")["schemas"]] == schema_names()
    assert "novel_zh" in run("list").stdout
    assert answer("show", "general_zh") == load_schema("general_zh").model_dump(mode="json")
    shown = run("show", "novel_zh").stdout
    assert "师从" in shown
    assert "人物" in shown
    assert json.loads(run("format").stdout)["title"]


def test_a_shown_schema_is_a_schema_file(tmp_path: Path) -> None:
    file = tmp_path / "mine.json"
    file.write_text(run("show", "finance", "--json").stdout, encoding="utf-8")
    checked = answer("check", file)
    assert (checked["ok"], checked["name"], checked["advice"]) == (True, "finance", [])
    assert "finance is a graph schema" in run("check", file).stdout


def test_a_wrong_file_is_refused_and_a_poor_one_advised(tmp_path: Path) -> None:
    file = tmp_path / "mine.json"
    file.write_text('{"Nodes": ["person"], "Relations": [], "Attributes": []}', encoding="utf-8")
    told = answer("check", file)["advice"]
    assert len(told) == 3
    file.write_text('{"entity_types": []}', encoding="utf-8")
    result = run("check", file)
    assert (result.exit_code, "at least 1 was wanted" in result.stderr) == (2, True)


def test_proposals_are_listed_with_what_would_become_of_them(
    kb: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    told = answer("proposals", "--kb", kb)
    assert {(each["kind"], each["name"]): each["outcome"] for each in told["proposals"]} == {
        ("entity", "chess opening"): "add",
        ("entity", "Organization"): "alias",
        ("entity", "omen"): "wait",
        ("attribute", "omen"): "wait",
    }
    assert told["proposals"][0]["evidence"][0]["text"]
    shown = run("proposals", "--kb", kb).stdout
    assert "another name of organisation" in shown


def test_schemas_are_compared_without_a_knowledge_base() -> None:
    told = answer("diff", "general", "finance")
    assert {each["change"] for each in told["differences"]} >= {"added"}
    assert answer("diff", "general", "general")["differences"] == []
    for words in ((), ("general",), ("general", "2")):
        result = run("diff", *words)
        assert (result.exit_code, "give --kb DIR" in result.stderr) == (2, True)


def test_accept_reject_history_diff_and_rollback(kb: Path) -> None:
    made = answer("accept", "--ready", "--kb", kb, "--by", "Ann")
    assert [(each["outcome"], each["name"]) for each in made["decisions"]] == [
        ("add", "chess opening"), ("alias", "Organization"),
    ]  # fmt: skip
    rejected = answer("reject", "omen", "--kind", "attribute", "--kb", kb, "--by", "Ann", "--why", "vague")
    assert rejected["schema_version"] == made["schema_version"]
    assert [each["kind"] for each in answer("proposals", "--rejected", "--kb", kb)["rejected"]] == [
        "attribute"
    ]
    answer("accept", "omen", "--kind", "entity", "--as", "event", "--kb", kb)
    found = answer("diff", "--kb", kb)
    assert [(each["change"], each["name"]) for each in found["differences"]] == [("changed", "event")]
    assert len(answer("diff", "1", "--kb", kb)["differences"]) == 3
    assert answer("diff", "general", "1", "--kb", kb)["differences"] == []
    assert "+ entity chess opening" in run("diff", "1", "--kb", kb).stdout

    undone = answer("rollback", "1", "--kb", kb, "--why", "start anew")
    assert {each["name"] for each in undone["decisions"]} == {"chess opening", "Organization", "omen"}
    assert answer("show", "--kb", kb) == load_schema("general").model_dump(mode="json")
    assert answer("show", "--kb", kb, "--version", 2)["entity_types"][-1]["name"] == "chess opening"
    changes = answer("history", "--kb", kb)["changes"]
    assert [change["action"] for change in changes] == ["seed", "evolve", "reject", "accept", "rollback"]
    assert (changes[1]["who"], changes[2]["why"], changes[4]["why"]) == ("Ann", "vague", "start anew")
    shown = run("history", "2", "--kb", kb).stdout
    assert "chess opening in " in shown
    assert answer("proposals", "--kb", kb)["proposals"] == []


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["accept"], "--ready alone"),
        (["accept", "omen", "--ready"], "--ready alone"),
        (["accept", "omen"], "--kind"),
        (["accept", "omens"], "did you mean omen"),
        (["accept", "omen", "--kind", "entity", "--as", "evnt"], "'evnt' is no entity type"),
        (["accept", "omen", "--as", "event", "--description", "x"], "--description is for one new type"),
        (["reject"], "give the names"),
        (["rollback", "7"], "no version 7"),
        (["diff", "7"], "no version 7"),
        (["show", "general"], "or --kb DIR"),
    ],
)
def test_a_wrong_word_ends_with_2_and_advice(kb: Path, words: list[str], complaint: str) -> None:
    result = run(*words, "--kb", kb)
    assert result.exit_code == 2
    assert complaint in result.stderr
    assert result.stderr.count("\n") == 1


@pytest.mark.parametrize("command", ["proposals", "history", "diff", "accept x", "reject x", "rollback 1"])
def test_no_knowledge_base_ends_with_2(tmp_path: Path, command: str) -> None:
    result = run(*command.split(), "--kb", tmp_path / "nowhere")
    assert result.exit_code == 2
    assert "there is no knowledge base at" in result.stderr
    assert not (tmp_path / "nowhere").exists()


def test_a_knowledge_base_without_a_schema_says_so(tmp_path: Path, sample_kb: KnowledgeBase) -> None:
    root = tmp_path / "kb"
    shutil.copytree(sample_kb.path, root)
    assert answer("proposals", "--kb", root) == {"schema_version": "", "proposals": []}
    assert "no graph schema" in run("history", "--kb", root).stdout
    result = run("show", "--kb", root)
    assert (result.exit_code, "has no graph schema" in result.stderr) == (2, True)


def test_induce_writes_a_schema_file(tmp_path: Path) -> None:
    notes = tmp_path / "notes.txt"
    notes.write_text("Ada Lovelace was born in London. She worked with Charles Babbage.", encoding="utf-8")
    result = run("induce", notes, "--extractor", "offline", "--out", tmp_path / "drafted.json")
    assert result.exit_code == 0, result.stderr
    assert answer("check", tmp_path / "drafted.json")["name"] == "drafted"
    result = run("induce", notes, "--extractor", "offline")
    assert json.loads(result.stdout)["entity_types"]
    assert "passages of 1 documents" in result.stderr
    assert answer("induce", notes, "--extractor", "offline")["support"]
    result = run("induce", notes, "--out", tmp_path)
    assert (result.exit_code, "is a folder" in result.stderr) == (2, True)
    result = run("induce", notes, "--extractor", "llm")
    assert (result.exit_code, "needs a language model" in result.stderr) == (2, True)
