"""Calls of language models within a budget: never more, never longer, never later."""

from __future__ import annotations

import inspect
import queue
import threading
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from ytrag_core.agent.budget import BudgetReached
from ytrag_core.agent.dialogue import prompt_tokens
from ytrag_core.agent.events import Called
from ytrag_core.errors import LLMError, ReplyError
from ytrag_core.llm.prompts import prompt
from ytrag_core.llm.tokens import estimate_tokens
from ytrag_core.llm.usage import Usage

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from ytrag_core.agent.budget import Meter
    from ytrag_core.agent.events import Event
    from ytrag_core.llm.chat import Completion, LanguageModel, Message, StreamingModel
    from ytrag_core.llm.language import Language
    from ytrag_core.llm.stages import StageModels

__all__ = ["Caller", "Models", "Stage"]

Stage = str
_TICK = 0.05
"""Seconds between two looks at whether the question was given up."""


class Models:
    """The models of the agent's stages, whatever was given: one model for all, or one for each.

    Parameters
    ----------
    llm
        One model, or `ytrag_core.llm.stages.StageModels`.
    """

    def __init__(self, llm: LanguageModel | StageModels) -> None:
        self._llm = llm

    def of(self, stage: Stage) -> LanguageModel:
        """Return the model of a stage."""
        choose = getattr(self._llm, "model", None)
        return cast("LanguageModel", choose(stage) if callable(choose) else self._llm)

    @property
    def has_judge(self) -> bool:
        """Whether claims are to be judged by a model of their own."""
        has_own = getattr(self._llm, "has_own", None)
        return bool(has_own("judge")) if callable(has_own) else False

    def text(self, name: str, language: Language) -> str:
        """Return a prompt, the user's own where there is one."""
        own = getattr(self._llm, "prompt", None)
        return str(own(name, language)) if callable(own) else prompt(name, language)


@dataclass(slots=True)
class _Outcome:
    """What came of a call: one of the two."""

    completion: Completion | None = None
    error: Exception | None = None


class Caller:
    """Calls models for one question, one at a time.

    Parameters
    ----------
    models
        Who is asked.
    meter
        What may be spent.
    emit
        Told of every call.
    cancelled
        Set when nobody waits for the answer any more.
    """

    def __init__(
        self,
        models: Models,
        meter: Meter,
        emit: Callable[[Event], None],
        cancelled: threading.Event | None = None,
    ) -> None:
        self.models = models
        self.meter = meter
        self.by_stage: dict[Stage, Usage] = {}
        self.ms = 0.0
        self._emit = emit
        self._cancelled = cancelled or threading.Event()

    def ask(
        self,
        stage: Stage,
        purpose: str,
        messages: Sequence[Message],
        *,
        max_tokens: int,
        schema: Mapping[str, Any] | None = None,
        on_piece: Callable[[str], None] | None = None,
        share: float = 1.0,
    ) -> Completion:
        """Return the reply to a prompt.

        Parameters
        ----------
        stage, purpose
            What for.
        messages
            The prompt; not longer than the budget's `context_tokens`.
        max_tokens
            Longest reply that is of use.
        schema
            Form of the reply.
        on_piece
            Told of every piece of the reply, where the model can stream.
        share
            Of the time that is left, the most that the call may take.

        Raises
        ------
        BudgetReached
            The call does not fit into the budget, or was not over in time.
        LLMError
            The endpoint failed, or its reply was not over within the share; that counts as a call.
        """
        length = prompt_tokens(messages)
        allowed = self.meter.admit(length, max_tokens)
        reserved = (1.0 - share) * self.meter.seconds_left
        started = time.perf_counter()
        try:
            done = self._within_time(self.models.of(stage), messages, allowed, schema, on_piece, reserved)
        except BudgetReached:
            self._count(stage, purpose, Usage(1, length, 0), length, started, "no reply in time")
            raise
        except ReplyError as error:
            usage = Usage(1, error.prompt_tokens or length, error.completion_tokens)
            self._count(stage, purpose, usage, length, started, str(error))
            raise
        except Exception as error:
            self._count(stage, purpose, Usage(1, length, 0), length, started, str(error))
            raise
        if done.cached:
            usage = Usage()
        elif done.prompt_tokens or done.completion_tokens:
            usage = Usage(1, done.prompt_tokens, done.completion_tokens)
        else:
            usage = Usage(1, length, estimate_tokens(done.text))
        self._count(stage, purpose, usage, length, started, "")
        return done

    def _count(
        self, stage: Stage, purpose: str, usage: Usage, length: int, started: float, error: str
    ) -> None:
        ms = round((time.perf_counter() - started) * 1e3, 3)
        self.ms += ms
        self.meter.spend(usage)
        self.by_stage[stage] = self.by_stage.get(stage, Usage()) + usage
        self._emit(
            Called(
                self.meter.elapsed_ms,
                stage,
                purpose,
                usage.prompt_tokens,
                usage.completion_tokens,
                length,
                ms,
                error,
            )
        )

    def _within_time(
        self,
        model: LanguageModel,
        messages: Sequence[Message],
        max_tokens: int,
        schema: Mapping[str, Any] | None,
        on_piece: Callable[[str], None] | None,
        reserved: float,
    ) -> Completion:
        """Run a call beside the clock: one that takes too long is left to itself.

        `reserved` seconds of the question are left for what comes after it.

        The thread is a daemon, so a silent endpoint keeps no process alive.
        """
        pieces: queue.SimpleQueue[str | _Outcome] = queue.SimpleQueue()

        def run() -> None:
            outcome = _Outcome()
            try:
                outcome.completion = _complete(model, messages, max_tokens, schema, on_piece and pieces.put)
            except Exception as error:  # noqa: BLE001 - raised again by the thread that waits
                outcome.error = error
            pieces.put(outcome)

        threading.Thread(target=run, name="ytrag-llm", daemon=True).start()
        while True:
            left = self.meter.seconds_left
            if left <= 0.0 or self._cancelled.is_set():
                raise BudgetReached("seconds")
            if left <= reserved:
                raise LLMError("no reply within its share of the time of the question")
            try:
                piece = pieces.get(timeout=min(left - reserved, _TICK))
            except queue.Empty:
                continue
            if isinstance(piece, str):
                if on_piece is not None:
                    on_piece(piece)
            elif piece.error is not None:
                raise piece.error
            elif piece.completion is not None:
                return piece.completion


def _complete(
    model: LanguageModel,
    messages: Sequence[Message],
    max_tokens: int,
    schema: Mapping[str, Any] | None,
    on_piece: Callable[[str], None] | None,
) -> Completion:
    """Return a model's reply, piece by piece where that is wanted and it can."""
    if on_piece is None or not callable(getattr(model, "stream", None)):
        return model.complete(messages, max_tokens=max_tokens, schema=schema)
    streaming = cast("StreamingModel", model)
    bounded = "schema" in inspect.signature(streaming.stream).parameters
    options = {"schema": schema} if bounded else {}
    stream = streaming.stream(messages, max_tokens=max_tokens, **options)
    while True:
        try:
            on_piece(next(stream))
        except StopIteration as stop:
            return cast("Completion", stop.value)
