from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from typer.testing import CliRunner

import ytrag_core
from ytrag_core.cli import app

if TYPE_CHECKING:
    from pathlib import Path

    from click.testing import Result

COMMANDS = [
    "demo", "index", "import", "import openie", "import edges", "retrieve", "ask", "chat", "trace",
    "trace show", "eval", "eval retrieval", "info", "reembed", "warmup", "models", "models list",
    "models fetch", "models verify", "models convert",
]  # fmt: skip
LLM_NAMES = ("YTRAG_LLM_BASE_URL", "YTRAG_LLM_MODEL", "YTRAG_LLM_API_KEY")


@pytest.fixture(autouse=True)
def _plain_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (*LLM_NAMES, "YTRAG_ENCODER_PATH", "YTRAG_DEBUG"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("COLUMNS", "200")


def run(*arguments: str) -> Result:
    return CliRunner().invoke(app, list(arguments), prog_name="ytrag")  # type: ignore[return-value]


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help_with_an_example(command: str) -> None:
    result = run(*command.split(), "--help")
    assert result.exit_code == 0
    assert "Example: ytrag " in result.stdout
    assert "Usage: ytrag " in result.stdout


def test_the_root_help_lists_every_command() -> None:
    result = run("--help")
    assert result.exit_code == 0
    for command in COMMANDS:
        assert command.split()[0] in result.stdout


def test_version() -> None:
    result = run("--version")
    assert (result.exit_code, result.stdout) == (0, f"ytrag {ytrag_core.__version__}\n")


@pytest.mark.parametrize(
    "arguments",
    [
        ["no-such-command"],
        ["index"],
        ["index", "a.txt"],
        ["import", "no-such-format", "x", "--kb", "kb"],
        ["retrieve", "--kb", "kb"],
        ["retrieve", "Who?"],
        ["retrieve", "Who?", "--kb", "kb", "--top-k", "0"],
        ["retrieve", "Who?", "--kb", "kb", "--top-k", "many"],
        ["ask", "Who?", "--kb", "kb", "--mode", "shut"],
        ["index", "a.txt", "--kb", "kb", "--extractor", "magic"],
        ["index", "a.txt", "--kb", "kb", "--precision", "fp16"],
        ["index", "a.txt", "--kb", "kb", "--chunk-tokens", "8"],
        ["index", "a.txt", "--kb", "kb", "--chunk-tokens", "4097"],
        ["index", "a.txt", "--kb", "kb", "--chunk-overlap", "-1"],
        ["index", "a.txt", "--kb", "kb", "--chunk-tokens", "100", "--chunk-overlap", "51"],
        ["index", "a.txt", "--kb", "kb", "--resolve", "fuzzy"],
        ["models", "fetch", "--precision", "half"],
        ["models", "convert"],
        ["eval", "retrieval", "--kb", "kb"],
        ["info"],
        ["info", "--kb", "kb", "--no-such-option"],
    ],
)
def test_usage_errors_end_with_2_and_say_nothing_on_stdout(arguments: list[str]) -> None:
    result = run(*arguments)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert result.stderr


def test_a_passage_size_out_of_range_is_named_as_the_option() -> None:
    result = run("index", "a.txt", "--kb", "kb", "--chunk-tokens", "8")
    assert "--chunk-tokens" in result.stderr
    assert "max_tokens" not in result.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["retrieve", "Who?", "--kb", "kb", "--routes", " , "], "--routes wants names"),
        (["eval", "retrieval", "--kb", "kb", "--questions", "q.jsonl", "--top-k", "5,x"], "--top-k wants"),
        (["eval", "retrieval", "--kb", "kb", "--questions", "q.jsonl", "--top-k", "0"], "--top-k wants"),
        (["eval", "retrieval", "--kb", "kb", "--questions", "q.jsonl", "--top-k", ""], "--top-k wants"),
        (["eval", "retrieval", "--kb", "kb", "--questions", "none.jsonl"], "no question file"),
        (["eval", "retrieval", "--kb", "kb", "--questions", "q.jsonl", "--out", "."], "--out . is a folder"),
        (["tune", "--kb", "kb", "--questions", "q.jsonl", "--out", "no/such"], "in no, which is no folder"),
        (["index", "--kb", "kb", "--dry-run", "--retry-failed"], "`ytrag jobs --failed` lists that"),
        (["index", "a.txt", "--kb", "kb", "--extractor", "llm"], "--extractor auto or offline"),
        (["index", "a.txt", "--kb", "kb", "--encoder", "huge"], "encoder 'huge' is not known"),
        (["models", "fetch", "huge"], "'huge' is not built in: choose from all-MiniLM-L6-v2"),
    ],
)
@pytest.mark.parametrize("as_json", [False, True])
def test_bad_values_end_with_2_and_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], message: str, as_json: bool
) -> None:
    monkeypatch.chdir(tmp_path)
    result = run(*arguments, *(["--json"] if as_json else []))
    assert result.exit_code == 2
    assert result.stdout == ""
    assert result.stderr.startswith("ytrag: error: ")
    assert result.stderr.count("\n") == 1
    assert message in result.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("command", ["retrieve", "ask"])
@pytest.mark.parametrize("made", ["missing", "empty", "foreign"])
def test_no_knowledge_base_ends_with_2(tmp_path: Path, command: str, made: str) -> None:
    home = tmp_path / "kb"
    if made != "missing":
        home.mkdir()
    if made == "foreign":
        (home / "letter.txt").write_text("hello", "utf-8")
    result = run(command, "Who?", "--kb", str(home), "--json")
    assert result.exit_code == 2
    assert result.stdout == ""
    assert str(home) in result.stderr


@pytest.mark.parametrize(
    ("environment", "message"),
    [
        ({"YTRAG_LLM_BASE_URL": "http://localhost:1/v1"}, "needs YTRAG_LLM_MODEL too"),
        ({"YTRAG_LLM_MODEL": "small"}, "needs YTRAG_LLM_BASE_URL too"),
        ({"YTRAG_LLM_MODEL": "small", "YTRAG_LLM_BASE_URL": "localhost:1"}, "must start with http"),
    ],
)
def test_half_a_language_model_ends_with_2(
    monkeypatch: pytest.MonkeyPatch, environment: dict[str, str], message: str
) -> None:
    monkeypatch.setenv("YTRAG_LLM_API_KEY", "sk-very-secret")
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    result = run("ask", "Who?", "--kb", "kb")
    assert result.exit_code == 2
    assert message in result.stderr
    assert "sk-very-secret" not in result.stderr


def test_an_encoder_path_that_leads_nowhere_ends_with_1(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("YTRAG_ENCODER_PATH", str(tmp_path / "none"))
    result = run("warmup", "--json")
    assert result.exit_code == 1
    assert result.stdout == ""
    assert str(tmp_path / "none") in result.stderr


def test_warmup_reports_what_it_did() -> None:
    result = run("warmup", "--json")
    assert result.exit_code == 0, result.stderr
    report = json.loads(result.stdout)
    assert report["kernels"]["count"] == report["kernels"]["compiled"] + report["kernels"]["from_cache"] > 0
    assert report["encoder"]["dimension"] == 384
    assert "compile kernels" in result.stderr
