"""An answer without a language model: the evidence itself in readable form."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from ytrag_core.agent.highlight import highlights
from ytrag_core.agent.language import phrase
from ytrag_core.agent.linking import is_telling, linking_path
from ytrag_core.agent.model import Answer, Step
from ytrag_core.agent.paths import fact_line, path_line
from ytrag_core.llm.language import question_language
from ytrag_core.llm.usage import Usage

if TYPE_CHECKING:
    from ytrag_core.retrieval.model import Evidence

__all__ = ["answer_from_evidence"]

_N_FACTS = 5
Why = Literal["no_model", "no_answer"]


def answer_from_evidence(evidence: Evidence, *, why: Why = "no_model") -> Answer:
    """Return the evidence in readable form: the linking path, and the best passages' telling sentences.

    Parameters
    ----------
    evidence
        What was retrieved. When there is none, the answer is a refusal.
    why
        Why it is no written answer: there is no model, or the budget was reached before it gave one.
    """
    language = question_language(evidence.question)
    shown = highlights(evidence)
    sections = []
    path = linking_path(evidence)
    if is_telling(path, evidence.question):
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
    sections.append(phrase(why if found else "nothing", language))
    citations = tuple(highlight.chunk.id for highlight in shown)
    return Answer(
        answer="\n\n".join(sections),
        refused=not found,
        citations=citations,
        steps=(Step(evidence.question, "", citations),),
        usage=Usage(),
        timings_ms=dict(evidence.timings_ms),
        evidence=evidence,
        evidence_only=found and why == "no_answer",
    )
