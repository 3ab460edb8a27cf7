"""Evidence as numbered passages within a token budget."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ytrag_core.documents.sentences import split_sentences
from ytrag_core.llm.tokens import estimate_tokens
from ytrag_core.retrieval.lexical import lexical_tokens

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ytrag_core.retrieval.model import ChunkHit

__all__ = ["Context", "Fact", "build_context", "cut_to"]

_FACTS_SHARE = 0.25
_PASSAGE_SHARE = 0.4
"""No passage gets more of the budget than this while there are others."""
_LEAST_PIECE = 30
_GAP = " ... "
_CHARACTERS_PER_TOKEN = 8
"""No text has more of them."""


@dataclass(frozen=True, slots=True)
class Fact:
    """A fact or a chain of facts as one line, and the chunks that state it."""

    line: str
    chunk_ids: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Context:
    """What a model reads.

    Attributes
    ----------
    passages
        Numbered passages, one blank line between two; empty where there are none.
    facts
        One fact or chain of facts a line, with the numbers of the passages that state it; empty where there
        are none.
    chunk_ids
        The passages' chunks: number n in the text is `chunk_ids[n - 1]`.
    """

    passages: str
    facts: str
    chunk_ids: tuple[str, ...]


def build_context(
    chunks: Sequence[ChunkHit], facts: Sequence[Fact], *, max_tokens: int, query: str = ""
) -> Context:
    """Return the best of the evidence that fits.

    Parameters
    ----------
    chunks
        Passages, best first.
    facts
        Facts, best first; they get at most a quarter of the budget where there are passages.
    max_tokens
        Budget, as `estimate_tokens` counts.
    query
        What is asked: of a passage that does not fit, the sentences that share its words are kept.
    """
    share = _FACTS_SHARE if chunks else 1.0
    kept = _fitting(facts, int(max_tokens * share))
    # What a fact's citation numbers will take is set aside before they are known.
    left = max_tokens - sum(estimate_tokens(fact.line) + 8 for fact in kept)
    words = frozenset(lexical_tokens(query))
    blocks: list[str] = []
    chunk_ids: list[str] = []
    for chunk in chunks:
        most = left if len(chunks) == 1 else min(left, int(max_tokens * _PASSAGE_SHARE))
        block = _block(chunk, len(blocks) + 1, most, words)
        if block:
            blocks.append(block)
            chunk_ids.append(chunk.id)
            left -= estimate_tokens(block) + 1
        if left < _LEAST_PIECE:
            break
    numbers = {chunk_id: number for number, chunk_id in enumerate(chunk_ids, 1)}
    return Context(
        "\n\n".join(blocks), "\n".join(_with_sources(fact, numbers) for fact in kept), tuple(chunk_ids)
    )


def cut_to(text: str, max_tokens: int) -> str:
    """Return a text, or its beginning with `...` where it is longer than a budget."""
    most = max(0, _CHARACTERS_PER_TOKEN * max_tokens)
    if len(text) <= most and estimate_tokens(text) <= max_tokens:
        return text
    low, high = 0, min(len(text), most)
    while low < high:
        middle = (low + high + 1) // 2
        if estimate_tokens(f"{text[:middle]}...") <= max_tokens:
            low = middle
        else:
            high = middle - 1
    return f"{text[:low].rstrip()}..." if low else ""


def _fitting(facts: Sequence[Fact], max_tokens: int) -> list[Fact]:
    kept: list[Fact] = []
    left = max_tokens
    for fact in facts:
        left -= estimate_tokens(fact.line) + 8
        if left < 0:
            break
        kept.append(fact)
    return kept


def _with_sources(fact: Fact, numbers: dict[str, int]) -> str:
    shown = [str(numbers[chunk_id]) for chunk_id in fact.chunk_ids if chunk_id in numbers][:2]
    return f"{fact.line} [{', '.join(shown)}]" if shown else fact.line


def _block(chunk: ChunkHit, number: int, max_tokens: int, words: frozenset[str]) -> str:
    head = cut_to(f"[{number}] {' '.join(chunk.title.split())}".rstrip(), 40)
    left = max_tokens - estimate_tokens(head) - 1
    text = chunk.text.strip()
    if estimate_tokens(text) > left:
        text = _excerpt(text, left, words) if left >= _LEAST_PIECE else ""
    return f"{head}\n{text}" if text else ""


def _excerpt(text: str, max_tokens: int, words: frozenset[str]) -> str:
    """Return the sentences of a text that share most words with a question, in their order."""
    sentences = [text[start:end] for start, end in split_sentences(text)]
    tokens = [set(lexical_tokens(sentence)) for sentence in sentences]
    worth = [len(words & held) for held in tokens]
    order = sorted(range(len(sentences)), key=lambda place: (-worth[place], place))
    left = max_tokens
    kept: list[int] = []
    for place in order:
        cost = estimate_tokens(sentences[place]) + estimate_tokens(_GAP)
        if cost <= left:
            kept.append(place)
            left -= cost
        elif left < _LEAST_PIECE:
            break
    if not kept:
        return cut_to(sentences[order[0]], max_tokens) if order else ""
    pieces: list[str] = []
    for position, place in enumerate(sorted(kept)):
        before = sorted(kept)[position - 1] if position else place - 1
        pieces.append((" " if before == place - 1 else _GAP) + sentences[place])
    return "".join(pieces).strip()
