"""Which proposed types enter a schema, become other names of its types, wait, or need a person."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from ytrag_core.schema.changes import Decision
from ytrag_core.schema.model import TYPE_KINDS
from ytrag_core.schema.resemblance import Likeness, Neighbours

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ytrag_core.config import EvolutionSettings
    from ytrag_core.schema.model import GraphSchema, TypeKind
    from ytrag_core.schema.proposals import Candidate
    from ytrag_core.schema.resemblance import Encode

__all__ = ["TypeJudge", "Verdict", "decisions_of", "evaluate"]


@dataclass(frozen=True, slots=True)
class TypeJudge:
    """An encoder as far as types are told apart by it.

    Attributes
    ----------
    encode
        Texts to unit-norm vectors.
    threshold
        Cosine of names from which they may be one type.
    language
        What the encoder is good at, a code like `en` or `multilingual`.
    """

    encode: Encode
    threshold: float
    language: str


@dataclass(frozen=True, slots=True)
class Verdict:
    """What becomes of a proposed type.

    Attributes
    ----------
    candidate
        The type and what speaks for it.
    outcome : {"add", "alias", "wait", "ask"}
        It enters; it is another name of `nearest`; too little speaks for it; a person has to say.
    nearest, similarity
        The nearest type of the schema, with those that enter before it, and the cosine of the names.
    reason
        In words.
    """

    candidate: Candidate
    outcome: Literal["add", "alias", "wait", "ask"]
    nearest: str
    similarity: float
    reason: str


def evaluate(
    schema: GraphSchema,
    candidates: Sequence[Candidate],
    settings: EvolutionSettings,
    judge: TypeJudge,
    n_documents: int,
) -> list[Verdict]:
    """Judge proposed types against a schema, one after the other.

    Parameters
    ----------
    schema
        The schema in force.
    candidates
        In the order of `ytrag_core.schema.proposals.candidates`; each that enters counts for those after it.
    settings
        The thresholds.
    judge
        Tells names apart.
    n_documents
        How many documents the knowledge base holds.

    Returns
    -------
    list of Verdict
        In the order of the candidates. It depends on nothing else: not on who proposed first, nor on the
        number of threads, since cosines are compared to four decimals.
    """
    verdicts: dict[tuple[TypeKind, str], Verdict] = {}
    threshold = judge.threshold if settings.similarity is None else settings.similarity
    for kind in TYPE_KINDS:
        mine = [candidate for candidate in candidates if candidate.kind == kind]
        if not mine:
            continue
        near = Neighbours(kind, schema, judge.encode, threshold, judge.language)
        near.prepare([(candidate.name, candidate.description) for candidate in mine])
        for candidate in mine:
            likeness = near.judge(candidate.name, candidate.description)
            verdict = _verdict(candidate, likeness, settings, n_documents)
            verdicts[kind, candidate.key] = verdict
            if verdict.outcome == "add":
                near.add(candidate.name, candidate.name, candidate.description)
            elif verdict.outcome == "alias":
                near.add(verdict.nearest, candidate.name, candidate.description)
    return [verdicts[candidate.kind, candidate.key] for candidate in candidates]


def _verdict(
    candidate: Candidate, likeness: Likeness, settings: EvolutionSettings, n_documents: int
) -> Verdict:
    lacks = _lacks(candidate, settings, n_documents)
    near = f"{likeness.nearest} ({likeness.similarity:.2f})"
    outcome: Literal["add", "alias", "wait", "ask"]
    if lacks:
        outcome, reason = "wait", lacks
    elif likeness.verdict == "same":
        outcome, reason = "alias", f"another name of {near}"
    elif likeness.verdict == "close":
        like = f"described like {likeness.nearest}" if likeness.by_meaning else f"close to {near}"
        outcome, reason = "ask", f"{like}: accept it, or accept it as another name of that"
    elif likeness.verdict == "unread":
        outcome, reason = "ask", "the encoder does not read this language: accept or reject it"
    else:
        outcome, reason = "add", f"nearest is {near}" if likeness.nearest else "nothing is near"
    return Verdict(candidate, outcome, likeness.nearest, likeness.similarity, reason)


def _lacks(candidate: Candidate, settings: EvolutionSettings, n_documents: int) -> str:
    """Return which thresholds a candidate misses, in words; empty where none."""
    wanted_documents = max(1, min(settings.min_documents, n_documents or settings.min_documents))
    missed = []
    if candidate.n_chunks < settings.min_chunks:
        missed.append(f"{candidate.n_chunks} of {settings.min_chunks} passages")
    if candidate.n_documents < wanted_documents:
        missed.append(f"{candidate.n_documents} of {wanted_documents} documents")
    if candidate.confidence < settings.min_confidence - 1e-9:
        missed.append(f"confidence {candidate.confidence:.2f} of {settings.min_confidence:.2f}")
    return ", ".join(missed)


def decisions_of(verdicts: Sequence[Verdict]) -> list[Decision]:
    """Return the decisions that verdicts lead to without a person."""
    return [
        Decision(
            outcome=verdict.outcome,
            kind=verdict.candidate.kind,
            name=verdict.candidate.name,
            description=verdict.candidate.description if verdict.outcome == "add" else "",
            target=verdict.nearest if verdict.outcome == "alias" else "",
            similarity=verdict.similarity,
            candidate=verdict.candidate,
        )
        for verdict in verdicts
        if verdict.outcome == "add" or verdict.outcome == "alias"
    ]
