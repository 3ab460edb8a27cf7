"""What a retrieval returns: evidence with provenance."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["ChunkHit", "CommunityHit", "Evidence", "PathHit", "SentenceSpan", "TripleHit"]


@dataclass(frozen=True, slots=True)
class SentenceSpan:
    """A sentence, by its offsets in characters in the text of a passage, end exclusive."""

    chunk_id: str
    start: int
    end: int

    def to_json(self) -> dict[str, Any]:
        """Return the JSON form."""
        return {"chunk_id": self.chunk_id, "start": self.start, "end": self.end}


@dataclass(frozen=True, slots=True)
class TripleHit:
    """A fact that bears on the question.

    Attributes
    ----------
    head, relation, tail
        Display names; homonyms carry a hint in `head_hint` and `tail_hint`.
    score
        Fused score, higher is better, comparable within one evidence only.
    chunk_ids
        Every chunk that states the fact; empty for graphs imported without passages.
    head_hint, tail_hint
        Empty, or what tells the node from others of the same name (its type and a neighbour).
    sentences
        Where the first few of those chunks state the fact; see `ytrag_core.retrieval.sentences`.
    """

    head: str
    relation: str
    tail: str
    score: float
    chunk_ids: tuple[str, ...]
    head_hint: str = ""
    tail_hint: str = ""
    sentences: tuple[SentenceSpan, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Return the JSON form; hints and sentences appear only where there are any."""
        record: dict[str, Any] = {
            "head": self.head,
            "relation": self.relation,
            "tail": self.tail,
            "score": self.score,
            "chunk_ids": list(self.chunk_ids),
        }
        if self.head_hint:
            record["head_hint"] = self.head_hint
        if self.tail_hint:
            record["tail_hint"] = self.tail_hint
        if self.sentences:
            record["sentences"] = [sentence.to_json() for sentence in self.sentences]
        return record


@dataclass(frozen=True, slots=True)
class ChunkHit:
    """A passage with its fused score and the routes that found it (route name -> rank, from 1).

    Attributes
    ----------
    page
        The page of its document that it starts on, from 1; None where there are no pages.
    heading
        The headings that it stands under, outermost first, joined by ` > `; may be empty.
    document
        The document that it is part of.
    start
        Where its text begins in the document's, in characters.
    sentences
        Offsets (start, end) in `text` of the sentences that bear on the question, ascending.
    duplicates
        Ids of passages that say the same but for a little and stand behind all others.
    """

    id: str
    title: str
    text: str
    score: float
    routes: Mapping[str, int]
    page: int | None = None
    heading: str = ""
    document: str = ""
    start: int = 0
    sentences: tuple[tuple[int, int], ...] = ()
    duplicates: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Return the JSON form; page, heading and duplicates appear only where there are any.

        `start` of a sentence is its offset in `text`; with the `start` of the passage added, that in the
        document's text.
        """
        record: dict[str, Any] = {
            "id": self.id,
            "title": self.title,
            "text": self.text,
            "score": self.score,
            "routes": dict(self.routes),
        }
        if self.page is not None:
            record["page"] = self.page
        if self.heading:
            record["heading"] = self.heading
        record |= {"document": self.document, "start": self.start}
        record["sentences"] = [
            {"start": start, "end": end, "text": self.text[start:end]} for start, end in self.sentences
        ]
        if self.duplicates:
            record["duplicates"] = list(self.duplicates)
        return record


@dataclass(frozen=True, slots=True)
class CommunityHit:
    """A community that fits the question."""

    id: int
    name: str
    score: float

    def to_json(self) -> dict[str, Any]:
        """Return the JSON form."""
        return {"id": self.id, "name": self.name, "score": self.score}


@dataclass(frozen=True, slots=True)
class PathHit:
    """A chain of triples, each sharing a node with the one before."""

    triples: tuple[TripleHit, ...]
    score: float

    def to_json(self) -> dict[str, Any]:
        """Return the JSON form."""
        return {"triples": [triple.to_json() for triple in self.triples], "score": self.score}


@dataclass(frozen=True, slots=True)
class Evidence:
    """All that was retrieved for one question, best first in every list.

    Attributes
    ----------
    timings_ms
        Milliseconds by stage: `encode`, one entry a route, `fuse`, `total`.
    read_as
        The question with words that no text knows replaced by the known ones they resemble; empty where there
        are none. See `ytrag_core.retrieval.spelling.respell`.
    notes
        What a reader should know: of filters that could not be kept to, or that leave nothing.
    """

    question: str
    triples: tuple[TripleHit, ...]
    chunks: tuple[ChunkHit, ...]
    communities: tuple[CommunityHit, ...]
    paths: tuple[PathHit, ...]
    timings_ms: Mapping[str, float]
    read_as: str = ""
    notes: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Return the JSON form of the command `retrieve`; `read_as` and `notes` only where there are any."""
        return {
            "question": self.question,
            **({"read_as": self.read_as} if self.read_as else {}),
            "triples": [triple.to_json() for triple in self.triples],
            "chunks": [chunk.to_json() for chunk in self.chunks],
            "communities": [community.to_json() for community in self.communities],
            "paths": [path.to_json() for path in self.paths],
            **({"notes": list(self.notes)} if self.notes else {}),
            "timings_ms": dict(self.timings_ms),
        }
