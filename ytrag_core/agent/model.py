"""What `ask` returns: an answer, the passages that it cites, and what it cost."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ytrag_core.llm.usage import Usage
    from ytrag_core.retrieval.model import Evidence

__all__ = ["Answer", "RemovedCitation", "Step", "SubAnswer"]


@dataclass(frozen=True, slots=True)
class Step:
    """One retrieval on the way to the answer.

    Attributes
    ----------
    query
        What was looked up; several queries are joined by ` | `.
    thought
        Why, or what was concluded from it; may be empty.
    chunk_ids
        The passages that were read at this step, best first.
    """

    query: str
    thought: str
    chunk_ids: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        """Return the JSON form."""
        return {"query": self.query, "thought": self.thought, "chunk_ids": list(self.chunk_ids)}


@dataclass(frozen=True, slots=True)
class SubAnswer:
    """A sub-question, with what was found for it.

    Attributes
    ----------
    number
        Its number in the decomposition, from 1.
    question
        The text, known answers filled in.
    needs
        Sub-questions whose answers it needed.
    types, kind
        What was asked for: entity types; `node`, `triple` or `community`.
    answer
        Empty where none was found.
    chunk_ids
        The passages that state the answer.
    """

    number: int
    question: str
    needs: tuple[int, ...]
    types: tuple[str, ...]
    kind: str
    answer: str
    chunk_ids: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        """Return the JSON form."""
        return {
            "id": self.number,
            "question": self.question,
            "needs": list(self.needs),
            "types": list(self.types),
            "kind": self.kind,
            "answer": self.answer,
            "chunk_ids": list(self.chunk_ids),
        }


@dataclass(frozen=True, slots=True)
class RemovedCitation:
    """A citation that was taken out of the answer: what it referred to, and why it went."""

    citation: str
    reason: str

    def to_json(self) -> dict[str, str]:
        """Return the JSON form."""
        return {"citation": self.citation, "reason": self.reason}


@dataclass(frozen=True, slots=True)
class Answer:
    """The outcome of `ask`.

    Attributes
    ----------
    answer
        The text for a reader.
    refused
        True when the evidence does not carry an answer (mode `reject`), or when none was reached.
    citations
        Ids of the chunks that the answer rests on, in order of first mention, each once.
    steps
        What was looked up on the way.
    usage
        What the language model cost.
    timings_ms
        Milliseconds by stage: those of the retrieval, `llm` where one was asked, and `total`.
    evidence
        What was retrieved; not part of the JSON form.
    sub_answers
        What the question was taken apart into.
    own_knowledge
        Statements of the answer that no passage carries: the model's own knowledge (mode `open`).
    removed_citations
        Citations that referred to nothing, or to a passage that does not state what was claimed.
    removed_claims
        Statements that were taken out of the answer because nothing supports them (mode `reject`).
    budget_reached
        `steps`, `calls`, `tokens` or `seconds` when the answer is only the best so far; else empty.
    stopped
        Why the search for more ended before the model was done: a budget, `loop`, `no progress`,
        `no evidence`, `unusable reply`, `endpoint`, `unsupported`; else empty.
    notes
        What was mended or went wrong on the way.
    usage_by_stage
        What each stage of the language model cost.
    read_as
        The question as it was looked up, where a conversation went before; else empty.
    evidence_only
        The text is the evidence itself, since the model gave no answer within the budget.
    """

    answer: str
    refused: bool
    citations: tuple[str, ...]
    steps: tuple[Step, ...]
    usage: Usage
    timings_ms: Mapping[str, float] = field(default_factory=dict)
    evidence: Evidence | None = None
    sub_answers: tuple[SubAnswer, ...] = ()
    own_knowledge: tuple[str, ...] = ()
    removed_citations: tuple[RemovedCitation, ...] = ()
    removed_claims: tuple[str, ...] = ()
    budget_reached: str = ""
    stopped: str = ""
    notes: tuple[str, ...] = ()
    usage_by_stage: Mapping[str, Usage] = field(default_factory=dict)
    read_as: str = ""
    evidence_only: bool = False

    def to_json(self) -> dict[str, Any]:
        """Return the JSON form of the command `ask`; later additions appear only where there is any."""
        added: dict[str, Any] = {
            "sub_questions": [sub.to_json() for sub in self.sub_answers],
            "own_knowledge": list(self.own_knowledge),
            "removed_citations": [removed.to_json() for removed in self.removed_citations],
            "removed_claims": list(self.removed_claims),
            "budget_reached": self.budget_reached,
            "stopped": self.stopped,
            "notes": list(self.notes),
            "usage_by_stage": {stage: usage.to_json() for stage, usage in self.usage_by_stage.items()},
            "read_as": self.read_as,
            "evidence_only": self.evidence_only,
        }
        return {
            "answer": self.answer,
            "refused": self.refused,
            "citations": list(self.citations),
            "steps": [step.to_json() for step in self.steps],
            "usage": self.usage.to_json(),
            "timings_ms": dict(self.timings_ms),
            **{name: value for name, value in added.items() if value},
        }
