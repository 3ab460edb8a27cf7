"""The commands `ytrag verify` and `ytrag repair`, over the built-in sample."""

from __future__ import annotations

import json
import shutil
from typing import TYPE_CHECKING

import pytest
from typer.testing import CliRunner

from tests.bases import live_folder
from ytrag_core.cli import app

if TYPE_CHECKING:
    from pathlib import Path

    from click.testing import Result

    from ytrag_core.knowledge_base import KnowledgeBase

FILE = "snapshots/000001/bm25/vocab.index.json"


@pytest.fixture
def kb(sample_kb: KnowledgeBase, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("COLUMNS", "400")
    return shutil.copytree(sample_kb.path, tmp_path / "kb")


def run(*arguments: str) -> Result:
    return CliRunner().invoke(app, [*arguments], prog_name="ytrag")  # type: ignore[return-value]


def test_a_damaged_file_is_shown_and_repaired(kb: Path) -> None:
    sound = run("verify", "--kb", str(kb))
    assert sound.exit_code == 0, sound.stderr
    assert "all is as it was written" in sound.stdout
    assert FILE not in sound.stdout
    assert FILE in run("verify", "--kb", str(kb), "--all").stdout
    before = (kb / FILE).read_bytes()
    (kb / FILE).write_bytes(before[:100])
    found = run("verify", "--kb", str(kb))
    assert found.exit_code == 1
    assert f"{FILE}: it has 100 bytes, {len(before):,} were written" in found.stdout
    assert f"repair it: ytrag repair --kb {kb}" in found.stderr
    listed = json.loads(run("verify", "--kb", str(kb), "--json").stdout)
    assert listed["ok"] is False
    assert [file["path"] for file in listed["files"] if file["state"] == "damaged"] == [FILE]
    asked = run("retrieve", "Who built the bridge?", "--kb", str(kb))
    assert asked.exit_code == 2
    assert f"run `ytrag repair --kb {kb}`" in asked.stderr
    done = run("repair", "--kb", str(kb))
    assert done.exit_code == 0, done.stderr
    assert "snapshot 000001 is what it was" in done.stdout
    assert f"{FILE}: made again" in done.stdout
    assert f"kept in {kb / 'damaged'}" in done.stderr
    assert (kb / FILE).read_bytes() == before
    again = json.loads(run("repair", "--kb", str(kb), "--json").stdout)
    assert (again["ok"], again["in_place"], again["files"], again["lost"]) == (True, True, [], [])


def test_what_is_lost_is_listed_and_the_command_fails(kb: Path) -> None:
    for name in ("documents", "chunks"):
        (live_folder(kb) / f"{name}.parquet").unlink()
    (kb / "meta.sqlite").unlink()
    done = run("repair", "--kb", str(kb))
    assert done.exit_code == 2
    assert "stores no documents" in done.stderr


def test_a_place_without_a_knowledge_base(tmp_path: Path) -> None:
    for command in ("verify", "repair"):
        found = run(command, "--kb", str(tmp_path / "none"))
        assert found.exit_code == 2
        assert "does not exist" in found.stderr
