"""An answer from one retrieval in one call of a language model."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Literal

from ytrag_core.agent.answer import answer_from_evidence
from ytrag_core.agent.budget import Budget, BudgetReached, Meter
from ytrag_core.agent.calls import Caller, Models
from ytrag_core.agent.dialogue import Dialogue
from ytrag_core.agent.events import AnswerPiece
from ytrag_core.agent.grounding import ground, settle
from ytrag_core.agent.interests import Interest
from ytrag_core.agent.language import phrase
from ytrag_core.agent.model import Answer, Step
from ytrag_core.agent.pool import EvidencePool
from ytrag_core.agent.reply import REFUSAL_MARKER, direct_answer, is_refusal
from ytrag_core.agent.state import Draft
from ytrag_core.agent.writing import AnswerStream
from ytrag_core.errors import ConfigError, LLMError
from ytrag_core.llm.language import question_language

if TYPE_CHECKING:
    from collections.abc import Callable

    from ytrag_core.agent.events import Event
    from ytrag_core.llm.chat import LanguageModel
    from ytrag_core.retrieval.model import Evidence

__all__ = ["OneCallMode", "answer_in_one_call", "answer_with_llm"]

OneCallMode = Literal["open", "reject"]


def answer_with_llm(
    question: str,
    evidence: Evidence,
    llm: LanguageModel,
    *,
    mode: OneCallMode = "open",
    context_tokens: int = 3000,
) -> Answer:
    """Return a model's answer from numbered passages, with citations, in one call.

    Parameters
    ----------
    question
        What was asked; its language, English or Chinese, is the answer's.
    evidence
        What was retrieved for it.
    llm
        The model.
    mode
        `open`: the model may add what it knows, saying so. `reject`: it answers from the evidence or refuses;
        without any evidence it is not asked at all.
    context_tokens
        Longest prompt.

    Raises
    ------
    ConfigError
        For an unknown mode.
    LLMError
        When the endpoint fails or its reply holds no answer.
    """
    if mode not in ("open", "reject"):
        raise ConfigError(f"the mode must be open or reject, {mode!r} arrived")
    meter = Meter(Budget(context_tokens=context_tokens))
    caller = Caller(Models(llm), meter, lambda _: None)
    dialogue = Dialogue(question_language(question), context_tokens, caller.models.text)
    return answer_in_one_call(question, evidence, caller, dialogue, mode=mode)


def answer_in_one_call(
    question: str,
    evidence: Evidence,
    caller: Caller,
    dialogue: Dialogue,
    *,
    mode: OneCallMode = "open",
    top_k: int | None = None,
    emit: Callable[[Event], None] | None = None,
) -> Answer:
    """Return the answer to a question within a budget.

    Parameters
    ----------
    question, evidence, mode
        As for `answer_with_llm`.
    caller, dialogue
        Ask within the budget, and write the prompt.
    top_k
        Most passages in the prompt; by default all that fit.
    emit
        Told of the answer's pieces as they are written, where it is given.

    Raises
    ------
    LLMError
        When the endpoint fails or its reply holds no answer.
    """
    pool = EvidencePool()
    pool.add(question, evidence)
    order = pool.ranked([Interest(question, 1.0)])
    facts = pool.skeleton([question])
    language = dialogue.language

    def answer(text: str, read: tuple[str, ...] = (), *, refused: bool = True, stop: str = "") -> Answer:
        return Answer(
            answer=text,
            refused=refused,
            citations=(),
            steps=(Step(evidence.question, "", read),),
            usage=caller.meter.usage,
            timings_ms=_timings(evidence, caller),
            evidence=evidence,
            stopped=stop,
            usage_by_stage=dict(caller.by_stage),
        )

    if mode == "reject" and not pool.n_known:
        return answer(phrase("nothing", language))
    messages, context = dialogue.answer(mode, question, REFUSAL_MARKER, order[:top_k], facts)

    def tell(text: str) -> None:
        if emit is not None:
            emit(AnswerPiece(caller.meter.elapsed_ms, text))

    try:
        done = caller.ask(
            "reason",
            "answer",
            messages,
            max_tokens=caller.meter.budget.reply_tokens,
            on_piece=AnswerStream(tell).feed if emit is not None else None,
        )
    except BudgetReached as reached:
        ended = answer(phrase("unfinished", language), context.chunk_ids, stop=reached.limit)
        return _out_of_budget(ended, evidence, mode)
    text = direct_answer(done.text)
    if text is None:
        return answer(phrase("unusable", language), context.chunk_ids, stop="unusable reply")
    if not text:
        raise LLMError(
            "the language model spent its whole reply on reasoning and gave no answer; "
            "ask again, or choose a model that reasons less"
        )
    if mode == "reject" and is_refusal(text):
        return answer(phrase("refusal", language), context.chunk_ids)
    texts = {chunk.id: f"{chunk.title}\n{chunk.text}" for chunk in order}
    draft = Draft(text, context.chunk_ids)
    grounded = ground(draft, question, texts, [fact.line for fact in facts], mode=mode)
    settled = settle(grounded, "open", language)
    return replace(
        answer(settled.text, context.chunk_ids, refused=False),
        citations=settled.chunk_ids,
        own_knowledge=settled.own,
        removed_citations=grounded.removed,
    )


def _out_of_budget(ended: Answer, evidence: Evidence, mode: OneCallMode) -> Answer:
    """Return what is left where the model gave no answer in time: the evidence itself, or a refusal."""
    ended = replace(ended, budget_reached=ended.stopped)
    if mode == "reject":
        return ended
    shown = answer_from_evidence(evidence, why="no_answer")
    return replace(
        ended,
        answer=shown.answer,
        refused=shown.refused,
        citations=shown.citations,
        evidence_only=shown.evidence_only,
    )


def _timings(evidence: Evidence, caller: Caller) -> dict[str, float]:
    """Return the milliseconds of the retrieval and of the call, where one was made."""
    timings = {**evidence.timings_ms}
    if caller.ms:
        timings["llm"] = round(caller.ms, 3)
        timings["total"] = round(timings.pop("total", 0.0) + caller.ms, 3)
    return timings
