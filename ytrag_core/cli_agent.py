"""The commands `ask`, `chat` and `trace`: questions answered with a language model or without one."""

from __future__ import annotations

import sys
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ytrag_core.cli_groups import with_groups
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


@dataclass(frozen=True, slots=True)
class AskOptions:
    """How questions are answered, and what that may cost."""

    mode: ModeOption = Mode.OPEN
    top_k: TopKOption = 20
    max_steps: StepsOption = 5
    max_calls: CallsOption = 12
    max_tokens: TokensOption = 60_000
    max_seconds: SecondsOption = 300.0
    context_tokens: ContextOption = 3000
    trace: TraceOption = None

    def budget(self) -> Budget:
        """Return the limits.

        Raises
        ------
        ConfigError
            They do not go together.
        """
        from pydantic import ValidationError

        from ytrag_core.agent.budget import Budget

        limits = ("max_steps", "max_calls", "max_tokens", "max_seconds", "context_tokens")
        try:
            return Budget(**{name: getattr(self, name) for name in limits})
        except ValidationError as error:
            first = error.errors()[0]
            raise ConfigError(f"--{str(first['loc'][0]).replace('_', '-')}: {first['msg']}") from None


trace_app = typer.Typer(
    no_args_is_help=True,
    help="Look into what happened on the way to an answer.",
    epilog="Example: ytrag trace show trace.jsonl",
)


@with_groups
def ask(
    question: QuestionArgument,
    kb: KbOption,
    *,
    options: AskOptions,
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
    asker = _Asker(kb, options)
    live = not as_json and asker.has_model and (sys.stdout.isatty() if stream is None else stream)
    asker.ask(_clean(question), (), trace=options.trace, live=live, as_json=as_json)


@with_groups
def chat(kb: KbOption, *, options: AskOptions, as_json: JsonOption = False) -> None:
    """Answer one question after the other; a follow-up may point to what went before.

    Questions are lines of standard input; an empty one is left out, the end of input or /quit ends. --json
    prints one JSON document a line. What went wrong with a question is said, and the next one is asked.
    """
    from ytrag_core.agent.conversation import Turn
    from ytrag_core.agent.trace import TraceWriter

    asker = _Asker(kb, options)
    history: list[Turn] = []
    is_terminal = sys.stdin.isatty() and sys.stdout.isatty()
    with ExitStack() as stack:
        write = None if options.trace is None else stack.enter_context(TraceWriter(options.trace))
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
                    live=is_terminal and asker.has_model,
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

    def __init__(self, kb: Path, options: AskOptions) -> None:
        self._llm = None if options.mode is Mode.EVIDENCE else language_models()
        self._base = open_base(kb)
        self._budget = options.budget()
        self._mode = options.mode
        self._top_k = options.top_k

    @property
    def has_model(self) -> bool:
        """Whether a language model is asked."""
        return self._llm is not None

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


def _clean(question: str) -> str:
    from ytrag_core.documents.text import clean_text

    return clean_text(question)
