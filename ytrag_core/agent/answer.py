"""An answer from evidence: written by a language model, or the evidence itself in readable form."""

from __future__ import annotations

import re
import time
from typing import TYPE_CHECKING, Literal

from ytrag_core.agent.citations import resolve_citations
from ytrag_core.agent.context import build_context
from ytrag_core.agent.highlight import highlights
from ytrag_core.agent.language import phrase
from ytrag_core.agent.linking import linking_path
from ytrag_core.agent.model import Answer, Step
from ytrag_core.agent.paths import fact_line, path_line
from ytrag_core.errors import ConfigError, LLMError
from ytrag_core.llm.chat import Message, strip_reasoning
from ytrag_core.llm.language import question_language
from ytrag_core.llm.prompts import prompt
from ytrag_core.llm.usage import Usage

if TYPE_CHECKING:
    from ytrag_core.agent.context import Context
    from ytrag_core.llm.chat import LanguageModel
    from ytrag_core.llm.language import Language
    from ytrag_core.retrieval.model import Evidence

__all__ = ["Mode", "answer_from_evidence", "answer_with_llm"]

Mode = Literal["open", "reject"]

_MAX_ANSWER_TOKENS = 1024
_N_FACTS = 5
_MARKER = "INSUFFICIENT_EVIDENCE"
_REFUSAL = re.compile(rf"{_MARKER}|\A\W*insufficient[ _]evidence\W*\Z", re.IGNORECASE)
_LABEL = re.compile(
    r"\A\s*(?:\*\*|#+\s*)?(?:final answer|answer|最终答案|答案|回答)\s*[:：]\s*(?:\*\*)?", re.IGNORECASE
)
_FENCE = re.compile(r"\A```[a-z]*\n(.*)\n```\Z", re.DOTALL)


def answer_from_evidence(evidence: Evidence) -> Answer:
    """Return the evidence in readable form: the linking path, and the best passages' telling sentences.

    Parameters
    ----------
    evidence
        What was retrieved. When there is none, the answer is a refusal.
    """
    language = question_language(evidence.question)
    shown = highlights(evidence)
    sections = []
    path = linking_path(evidence)
    if path:
        sections.append(f"{phrase('path', language)}:\n  {path_line(path)}")
    if evidence.triples and not (shown and path):
        facts = "\n".join(f"  {fact_line(triple)}" for triple in evidence.triples[:_N_FACTS])
        sections.append(f"{phrase('facts', language)}:\n{facts}")
    if shown:
        passages = []
        for number, highlight in enumerate(shown, 1):
            lines = [f"  [{number}] {highlight.chunk.title}".rstrip()]
            lines += [f"      {sentence}" for sentence in highlight.sentences]
            passages.append("\n".join(lines))
        sections.append(f"{phrase('passages', language)}:\n" + "\n".join(passages))
    found = bool(sections)
    sections.append(phrase("no_model" if found else "nothing", language))
    citations = tuple(highlight.chunk.id for highlight in shown)
    return _answer(evidence, "\n\n".join(sections), citations, citations, refused=not found)


def answer_with_llm(
    question: str, evidence: Evidence, llm: LanguageModel, *, mode: Mode = "open", context_tokens: int = 3000
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
        Budget of the evidence in the prompt.

    Raises
    ------
    ConfigError
        For an unknown mode.
    LLMError
        When the endpoint fails or its reply holds no answer.
    """
    if mode not in ("open", "reject"):
        raise ConfigError(f"the mode must be open or reject, {mode!r} arrived")
    language = question_language(question)
    context = build_context(evidence, max_tokens=context_tokens)
    if mode == "reject" and not (context.passages or context.facts):
        return _answer(evidence, phrase("nothing", language), (), (), refused=True)
    start = time.perf_counter()
    completion = llm.complete(_messages(question, context, mode, language), max_tokens=_MAX_ANSWER_TOKENS)
    llm_ms = (time.perf_counter() - start) * 1e3
    usage = Usage.of(completion)
    text = _plain(completion.text)
    if not text:
        raise LLMError(
            "the language model spent its whole reply on reasoning and gave no answer; "
            "ask again, or choose a model that reasons less"
        )
    if mode == "reject" and _REFUSAL.search(text):
        refusal = phrase("refusal", language)
        return _answer(evidence, refusal, (), context.chunk_ids, refused=True, usage=usage, llm_ms=llm_ms)
    text, citations = resolve_citations(text, context.chunk_ids)
    return _answer(evidence, text, citations, context.chunk_ids, usage=usage, llm_ms=llm_ms)


def _messages(question: str, context: Context, mode: Mode, language: Language) -> list[Message]:
    none = "(none)" if language == "en" else "（无）"
    user = prompt("evidence", language).format(
        passages=context.passages or none, facts=context.facts or none, question=question
    )
    system = prompt(f"answer_{mode}", language).format(marker=_MARKER)
    return [Message("system", system), Message("user", user)]


def _plain(text: str) -> str:
    """Return the reply's answer: no reasoning, no code fence around it, no label before it."""
    bare = strip_reasoning(text)
    fenced = _FENCE.match(bare)
    return _LABEL.sub("", fenced.group(1) if fenced else bare).strip()


def _answer(
    evidence: Evidence,
    text: str,
    citations: tuple[str, ...],
    read: tuple[str, ...],
    *,
    refused: bool = False,
    usage: Usage | None = None,
    llm_ms: float | None = None,
) -> Answer:
    timings = dict(evidence.timings_ms)
    if llm_ms is not None:
        timings["llm"] = round(llm_ms, 3)
        timings["total"] = round(timings.pop("total", 0.0) + llm_ms, 3)
    return Answer(
        answer=text,
        refused=refused,
        citations=citations,
        steps=(Step(evidence.question, "", read),),
        usage=usage or Usage(),
        timings_ms=timings,
        evidence=evidence,
    )
