"""Proposals of types that a schema lacks: what a passage proposes, and what all passages together support."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Protocol

from ytrag_core.errors import SchemaError
from ytrag_core.schema.model import TYPE_KINDS, type_key
from ytrag_core.storage.schema_store import ProposalRow, SchemaStore

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ytrag_core.schema.model import TypeKind
    from ytrag_core.storage.database import Database

__all__ = ["Candidate", "Evidence", "TypeProposal", "candidates", "record"]

_LONGEST_NAME = 100
_LONGEST_TEXT = 500
_N_EVIDENCE = 3


class _HasDatabase(Protocol):
    """An open `MetaStore` or `SchemaStore`."""

    @property
    def database(self) -> Database:
        """The open `meta.sqlite`."""
        ...


@dataclass(frozen=True, slots=True)
class TypeProposal:
    """One passage's proposal of a type that the schema lacks.

    Attributes
    ----------
    kind : {"entity", "relation", "attribute"}
    name
        The type's name: 1 to 100 characters, not white space alone.
    description
        What falls under it; may be empty.
    confidence
        How sure the proposer is, in [0, 1].
    chunk_id, document_id
        The passage.
    evidence
        The words of the passage that led to it; may be empty.

    Raises
    ------
    SchemaError
        If the kind is another, the name empty or too long, or the confidence no number in [0, 1].
    """

    kind: TypeKind
    name: str
    description: str
    confidence: float
    chunk_id: str
    document_id: str
    evidence: str = ""

    def __post_init__(self) -> None:
        if self.kind not in TYPE_KINDS:
            raise SchemaError(
                f"a type of kind {self.kind!r} is proposed; choose from {', '.join(TYPE_KINDS)}"
            )
        if not type_key(self.name) or len(self.name) > _LONGEST_NAME:
            raise SchemaError(
                f"a type is proposed as {self.name[:60]!r} ({len(self.name)} characters); "
                f"a name of 1 to {_LONGEST_NAME} was wanted"
            )
        if not 0.0 <= self.confidence <= 1.0:
            raise SchemaError(
                f"type {self.name!r} is proposed with confidence {self.confidence}; 0 to 1 was wanted"
            )


@dataclass(frozen=True, slots=True)
class Evidence:
    """Where a type was proposed, how surely, and by which words."""

    document_id: str
    chunk_id: str
    confidence: float
    text: str


@dataclass(frozen=True, slots=True)
class Candidate:
    """A proposed type with all that speaks for it.

    Attributes
    ----------
    kind
        `entity`, `relation` or `attribute`.
    key
        What all spellings of its name share.
    name, description
        The forms proposed by most passages; ties go to the lower by code point.
    confidence
        Mean confidence of the passages, in [0, 1].
    n_chunks, n_documents
        How many passages and documents propose it.
    evidence
        At most three passages, the most confident first, one a document where there are several.

    Notes
    -----
    The mean says how good the evidence is, the counts how much there is; the thresholds ask for both. A
    noisy-or, 1 - prod(1 - c), would mix them: it takes the passages for independent witnesses, which they are
    not where one model reads all of them, and ten wild guesses of 0.3 would pass for near certainty (0.97).
    """

    kind: TypeKind
    key: str
    name: str
    description: str
    confidence: float
    n_chunks: int
    n_documents: int
    evidence: tuple[Evidence, ...]


def record(store: _HasDatabase, proposals: Iterable[TypeProposal]) -> int:
    """Store proposals; safe to call from several processes at once.

    Parameters
    ----------
    store
        The knowledge base's `MetaStore` or `SchemaStore`, open for writing.
    proposals
        Any number; one passage supports a type once, however often and in whatever spelling it proposes it.

    Returns
    -------
    int
        How many of them were not known yet.
    """
    return SchemaStore(store.database).put_proposals(
        ProposalRow(
            kind=proposal.kind,
            key=_plain(type_key(proposal.name)),
            document_id=_plain(proposal.document_id),
            chunk_id=_plain(proposal.chunk_id),
            confidence=float(proposal.confidence),
            name=_line(proposal.name.replace("_", " ")),
            description=_line(proposal.description),
            evidence=_line(proposal.evidence),
        )
        for proposal in proposals
    )


def candidates(rows: Iterable[ProposalRow]) -> list[Candidate]:
    """Return the proposed types with their support, the best supported first.

    Parameters
    ----------
    rows
        Proposals, in any order.

    Returns
    -------
    list of Candidate
        By documents, passages and confidence, descending, then by kind and key: a total order that does not
        depend on that of the rows.
    """
    ordered = sorted(rows, key=lambda row: (row.kind, row.key, row.document_id, row.chunk_id))
    found = [
        _candidate(kind, key, list(group))
        for (kind, key), group in groupby(ordered, key=lambda row: (row.kind, row.key))
        if kind in TYPE_KINDS
    ]
    return sorted(
        found, key=lambda one: (-one.n_documents, -one.n_chunks, -one.confidence, one.kind, one.key)
    )


def _candidate(kind: TypeKind, key: str, rows: Sequence[ProposalRow]) -> Candidate:
    described = [row.description for row in rows if row.description]
    return Candidate(
        kind=kind,
        key=key,
        name=_most_frequent([row.name for row in rows]),
        description=_most_frequent(described) if described else "",
        confidence=math.fsum(row.confidence for row in rows) / len(rows),
        n_chunks=len(rows),
        n_documents=len({row.document_id for row in rows}),
        evidence=_best_evidence(rows),
    )


def _most_frequent(texts: Sequence[str]) -> str:
    return min(Counter(texts).items(), key=lambda counted: (-counted[1], counted[0]))[0]


def _best_evidence(rows: Sequence[ProposalRow]) -> tuple[Evidence, ...]:
    ranked = sorted(rows, key=lambda row: (not row.evidence, -row.confidence, row.document_id, row.chunk_id))
    first = {row.document_id: row for row in reversed(ranked)}
    ahead = [row for row in ranked if first[row.document_id] is row]
    others = [row for row in ranked if first[row.document_id] is not row]
    return tuple(
        Evidence(row.document_id, row.chunk_id, row.confidence, row.evidence)
        for row in [*ahead, *others][:_N_EVIDENCE]
    )


def _line(text: str) -> str:
    return _plain(" ".join(text.split())[:_LONGEST_TEXT])


def _plain(text: str) -> str:
    """Return a text that can be stored: a lone surrogate becomes a question mark."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")
