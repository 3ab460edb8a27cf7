"""BM25 over passages or names, English and Chinese."""

from __future__ import annotations

import math
import re
import sys
import unicodedata
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING

import bm25s
import numpy as np
from bm25s.stopwords import STOPWORDS_EN

from ytrag_core.documents.segmentation import search_words

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

__all__ = ["LexicalIndex", "lexical_tokens", "question_tokens"]

_QUESTIONS = 64

_CJK = "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
_TOKEN = re.compile(rf"[{_CJK}]+|[^\W_{_CJK}]{{2,}}", re.UNICODE)
_LONGEST_WORD = 8
_HAS_CJK = re.compile(rf"[{_CJK}]")
_CHINESE = re.compile(rf"[{_CJK}]+")
_STOP = frozenset(STOPWORDS_EN)


def lexical_tokens(text: str) -> list[str]:
    """Return index terms: case-folded words of two letters or more without stop words, and Chinese words."""
    words: list[str] = []
    for match in _TOKEN.finditer(unicodedata.normalize("NFKC", text).casefold()):
        token = match.group()
        if _HAS_CJK.match(token):
            words.extend(search_words(token))
        elif token not in _STOP:
            words.append(token)
    return words


def _is_long_chinese(word: str) -> bool:
    return len(word) > 1 and _HAS_CJK.match(word) is not None


@lru_cache(_QUESTIONS)
def question_tokens(question: str) -> tuple[str, ...]:
    """Return the index terms of a question, which several routes ask for one after the other."""
    return tuple(lexical_tokens(question))


class LexicalIndex:
    """A BM25 index (Lucene's variant, k1 1.5, b 0.75) with dense scores.

    Parameters
    ----------
    model
        A `bm25s.BM25` that has indexed at least one term, or None when there is none.
    n_documents
        Number of indexed texts.
    """

    def __init__(self, model: bm25s.BM25 | None, n_documents: int) -> None:
        self._model = model
        self.n_documents = n_documents

    @classmethod
    def build(
        cls, texts: Sequence[str], *, progress: Callable[[int, int], None] | None = None
    ) -> LexicalIndex:
        """Index texts; their positions are the document ids."""
        tokens = []
        for position, text in enumerate(texts):
            tokens.append(list(map(sys.intern, lexical_tokens(text))))  # a word is held once, not a passage
            if progress is not None and position % 2000 == 0:
                progress(position, len(texts))
        if not any(tokens):
            return cls(None, len(texts))
        model = bm25s.BM25(method="lucene", k1=1.5, b=0.75)
        model.index(tokens, show_progress=False)
        return cls(model, len(texts))

    def scores(self, question: str) -> NDArray[np.float32]:
        """Return (n_documents,) float32 BM25 scores, zero where no term is shared."""
        return self._scores_of(question_tokens(question))

    def coverage(self, question: str) -> NDArray[np.float32]:
        """Return (n_documents,) float32 in [0, 1): how much of what the question says each text holds.

        BM25 over the sum of the inverse document frequencies of all the question's terms, those that no text
        holds among them: what a text would score that held every one of them without end. One that answers
        alone holds half of it and more; where several texts have to be put together, each holds little.
        """
        terms = question_tokens(question)
        attainable = sum(map(self.rarity, terms))
        scores = self._scores_of(terms)
        return scores / np.float32(attainable) if attainable > 0.0 else scores

    def known_words(self, text: str) -> list[str]:
        """Return the words of a text that some indexed text holds, each as often as it stands there.

        Chinese words of two characters or more count wherever they stand: where one ends is guessed from what
        follows ("隶属 于是" for "隶属于 是"), and of few words that are known few are found by chance.
        """
        words = [word for word in question_tokens(text) if self.knows(word) and not _is_long_chinese(word)]
        for run in _CHINESE.findall(unicodedata.normalize("NFKC", text)):
            for start in range(len(run) - 1):
                parts = (run[start:end] for end in range(start + 2, min(start + _LONGEST_WORD, len(run)) + 1))
                words.extend(filter(self.knows, parts))
        return words

    def unknown_words(self, text: str) -> list[str]:
        """Return the words of a text that no indexed text holds; Chinese ones are left out."""
        return [word for word in question_tokens(text) if not self.knows(word) and not _HAS_CJK.match(word)]

    def rarity(self, term: str) -> float:
        """Return the inverse document frequency of a term, as Lucene's BM25 counts it."""
        n_holding = self.holders(term).shape[0]
        return math.log(1.0 + (self.n_documents - n_holding + 0.5) / (n_holding + 0.5))

    def holders(self, term: str) -> NDArray[np.int32]:
        """Return the texts that hold a term, int32."""
        if self._model is None or (position := self._model.vocab_dict.get(term)) is None:
            return np.empty(0, np.int32)
        indptr, indices = self._model.scores["indptr"], self._model.scores["indices"]
        rows: NDArray[np.int32] = indices[indptr[position] : indptr[position + 1]].astype(np.int32)
        return rows

    def numbers(self, terms: Sequence[str]) -> NDArray[np.int32]:
        """Return the numbers of those terms that any text holds, int32, in their order."""
        vocabulary = {} if self._model is None else self._model.vocab_dict
        return np.array([vocabulary[term] for term in terms if term in vocabulary], np.int32)

    @cached_property
    def rarities(self) -> NDArray[np.float32]:
        """(n_terms,) float32: the rarity of each term by its number."""
        if self._model is None:
            return np.empty(0, np.float32)
        n_holding: NDArray[np.int64] = np.diff(self._model.scores["indptr"])
        return np.log1p((self.n_documents - n_holding + 0.5) / (n_holding + 0.5)).astype(np.float32)

    def term_weights(self) -> NDArray[np.float32]:
        """Return (n_documents,) float32, the sum of the rarities of the terms of each text."""
        if self._model is None:
            return np.zeros(self.n_documents, np.float32)
        indices, n_holding = self._model.scores["indices"], np.diff(self._model.scores["indptr"])
        rarity = np.log1p((self.n_documents - n_holding + 0.5) / (n_holding + 0.5))
        weights = np.bincount(indices, np.repeat(rarity, n_holding), self.n_documents)
        return weights.astype(np.float32)

    def _scores_of(self, terms: Sequence[str]) -> NDArray[np.float32]:
        known = [term for term in terms if self.knows(term)]
        if self._model is None or not known:
            return np.zeros(self.n_documents, np.float32)
        scores: NDArray[np.float32] = self._model.get_scores(known).astype(np.float32, copy=False)
        return scores

    def knows(self, token: str) -> bool:
        """Return whether any document holds this term."""
        return self._model is not None and token in self._model.vocab_dict

    def save(self, folder: Path) -> None:
        """Write the index as plain NumPy arrays."""
        if self._model is not None:
            self._model.save(folder, show_progress=False)

    @classmethod
    def load(cls, folder: Path, n_documents: int) -> LexicalIndex:
        """Open a saved index, memory-mapped; a folder that does not exist is an index without terms."""
        if not folder.is_dir():
            return cls(None, n_documents)
        model = bm25s.BM25.load(folder, mmap=True)
        # A plain view: every slice of a memmap is a Python object that costs a microsecond to make.
        for part, values in model.scores.items():
            if isinstance(values, np.ndarray):
                model.scores[part] = values.view(np.ndarray)
        return cls(model, n_documents)
