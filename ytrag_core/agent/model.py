"""What `ask` returns: an answer, the passages that it cites, and what it cost."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ytrag_core.llm.usage import Usage
    from ytrag_core.retrieval.model import Evidence

__all__ = ["Answer", "Step"]


@dataclass(frozen=True, slots=True)
class Step:
    """One retrieval on the way to the answer.

    Attributes
    ----------
    query
        What was looked up.
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
class Answer:
    """The outcome of `ask`.

    Attributes
    ----------
    answer
        The text for a reader.
    refused
        True when the evidence does not carry an answer (mode `reject`).
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
    """

    answer: str
    refused: bool
    citations: tuple[str, ...]
    steps: tuple[Step, ...]
    usage: Usage
    timings_ms: Mapping[str, float] = field(default_factory=dict)
    evidence: Evidence | None = None

    def to_json(self) -> dict[str, Any]:
        """Return the JSON form of the command `ask`."""
        return {
            "answer": self.answer,
            "refused": self.refused,
            "citations": list(self.citations),
            "steps": [step.to_json() for step in self.steps],
            "usage": self.usage.to_json(),
            "timings_ms": dict(self.timings_ms),
        }
