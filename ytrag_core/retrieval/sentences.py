"""Which sentences of a passage state a fact, and which bear on the question: by the words they hold."""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import chain, count
from typing import TYPE_CHECKING, Any

import numpy as np

from ytrag_core.documents.sentences import split_sentences
from ytrag_core.kernels.sentences import telling_sentences
from ytrag_core.storage.arrays import ArraySpec

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray

__all__ = ["SENTENCE_SPEC", "Passages", "Span", "sentence_arrays", "sentences_that_tell"]

Span = tuple[int, int]
"""Offsets in characters in the text of a passage, end exclusive."""

_SCRIPTS = 0x2E80
"""From here on characters are written without spaces between words."""

_REMEMBERED = 1 << 14
_PART = re.compile(r"[\u3400-\u9fff\uf900-\ufaff]+|[^\W_\u3400-\u9fff\uf900-\ufaff]{2,}")

SENTENCE_SPEC = {
    "sentence_indptr": ArraySpec(np.dtype(np.int64), 1),
    "sentence_start": ArraySpec(np.dtype(np.int32), 1),
    "sentence_end": ArraySpec(np.dtype(np.int32), 1),
}
"""Arrays of the sentences of all passages: where each passage's begin, and their offsets in its text."""


@dataclass(frozen=True, slots=True, eq=False)
class Passages:
    """Texts and their sentences.

    Attributes
    ----------
    texts
        The texts.
    indptr
        (n_texts + 1,) int64, where the sentences of each begin.
    starts, ends
        (n_sentences,) int32 offsets in characters in the text of each, ascending.
    """

    texts: Sequence[str]
    indptr: NDArray[np.int64]
    starts: NDArray[np.int32]
    ends: NDArray[np.int32]

    @classmethod
    def split(cls, texts: Sequence[str]) -> Passages:
        """Return texts with their sentences."""
        return cls(texts, *sentence_arrays(texts).values())


def sentence_arrays(texts: Iterable[str]) -> dict[str, NDArray[Any]]:
    """Return the arrays of `SENTENCE_SPEC`."""
    counts, pieces = [0], [np.empty((0, 2), np.int32)]
    for text in texts:
        spans = np.array(split_sentences(text), np.int32).reshape(-1, 2)
        counts.append(len(spans))
        pieces.append(spans)
    spans = np.concatenate(pieces)
    return {
        "sentence_indptr": np.cumsum(counts, dtype=np.int64),
        "sentence_start": np.ascontiguousarray(spans[:, 0]),
        "sentence_end": np.ascontiguousarray(spans[:, 1]),
    }


def sentences_that_tell(
    passages: Passages,
    n_shown: int,
    triples: Sequence[tuple[str, str, str]],
    stated: Sequence[tuple[int, int]],
    words: Mapping[str, float],
) -> tuple[list[list[Span]], list[list[Span]]]:
    """Return the sentences that state facts, and those that bear on a question.

    Parameters
    ----------
    passages
        The passages.
    n_shown
        How many of them, from the first, are asked for sentences that bear on the question.
    triples
        Head, relation and tail of each.
    stated
        Positions of a triple and of a passage that states it.
    words
        The question's words, in lower case, and how much each tells.

    Returns
    -------
    stating
        For each of `stated` one sentence, two where both name both ends, or none. An end that is written out
        counts 1; where it is not, the share of its words counts half ("Nolan" for "Christopher Nolan"). The
        share of the relation's words counts half. Of equal sentences the first.
    bearing
        For each passage shown up to two sentences, ascending: by what the words count that they hold, plus as
        much as a word on average for each fact that they state, which may be one that the question cannot
        name.
    """
    needles: defaultdict[str, int] = defaultdict(count().__next__)
    number = needles.__getitem__
    parts = {name: list(map(number, _parts(name))) for name in dict.fromkeys(chain.from_iterable(triples))}
    whole = {name: [number(name.lower())] for triple in triples for name in triple[::2]}
    groups: list[list[int]] = []
    for head, relation, tail in triples:
        groups += (whole[head], whole[tail], parts[head], parts[tail], parts[relation])
    asked = list(map(number, words))
    pairs = np.array(stated, np.int32).reshape(-1, 2)
    text, text_indptr = _codes(list(map(_folded, passages.texts)))
    needle, needle_indptr = _codes(list(needles))
    indptr, starts, ends = passages.indptr, passages.starts, passages.ends
    stating, bearing = telling_sentences(
        text,
        text_indptr,
        indptr,
        starts,
        needle,
        needle_indptr,
        _letters(),
        np.array(list(chain.from_iterable(groups)), np.int32),
        np.cumsum([0, *map(len, groups)], dtype=np.int64),
        np.ascontiguousarray(pairs[:, 0]),
        np.ascontiguousarray(pairs[:, 1]),
        np.array(asked, np.int32),
        np.fromiter(words.values(), np.float64, len(words)),
        n_shown,
    )
    return (
        _spans(stating, indptr[pairs[:, 1]], starts, ends),
        _spans(bearing, indptr[:n_shown], starts, ends),
    )


@lru_cache(_REMEMBERED)
def _parts(name: str) -> tuple[str, ...]:
    """Return the words that a name is made of, in lower case."""
    return tuple(_PART.findall(name.lower()))


def _spans(
    sentences: NDArray[np.int32],
    first: NDArray[np.int64],
    starts: NDArray[np.int32],
    ends: NDArray[np.int32],
) -> list[list[Span]]:
    """Return the offsets of the sentences of each row that there are."""
    if not len(starts):
        return [[] for _ in sentences]
    rows, places = np.nonzero(sentences >= 0)
    at = first[rows] + sentences[rows, places]
    spans: list[list[Span]] = [[] for _ in sentences]
    for row, start, end in zip(rows.tolist(), starts[at].tolist(), ends[at].tolist(), strict=True):
        spans[row].append((start, end))
    return spans


def _folded(text: str) -> str:
    """Return a text in lower case, its offsets kept: a letter whose lower case is longer stays as it is."""
    folded = text.lower()
    if len(folded) == len(text):
        return folded
    return "".join(low if len(low := char.lower()) == 1 else char for char in text)


def _codes(texts: Sequence[str]) -> tuple[NDArray[np.uint32], NDArray[np.int64]]:
    """Return the code points of texts side by side, and where each begins."""
    indptr = np.zeros(len(texts) + 1, np.int64)
    np.cumsum(np.fromiter(map(len, texts), np.int64, len(texts)), out=indptr[1:])
    return np.frombuffer("".join(texts).encode("utf-32-le", "surrogatepass"), np.uint32), indptr


@cache
def _letters() -> NDArray[np.bool_]:
    """Return which characters spell words with spaces between them."""
    return np.array([chr(code).isalnum() for code in range(_SCRIPTS)], bool)
