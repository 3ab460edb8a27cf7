"""The passages worth reading for a question, and the sentences in them that matter."""

from __future__ import annotations

import itertools
import math
import unicodedata
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ytrag_core.agent.linking import linking_path
from ytrag_core.documents.sentences import split_sentences
from ytrag_core.retrieval.lexical import lexical_tokens

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from ytrag_core.retrieval.model import ChunkHit, Evidence, TripleHit

__all__ = ["Highlight", "highlights"]

_NAME_WEIGHT = 1.5


@dataclass(frozen=True, slots=True)
class Highlight:
    """A passage with its most telling sentences.

    Attributes
    ----------
    chunk
        The passage.
    spans
        Offsets (start, end) of sentences in its text, ascending; at least one unless the text is blank.
    """

    chunk: ChunkHit
    spans: tuple[tuple[int, int], ...]

    @property
    def sentences(self) -> tuple[str, ...]:
        """The sentences, white space flattened."""
        return tuple(" ".join(self.chunk.text[start:end].split()) for start, end in self.spans)


def highlights(evidence: Evidence, *, n_passages: int = 5, n_sentences: int = 2) -> list[Highlight]:
    """Return the passages to show for a question, best first, with the sentences that matter most.

    Parameters
    ----------
    evidence
        What was retrieved.
    n_passages
        At most this many passages. Those that state the linking path come in even where they rank lower.
    n_sentences
        At most this many sentences of each.

    Notes
    -----
    A sentence counts for the question's words that it holds, each weighted by its rarity among the retrieved
    passages, and for the names on the linking path, which carry the second hop that the question cannot name.
    """
    tokens = Counter(
        token for chunk in evidence.chunks for token in set(lexical_tokens(f"{chunk.title} {chunk.text}"))
    )
    n_chunks = len(evidence.chunks)
    weights = {
        token: math.log1p(n_chunks / (1 + tokens[token])) for token in set(lexical_tokens(evidence.question))
    }
    path = linking_path(evidence)
    names = {_folded(name) for triple in path for name in (triple.head, triple.tail)}
    return [
        Highlight(chunk, _best_sentences(chunk, weights, names - {""}, n_sentences))
        for chunk in _shown_chunks(evidence, path, n_passages)
    ]


def _shown_chunks(evidence: Evidence, path: Sequence[TripleHit], n_passages: int) -> list[ChunkHit]:
    on_path: set[str] = set()
    for triple in path:
        stating = (chunk.id for chunk in evidence.chunks if chunk.id in triple.chunk_ids)
        on_path.update(itertools.islice(stating, 1))
    wanted = [chunk for chunk in evidence.chunks if chunk.id in on_path][:n_passages]
    rest = [chunk for chunk in evidence.chunks if chunk.id not in on_path]
    chosen = {chunk.id for chunk in [*wanted, *rest[: n_passages - len(wanted)]]}
    return [chunk for chunk in evidence.chunks if chunk.id in chosen]


def _folded(text: str) -> str:
    return unicodedata.normalize("NFKC", text).casefold().strip()


def _best_sentences(
    chunk: ChunkHit, weights: dict[str, float], names: Collection[str], n_sentences: int
) -> tuple[tuple[int, int], ...]:
    spans = split_sentences(chunk.text)
    scores = [_sentence_score(chunk.text[start:end], weights, names) for start, end in spans]
    best = max(scores, default=0.0)
    order = sorted(range(len(spans)), key=lambda position: (-scores[position], position))
    kept = [position for position in order[:n_sentences] if scores[position] * 2 >= best]
    if best == 0.0:
        kept = kept[:1]
    return tuple(spans[position] for position in sorted(kept))


def _sentence_score(sentence: str, weights: dict[str, float], names: Collection[str]) -> float:
    score = sum(weights.get(token, 0.0) for token in set(lexical_tokens(sentence)))
    folded = _folded(sentence)
    return score + _NAME_WEIGHT * sum(name in folded for name in names)
