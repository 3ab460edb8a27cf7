"""Filters, explanations and a reranker on the command line."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from typer.testing import CliRunner

from tests.bases import write_openie
from tests.tiny_bases import tiny_encoder
from tests.tiny_cross_encoder import write_cross_encoder
from ytrag_core import cli_explain, cli_retrieve
from ytrag_core.cli import app
from ytrag_core.knowledge_base import KnowledgeBase

if TYPE_CHECKING:
    from pathlib import Path

    from typer.testing import Result

QUESTION = "Who was born in River Delta?"


@pytest.fixture(scope="module")
def kb(tmp_path_factory: pytest.TempPathFactory) -> KnowledgeBase:
    folder = tmp_path_factory.mktemp("cli_filters")
    people = ["Ada Stell", "Bo Lind", "周岚"]
    corpus = [
        {
            "id": f"p{i}",
            "title": who,
            "text": f"{who} was born in River Delta.",
            "year": 2019 + i,
            "lang": lang,
        }
        for i, (who, lang) in enumerate(zip(people, ["en", "en", "zh"], strict=True))
    ]
    records = [
        {
            "passage_id": f"p{i}",
            "entities": [{"name": who, "type": "person"}, {"name": "River Delta", "type": "place"}],
            "triples": [[who, "born in" if i else "drowned in", "River Delta"]],
        }
        for i, who in enumerate(people)
    ]
    encoder = tiny_encoder(folder)
    sources = [write_openie(folder / "in", corpus, records)]
    KnowledgeBase.build(folder / "kb", sources, format="openie", encoder=encoder)
    return KnowledgeBase.open(folder / "kb", encoder=encoder)


@pytest.fixture(autouse=True)
def _opened(kb: KnowledgeBase, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (cli_retrieve, cli_explain):
        monkeypatch.setattr(module, "open_base", lambda _: kb)


def run(*arguments: object) -> Result:
    return CliRunner().invoke(app, [*map(str, arguments), "--kb", "kb"])


def document(*arguments: object) -> Any:
    done = run(*arguments, "--json")
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)


def test_conditions_are_all_met() -> None:
    found = document("retrieve", QUESTION, "--where", "year>=2020", "--where", "lang in en,fr")
    assert [chunk["id"] for chunk in found["chunks"]] == ["p1"]
    assert "notes" not in found
    shown = run("retrieve", QUESTION, "--where", "year>=2030").output
    assert "no passage meets year>=2030: year has the values 2019, 2020, 2021" in " ".join(shown.split())


def test_types_are_wanted_or_all_that_there_is() -> None:
    hard = document("retrieve", QUESTION, "--relation", "Drowned_in", "--hard")
    assert [chunk["id"] for chunk in hard["chunks"]] == ["p0"]
    assert {triple["relation"] for triple in hard["triples"]} == {"drowned in"}
    soft = document("retrieve", QUESTION, "--relation", "drowned in", "--entity-type", "person")
    assert len(soft["chunks"]) == 3
    noted = document("retrieve", QUESTION, "--attribute", "height", "--hard")
    assert len(noted["chunks"]) == 3
    assert noted["notes"][0].startswith("no attribute is called 'height'")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--hard"], "--hard arrived alone"),
        (["--where", "yeer=2"], "no field 'yeer' (is year meant?)"),
        (["--where", "year"], "no field, operator and value"),
        (["--reranker", "nowhere"], "has no model.onnx"),
        (["--routes", ","], "names with commas"),
    ],
)
@pytest.mark.parametrize("command", ["retrieve", "explain"])
def test_bad_options_are_told(command: str, options: list[str], message: str) -> None:
    done = run(command, QUESTION, *options)
    assert done.exit_code != 0
    assert message in f"{done.output} {done.exception}".replace("\n", " ")


def test_explanations_can_be_read() -> None:
    shown = run("explain", QUESTION, "--chunk", "p2").output
    assert "Names in the question" in shown
    assert "River Delta = River Delta (place)" in shown
    assert "Where the walk starts" in shown
    assert "states 周岚 —born in→ River Delta" in shown
    for route in ("dense", "bm25", "ppr"):
        assert f"{route} " in shown
    assert "p0" not in shown
    told = document("explain", QUESTION, "--top-k", "2", "--where", "lang=en", "--routes", "dense,ppr")
    assert {chunk["id"] for chunk in told["chunks"]} == {"p0", "p1"}
    assert {route for chunk in told["chunks"] for route in chunk["routes"]} <= {"dense", "ppr"}
    assert "not put forward" in run("explain", QUESTION, "--chunk", "p2", "--where", "lang=en").output


def test_a_reranker_in_a_folder(tmp_path: Path) -> None:
    folder = write_cross_encoder(tmp_path / "model", ["born", "river", "lind"])
    found = document("retrieve", "Lind born river", "--reranker", folder)
    assert found["chunks"][0]["routes"]["rerank"] == 1
    assert found["chunks"][0]["id"] == "p1"
