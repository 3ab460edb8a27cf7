"""`ytrag tune` and `ytrag eval retrieval` as commands."""

from __future__ import annotations

import json
import shutil
from typing import TYPE_CHECKING, Any

import pytest
from typer.testing import CliRunner, Result

from tests.bases import read_lines
from ytrag_core.cli import app
from ytrag_core.knowledge_base import KnowledgeBase
from ytrag_core.retrieval.weights import FEATURES, TUNED_NAME, FusionWeights
from ytrag_core.sample import sample_folder

if TYPE_CHECKING:
    from pathlib import Path


QUESTIONS = sample_folder() / "questions.jsonl"


def run(*args: object) -> Result:
    return CliRunner().invoke(app, [str(arg) for arg in args])


@pytest.fixture
def kb(sample_kb: KnowledgeBase, tmp_path: Path) -> Path:
    """Return a copy of the sample with weights that find little."""
    root = tmp_path / "kb"
    shutil.copytree(sample_kb.path, root)
    FusionWeights({"walk": 0.01, "words": 0.0}, {"date": "2030-01-01"}).write(root / TUNED_NAME)
    return root


@pytest.fixture
def questions(tmp_path: Path) -> Path:
    """Return one question a passage of the sample: its title."""
    rows = read_lines(sample_folder() / "corpus.jsonl")
    file = tmp_path / "asked.jsonl"
    asked = [{"question": f"{row['title']}?", "supporting_ids": [row["id"]]} for row in rows]
    file.write_text("".join(json.dumps(row) + "\n" for row in asked), "utf-8")
    return file


def test_tuned_weights_are_stored_used_shown_and_taken_away(kb: Path, questions: Path) -> None:
    looked = run("tune", "--kb", kb, "--questions", questions, "--json")
    assert looked.exit_code == 0, looked.output
    report: dict[str, Any] = json.loads(looked.stdout)
    assert report["worth_it"]
    assert not report["applied"]
    assert report["after"]["recall@1"] > report["before"]["recall@1"]
    assert FusionWeights.read(kb / TUNED_NAME).weights == {"walk": 0.01, "words": 0.0}

    stored = run("tune", "--kb", kb, "--questions", questions, "--apply", "--out", kb.parent / "own.json")
    assert stored.exit_code == 0, stored.output
    model = FusionWeights.read(kb / TUNED_NAME)
    assert model == FusionWeights.read(kb.parent / "own.json")
    assert model.weights == report["weights"]
    assert {"date", "version", "encoder", "snapshot", "data", "n", "figures"} <= model.report.keys()

    told = json.loads(run("info", "--kb", kb, "--json").stdout)["fusion"]
    assert (told["origin"], told["weights"]) == ("tuned", report["weights"])

    KnowledgeBase.build(kb, [sample_folder()], format="openie")
    assert KnowledgeBase.open(kb).settings.weights == report["weights"]

    assert run("tune", "--kb", kb, "--reset").exit_code == 0
    assert json.loads(run("info", "--kb", kb, "--json").stdout)["fusion"]["origin"] == "shipped"


def test_what_is_not_worth_it_is_not_stored(kb: Path) -> None:
    before = (kb / TUNED_NAME).read_bytes()
    few = run("tune", "--kb", kb, "--questions", QUESTIONS, "--apply")
    assert few.exit_code == 2
    assert "at least 20" in few.stderr
    assert (kb / TUNED_NAME).read_bytes() == before


@pytest.mark.parametrize(
    ("args", "message"),
    [([], "--questions"), (["--reset", "--apply"], "--reset"), (["--questions", "missing.jsonl"], "missing")],
)
def test_bad_input(kb: Path, args: list[str], message: str) -> None:
    result = run("tune", "--kb", kb, *args)
    assert result.exit_code == 2
    assert message in result.stderr


def test_the_weights_in_force_decide(kb: Path, sample_kb: KnowledgeBase) -> None:
    question = read_lines(QUESTIONS)[0]["question"]
    weak = [chunk.score for chunk in KnowledgeBase.open(kb).retrieve(question).chunks]
    strong = [chunk.score for chunk in sample_kb.retrieve(question).chunks]
    assert weak[0] < 1.0 < strong[0]


def test_eval_with_everything(sample_kb: KnowledgeBase, tmp_path: Path) -> None:
    out = tmp_path / "run.json"
    args = ("--top-k", "2,5", "--ablation", "--baselines", "ranks", "--out", out)
    result = run("eval", "retrieval", "--kb", sample_kb.path, "--questions", QUESTIONS, *args, "--json")
    assert result.exit_code == 0, result.output
    report = json.loads(result.stdout)
    assert list(report["systems"]) == ["ytrag", "ranks"]
    ytrag = report["systems"]["ytrag"]
    assert set(ytrag["by_hops"]) == {"2", "3"}
    assert {"encode", "ppr", "bridge", "total"} <= ytrag["stages_ms"].keys()
    assert list(report["ablation"]["alone"]) == list(report["ablation"]["without"])
    assert set(FEATURES.values()) <= report["ablation"]["alone"].keys()
    for row in report["ablation"]["without"].values():
        assert row["change"]["recall@5"][0] == pytest.approx(row["recall@5"] - ytrag["recall@5"], abs=0.11)
    run_file = json.loads(out.read_text(encoding="utf-8"))
    assert run_file["report"]["systems"] == report["systems"]
    assert run_file["settings"]["fusion"] == "learned"
    assert run_file["versions"]["ytrag"]
    assert len(run_file["questions"]) == report["n"] == 10
    mean = sum(one["systems"]["ytrag"]["recall@5"] for one in run_file["questions"]) / 10
    assert ytrag["recall@5"] == pytest.approx(100 * mean, abs=0.06)

    shown = run("eval", "retrieval", "--kb", sample_kb.path, "--questions", QUESTIONS, "--ablation")
    assert "3 hops (4)" in shown.stdout
    assert "95 % interval" in shown.stdout
    assert "…" not in shown.stdout, "columns are cut"
    lost = run("eval", "retrieval", "--kb", sample_kb.path, "--questions", QUESTIONS, "--out", "no/such/f")
    assert lost.exit_code == 2


@pytest.mark.parametrize("command", [["tune"], ["eval", "retrieval"]])
def test_a_question_that_is_too_long_is_named(
    sample_kb: KnowledgeBase, tmp_path: Path, command: list[str]
) -> None:
    file = tmp_path / "long.jsonl"
    rows = [
        {"question": "Who?", "supporting_ids": ["sample-en-13"]},
        {"question": "Who? " * 100_000, "supporting_ids": ["sample-en-13"]},
    ]
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    result = run(*command, "--kb", sample_kb.path, "--questions", file)
    assert result.exit_code == 2
    assert "question 'line 2': the question has 499,999 characters" in " ".join(result.stderr.split())
