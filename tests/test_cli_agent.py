"""The commands `ask`, `chat` and `trace show` against a real HTTP endpoint."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from typer.testing import CliRunner

from tests.chat_endpoint import chat, endpoint, streamed
from ytrag_core.cli import app

if TYPE_CHECKING:
    from pathlib import Path

    from click.testing import Result

    from tests.chat_endpoint import Endpoint, Reply
    from ytrag_core.knowledge_base import KnowledgeBase

QUESTION = "Who invented the fog clock?"


@pytest.fixture(autouse=True)
def _plain_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("YTRAG_ENCODER_PATH", "YTRAG_DEBUG", "YTRAG_LLM_API_KEY", "YTRAG_PROMPTS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("COLUMNS", "160")


@pytest.fixture
def kb(sample_kb: KnowledgeBase, monkeypatch: pytest.MonkeyPatch) -> str:
    """Return the sample's directory; it is opened with the encoder that is loaded already."""
    monkeypatch.setattr("ytrag_core.cli_agent.open_base", lambda path: sample_kb)
    return str(sample_kb.path)


def run(served: Endpoint, *arguments: str, given: str = "") -> Result:
    names = {"YTRAG_LLM_BASE_URL": served.base_url, "YTRAG_LLM_MODEL": "m"}
    return CliRunner(env=names).invoke(app, list(arguments), prog_name="ytrag", input=given)  # type: ignore[return-value]


def answering(answer: str, passage: str = "sample-en-13") -> str:
    return json.dumps({"thought": "t", "decision": "answer", "answer": answer, "passages": [passage]})


def in_pieces(text: str) -> Reply:
    return streamed(*(text[start : start + 7] for start in range(0, len(text), 7)))


def test_ask_streams_and_writes_a_trace_that_is_shown(kb: str, tmp_path: Path) -> None:
    trace = tmp_path / "trace.jsonl"
    with endpoint(in_pieces(answering("Maren Tessaly [1]."))) as served:
        asked = run(served, "ask", QUESTION, "--kb", kb, "--stream", "--trace", str(trace))
    assert asked.exit_code == 0, asked.output
    assert asked.stdout.startswith("Maren Tessaly [1].\n\nSources\n [1] ")
    assert asked.stdout.count("Maren Tessaly [1].") == 1
    assert "looked up: Who invented the fog clock?" in asked.stderr
    assert served.requests[0]["stream"] is True
    shown = run(served, "trace", "show", str(trace))
    assert shown.exit_code == 0, shown.output
    assert QUESTION in shown.stdout
    assert "think (reason)" in shown.stdout
    assert "128" not in shown.stderr
    as_json = json.loads(run(served, "trace", "show", str(trace), "--json").stdout)
    assert [event["event"] for event in as_json[0]][:2] == ["asked", "retrieved"]


def test_an_answer_that_the_check_changed_is_printed_again(kb: str) -> None:
    with endpoint(in_pieces(answering("Maren Tessaly [1][77]. It costs nine crowns."))) as served:
        asked = run(served, "ask", QUESTION, "--kb", kb, "--stream", "--mode", "reject")
    assert asked.exit_code == 0, asked.output
    assert "Maren Tessaly [1][2]. It costs nine crowns.\nMaren Tessaly [1].\n" in asked.stdout
    assert "Taken out, nothing supports it: It costs nine crowns." in asked.stdout
    assert "Citation removed: 77 (no such passage was shown)" in asked.stdout


def test_ask_in_json_keeps_the_contract(kb: str) -> None:
    with endpoint(chat(answering("Maren Tessaly."))) as served:
        asked = run(served, "ask", QUESTION, "--kb", kb, "--json", "--max-steps", "2", "--max-calls", "3")
    document = json.loads(asked.stdout)
    assert {"answer", "refused", "citations", "steps", "usage", "timings_ms"} <= document.keys()
    assert document["citations"] == ["sample-en-13"]
    assert document["usage"]["llm_calls"] == 1
    assert set(document["steps"][0]) == {"query", "thought", "chunk_ids"}
    assert "stream" not in served.requests[0]


@pytest.mark.parametrize(
    ("option", "value"), [("--context-tokens", "100"), ("--max-steps", "0"), ("--max-seconds", "0")]
)
def test_a_budget_out_of_range_is_bad_input(kb: str, option: str, value: str) -> None:
    with endpoint(chat("x")) as served:
        assert run(served, "ask", QUESTION, "--kb", kb, option, value).exit_code == 2


def test_a_chat_rewrites_what_points_back(kb: str, tmp_path: Path) -> None:
    replies = [
        answering("Maren Tessaly."),
        "Who taught Maren Tessaly?",
        answering("Ivo Lanth.", "sample-en-14"),
    ]
    trace = tmp_path / "chat.jsonl"
    with endpoint(*map(chat, replies)) as served:
        given = f"{QUESTION}\n\nWho taught her?\n/quit\nnever asked\n"
        told = run(served, "chat", "--kb", kb, "--json", "--trace", str(trace), given=given)
        assert told.exit_code == 0, told.output
        documents: list[dict[str, Any]] = [json.loads(line) for line in told.stdout.splitlines()]
        shown = run(served, "trace", "show", str(trace))
    assert [document["answer"] for document in documents] == ["Maren Tessaly [1].", "Ivo Lanth [1]."]
    assert documents[1]["read_as"] == "Who taught Maren Tessaly?"
    assert len(served.requests) == 3
    assert shown.stdout.count("answered") == 2
    assert "understood as: Who taught Maren Tessaly?" in shown.stdout


def test_a_chat_survives_a_question_that_fails(kb: str) -> None:
    with endpoint(chat(""), chat(""), chat(answering("Maren Tessaly."))) as served:
        told = run(served, "chat", "--kb", kb, "--mode", "reject", given=f"{QUESTION}\n{QUESTION}\n")
    assert told.exit_code == 0
    assert "error: the language model" in told.stderr
    assert "Maren Tessaly [1]." in told.stdout


def test_evidence_needs_no_model(kb: str) -> None:
    with endpoint(chat("x")) as served:
        asked = run(served, "ask", QUESTION, "--kb", kb, "--mode", "evidence", "--json")
    assert asked.exit_code == 0
    assert served.requests == []
    assert json.loads(asked.stdout)["usage"]["llm_calls"] == 0


def test_no_trace_is_bad_input(tmp_path: Path) -> None:
    with endpoint(chat("x")) as served:
        assert run(served, "trace", "show", str(tmp_path / "none.jsonl")).exit_code == 2


def test_a_question_that_cannot_be_asked_leaves_the_trace_as_it_was(kb: str, tmp_path: Path) -> None:
    trace = tmp_path / "trace.jsonl"
    trace.write_text("kept\n", encoding="utf-8")
    result = CliRunner().invoke(app, ["ask", " ", "--kb", kb, "--mode", "evidence", "--trace", str(trace)])
    assert (result.exit_code, "the question is empty" in result.stderr) == (2, True)
    assert trace.read_text(encoding="utf-8") == "kept\n"


def test_a_stalled_endpoint_ends_with_the_evidence(kb: str) -> None:
    with endpoint(streamed('{"thought":"x","decision":"answer","answer":"Isma', stalled=True)) as served:
        result = run(served, "ask", QUESTION, "--kb", kb, "--max-seconds", "0.5", "--no-stream")
    assert result.exit_code == 0, result.output
    assert "no answer within the budget" in result.stdout
    assert "The budget was reached (seconds)." in result.stdout
    assert result.stdout.count("sample-en-13") == 1
