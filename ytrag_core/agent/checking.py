"""What a model said, held against what was found: its findings on the way, and its draft of an answer."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ytrag_core.agent.grounding import ground, stating
from ytrag_core.agent.judging import judge_schema, read_verdicts
from ytrag_core.agent.plan import filled

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ytrag_core.agent.calls import Caller
    from ytrag_core.agent.dialogue import Dialogue
    from ytrag_core.agent.grounding import Grounded
    from ytrag_core.agent.pool import EvidencePool
    from ytrag_core.agent.state import Draft, Reply, State
    from ytrag_core.retrieval.model import ChunkHit

__all__ = ["checked_by_words", "judged", "likely_passages", "verified"]

_JUDGE_TOKENS = 500


def verified(reply: Reply, state: State, pool: EvidencePool, shown: Sequence[str]) -> Reply:
    """Return a reply of which every answered sub-question cites only passages that hold its answer.

    Parameters
    ----------
    reply
        As it was read.
    state
        The question on its way.
    pool
        All that was found.
    shown
        The passages that the model was shown, all of them in the pool.
    """
    questions = {sub.number: filled(sub.question, state.answers) for sub in state.plan.subs}
    texts = dict(zip(shown, pool.texts(shown), strict=True))
    findings = [
        replace(finding, chunk_ids=stating(finding, questions.get(finding.sub, ""), texts))
        for finding in reply.findings
    ]
    return replace(reply, findings=tuple(findings))


def likely_passages(
    draft: Draft, state: State, pool: EvidencePool, order: Sequence[ChunkHit]
) -> list[ChunkHit]:
    """Return the passages that a draft may rest on: those that it names, then as they are ranked, then found.

    Parameters
    ----------
    draft
        The answer to be checked.
    state
        The question on its way.
    pool
        All that was found.
    order
        Its passages as they were ranked last.
    """
    named = [*draft.cited, *draft.chunk_ids, *state.pinned]
    ids = dict.fromkeys([*named, *(chunk.id for chunk in order), *pool.found(state.asked[-1])])
    return [chunk for chunk_id in ids if (chunk := pool.chunk(chunk_id)) is not None]


def checked_by_words(
    draft: Draft, state: State, pool: EvidencePool, passages: Sequence[ChunkHit]
) -> Grounded:
    """Return a draft held against passages and facts by the words that they share."""
    texts = {chunk.id: f"{chunk.title}\n{chunk.text}" for chunk in passages}
    facts = [fact.line for fact in pool.skeleton(state.asked)]
    return ground(draft, state.question, texts, facts, mode=state.mode, links=state.sources)


def judged(
    grounded: Grounded, question: str, passages: Sequence[ChunkHit], caller: Caller, dialogue: Dialogue
) -> Grounded:
    """Return a draft with what a model of its own judges to be stated in other words.

    Raises
    ------
    BudgetReached
        The call does not fit into the budget.
    LLMError
        The endpoint failed.
    """
    places = grounded.unsupported
    claims = [grounded.claims[place].claim.text for place in places]
    messages, context = dialogue.judge(question, claims, passages)
    done = caller.ask("judge", "judge", messages, max_tokens=_JUDGE_TOKENS, schema=judge_schema(len(claims)))
    for number, chunk_ids in read_verdicts(done.text, len(claims), context.chunk_ids).items():
        grounded = grounded.with_support(places[number - 1], chunk_ids)
    return grounded
