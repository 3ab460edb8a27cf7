"""Retrieval metrics over ranked passage ids.

A record that was cut into several chunks counts as one passage: whichever of `id#0, id#1, ...` is found
counts as `id`, and only the best-placed one takes up a place in the ranking.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

__all__ = ["chain_at_k", "passages_of", "recall_at_k", "reciprocal_rank"]

_PIECE = re.compile(r"#\d+$")


def passages_of(
    ranked: Iterable[str], gold: Collection[str], documents: Mapping[str, str] | None = None
) -> list[str]:
    """Return the passages that ranked chunks stand for, each once, best place first.

    Parameters
    ----------
    ranked
        Chunk ids, best first.
    gold
        The passages that count as right for this question.
    documents
        Chunk id -> document id, where known. A chunk counts as its document when the document itself is gold,
        or when the chunk is a numbered piece of it.

    Returns
    -------
    list of str
        Passage ids. A chunk id that is gold itself stays as it is; without `documents` a trailing `#digits`
        is taken off.
    """
    return list(dict.fromkeys(_passage_of(chunk_id, gold, documents or {}) for chunk_id in ranked))


def _passage_of(chunk_id: str, gold: Collection[str], documents: Mapping[str, str]) -> str:
    if chunk_id in gold:
        return chunk_id
    document = documents.get(chunk_id)
    if document is None:
        return _PIECE.sub("", chunk_id)
    is_piece = chunk_id.startswith(f"{document}#")
    return document if is_piece or document in gold else chunk_id


def recall_at_k(passages: Sequence[str], gold: Collection[str], k: int) -> float:
    """Return the share of gold passages among the first k.

    Parameters
    ----------
    passages
        Ranked passage ids without repetition, as `passages_of` returns them.
    gold
        At least one passage id.
    k
        Depth, from 1.

    Returns
    -------
    float
        In 0..1.
    """
    wanted = set(gold)
    return len(wanted.intersection(passages[:k])) / len(wanted)


def chain_at_k(passages: Sequence[str], gold: Collection[str], k: int) -> float:
    """Return 1 when all gold passages are among the first k, else 0; see `recall_at_k`."""
    return float(set(gold) <= set(passages[:k]))


def reciprocal_rank(passages: Sequence[str], gold: Collection[str]) -> float:
    """Return one over the place of the first gold passage, from 1; 0 when there is none."""
    wanted = set(gold)
    return next((1.0 / place for place, passage in enumerate(passages, 1) if passage in wanted), 0.0)
