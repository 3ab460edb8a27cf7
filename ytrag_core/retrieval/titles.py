"""Words of titles: how much of a passage's title stands in the question."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ytrag_core.kernels.gather import gather_rows
from ytrag_core.retrieval.lexical import lexical_tokens, question_tokens

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from ytrag_core.retrieval.lexical import LexicalIndex

__all__ = ["TitleIndex", "title_arrays"]


def title_arrays(titles: Sequence[str], lexical: LexicalIndex) -> dict[str, NDArray[np.generic]]:
    """Return the arrays of `titles.arrow`: `title_indptr`, (n + 1,) int64, and `title_terms`, int32.

    Parameters
    ----------
    titles
        Title of each passage, empty where it has none.
    lexical
        BM25 over the passages, titles included: it numbers the terms.
    """
    terms_of: dict[str, NDArray[np.int32]] = {"": np.empty(0, np.int32)}
    for title in titles:
        if title not in terms_of:
            terms_of[title] = np.unique(lexical.numbers(lexical_tokens(title)))
    rows = [terms_of[title] for title in titles]
    indptr = np.zeros(len(rows) + 1, np.int64)
    np.cumsum([row.shape[0] for row in rows], out=indptr[1:])
    return {"title_indptr": indptr, "title_terms": np.concatenate([*rows, terms_of[""]])}


class TitleIndex:
    """The terms of each passage's title and how rare they are.

    Parameters
    ----------
    arrays
        As `title_arrays` gives them.
    lexical
        The index that numbered the terms.
    """

    def __init__(self, arrays: Mapping[str, NDArray[Any]], lexical: LexicalIndex) -> None:
        self._indptr: NDArray[np.int64] = arrays["title_indptr"]
        self._terms: NDArray[np.int32] = arrays["title_terms"]
        self._lexical = lexical

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
        asked = self._lexical.numbers(question_tokens(question))
        positions, owner = gather_rows(self._indptr, rows, 0)
        terms = self._terms[positions]
        rarity = self._lexical.rarities[terms]
        whole = np.bincount(owner, rarity, rows.shape[0])
        is_asked = (terms == asked[:, None]).any(axis=0)
        held = np.bincount(owner, np.where(is_asked, rarity, 0.0), rows.shape[0])
        shares: NDArray[np.float32] = (held / np.maximum(whole, 1e-9)).astype(np.float32)
        return shares
