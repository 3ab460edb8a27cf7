from __future__ import annotations

import io
import json
import signal
import sys
from contextlib import suppress
from types import SimpleNamespace
from typing import TYPE_CHECKING

import numpy as np
import pytest
import typer
from rich.console import Console
from typer.testing import CliRunner

from tests.test_agent_answer import APTIDON, DAMERJOG, NOTHING, OTHER, QUESTION, Scripted, evidence
from ytrag_core import errors
from ytrag_core.agent.answer import answer_from_evidence
from ytrag_core.agent.one_call import answer_with_llm
from ytrag_core.console import ErrorBoundary, Pace, emit_json, printable, progress_bars
from ytrag_core.documents.model import Problem
from ytrag_core.pipeline.report import BuildReport, Stage
from ytrag_core.rendering import show_answer, show_evidence
from ytrag_core.reports import CommunityRow, show_evaluation, show_report, show_tree, show_values
from ytrag_core.retrieval.model import ChunkHit, CommunityHit, Evidence, PathHit, TripleHit

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

BAD_INPUT = [
    "ConfigError",
    "DocumentError",
    "EncoderSettingsError",
    "GraphFormatError",
    "NewerFormatError",
    "QueryError",
    "SchemaError",
    "SnapshotError",
]
FAILURE = ["ModelError", "LLMError", "LockedError", "ReplyError", "WriteError", "YtragError"]


def failing(raised: BaseException) -> typer.Typer:
    app = typer.Typer(cls=ErrorBoundary, pretty_exceptions_enable=False)

    @app.callback()
    def root() -> None:
        """Do nothing."""

    @app.command()
    def fail() -> None:
        raise raised

    return app


def drawn(show: Callable[[Console], None], *, width: int = 100, terminal: bool = False) -> str:
    stream = io.StringIO()
    show(
        Console(file=stream, width=width, force_terminal=terminal, markup=False, emoji=False, highlight=False)
    )
    return stream.getvalue()


@pytest.mark.parametrize(
    ("name", "code"), [*((name, 2) for name in BAD_INPUT), *((name, 1) for name in FAILURE)]
)
def test_errors_become_one_line_and_an_exit_code(name: str, code: int) -> None:
    raised = getattr(errors, name)("this\nis \x1b[31mwrong")
    result = CliRunner().invoke(failing(raised), ["fail"])
    assert result.exit_code == code
    assert result.stdout == ""
    assert result.stderr.startswith("ytrag: error: this is [31mwrong")
    assert result.stderr.count("\n") == 1


def test_every_error_has_its_exit_code() -> None:
    assert {*BAD_INPUT, *FAILURE} == set(errors.__all__)


def test_an_unexpected_error_says_how_to_see_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("YTRAG_DEBUG", raising=False)
    result = CliRunner().invoke(failing(ZeroDivisionError("by zero")), ["fail"])
    assert result.exit_code == 1
    assert "unexpected ZeroDivisionError: by zero" in result.stderr
    assert "YTRAG_DEBUG=1" in result.stderr
    assert "Traceback" not in result.stderr
    monkeypatch.setenv("YTRAG_DEBUG", "1")
    assert "Traceback" in CliRunner().invoke(failing(errors.QueryError("no")), ["fail"]).stderr


@pytest.mark.parametrize(("raised", "code"), [(KeyboardInterrupt(), 130), (BrokenPipeError(), 141)])
def test_interruptions(raised: BaseException, code: int) -> None:
    result = CliRunner().invoke(failing(raised), ["fail"])
    assert result.exit_code == code
    assert result.stdout == ""
    assert "Traceback" not in result.stderr


def test_json_is_strict_and_in_utf8(capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    emit_json({"名": "知识树", "score": np.float32(0.5), "n": np.int64(3)})
    assert json.loads(capfdbinary.readouterr().out.decode("utf-8")) == {"名": "知识树", "score": 0.5, "n": 3}
    with pytest.raises(ValueError, match="JSON"):
        emit_json({"score": float("nan")})
    with pytest.raises(TypeError, match="no JSON form"):
        emit_json({"x": object()})


def test_nothing_steers_the_terminal() -> None:
    assert printable("a\x1b[2J\x07b\x9bc\u202ed\te\nf\r\ud800") == "a[2Jbcd\te\nf"
    evil = ChunkHit("id\x1b[1m", "Ti\x1b]0;x\x07tle", "Te\x1b[31mxt [bold]kept[/bold] :smile:.", 1.0, {})
    text = drawn(lambda console: show_evidence(console, evidence(chunks=[evil])))
    assert "\x1b" not in text
    assert "\x07" not in text
    assert "[bold]kept[/bold] :smile:" in text


def test_plain_stages_are_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = io.StringIO()
    monkeypatch.setattr(sys, "stderr", stream)
    with progress_bars() as progress:
        progress("read", 0, None)
        for done in range(1000):
            progress("read", done, 1000)
        progress("read", 1000, 1000)
        progress("read", 1000, 1000)
        progress("write", 0, 0)
        progress("never ends", 3, 5)
    lines = stream.getvalue().splitlines()
    assert [line.split()[0] for line in lines] == ["read", "write"]
    assert "1,000" in lines[0]
    assert "\x1b" not in stream.getvalue()
    assert "\r" not in stream.getvalue()


@pytest.mark.parametrize(
    ("done", "seconds", "n_left", "rate", "left"),
    [
        (0, 9.0, 50, "", ""),
        (5, 1.0, 50, "5.0/s", ""),
        (4000, 4.0, 31_400, "1,000/s", "31 s left"),
        (4000, 4.0, 1_000_000, "1,000/s", "16 min left"),
        (4000, 4.0, 9_000_000, "1,000/s", "2 h 30 min left"),
        (4000, 4.0, 0, "1,000/s", ""),
    ],
)
def test_a_pace_tells_the_rate_and_what_is_left(
    done: int, seconds: float, n_left: int, rate: str, left: str
) -> None:
    pace = Pace(done, seconds)
    assert (pace.rate(), pace.left(n_left)) == (rate, left)


def test_what_was_done_before_is_no_pace(monkeypatch: pytest.MonkeyPatch) -> None:
    stream, clock = io.StringIO(), iter([0.0, 10.0])
    monkeypatch.setattr(sys, "stderr", stream)
    # Not the module of all: another thread may look at its clock, too.
    monkeypatch.setattr("ytrag_core.console.time", SimpleNamespace(perf_counter=lambda: next(clock)))
    with progress_bars() as progress:
        progress("encode names", 900, 1000)
        progress("encode names", 1000, 1000)
    assert "(10/s)" in stream.getvalue()


@pytest.mark.parametrize("width", [80, 120])
def test_evidence_fits_and_has_no_trailing_blanks(width: int) -> None:
    long = ChunkHit("long", "Long", "A president of a country " * 40 + ".", 1.0, {"dense": 3, "ppr": 1})
    shown = evidence(chunks=[long, DAMERJOG, *OTHER, APTIDON])
    lines = drawn(lambda console: show_evidence(console, shown), width=width).splitlines()
    assert max(map(len, lines)) <= width
    assert all(line == line.rstrip() for line in lines)
    assert "Paths" in lines
    assert any("Damerjog —located in→ Djibouti ←first president of—" in line for line in lines)
    assert any("(ppr 1, dense 3)" in line for line in lines)


def test_an_empty_evidence_says_so() -> None:
    assert "Nothing in the knowledge base" in drawn(lambda console: show_evidence(console, NOTHING))
    answer = answer_from_evidence(NOTHING)
    assert "Nothing in the knowledge base" in drawn(lambda console: show_answer(console, answer))


def test_an_answer_without_a_model_shows_path_passages_and_note() -> None:
    text = drawn(lambda console: show_answer(console, answer_from_evidence(evidence())))
    assert "  Damerjog\n    —located in→ Djibouti\n    ←first president of— Hassan Gouled Aptidon\n" in text
    assert "[1] Damerjog  p1\n     Damerjog is a town in Djibouti.\n" in text
    assert "No language model is configured" in text


def test_an_answer_of_a_model_shows_its_sources() -> None:
    answer = answer_with_llm(QUESTION, evidence(), Scripted("Hassan Gouled Aptidon [8]."))
    text = drawn(lambda console: show_answer(console, answer))
    assert text.startswith("Hassan Gouled Aptidon [1].\n\nSources\n [1] Djibouti  p2\n")
    assert "100 tokens read, 10 written" in text
    assert "No language model" not in text


def test_a_refusal_is_said_plainly() -> None:
    answer = answer_with_llm(QUESTION, evidence(), Scripted("INSUFFICIENT_EVIDENCE"), mode="reject")
    text = drawn(lambda console: show_answer(console, answer))
    assert text.startswith("The evidence found in the knowledge base does not answer this question.")
    assert "Sources" not in text


def test_a_report_shows_counts_stages_and_problems(tmp_path: Path) -> None:
    stages = (Stage("encode", 2.0, 5000, 300.4), Stage("write", 0.0, 0, 310.0))
    problems = tuple(Problem(f"a.jsonl:{n}", "not valid JSON") for n in range(12))
    report = BuildReport("000007", {"documents": 1234}, 50, 4950, stages, problems)
    text = drawn(lambda console: show_report(console, report, tmp_path))
    for wanted in (
        "snapshot 000007",
        "1,234 documents",
        "4,950 reused",
        "2,500",
        "Set aside: 12",
        "a.jsonl:9",
    ):
        assert wanted in text
    assert "a.jsonl:10" not in text
    assert "... and 2 more" in text


def test_an_evaluation_puts_systems_side_by_side() -> None:
    latency = {"p50": 1.0, "p95": 2.0, "p99": 3.0}
    systems = {
        name: {
            **dict.fromkeys(("chain@5", "mrr"), 10.0),
            "recall@5": value,
            "latency_ms": latency,
            "interval": {metric: [5.0, 90.0] for metric in ("recall@5", "chain@5", "mrr")},
            "by_hops": {"2": {"n": 60, "recall@5": value, "chain@5": 10.0, "mrr": 10.0}},
        }
        for name, value in {"ytrag": 70.0, "dense": 58.6}.items()
    }
    report = {"n": 60, "systems": systems, "problems": [{"source": "q1", "reason": "left out"}]}
    text = drawn(lambda console: show_evaluation(console, report))
    rows = [line.split() for line in text.splitlines()]
    assert ["ytrag", "dense"] in rows
    assert ["recall@5", "70.0", "58.6"] in rows
    assert ["p95,", "ms", "2.0", "2.0"] in rows
    assert "q1: left out" in text
    coloured = drawn(lambda console: show_evaluation(console, report), terminal=True)
    assert "\x1b[1;32m 70.0" in coloured
    assert "\x1b[1;32m58.6" not in coloured


def test_a_tree_shows_what_it_leaves_out() -> None:
    rows = [CommunityRow(0, -1, "Glass", 9, ("Ismarra",)), CommunityRow(1, 0, "Kilns", 9, ("Kiln", "窑"))]
    rows += [CommunityRow(number, -1, f"C{number}", 1, ("x",)) for number in range(2, 16)]
    text = drawn(lambda console: show_tree(console, rows))
    assert text.startswith(
        "23 entities in 16 communities\n├── Glass  9\n│   └── Kilns  9\n│       Kiln, 窑 and 7 more\n"
    )
    assert "... and 3 more" in text
    assert "Ismarra" not in text


def test_values_are_readable() -> None:
    values = {
        "path": "kb",
        "counts": {"triples": 1234567},
        "bytes": 3 * 2**20,
        "ok": True,
        "none": None,
        "l": [],
    }
    lines = drawn(lambda console: show_values(console, values)).splitlines()
    assert lines == [
        "path   kb",
        "counts",
        "  triples  1,234,567",
        "bytes  3.0 MiB (3,145,728)",
        "ok     yes",
        "none   -",
        "l      -",
    ]


@pytest.fixture
def _hears_ctrl_c() -> Iterator[None]:
    """Undo what a shell does to background jobs."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("_hears_ctrl_c")
def test_ctrl_c_that_a_callback_swallows_stops_at_the_next_progress() -> None:
    app = failing(AssertionError())
    reached: list[str] = []

    @app.command()
    def work() -> None:
        with progress_bars() as progress:
            with suppress(KeyboardInterrupt):
                signal.raise_signal(signal.SIGINT)
            reached.append("swallowed")
            progress("encode", 1, 10)
            reached.append("went on")

    outcome = CliRunner().invoke(app, ["work"])
    assert outcome.exit_code == 130
    assert "interrupted" in outcome.stderr
    assert reached == ["swallowed"]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


@pytest.mark.usefixtures("_hears_ctrl_c")
def test_ctrl_c_that_a_destructor_swallows_shows_no_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    app = failing(AssertionError())
    told: list[object] = []
    monkeypatch.setattr(sys, "unraisablehook", lambda swallowed: told.append(swallowed.exc_type))

    class Dying:
        def __init__(self, error: BaseException | None = None) -> None:
            self.error = error

        def __del__(self) -> None:
            if self.error is not None:
                raise self.error
            signal.raise_signal(signal.SIGINT)

    @app.command()
    def work() -> None:
        with progress_bars() as progress:
            Dying(ZeroDivisionError())
            Dying()
            progress("encode", 1, 10)

    outcome = CliRunner().invoke(app, ["work"])
    assert outcome.exit_code == 130
    assert outcome.stderr == "ytrag: interrupted\n"
    assert told == [ZeroDivisionError]


def test_names_without_end_are_cut() -> None:
    name = "Ab" * 50_000
    triple = TripleHit(name, name, name, 1.0, (name,))
    chunk = ChunkHit(name, name, "A text.", 1.0, {})
    found = Evidence(
        "Who?", (triple,), (chunk,), (CommunityHit(1, name, 1.0),), (PathHit((triple,), 1.0),), {}
    )
    shown = [drawn(lambda console: show_evidence(console, found))]
    shown.append(drawn(lambda console: show_answer(console, answer_from_evidence(found))))
    assert all(text.count("AbAb") and len(text) < 8000 for text in shown)
    assert all(" ..." in text for text in shown)
    assert found.to_json()["triples"][0]["head"] == name
