"""Near-duplicate passages: the second copy stands behind, its id beside the first."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from ytrag_core.retrieval.fusion import RankedChunks
    from ytrag_core.retrieval.view import SnapshotView

__all__ = ["LOOKED_BEHIND", "copies_behind", "is_copy"]

LOOKED_BEHIND = 12
"""Places beyond the wanted ones that may move up where copies move back."""

_MOST_COMPARED = 256
"""Places beyond these are not searched for copies: every place is compared with every other."""

_LEAST_COSINE = 0.98
_LEAST_SHARED = 0.9
_SHINGLE = 3
_WORD = re.compile(r"[^\W_\u3400-\u9fff]+|[\u3400-\u9fff]")


def is_copy(text: str, other: str) -> bool:
    """Return whether two texts say the same but for a little: one may be a part of the other.

    Nine tenths of the runs of three words (in Chinese: characters) of the shorter one stand in the longer
    one, and all its numbers do: two reports that differ in a year are two.
    """
    words, other_words = (_WORD.findall(each.casefold()) for each in (text, other))
    if len(words) > len(other_words):
        words, other_words = other_words, words
    numbers = {word for word in words if any(map(str.isdigit, word))}
    if not words or not numbers <= set(other_words):
        return False
    runs, other_runs = _runs(words), _runs(other_words)
    return len(runs & other_runs) >= _LEAST_SHARED * len(runs)


def _runs(words: list[str]) -> set[tuple[str, ...]]:
    size = min(_SHINGLE, len(words))
    return {tuple(words[start : start + size]) for start in range(len(words) - size + 1)}


def copies_behind(view: SnapshotView, ranked: RankedChunks, k: int) -> RankedChunks:
    """Return the `k` best of a ranking, in which a copy of a better passage stands behind all others.

    Two passages are compared word by word where the cosine of their vectors reaches 0.98. A copy keeps its
    place only where there is nothing else to show; it is listed in `copies` either way.

    Parameters
    ----------
    view
        The snapshot.
    ranked
        Best first, a few more than `k` where there are as many.
    k
        How many to return.
    """
    n = ranked.rows.shape[0]
    original: dict[int, int] = {}
    for first, second in view.chunk_index.alike(ranked.rows[:_MOST_COMPARED], _LEAST_COSINE):
        if first in original or second in original:
            continue
        if is_copy(*(view.chunks.text(int(ranked.rows[place])) for place in (first, second))):
            original[second] = first
    if not original:
        return ranked.first(k)
    places = [place for place in range(n) if place not in original] + sorted(original)
    copies: dict[int, tuple[int, ...]] = {}
    for second, first in original.items():
        row = int(ranked.rows[first])
        copies[row] = (*copies.get(row, ()), int(ranked.rows[second]))
    moved = ranked.at(np.array(places, np.int64)).first(k)
    scores = np.minimum.accumulate(moved.scores) if moved.scores.size else moved.scores
    return replace(moved, scores=scores, copies=copies)
