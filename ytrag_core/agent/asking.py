"""A question to an answer, in any mode, within a budget."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal, get_args

from ytrag_core.agent.answer import answer_from_evidence
from ytrag_core.agent.budget import Budget, BudgetReached, Meter
from ytrag_core.agent.calls import Caller, Models
from ytrag_core.agent.conversation import rewritten, with_last_question
from ytrag_core.agent.dialogue import Dialogue
from ytrag_core.agent.events import Asked, Done, Retrieved, Rewritten
from ytrag_core.agent.grounding import Settled, settle
from ytrag_core.agent.language import phrase
from ytrag_core.agent.model import Answer, Step, SubAnswer
from ytrag_core.agent.one_call import answer_in_one_call
from ytrag_core.agent.plan import filled
from ytrag_core.agent.run import Run
from ytrag_core.agent.simple import is_simple
from ytrag_core.agent.state import Lookup, Phase
from ytrag_core.errors import ConfigError
from ytrag_core.llm.language import question_language

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ytrag_core.agent.conversation import Turn
    from ytrag_core.agent.events import Event
    from ytrag_core.agent.run import Library
    from ytrag_core.agent.state import State
    from ytrag_core.llm.chat import LanguageModel
    from ytrag_core.llm.language import Language
    from ytrag_core.llm.stages import StageModels
    from ytrag_core.retrieval.model import Evidence
    from ytrag_core.schema.model import GraphSchema

__all__ = ["MODES", "AskMode", "Asking", "answer_question"]

AskMode = Literal["open", "reject", "no-agent", "evidence"]
MODES: tuple[AskMode, ...] = get_args(AskMode)

_LIMITS = ("steps", "calls", "tokens", "seconds")
_REASONS = {"unusable reply": "unusable", "endpoint": "failed", "cancelled": "failed"}
_LINKED_PASSAGES = 20


def _silent(event: Event) -> None:
    """Hear nothing."""


@dataclass(frozen=True, slots=True)
class Asking:
    """How a question is asked.

    Attributes
    ----------
    mode
        `open`, `reject`, `no-agent` or `evidence`.
    llm
        The language models; without any, every mode is `evidence`.
    budget
        The most that it may cost.
    top_k
        Most passages in one prompt.
    history
        The conversation before it, oldest first.
    on_event
        Told of everything that happens, as it happens.
    stream
        Whether the answer is told in pieces while it is written.
    schema
        The types that there are.
    cancelled
        Set when nobody waits for the answer any more.
    """

    mode: AskMode = "open"
    llm: LanguageModel | StageModels | None = None
    budget: Budget = field(default_factory=Budget)
    top_k: int = 20
    history: Sequence[Turn] = ()
    on_event: Callable[[Event], None] = _silent
    stream: bool = False
    schema: GraphSchema | None = None
    cancelled: threading.Event = field(default_factory=threading.Event)


def answer_question(question: str, library: Library, asking: Asking) -> Answer:
    """Return the answer to a question.

    Parameters
    ----------
    question
        The question; its language, English or Chinese, is the answer's.
    library
        Where evidence comes from.
    asking
        How it is asked.

    Raises
    ------
    ConfigError
        For an unknown mode.
    LLMError
        The endpoint failed before anything was known.
    """
    if asking.mode not in MODES:
        raise ConfigError(f"mode {asking.mode!r} arrived; choose {', '.join(MODES)}")
    meter = Meter(asking.budget)
    without_model = asking.llm is None or asking.mode == "evidence"
    simple = without_model or asking.mode == "no-agent" or is_simple(question)
    mode: AskMode = "evidence" if without_model else asking.mode
    asking.on_event(Asked(meter.elapsed_ms, question, mode, simple))
    if asking.llm is None or mode == "evidence":
        answer = _from_evidence(question, library, asking, meter)
    else:
        answer = _from_models(question, library, asking, meter, asking.llm)
    asking.on_event(Done(meter.elapsed_ms, answer.to_json()))
    return answer


def _from_evidence(question: str, library: Library, asking: Asking, meter: Meter) -> Answer:
    query = with_last_question(question, asking.history)
    # The path that links the passages is chosen by where these stand, whatever is shown of them.
    (evidence,) = library.look_up([Lookup(query)], top_k=max(asking.top_k, _LINKED_PASSAGES))
    ids = [chunk.id for chunk in evidence.chunks[: asking.top_k]]
    n_new = len(evidence.chunks) + len(evidence.triples)
    asking.on_event(
        Retrieved(meter.elapsed_ms, 1, [query], ids, n_new, evidence.timings_ms.get("total", 0.0))
    )
    answer = answer_from_evidence(evidence)
    return replace(answer, read_as=query) if query != question else answer


def _from_models(
    question: str, library: Library, asking: Asking, meter: Meter, llm: LanguageModel | StageModels
) -> Answer:
    language = question_language(question)
    caller = Caller(Models(llm), meter, asking.on_event, asking.cancelled)
    dialogue = Dialogue(language, asking.budget.context_tokens, caller.models.text)
    query = question
    if asking.history:
        most = min(asking.budget.history_tokens, asking.budget.context_tokens // 2)
        try:
            query = rewritten(question, asking.history, dialogue, caller, most)
        except BudgetReached:
            query = with_last_question(question, asking.history)
        if query != question:
            asking.on_event(Rewritten(meter.elapsed_ms, query))
    if asking.mode == "no-agent":
        (evidence,) = library.look_up([Lookup(query)], top_k=2 * asking.top_k)
        emit = asking.on_event if asking.stream else None
        answer = answer_in_one_call(query, evidence, caller, dialogue, top_k=asking.top_k, emit=emit)
    else:
        run = Run(
            query,
            "reject" if asking.mode == "reject" else "open",
            library,
            caller,
            language=language,
            top_k=asking.top_k,
            simple=is_simple(query),
            schema=asking.schema,
            emit=asking.on_event,
            stream=asking.stream,
            cancelled=asking.cancelled,
        )
        answer = _of_run(run, run.to_end(), caller, language)
    return replace(answer, read_as=query) if query != question else answer


def _of_run(run: Run, state: State, caller: Caller, language: Language) -> Answer:
    """Return what a run came to."""
    if state.stop in _LIMITS and state.mode == "open" and state.draft is None and not state.findings:
        return _best_evidence(run, state, caller)
    settled = Settled("", (), (), ())
    removed = run.grounded.removed if run.grounded is not None else ()
    if run.grounded is not None and state.draft is not None:
        settled = settle(run.grounded, state.mode, language)
    refused = state.phase is Phase.REFUSED or not settled.text
    text = _refusal(state, language) if refused else settled.text
    citations = state.sources if refused else settled.chunk_ids
    evidence = run.evidence()
    timings = _timings(evidence, caller)
    return Answer(
        answer=text,
        refused=refused,
        citations=citations,
        steps=tuple(run.steps) or (Step(state.question, "", ()),),
        usage=caller.meter.usage,
        timings_ms=timings,
        evidence=evidence,
        sub_answers=_sub_answers(state),
        own_knowledge=() if refused else settled.own,
        removed_citations=removed,
        removed_claims=settled.struck,
        budget_reached=state.stop if state.stop in _LIMITS else "",
        stopped=state.stop,
        notes=tuple(run.notes),
        usage_by_stage=dict(caller.by_stage),
    )


def _best_evidence(run: Run, state: State, caller: Caller) -> Answer:
    """Return the evidence itself, where the model gave no answer within the budget."""
    evidence = run.evidence()
    answer = answer_from_evidence(evidence, why="no_answer")
    return replace(
        answer,
        steps=tuple(run.steps) or answer.steps,
        usage=caller.meter.usage,
        timings_ms=_timings(evidence, caller),
        sub_answers=_sub_answers(state),
        budget_reached=state.stop,
        stopped=state.stop,
        notes=tuple(run.notes),
        usage_by_stage=dict(caller.by_stage),
    )


def _timings(evidence: Evidence, caller: Caller) -> dict[str, float]:
    return {**evidence.timings_ms, "llm": round(caller.ms, 3), "total": caller.meter.elapsed_ms}


def _sub_answers(state: State) -> tuple[SubAnswer, ...]:
    subs = []
    for sub in state.plan.subs:
        finding = state.findings.get(sub.number)
        answer, chunk_ids = (finding.answer, finding.chunk_ids) if finding is not None else ("", ())
        question = filled(sub.question, state.answers)
        subs.append(SubAnswer(sub.number, question, sub.needs, sub.types, sub.kind, answer, chunk_ids))
    return tuple(subs)


def _refusal(state: State, language: Language) -> str:
    """Return why there is no answer, and what was found on the way."""
    if state.stop == "no evidence":
        return phrase("nothing", language)
    name = _REASONS.get(state.stop, "unfinished" if state.stop in _LIMITS else "refusal")
    lines = [phrase(name, language)]
    numbers = {chunk_id: number for number, chunk_id in enumerate(state.sources, 1)}
    for sub in state.plan.subs:
        finding = state.findings.get(sub.number)
        if finding is not None and finding.chunk_ids:
            cited = ", ".join(str(numbers[chunk_id]) for chunk_id in dict.fromkeys(finding.chunk_ids))
            lines.append(f"- {filled(sub.question, state.answers)} {finding.answer} [{cited}]")
    if len(lines) > 1:
        lines.insert(1, phrase("known", language))
    return "\n".join(lines)
