"""The commands `ask`, `chat` and `trace`: questions answered with a language model or without one."""

from __future__ import annotations

import sys
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ytrag_core.cli_options import JsonOption, KbOption, Mode, QuestionArgument, TopKOption
from ytrag_core.console import emit_json, note, stderr_console, stdout_console
from ytrag_core.environment import language_models, open_base
from ytrag_core.errors import ConfigError, YtragError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ytrag_core.agent.budget import Budget
    from ytrag_core.agent.conversation import Turn
    from ytrag_core.agent.events import Event
    from ytrag_core.agent.model import Answer
    from ytrag_core.knowledge_base import KnowledgeBase
    from ytrag_core.llm.stages import StageModels

__all__ = ["ask", "chat", "trace_app"]

ModeOption = Annotated[
    Mode,
    typer.Option(
        help="open: the model may add what it knows, marked so; reject: evidence or a refusal; "
        "no-agent: one retrieval, one call; evidence: no model."
    ),
]
StepsOption = Annotated[int, typer.Option("--max-steps", min=1, help="Most rounds of retrieval and thought.")]
CallsOption = Annotated[int, typer.Option("--max-calls", min=1, help="Most calls of the language model.")]
TokensOption = Annotated[int, typer.Option("--max-tokens", min=1, help="Most tokens, read and written.")]
SecondsOption = Annotated[float, typer.Option("--max-seconds", min=0.001, help="Longest time.")]
ContextOption = Annotated[
    int, typer.Option("--context-tokens", min=1000, help="Longest prompt, whatever was retrieved.")
]
TraceOption = Annotated[
    Path | None,
    typer.Option("--trace", metavar="FILE", help="Write all that happens here.", show_default=False),
]

trace_app = typer.Typer(
    no_args_is_help=True,
    help="Look into what happened on the way to an answer.",
    epilog="Example: ytrag trace show trace.jsonl",
)


def ask(
    question: QuestionArgument,
    kb: KbOption,
    mode: ModeOption = Mode.OPEN,
    top_k: TopKOption = 20,
    max_steps: StepsOption = 5,
    max_calls: CallsOption = 12,
    max_tokens: TokensOption = 60_000,
    max_seconds: SecondsOption = 300.0,
    context_tokens: ContextOption = 3000,
    trace: TraceOption = None,
    stream: Annotated[
        bool | None,
        typer.Option(
            "--stream/--no-stream", help="Show the answer while it is written.", show_default="on a terminal"
        ),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Answer a question with cited evidence.

    A language model takes the question apart, looks up what it needs and writes the answer when
    YTRAG_LLM_BASE_URL and YTRAG_LLM_MODEL (and, where needed, YTRAG_LLM_API_KEY) name an OpenAI-compatible
    endpoint; otherwise the evidence itself is shown. When a budget is reached, the best answer so far comes
    back.
    """
    llm = _models(mode)
    asking = _Asker(
        open_base(kb),
        mode,
        llm,
        _budget(max_steps, max_calls, max_tokens, max_seconds, context_tokens),
        top_k,
    )
    live = not as_json and llm is not None and (sys.stdout.isatty() if stream is None else stream)
    asking.ask(_clean(question), (), trace=trace, live=live, as_json=as_json)


def chat(
    kb: KbOption,
    mode: ModeOption = Mode.OPEN,
    top_k: TopKOption = 20,
    max_steps: StepsOption = 5,
    max_calls: CallsOption = 12,
    max_tokens: TokensOption = 60_000,
    max_seconds: SecondsOption = 300.0,
    context_tokens: ContextOption = 3000,
    trace: TraceOption = None,
    as_json: JsonOption = False,
) -> None:
    """Answer one question after the other; a follow-up may point to what went before.

    Questions are lines of standard input; an empty one is left out, the end of input or /quit ends. --json
    prints one JSON document a line. What went wrong with a question is said, and the next one is asked.
    """
    from ytrag_core.agent.conversation import Turn
    from ytrag_core.agent.trace import TraceWriter

    llm = _models(mode)
    asker = _Asker(
        open_base(kb),
        mode,
        llm,
        _budget(max_steps, max_calls, max_tokens, max_seconds, context_tokens),
        top_k,
    )
    history: list[Turn] = []
    is_terminal = sys.stdin.isatty() and sys.stdout.isatty()
    with ExitStack() as stack:
        write = stack.enter_context(TraceWriter(trace)) if trace is not None else None
        while True:
            if is_terminal:
                sys.stdout.write("\n> ")
                sys.stdout.flush()
            line = sys.stdin.readline()
            question = _clean(line).strip()
            if not line or question == "/quit":
                break
            if not question:
                continue
            try:
                answer = asker.ask(
                    question,
                    history,
                    write=write,
                    live=is_terminal and llm is not None,
                    as_json=as_json,
                    lines=True,
                )
            except YtragError as error:
                note(f"error: {error}")
                continue
            history.append(Turn(question, answer.answer))


@trace_app.command("show", epilog="Example: ytrag trace show trace.jsonl")
def trace_show(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="What `ytrag ask --trace` wrote.")],
    as_json: JsonOption = False,
) -> None:
    """Show the way to an answer as a tree, with times and tokens."""
    from ytrag_core.agent.trace import read_trace
    from ytrag_core.agent_view import show_trace

    questions, problems = read_trace(file)
    for problem in problems:
        note(f"{file}: {problem}; it is left out")
    if as_json:
        emit_json([[event.to_json() for event in events] for events in questions])
        return
    console = stdout_console()
    for events in questions:
        show_trace(console, events)


class _Asker:
    """Asks one knowledge base and shows what comes back."""

    def __init__(
        self, base: KnowledgeBase, mode: Mode, llm: StageModels | None, budget: Budget, top_k: int
    ) -> None:
        self._base = base
        self._mode = mode
        self._llm = llm
        self._budget = budget
        self._top_k = top_k

    def ask(
        self,
        question: str,
        history: Sequence[Turn],
        *,
        live: bool,
        as_json: bool,
        trace: Path | None = None,
        write: Callable[[Event], None] | None = None,
        lines: bool = False,
    ) -> Answer:
        """Ask, show the answer and return it."""
        from ytrag_core.agent.trace import TraceWriter
        from ytrag_core.agent_view import LiveAnswer, same_text
        from ytrag_core.rendering import show_answer

        shown = LiveAnswer(stdout_console(), stderr_console()) if live else None
        with ExitStack() as stack:
            if trace is not None:
                write = stack.enter_context(TraceWriter(trace))
            hearers = [hearer for hearer in (shown, write) if hearer is not None]

            def hear(event: Event) -> None:
                for hearer in hearers:
                    hearer(event)

            answer = self._base.ask(
                question,
                mode=self._mode.value,
                top_k=self._top_k,
                llm=self._llm,
                budget=self._budget,
                history=history,
                on_event=hear,
                stream=live,
            )
        if as_json:
            emit_json(answer.to_json(), indent=None if lines else 2)
        else:
            is_there = shown is not None and same_text(shown.text, answer.answer)
            show_answer(stdout_console(), answer, is_written=is_there)
        return answer


def _models(mode: Mode) -> StageModels | None:
    return None if mode is Mode.EVIDENCE else language_models()


def _budget(steps: int, calls: int, tokens: int, seconds: float, context: int) -> Budget:
    from pydantic import ValidationError

    from ytrag_core.agent.budget import Budget

    try:
        return Budget(
            max_steps=steps, max_calls=calls, max_tokens=tokens, max_seconds=seconds, context_tokens=context
        )
    except ValidationError as error:
        first = error.errors()[0]
        raise ConfigError(f"--{str(first['loc'][0]).replace('_', '-')}: {first['msg']}") from None


def _clean(question: str) -> str:
    from ytrag_core.documents.text import clean_text

    return clean_text(question)
