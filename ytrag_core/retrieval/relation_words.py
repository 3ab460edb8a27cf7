"""Words of the question that relations have: what it asks about its names, letter by letter."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING

import numpy as np

from ytrag_core.graph.normalise import relation_text
from ytrag_core.retrieval.lexical import LexicalIndex, lexical_tokens

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from ytrag_core.retrieval.mentions import Mention

__all__ = ["AskedWords", "RelationWords", "relation_texts"]

_PLACES = 64
"""Bits of a mask; the words of a question beyond them are left out."""
_COMPARED = 256
"""Most relations compared with a mention, of those made of its words only and of those with more."""
_UNKNOWN_SHARE = 0.5
_ROUNDING = 1e-3
_REMEMBERED = 4096


def relation_texts(names: Sequence[str]) -> list[str]:
    """Return relations as words; what `RelationWords` indexes."""
    return [relation_text(name) for name in names]


@dataclass(frozen=True, slots=True, eq=False)
class AskedWords:
    """The words of one question that are words of relations.

    Attributes
    ----------
    relation_words
        (n_relations,) uint64, which of them each relation has, a bit each.
    places
        (n_words,) uint64, where each of them stands in the question, a bit each.
    weight
        (n_words,) float32 inverse document frequency among relations.
    asked
        What all places together weigh, and half of the words that no relation has: where a question says
        "wife" and a relation is called "married", its words tell less.
    agreement
        (n_relations,) float32 in [0, 1]: F1 of the words of a relation and those of the question, by weight.
    """

    relation_words: NDArray[np.uint64]
    places: NDArray[np.uint64]
    weight: NDArray[np.float32]
    asked: float
    agreement: NDArray[np.float32]


class RelationWords:
    """An index of the words of relations.

    Parameters
    ----------
    index
        Of `relation_texts`.
    names
        Of the relations, in the order of their ids.
    """

    def __init__(self, index: LexicalIndex, names: Sequence[str]) -> None:
        self._index = index
        self._names = names
        self._is_spoken = lru_cache(_REMEMBERED)(self._spoken)

    @cached_property
    def said(self) -> NDArray[np.float32]:
        """(n_relations,) float32, what the words of each relation weigh together."""
        return self._index.term_weights()

    def names_a_relation(self, mention: Mention) -> bool:
        """Return whether a mentioned entity is called like a relation ("hypernym"), which is then meant."""
        return self._is_spoken(mention.surface.casefold())

    def _spoken(self, text: str) -> bool:
        """Return whether a relation is called so, in full or by the last part of a path."""
        words = lexical_tokens(text)
        if not words or not all(map(self._index.knows, words)):
            return False
        holders = min((self._index.holders(word) for word in words), key=len)
        weight = np.float32(sum(self._index.rarity(word) for word in set(words)))
        of_no_other_word = holders[np.abs(self.said[holders] - weight) <= _ROUNDING * weight]
        compared = [*of_no_other_word[:_COMPARED].tolist(), *holders[:_COMPARED].tolist()]
        names: list[str] = [self._names[int(relation)] for relation in compared]
        parts: set[str] = {part for name in names for part in (name, name.rstrip("/").rsplit("/", 1)[-1])}
        return any(relation_text(part).casefold() == text for part in parts)

    def asked(self, text: str) -> AskedWords:
        """Return what a question, without the names it asks about, says in words of relations."""
        n = len(self._names)
        counts = Counter(self._index.known_words(text))
        masks, agreement = np.zeros(n, np.uint64), np.zeros(n, np.float32)
        places: list[int] = []
        weights: list[float] = []
        n_places = 0
        for word, count in counts.items():
            count = min(count, _PLACES - n_places)
            if not count:
                break
            relations, weight = self._index.holders(word), self._index.rarity(word)
            masks[relations] |= np.uint64(1 << len(weights))
            agreement[relations] += np.float32(weight)
            places.append(((1 << count) - 1) << n_places)
            weights.append(weight)
            n_places += count
        asked = sum(weight * place.bit_count() for weight, place in zip(weights, places, strict=True))
        asked += _UNKNOWN_SHARE * sum(map(self._index.rarity, self._index.unknown_words(text)))
        alike = np.flatnonzero(masks)
        agreement[alike] *= 2 / np.maximum(np.float32(asked) + self.said[alike], np.float32(1e-12))
        return AskedWords(masks, np.array(places, np.uint64), np.array(weights, np.float32), asked, agreement)
