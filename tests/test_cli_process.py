"""The command as users run it: real processes, real pipes, a real terminal, a real chat endpoint."""

from __future__ import annotations

import json
import os
import pty
import re
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest
from typer.testing import CliRunner

from tests.bases import write_facts
from tests.chat_endpoint import chat, endpoint, failure
from ytrag_core.cli import app
from ytrag_core.sample import sample_folder

if TYPE_CHECKING:
    from pathlib import Path

    from ytrag_core.embedding.encoder import Encoder

QUESTION = "In which city was the designer of the Thirteen Lamps Bridge born?"
CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
COMMAND = [sys.executable, "-m", "ytrag_core"]


@dataclass(frozen=True)
class Outcome:
    code: int
    stdout: str
    stderr: str

    def json(self) -> Any:
        """Return the document; there must be one, with nothing around it."""
        assert self.code == 0, self.stderr
        assert not self.stdout[:1].isspace()
        return json.loads(self.stdout, parse_constant=pytest.fail)


def environment(**changes: str) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("YTRAG_", "OPENAI_"))}
    return {**kept, "PYTHONWARNINGS": "error::ResourceWarning", **changes}


def run(*arguments: str, **changes: str) -> Outcome:
    done = subprocess.run(
        [*COMMAND, *arguments], capture_output=True, env=environment(**changes), timeout=900, check=False
    )
    return Outcome(done.returncode, done.stdout.decode("utf-8"), done.stderr.decode("utf-8"))


def here(*arguments: str, **changes: str) -> Outcome:
    """Run a command in this process, which has all modules loaded: quicker, for what needs no real pipe."""
    cleared: dict[str, str | None] = dict.fromkeys(name for name in os.environ if name.startswith("YTRAG_"))
    done = CliRunner().invoke(app, list(arguments), env=cleared | changes, prog_name="ytrag")
    return Outcome(done.exit_code, done.stdout, done.stderr)


@pytest.fixture(scope="module")
def imported(tmp_path_factory: pytest.TempPathFactory, encoder: Encoder) -> tuple[Path, Outcome]:
    """Import the sample; the encoder is there already."""
    kb = tmp_path_factory.mktemp("cli") / "kb"
    return kb, run("import", "openie", str(sample_folder()), "--kb", str(kb), "--json")


@pytest.fixture(scope="module")
def kb(imported: tuple[Path, Outcome]) -> str:
    home, outcome = imported
    assert outcome.code == 0, outcome.stderr
    return str(home)


def test_import_prints_one_document_and_progress_beside_it(imported: tuple[Path, Outcome]) -> None:
    report = imported[1].json()
    assert report["snapshot"] == "000001"
    assert report["counts"]["documents"] == 57
    assert {"name", "seconds", "items", "peak_rss_mb"} == set(report["stages"][0])
    assert report["problems"] == []
    assert "encode" in imported[1].stderr
    assert not CONTROL.search(imported[1].stderr)


def test_info_as_json_and_for_reading(kb: str) -> None:
    described = here("info", "--kb", kb, "--json").json()
    assert described["counts"]["chunks"] == 57
    shown = here("info", "--kb", kb)
    assert shown.code == 0
    assert not CONTROL.search(shown.stdout)
    assert re.search(r"chunks\s+57\b", shown.stdout)


def test_retrieve_as_json(kb: str) -> None:
    evidence = here("retrieve", QUESTION, "--kb", kb, "--top-k", "5", "--json").json()
    assert set(evidence) == {"question", "triples", "chunks", "communities", "paths", "timings_ms"}
    assert evidence["question"] == QUESTION
    assert len(evidence["chunks"]) == 5
    assert "sample-en-23" in [chunk["id"] for chunk in evidence["chunks"]]


def test_retrieve_into_a_pipe_is_plain_text(kb: str) -> None:
    shown = run("retrieve", "盐管风琴是谁造的？", "--kb", kb, "--top-k", "5", PYTHONIOENCODING="utf-8")
    assert shown.code == 0
    assert not CONTROL.search(shown.stdout)
    assert all(line == line.rstrip() for line in shown.stdout.splitlines())
    assert "Passages" in shown.stdout
    assert "盐管风琴" in shown.stdout


def test_an_encoding_without_arrows_is_no_error(kb: str) -> None:
    shown = run("ask", QUESTION, "--kb", kb, PYTHONIOENCODING="ascii", PYTHONUTF8="0")
    assert shown.code == 0, shown.stderr
    assert "Thirteen Lamps Bridge" in shown.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [(["  "], "question"), ([QUESTION, "--routes", "dense,teleport"], "teleport")],
)
def test_bad_queries_end_with_2(kb: str, arguments: list[str], message: str) -> None:
    refused = here("retrieve", *arguments, "--kb", kb, "--json")
    assert (refused.code, refused.stdout) == (2, "")
    assert message in refused.stderr
    assert "Traceback" not in refused.stderr


def test_ask_without_a_model_gives_evidence(kb: str) -> None:
    answer = run("ask", QUESTION, "--kb", kb, "--json").json()
    assert set(answer) == {"answer", "refused", "citations", "steps", "usage", "timings_ms"}
    assert answer["usage"]["llm_calls"] == 0
    assert "sample-en-23" in answer["citations"]
    assert "YTRAG_LLM_BASE_URL" in answer["answer"]


def test_ask_with_a_model_cites(kb: str) -> None:
    with endpoint(chat("<think>...</think>Ismarra [1][99].")) as served:
        named = {"YTRAG_LLM_BASE_URL": served.base_url, "YTRAG_LLM_MODEL": "small"}
        answer = here("ask", QUESTION, "--kb", kb, "--json", **named).json()
    assert answer["answer"] == "Ismarra [1]."
    assert len(answer["citations"]) == 1
    # The question nests, so it is taken apart first; what comes of that here is of no use.
    assert answer["usage"] == {"llm_calls": 2, "prompt_tokens": 240, "completion_tokens": 16}
    assert answer["removed_citations"][0]["citation"] == "99"
    assert served.requests[0]["model"] == "small"


def test_ask_with_a_broken_endpoint_ends_with_1(kb: str) -> None:
    with endpoint(failure(401, "bad key sk-very-secret")) as served:
        named = {"YTRAG_LLM_BASE_URL": served.base_url, "YTRAG_LLM_MODEL": "small"}
        refused = here("ask", QUESTION, "--kb", kb, YTRAG_LLM_API_KEY="sk-very-secret", **named)
    assert (refused.code, refused.stdout) == (1, "")
    assert "YTRAG_LLM_API_KEY" in refused.stderr
    assert "sk-very-secret" not in refused.stderr
    assert "Traceback" not in refused.stderr


def test_eval_measures_the_sample(kb: str) -> None:
    questions = str(sample_folder() / "questions.jsonl")
    arguments = ["eval", "retrieval", "--kb", kb, "--questions", questions, "--top-k", "5,20"]
    report = here(*arguments, "--baselines", "dense,bm25,ppr", "--json").json()
    assert report["n"] == 10
    assert list(report["systems"]) == ["ytrag", "dense", "bm25", "ppr"]
    for system in report["systems"].values():
        metrics = {"recall@5", "recall@20", "chain@5", "chain@20", "mrr"}
        assert metrics | {"latency_ms", "interval", "by_hops"} <= set(system)
        assert set(system["interval"]) == metrics
        assert 0 < system["recall@5"] <= system["recall@20"] <= 100
    unknown = here(*arguments, "--baselines", "oracle")
    assert (unknown.code, unknown.stdout) == (2, "")
    assert "oracle" in unknown.stderr


def test_a_reader_that_leaves_is_no_error(kb: str) -> None:
    with subprocess.Popen(
        [*COMMAND, "retrieve", QUESTION, "--kb", kb],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(),
    ) as child:
        assert child.stdout is not None
        assert child.stderr is not None
        child.stdout.close()
        stderr = child.stderr.read().decode()
        assert child.wait(timeout=600) == 141
    assert stderr == ""


def hear_ctrl_c() -> None:
    """Undo what a shell does to background jobs, whose children would not hear Ctrl-C either."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def test_ctrl_c_is_one_line_and_130(tmp_path: Path, encoder: Encoder) -> None:
    # Far more than is encoded until Ctrl-C comes, however late that is.
    facts = [(f"Mason {n}", "built", f"Tower {n}") for n in range(8_000)]
    arguments = [
        "import",
        "openie",
        str(write_facts(tmp_path / "facts", facts)),
        "--kb",
        str(tmp_path / "kb"),
    ]
    with subprocess.Popen(
        [*COMMAND, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(),
        preexec_fn=hear_ctrl_c,
    ) as child:
        assert child.stderr is not None
        first = child.stderr.readline()
        time.sleep(0.1)
        child.send_signal(signal.SIGINT)
        stdout, stderr = child.communicate(timeout=600)
    assert first
    assert child.returncode == 130
    assert stdout == b""
    assert stderr.decode().splitlines()[-1] == "ytrag: interrupted"
    assert b"Traceback" not in stderr


def test_demo_shows_tree_question_path_and_passages(encoder: Encoder) -> None:
    shown = run("demo")
    assert shown.code == 0, shown.stderr
    assert not CONTROL.search(shown.stdout)
    for wanted in (
        "The knowledge tree",
        "├── ",
        QUESTION,
        "The path that links them",
        "Passages",
        "ytrag ask",
    ):
        assert wanted in shown.stdout


def test_demo_as_json_can_be_kept(tmp_path: Path, encoder: Encoder) -> None:
    home = tmp_path / "kept"
    demo = here("demo", "--kb", str(home), "--json").json()
    assert demo["kb"] == str(home)
    top = [row for row in demo["communities"] if row["parent"] == -1]
    assert sum(row["size"] for row in top) == demo["build"]["counts"]["entities"]
    assert here("info", "--kb", str(home), "--json").json()["snapshot"] == demo["build"]["snapshot"]


def test_a_chinese_corpus_gets_a_proposal_unless_an_encoder_was_named(
    tmp_path: Path, encoder: Encoder
) -> None:
    (tmp_path / "note.txt").write_text("故宫位于北京。北京是中国的首都。", "utf-8")
    arguments = ["index", str(tmp_path / "note.txt"), "--kb"]
    shown = here(*arguments, str(tmp_path / "kb"))
    assert shown.code == 0, shown.stderr
    early, told = [line for line in shown.stderr.splitlines() if "multilingual-e5-small" in line]
    assert early.startswith("read "), "said before the texts are encoded"
    assert told.startswith("ytrag: 100% of the texts are not in Latin letters, and all-MiniLM-L6-v2 reads")
    assert "multilingual-e5-small" not in shown.stdout
    (noted,) = here(*arguments, str(tmp_path / "kb"), "--json").json()["notes"]
    assert f"ytrag: {noted}" == told
    named = here(*arguments, str(tmp_path / "named"), "--encoder", "all-MiniLM-L6-v2", "--precision", "fp32")
    assert "multilingual-e5-small" not in named.stderr
    other = here(*arguments, str(tmp_path / "named"), "--precision", "int8")
    assert (other.code, other.stdout) == (2, "")
    assert "ytrag reembed" in other.stderr


def test_a_terminal_gets_bars_and_colours(tmp_path: Path, encoder: Encoder) -> None:
    (tmp_path / "note.txt").write_text("Ada Lovelace was born in London. She wrote about engines.", "utf-8")
    ours, theirs = pty.openpty()
    child = subprocess.Popen(
        [*COMMAND, "index", str(tmp_path / "note.txt"), "--kb", str(tmp_path / "kb")],
        stdout=theirs,
        stderr=theirs,
        env=environment(TERM="xterm-256color", COLUMNS="100"),
    )
    os.close(theirs)
    seen = b""
    try:
        while piece := os.read(ours, 65536):
            seen += piece
    except OSError:
        pass
    finally:
        os.close(ours)
    assert child.wait(timeout=600) == 0, seen.decode()
    assert "━".encode() in seen
    assert b"\x1b[" in seen
    assert b"documents" in seen
