"""Where a question on its way to an answer is, and what was found, drafted and judged on that way."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Literal

from ytrag_core.agent.plan import Plan

__all__ = ["Draft", "Finding", "Lookup", "Mode", "Phase", "Reply", "State", "Verdict"]

Mode = Literal["open", "reject"]
Decision = Literal["answer", "search", "refuse", "unusable"]

_SIMPLE_CALLS = 2
"""A question without a second hop costs at most this many calls, unless the model itself asks for more."""


class Phase(StrEnum):
    """What has to be done next."""

    DECOMPOSE = "decompose"
    RETRIEVE = "retrieve"
    REASON = "reason"
    REPAIR = "repair"
    CHECK = "check"
    ANSWERED = "answered"
    REFUSED = "refused"


FINAL = frozenset({Phase.ANSWERED, Phase.REFUSED})


@dataclass(frozen=True, slots=True)
class Lookup:
    """One retrieval to be made.

    Attributes
    ----------
    query
        What to look up.
    sub
        The number of the sub-question that it is for; 0 for the question as a whole.
    types
        Entity types that what is looked for may have; empty for any.
    """

    query: str
    sub: int = 0
    types: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Finding:
    """The answer to a sub-question, and the chunks that state it."""

    sub: int
    answer: str
    chunk_ids: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Return the JSON form."""
        return {"id": self.sub, "answer": self.answer, "chunk_ids": list(self.chunk_ids)}


@dataclass(frozen=True, slots=True)
class Draft:
    """An answer that is not checked yet.

    Attributes
    ----------
    text
        May cite passages by number.
    chunk_ids
        Number n in the text stands for `chunk_ids[n - 1]`.
    cited
        Chunks that the reply names as its sources outside the text.
    unknown
        Sources that it names and that were never shown to it.
    """

    text: str
    chunk_ids: tuple[str, ...] = ()
    cited: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Reply:
    """What a model decided.

    Attributes
    ----------
    decision
        `unusable` when no decision could be read out of what it wrote.
    thought
        Why.
    query
        What to look up next, for `search`.
    draft
        The answer, for `answer`; for `search` one that it wrote all the same.
    findings
        Sub-questions that it answered on the way, whatever it decided.
    """

    decision: Decision
    thought: str = ""
    query: str = ""
    draft: Draft | None = None
    findings: tuple[Finding, ...] = ()


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the check of a draft found.

    Attributes
    ----------
    holds
        Whether every claim that is not marked as the model's own knowledge is supported.
    lead_holds
        Whether the first claim is: the answer itself.
    query
        What to look up for the unsupported claims.
    """

    holds: bool
    lead_holds: bool = True
    query: str = ""


@dataclass(frozen=True, slots=True)
class State:
    """Where a question is.

    Attributes
    ----------
    question
        As it is looked up: a follow-up is rewritten before.
    phase
        What has to be done next.
    step
        Rounds of thought so far.
    calls
        Calls of a model so far that led to a state.
    lookups
        Retrievals to be made, in phase RETRIEVE.
    asked
        Queries that were looked up.
    current
        Queries that the next thought is about.
    findings
        Answered sub-questions, by number.
    draft
        The best answer so far.
    is_last
        The next thought must end in an answer or a refusal.
    was_repaired
        The current step's reply has been asked for again.
    has_found
        The last thought answered a sub-question.
    searched
        The model asked for a retrieval of its own.
    targeted
        The one retrieval for unsupported claims was made.
    rethought
        The model has thought again after it.
    stop
        Why it ended, where it did not end by itself: a budget, `loop`, `no progress`, `no evidence`,
        `unusable reply`, `endpoint`, `unsupported`.
    """

    question: str
    mode: Mode
    max_steps: int
    phase: Phase
    plan: Plan = field(default_factory=Plan)
    step: int = 0
    calls: int = 0
    lookups: tuple[Lookup, ...] = ()
    asked: tuple[str, ...] = ()
    current: tuple[str, ...] = ()
    findings: dict[int, Finding] = field(default_factory=dict)
    draft: Draft | None = None
    is_last: bool = False
    was_repaired: bool = False
    has_found: bool = False
    searched: bool = False
    targeted: bool = False
    rethought: bool = False
    stop: str = ""

    @property
    def is_final(self) -> bool:
        """Whether there is nothing left to do."""
        return self.phase in FINAL

    @property
    def answers(self) -> dict[int, str]:
        """The answered sub-questions: number -> answer."""
        return {number: finding.answer for number, finding in self.findings.items()}

    @property
    def sources(self) -> tuple[str, ...]:
        """The passages that answered sub-questions, each once."""
        found = (chunk_id for finding in self.findings.values() for chunk_id in finding.chunk_ids)
        return tuple(dict.fromkeys(found))

    @property
    def pinned(self) -> tuple[str, ...]:
        """The passages that what is known rests on: the sources, and what the draft cites."""
        cited = self.draft.cited if self.draft is not None else ()
        return tuple(dict.fromkeys([*self.sources, *cited]))

    @property
    def may_spend(self) -> bool:
        """Whether a call that is not a step of its own may be made."""
        return not self.plan.is_simple or self.searched or self.calls < _SIMPLE_CALLS
