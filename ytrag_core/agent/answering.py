"""What a knowledge base can do with questions beside retrieving: answer them, at once or event by event."""

from __future__ import annotations

from contextlib import aclosing
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

from ytrag_core.agent.asking import MODES, Asking, answer_question
from ytrag_core.agent.budget import Budget
from ytrag_core.agent.library import KnowledgeLibrary
from ytrag_core.agent.listening import stream_events
from ytrag_core.errors import ConfigError, QueryError
from ytrag_core.retrieval.options import check_question
from ytrag_core.schema.recorded import recorded_schema

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Sequence
    from pathlib import Path

    from ytrag_core.agent.asking import AskMode
    from ytrag_core.agent.conversation import Turn
    from ytrag_core.agent.events import Event
    from ytrag_core.agent.model import Answer
    from ytrag_core.embedding.encoder import Encoder
    from ytrag_core.llm.chat import LanguageModel
    from ytrag_core.llm.stages import StageModels
    from ytrag_core.retrieval.retriever import Retriever
    from ytrag_core.retrieval.view import SnapshotView
    from ytrag_core.schema.model import GraphSchema

__all__ = ["Answering"]


class Answering:
    """Answers questions from one knowledge base; the base class of `ytrag_core.KnowledgeBase`.

    Attributes
    ----------
    path, view, encoder
        See there.
    """

    path: Path
    view: SnapshotView
    encoder: Encoder
    _retriever: Retriever

    @cached_property
    def _library(self) -> KnowledgeLibrary:
        return KnowledgeLibrary(self._retriever, self.encoder)

    @cached_property
    def _schema(self) -> GraphSchema | None:
        """The schema in force when the snapshot was built, None where there is none."""
        return recorded_schema(self.path, self.view.snapshot.manifest.schema_version)

    def ask(
        self,
        question: str,
        *,
        mode: AskMode = "open",
        top_k: int = 20,
        llm: LanguageModel | StageModels | None = None,
        budget: Budget | None = None,
        history: Sequence[Turn] = (),
        on_event: Callable[[Event], None] | None = None,
        stream: bool = False,
    ) -> Answer:
        """Answer a question from the evidence.

        Parameters
        ----------
        question
            The question.
        mode
            `open`: the model may use what it knows, which is then marked; `reject`: evidence only, else it
            refuses; `no-agent`: one retrieval and one call; `evidence`: no model.
        top_k
            Most passages that the language model may read at a time.
        llm
            The language models; without any the answer is the evidence in readable form.
        budget
            The most that the question may cost; the best answer so far is returned when it is reached.
        history
            The conversation before the question, oldest turn first.
        on_event
            Told of everything that happens on the way, as it happens.
        stream
            Whether the answer is told in pieces while it is written.

        Raises
        ------
        QueryError
            As for `retrieve`.
        ConfigError
            For an unknown mode.
        LLMError
            The endpoint failed before anything was known.
        """
        check_question(question)
        asking = self._asking(mode, top_k, llm, budget, history)
        asking = replace(asking, on_event=on_event or asking.on_event, stream=stream)
        return answer_question(question, self._library, asking)

    async def ask_stream(
        self,
        question: str,
        *,
        mode: AskMode = "open",
        top_k: int = 20,
        llm: LanguageModel | StageModels | None = None,
        budget: Budget | None = None,
        history: Sequence[Turn] = (),
    ) -> AsyncIterator[Event]:
        """Answer a question, and yield everything that happens on the way.

        Parameters
        ----------
        question, mode, top_k, llm, budget, history
            As for `ask`.

        Yields
        ------
        Event
            The last one is `Done` and holds the answer. Whoever stops listening ends the work.

        Raises
        ------
        QueryError, ConfigError, LLMError
            As for `ask`.
        """
        check_question(question)
        asking = self._asking(mode, top_k, llm, budget, history)
        async with aclosing(stream_events(question, self._library, asking)) as events:
            async for event in events:
                yield event

    def _asking(
        self,
        mode: AskMode,
        top_k: int,
        llm: LanguageModel | StageModels | None,
        budget: Budget | None,
        history: Sequence[Turn],
    ) -> Asking:
        if top_k < 1:
            raise QueryError(f"top_k is {top_k}; at least 1 is needed")
        if mode not in MODES:
            raise ConfigError(f"mode {mode!r} arrived; choose {', '.join(MODES)}")
        schema = self._schema if llm is not None and mode in ("open", "reject") else None
        return Asking(mode, llm, budget or Budget(), top_k=top_k, history=tuple(history), schema=schema)
