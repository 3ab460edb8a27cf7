"""Sentences that state a fact or bear on a question, found by string searches in each passage."""

from __future__ import annotations

import re
from bisect import bisect_right
from functools import cached_property
from typing import TYPE_CHECKING

from ytrag_core.documents.sentences import split_sentences

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

__all__ = ["PassageSentences", "best_sentences", "stating_sentences"]

_CJK = "\u2e80"
_PART = re.compile(r"[\u3400-\u9fff\uf900-\ufaff]+|[^\W_\u3400-\u9fff\uf900-\ufaff]{2,}")
_PART_WEIGHT = 0.5
_RELATION_WEIGHT = 0.5
_MOST = 2
_WHOLE = 2.0


class PassageSentences:
    """A passage's sentences, and where words stand in them.

    Parameters
    ----------
    text
        The passage.
    """

    def __init__(self, text: str) -> None:
        self._text = text
        self._places: dict[str, tuple[int, ...]] = {}

    @cached_property
    def spans(self) -> list[tuple[int, int]]:
        """Offsets (start, end) of the sentences in the passage, ascending."""
        return split_sentences(self._text)

    @cached_property
    def _starts(self) -> list[int]:
        return [start for start, _ in self.spans]

    @cached_property
    def _folded(self) -> str:
        folded = self._text.lower()
        if len(folded) == len(self._text):
            return folded
        # A letter whose lower case is longer stays as it is: offsets are those of the text.
        return "".join(low if len(low := char.lower()) == 1 else char for char in self._text)

    def places(self, words: str) -> tuple[int, ...]:
        """Return the sentences that hold some words as they are but for their case, ascending.

        Parameters
        ----------
        words
            In lower case. Beside letters and digits of an alphabet no others may stand.
        """
        found = self._places.get(words)
        if found is None:
            at = self._folded.find(words) if words else -1
            found = self._places[words] = () if at < 0 else self._found(words, at)
        return found

    def _found(self, words: str, at: int) -> tuple[int, ...]:
        """Return the sentences that hold some words, which stand at `at` for the first time."""
        folded, starts, size = self._folded, self._starts, len(words)
        first, last = _is_letter(words[0]), _is_letter(words[-1])
        found: list[int] = []
        while at >= 0:
            end = at + size
            if not (
                (first and at and _is_letter(folded[at - 1]))
                or (last and end < len(folded) and _is_letter(folded[end]))
            ):
                sentence = bisect_right(starts, at) - 1
                if not found or sentence > found[-1]:
                    found.append(sentence)
            at = folded.find(words, end)
        return tuple(found)


def _is_letter(char: str) -> bool:
    return char < _CJK and char.isalnum()


def stating_sentences(passage: PassageSentences, head: str, relation: str, tail: str) -> list[int]:
    """Return the sentences that state a triple best, ascending; none where neither end is named.

    An end that is written out counts 1; where it is not, the share of its words counts half ("Nolan" for
    "Christopher Nolan"). The share of the relation's words counts half. Of equal sentences the first is
    taken, and a second one where both name both ends.

    Parameters
    ----------
    passage
        The passage.
    head, relation, tail
        The triple's names.
    """
    scores: dict[int, float] = {}
    for end in (head.lower(), tail.lower()):
        if not _count(scores, passage, [end], 1.0):
            _count(scores, passage, _PART.findall(end), _PART_WEIGHT)
    if not scores:
        return []
    named = dict(scores)
    _count(scores, passage, _PART.findall(relation.lower()), _RELATION_WEIGHT)
    best = max(scores[sentence] for sentence in named)
    chosen = sorted(sentence for sentence in named if scores[sentence] == best)
    n_shown = _MOST if named[chosen[0]] >= _WHOLE else 1
    return chosen[:n_shown]


def _count(scores: dict[int, float], passage: PassageSentences, words: Sequence[str], weight: float) -> bool:
    """Add to each sentence the share of some words that it holds; return whether there is any."""
    is_found = False
    for word in words:
        for sentence in passage.places(word):
            scores[sentence] = scores.get(sentence, 0.0) + weight / len(words)
            is_found = True
    return is_found


def best_sentences(
    passage: PassageSentences, weights: Mapping[str, float], stating: Iterable[int]
) -> list[int]:
    """Return the sentences that bear on a question, at most two, ascending.

    Parameters
    ----------
    passage
        The passage.
    weights
        The question's words, in lower case, and how much each tells.
    stating
        Sentences that state a fact found for the question, which may be one that the question cannot name;
        each time counts as much as a word on average.
    """
    if len(passage.spans) < _MOST:
        return list(range(len(passage.spans)))
    scores = [0.0] * len(passage.spans)
    for word, weight in weights.items():
        for sentence in passage.places(word):
            scores[sentence] += weight
    mean = sum(weights.values()) / max(len(weights), 1)
    for sentence in stating:
        scores[sentence] += mean
    best = max(scores)
    order = sorted(range(len(scores)), key=lambda sentence: (-scores[sentence], sentence))
    kept = [sentence for sentence in order[:_MOST] if best > 0.0 and 2 * scores[sentence] >= best]
    return sorted(kept or order[:1])
