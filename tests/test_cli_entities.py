"""The commands `ytrag entities`, over the built-in sample."""

from __future__ import annotations

import json
import shutil
from typing import TYPE_CHECKING, Any

import pytest
from typer.testing import CliRunner

from tests.bases import table_rows
from ytrag_core.cli import app

if TYPE_CHECKING:
    from pathlib import Path

    from click.testing import Result

    from ytrag_core.knowledge_base import KnowledgeBase


@pytest.fixture
def kb(sample_kb: KnowledgeBase, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("COLUMNS", "200")
    return shutil.copytree(sample_kb.path, tmp_path / "kb")


def run(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["entities", *arguments], prog_name="ytrag")  # type: ignore[return-value]


def shown(*arguments: str) -> dict[str, Any]:
    result = run(*arguments, "--json")
    assert result.exit_code == 0, result.stderr
    document: dict[str, Any] = json.loads(result.stdout)
    return document


@pytest.mark.parametrize("command", ["merges", "split", "merge"])
def test_every_command_has_help_with_an_example(command: str) -> None:
    result = run(command, "--help")
    assert result.exit_code == 0
    assert f"Example: ytrag entities {command}" in result.stdout


def test_a_merge_says_what_it_did_and_a_split_takes_it_back(kb: Path) -> None:
    names = [row["name"] for row in table_rows(kb, "entities")][:2]
    before = shown("merges", "--kb", str(kb))
    merged = run("merge", *names, "--kb", str(kb))
    assert merged.exit_code == 0, merged.stderr
    assert "merge done, snapshot 000002 built" in merged.stdout
    assert "0 strings encoded" in merged.stdout
    entities = shown("merges", "--kb", str(kb), "--name", names[0])["entities"]
    assert [sorted(member["name"] for member in entity["members"]) for entity in entities] == [sorted(names)]
    assert {member["kind"] for member in entities[0]["members"]} == {"", "rule"}
    listed = run("merges", "--kb", str(kb), "--name", names[0])
    assert "1 entities of several names" in listed.stdout
    assert "decided by a person" in listed.stdout
    split = shown("split", names[0], "--kb", str(kb), "--form", names[1])
    assert (split["action"], split["rebuilt"], split["snapshot"]) == ("split", True, "000003")
    assert split["encoded_strings"] == 0
    assert [rule["together"] for rule in split["rules"]] == [False]
    assert shown("merges", "--kb", str(kb)) == before


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["split", "Nobody of this name"], "no entity is called 'Nobody of this name'"),
        (["merge", "Nobody"], "one name arrived"),
        (["merges", "--name", "无此人"], "no entity is called '无此人'"),
    ],
)
def test_bad_input_ends_with_2(kb: Path, arguments: list[str], told: str) -> None:
    result = run(*arguments, "--kb", str(kb))
    assert result.exit_code == 2
    assert result.stdout == ""
    assert told in result.stderr


def test_no_knowledge_base_is_told(tmp_path: Path) -> None:
    result = run("merges", "--kb", str(tmp_path / "none"))
    assert result.exit_code == 2
    assert "none" in result.stderr
