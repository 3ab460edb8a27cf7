"""Words of titles: how much of a passage's title stands in the question."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ytrag_core.kernels.gather import gather_rows
from ytrag_core.retrieval.lexical import lexical_tokens

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from ytrag_core.retrieval.lexical import LexicalIndex

__all__ = ["TitleIndex"]


class TitleIndex:
    """The terms of each passage's title and how rare they are.

    Parameters
    ----------
    titles
        Title of each passage, empty where it has none.
    lexical
        BM25 over the passages, titles included: it knows every term of a title, and its rarity.
    """

    def __init__(self, titles: Sequence[str], lexical: LexicalIndex) -> None:
        terms_of: dict[str, NDArray[np.int32]] = {}
        vocabulary: dict[str, int] = {}
        rows = []
        for title in titles:
            if title not in terms_of:
                terms = dict.fromkeys(lexical_tokens(title)) if title else {}
                numbers = (vocabulary.setdefault(term, len(vocabulary)) for term in terms)
                terms_of[title] = np.fromiter(numbers, np.int32, len(terms))
            rows.append(terms_of[title])
        self._indptr = np.zeros(len(rows) + 1, np.int64)
        np.cumsum([row.shape[0] for row in rows], out=self._indptr[1:])
        self._terms = np.concatenate(rows) if rows else np.empty(0, np.int32)
        self._vocabulary = vocabulary
        self._rarity = np.array([lexical.rarity(term) for term in vocabulary], np.float32)

    def shares(self, question: str, rows: NDArray[np.int32]) -> NDArray[np.float32]:
        """Return the share of each passage's title that stands in the question, its words by their rarity.

        Parameters
        ----------
        question
            The question.
        rows
            (n,) int32 passages.

        Returns
        -------
        ndarray
            (n,) float32 in [0, 1]; 0 where there is no title.
        """
        asked = np.zeros(self._rarity.shape[0], np.float32)
        known = [self._vocabulary[term] for term in lexical_tokens(question) if term in self._vocabulary]
        if not known:
            return np.zeros(rows.shape[0], np.float32)
        asked[known] = self._rarity[known]
        positions, owner = gather_rows(self._indptr, rows, 0)
        terms = self._terms[positions]
        held = np.bincount(owner, asked[terms], rows.shape[0])
        whole = np.bincount(owner, self._rarity[terms], rows.shape[0])
        shares: NDArray[np.float32] = (held / np.maximum(whole, 1e-9)).astype(np.float32)
        return shares
