"""All that was found for a question so far, ranked anew for whatever is asked next."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from ytrag_core.agent.context import Fact
from ytrag_core.agent.linking import linking_path
from ytrag_core.agent.paths import fact_line, path_line
from ytrag_core.retrieval.lexical import lexical_tokens
from ytrag_core.retrieval.model import Evidence

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from ytrag_core.agent.interests import Interest
    from ytrag_core.retrieval.model import ChunkHit, PathHit, TripleHit

__all__ = ["EvidencePool"]

_TOKEN = re.compile(r"[\u3400-\u9fff]|[^\W_]+")
_RANK_OFFSET = 10.0
_SEEN_FACTOR = 0.5
_UNRANKED = 40.0
"""A passage that a query did not find ranks at least this low for it, lower the fewer words they share."""
_SHINGLE = 5
_ALIKE = 0.85
_FACTS_PER_QUERY = 8
_CHAINS_PER_QUERY = 3
_N_FACTS = 16
_N_KEPT = 60


@dataclass(slots=True)
class _Found:
    """What one query found: ranks from 0, facts and chains best first."""

    ranks: dict[str, int]
    triples: tuple[TripleHit, ...]
    chains: list[tuple[TripleHit, ...]]
    communities: tuple[str, ...]
    evidence: Evidence


@dataclass(slots=True)
class EvidencePool:
    """Evidence of many retrievals, each passage and fact once."""

    _chunks: dict[str, ChunkHit] = field(default_factory=dict)
    _facts: dict[tuple[str, str, str], TripleHit] = field(default_factory=dict)
    _found: dict[str, _Found] = field(default_factory=dict)
    _words: dict[str, frozenset[str]] = field(default_factory=dict)
    _shingles: dict[str, frozenset[tuple[str, ...]]] = field(default_factory=dict)
    _seen: set[str] = field(default_factory=set)

    @property
    def n_known(self) -> int:
        """Passages and facts that are known."""
        return len(self._chunks) + len(self._facts)

    @property
    def n_facts(self) -> int:
        """Facts that are known."""
        return len(self._facts)

    def n_unread(self, chunk_ids: Iterable[str]) -> int:
        """Return how many of some passages were not shown to the model yet."""
        return sum(chunk_id not in self._seen for chunk_id in chunk_ids)

    def add(self, query: str, evidence: Evidence) -> None:
        """Add what a query found."""
        for chunk in evidence.chunks:
            self._chunks.setdefault(chunk.id, chunk)
        paths: list[PathHit] = list(evidence.paths)
        for triple in (*evidence.triples, *(triple for path in paths for triple in path.triples)):
            self._facts.setdefault((triple.head, triple.relation, triple.tail), triple)
        chains = [linking_path(evidence), *(path.triples for path in paths)] if paths else []
        self._found[query] = _Found(
            {chunk.id: rank for rank, chunk in enumerate(evidence.chunks)},
            evidence.triples,
            chains,
            tuple(community.name for community in evidence.communities),
            evidence,
        )

    def found(self, query: str) -> list[str]:
        """Return the chunks that a query found, best first."""
        return list(self._found[query].ranks) if query in self._found else []

    def chunk(self, chunk_id: str) -> ChunkHit | None:
        """Return a passage, None where it was never found."""
        return self._chunks.get(chunk_id)

    def texts(self, chunk_ids: Iterable[str]) -> list[str]:
        """Return titles and texts of some passages; those that were never found are left out."""
        found = (self._chunks.get(chunk_id) for chunk_id in chunk_ids)
        return [f"{chunk.title}\n{chunk.text}" for chunk in found if chunk is not None]

    def mark_read(self, chunk_ids: Iterable[str]) -> None:
        """Note that some passages were shown to the model."""
        self._seen.update(chunk_ids)

    def ranked(self, interests: Sequence[Interest], pinned: Collection[str] = ()) -> list[ChunkHit]:
        """Return the passages, best first for what is asked now, without near-duplicates.

        Parameters
        ----------
        interests
            What is asked, each once.
        pinned
            Passages that answers rest on: they come first.

        Notes
        -----
        Reciprocal ranks of the queries that found a passage are added up, each times its query's weight. A
        query that did not find a passage ranks it below those that it found, by the words they share. What
        was read for a query that is only still open counts half: it did not answer it.
        """
        scores = {
            chunk_id: sum(self._worth(chunk_id, interest) for interest in interests)
            for chunk_id in self._chunks
        }
        order = sorted(self._chunks, key=lambda chunk_id: (chunk_id not in pinned, -scores[chunk_id]))
        return [self._chunks[chunk_id] for chunk_id in self._distinct(order)]

    def _worth(self, chunk_id: str, interest: Interest) -> float:
        found = self._found.get(interest.query)
        rank = None if found is None else found.ranks.get(chunk_id)
        if rank is None:
            asked = self._words_of(interest.query)
            shared = len(asked & self._words_of_chunk(chunk_id)) / max(1, len(asked))
            place = _UNRANKED * (2.0 - shared)
        else:
            place = float(rank)
        worth = interest.weight / (_RANK_OFFSET + place)
        return worth * _SEEN_FACTOR if not interest.is_new and chunk_id in self._seen else worth

    def _distinct(self, order: Iterable[str]) -> list[str]:
        kept: list[str] = []
        for chunk_id in order:
            mine = self._shingles_of(chunk_id)
            if not any(_alike(mine, self._shingles_of(other)) for other in kept):
                kept.append(chunk_id)
            if len(kept) == _N_KEPT:
                break
        return kept

    def skeleton(self, queries: Sequence[str]) -> list[Fact]:
        """Return the chains and facts that bear on some queries, those of each in turn, each once."""
        lines: dict[str, Fact] = {}
        founds = [self._found[query] for query in queries if query in self._found]
        for found in founds:
            for chain in found.chains[:_CHAINS_PER_QUERY]:
                if chain:
                    chunk_ids = tuple(chunk_id for triple in chain for chunk_id in triple.chunk_ids)
                    lines.setdefault(path_line(chain), Fact(path_line(chain), chunk_ids))
        for place in range(_FACTS_PER_QUERY):
            for found in founds:
                for triple in found.triples[place : place + 1]:
                    lines.setdefault(fact_line(triple), Fact(fact_line(triple), triple.chunk_ids))
        return list(lines.values())[:_N_FACTS]

    def communities(self, queries: Sequence[str]) -> list[str]:
        """Return the names of the communities that some queries found, each once."""
        names = (name for query in queries if query in self._found for name in self._found[query].communities)
        return list(dict.fromkeys(names))

    def merged(self, question: str, order: Sequence[ChunkHit]) -> Evidence:
        """Return one evidence for the whole question.

        Parameters
        ----------
        question
            The question.
        order
            Its passages, best first.
        """
        if not self._found:
            return Evidence(question, (), tuple(order), (), (), {})
        first = next(iter(self._found.values())).evidence
        paths = {
            frozenset((triple.head, triple.relation, triple.tail) for triple in path.triples): path
            for found in reversed(self._found.values())
            for path in reversed(found.evidence.paths)
        }
        triples = {
            (triple.head, triple.relation, triple.tail): triple
            for found in self._found.values()
            for triple in found.triples
        }
        return replace(
            first,
            question=question,
            chunks=tuple(order),
            triples=tuple(triples.values()),
            paths=tuple(reversed(paths.values())),
            timings_ms=self._timings(),
        )

    def _timings(self) -> Mapping[str, float]:
        total: dict[str, float] = {}
        for found in self._found.values():
            for name, value in found.evidence.timings_ms.items():
                total[name] = round(total.get(name, 0.0) + value, 3)
        return total

    def _words_of(self, text: str) -> frozenset[str]:
        if text not in self._words:
            self._words[text] = frozenset(lexical_tokens(text))
        return self._words[text]

    def _words_of_chunk(self, chunk_id: str) -> frozenset[str]:
        chunk = self._chunks[chunk_id]
        return self._words_of(f"{chunk.title}\n{chunk.text}")

    def _shingles_of(self, chunk_id: str) -> frozenset[tuple[str, ...]]:
        if chunk_id not in self._shingles:
            tokens = _TOKEN.findall(self._chunks[chunk_id].text.casefold())
            n = max(1, len(tokens) - _SHINGLE + 1)
            self._shingles[chunk_id] = frozenset(tuple(tokens[at : at + _SHINGLE]) for at in range(n))
        return self._shingles[chunk_id]


def _alike(mine: frozenset[tuple[str, ...]], other: frozenset[tuple[str, ...]]) -> bool:
    """Return whether two texts say nearly the same."""
    smaller, larger = sorted((mine, other), key=len)
    if smaller == {()} or not smaller:
        return False
    return len(smaller & larger) >= _ALIKE * len(larger)
