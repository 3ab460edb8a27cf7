"""Events: as an asynchronous iterator, on a terminal, in a trace file and as a tree."""

from __future__ import annotations

import asyncio
import io
import json
import threading
from typing import TYPE_CHECKING, Any

import pytest
from rich.console import Console

from tests.agent_shelf import QUESTION, SUBS, Script, Shelf, ask, plan, thought
from ytrag_core.agent.asking import Asking
from ytrag_core.agent.events import EVENTS, AnswerPiece, Asked, Done, Retrieved, event_from_json
from ytrag_core.agent.listening import stream_events
from ytrag_core.agent.trace import TraceWriter, read_trace
from ytrag_core.agent_view import LiveAnswer, same_text, show_trace
from ytrag_core.errors import DocumentError, LLMError, WriteError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from ytrag_core.agent.events import Event
    from ytrag_core.llm.chat import Completion, Message

REPLIES = [
    plan(*SUBS, {"id": 4, "question": "Of what #9?"}),
    thought("search", found=[{"id": 1, "answer": "Maren Tessaly", "passages": ["fog"]}]),
    '{"decision": "mayb',
    thought("answer", answer="Nimbrel [9]. It has a harbour.", passages=["ivo"]),
]


def events_of(*replies: Any, **options: Any) -> list[Event]:
    _, events = ask(QUESTION, Shelf(), Script(replies or REPLIES), mode="reject", **options)
    return events


def test_every_event_survives_its_json_form() -> None:
    events = events_of()
    assert {event.name for event in events} >= {
        "asked",
        "decomposed",
        "retrieved",
        "called",
        "thought",
        "checked",
    }
    for event in events:
        assert event_from_json(json.loads(json.dumps(event.to_json()))) == event
    assert all(EVENTS[name].name == name for name in EVENTS)
    times = [event.at_ms for event in events]
    assert times == sorted(times)


def test_a_trace_is_written_as_it_happens_and_read_again(tmp_path: Path) -> None:
    path = tmp_path / "trace.jsonl"
    events = events_of()
    with TraceWriter(path) as write:
        for event in (events[0], AnswerPiece(1.0, "Nim"), AnswerPiece(2.0, "brel"), *events[1:]):
            write(event)
        assert len(path.read_text(encoding="utf-8").splitlines()) >= len(events)
        for event in events:
            write(event)
    questions, problems = read_trace(path)
    assert problems == []
    assert questions == [[events[0], AnswerPiece(1.0, "Nimbrel"), *events[1:]], events]
    write.close()


def test_a_damaged_trace_keeps_what_can_be_read(tmp_path: Path) -> None:
    path = tmp_path / "trace.jsonl"
    with TraceWriter(path) as write:
        for event in events_of():
            write(event)
    text = path.read_text(encoding="utf-8")
    path.write_text(
        text.replace('{"event": "thought"', '{"event": "guess"', 1) + '{"event": "dece', encoding="utf-8"
    )
    questions, problems = read_trace(path)
    assert len(questions) == 1
    assert len(problems) == 2
    assert all(problem.startswith("line ") for problem in problems)


@pytest.mark.parametrize(
    ("name", "field", "value"),
    [
        ("asked", "question", {"a": 1}),
        ("asked", "at_ms", None),
        ("decomposed", "sub_questions", [{"id": 1}]),
        ("retrieved", "chunk_ids", [3, None]),
        ("called", "ms", "soon"),
        ("called", "ms", float("inf")),
        ("thought", "found", [[]]),
        ("checked", "claims", [{"text": "Nimbrel"}]),
        ("checked", "removed", [None]),
        ("done", "answer", []),
        ("done", "answer", {"usage": {"prompt_tokens": None}}),
    ],
)
def test_an_event_of_another_form_is_left_out_of_a_trace(
    tmp_path: Path, name: str, field: str, value: object
) -> None:
    events = [event for event in events_of() if event.name == name]
    path = tmp_path / "trace.jsonl"
    with TraceWriter(path) as write:
        for event in events:
            write(event)
    head, *lines = path.read_text(encoding="utf-8").splitlines()
    damaged = [json.dumps({**json.loads(line), field: value}) for line in lines]
    path.write_text("\n".join([head, *damaged]), encoding="utf-8")
    questions, problems = read_trace(path)
    assert questions == []
    assert len(problems) == len(events) > 0


def test_a_line_separator_in_a_text_ends_no_line_of_a_trace(tmp_path: Path) -> None:
    path = tmp_path / "trace.jsonl"
    event = Asked(1.0, "Who\u2028built\x85it?", "open", simple=True)
    with TraceWriter(path) as write:
        write(event)
    assert read_trace(path) == ([[event]], [])


@pytest.mark.parametrize("content", [None, "", "{}\n", "not json\n", '{"trace": "ytrag", "version": 99}\n'])
def test_what_is_no_trace_is_an_error(tmp_path: Path, content: str | None) -> None:
    path = tmp_path / "x.jsonl"
    if content is not None:
        path.write_text(content, encoding="utf-8")
    with pytest.raises(DocumentError, match="trace"):
        read_trace(path)


def test_a_trace_that_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(WriteError, match="cannot be written"):
        TraceWriter(tmp_path / "no" / "such" / "folder.jsonl")


def test_a_trace_is_emptied_by_the_first_event_only(tmp_path: Path) -> None:
    before, new = tmp_path / "before.jsonl", tmp_path / "new.jsonl"
    before.write_text("kept\n", encoding="utf-8")
    for path in (before, new):
        with TraceWriter(path):
            pass
    assert before.read_text(encoding="utf-8") == "kept\n"
    assert not new.exists()
    event = Asked(1.0, "Who?", "open", simple=True)
    with TraceWriter(before) as write:
        write(event)
    assert read_trace(before) == ([[event]], [])


def drawn(events: list[Event]) -> str:
    console = Console(file=io.StringIO(), width=200, markup=False)
    show_trace(console, events)
    text: str = console.file.getvalue()  # type: ignore[attr-defined]
    return text


def test_a_trace_is_shown_as_a_tree_with_times_and_tokens() -> None:
    text = drawn(events_of())
    for wanted in (
        QUESTION,
        "taken apart into 4",
        "2. Who taught #1? (node) needs #1",
        "note: sub-question 4 refers to #9",
        "step 1",
        "think (reason): ",
        " tokens",
        "found 1: Maren Tessaly [fog]",
        "repair (reason): ",
        "removed 9: no such passage was shown",
        "no: It has a harbour.",
        "answered",
        "removed claims: It has a harbour.",
        " calls, ",
    ):
        assert wanted in text, wanted
    assert "├──" in text
    assert " ms" in text


def test_the_tree_of_a_question_that_broke_off() -> None:
    events = [event for event in events_of() if not isinstance(event, Done)]
    assert "answered" not in drawn(events[1:])
    assert drawn([]).startswith("(a question without a beginning)")


def live(pieces: list[str], *others: Event) -> tuple[str, str, str]:
    """Return what is printed of an answer, what aside, and the answer's text as it was printed."""
    consoles = [Console(file=io.StringIO(), width=80, markup=False) for _ in range(2)]
    shown = LiveAnswer(*consoles)
    for piece in pieces:
        shown(AnswerPiece(1.0, piece))
    for event in (*others, Done(2.0, {})):
        shown(event)
    out, aside = (console.file.getvalue() for console in consoles)  # type: ignore[attr-defined]
    return out, aside, shown.text


@pytest.mark.parametrize(
    "pieces",
    [["Nimbrel [8] and [3][8]."], list("Nimbrel [8] and [3][8]."), ["Nimbrel [", "8", "] and [3", "][8]."]],
)
def test_citations_are_renumbered_while_they_are_printed(pieces: list[str]) -> None:
    out, _, text = live(pieces)
    assert out == "Nimbrel [1] and [2][1].\n"
    assert same_text(text, " Nimbrel [1]  and [2][1].")


def test_a_bracket_that_is_no_citation_is_printed_too() -> None:
    assert live(["a [b", " and never closed"])[0] == "a [b and never closed\n"
    assert live(["a [" + "x" * 60, " goes on"])[0].startswith("a [xxx")


def test_everything_but_the_answer_goes_aside() -> None:
    out, aside, _ = live([], *events_of())
    assert out == ""
    assert "taken apart: 1. Who invented the fog clock?" in aside
    assert "step 1: so it is -> search" in aside
    assert "checked: 1 of 2 claims unsupported, 1 citations removed" in aside


class Waiting(Script):
    """A model that replies at once the first time, and then when it is let."""

    def __init__(self, replies: list[Any]) -> None:
        super().__init__(replies)
        self.let = threading.Event()

    def complete(
        self, messages: Sequence[Message], *, max_tokens: int, schema: Mapping[str, Any] | None = None
    ) -> Completion:
        if self.prompts:
            self.let.wait(300)
        return super().complete(messages, max_tokens=max_tokens, schema=schema)


def end_of(*names: str) -> None:
    """Wait for the end of the threads of these names."""
    for thread in threading.enumerate():
        if thread.name in names:
            thread.join(300)
            assert not thread.is_alive()


def heard(asking: Asking, *, stop_at: str = "") -> list[Event]:
    async def listen() -> list[Event]:
        events: list[Event] = []
        stream = stream_events(QUESTION, Shelf(), asking)
        async for event in stream:
            events.append(event)
            if event.name == stop_at:
                break
        await stream.aclose()
        return events

    return asyncio.run(listen())


def test_events_come_as_an_asynchronous_iterator() -> None:
    events = heard(Asking(llm=Script(REPLIES), mode="reject"))
    assert [event.name for event in events] == [event.name for event in events_of()]
    assert isinstance(events[-1], Done)
    assert events[-1].answer["answer"] == "Nimbrel [1]."


def test_an_error_reaches_whoever_listens() -> None:
    with pytest.raises(LLMError, match="gone"):
        heard(Asking(llm=Script([LLMError("the endpoint is gone")]), mode="reject"))


def test_whoever_stops_listening_ends_the_work() -> None:
    model = Waiting([thought("search", query=f"bell number {n}?") for n in range(40, 60)])
    events = heard(Asking(llm=model, mode="reject"), stop_at="retrieved")
    assert isinstance(events[-1], Retrieved)
    model.let.set()
    end_of("ytrag-ask", "ytrag-llm")
    assert model.n_calls <= 2  # the question was taken apart, and one call ran


class Closing(asyncio.SelectorEventLoop):
    """A loop that is closed just when it is told something."""

    was_told = False

    def call_soon_threadsafe(self, *_: object, **__: object) -> Any:
        self.was_told = True
        raise RuntimeError("Event loop is closed")


def test_a_loop_that_closes_while_it_is_told_something_ends_the_work_quietly() -> None:
    loop = Closing()
    stream = stream_events(QUESTION, Shelf(), Asking(llm=Script(REPLIES), mode="reject"))

    async def listen() -> None:
        first = asyncio.ensure_future(anext(stream))
        while not loop.was_told:
            await asyncio.sleep(0.001)
        first.cancel()
        with pytest.raises(asyncio.CancelledError):
            await first

    try:
        loop.run_until_complete(listen())
        end_of("ytrag-ask", "ytrag-llm")
    finally:
        loop.close()
