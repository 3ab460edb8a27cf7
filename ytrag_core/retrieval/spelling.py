"""Words of a question that no text knows, read as the nearest known word: slips, lost and added accents.

Nothing is stored for it: what a word may have been meant for is generated and looked up by hash, which costs
about a millisecond for a word of eight letters at any size, and nothing where all words are known.
"""

from __future__ import annotations

import unicodedata
from collections import defaultdict
from itertools import combinations
from typing import TYPE_CHECKING

from ytrag_core.retrieval.lexicon import question_units
from ytrag_core.retrieval.mentions import FUNCTION_WORDS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ytrag_core.retrieval.lexicon import Lexicon, Unit

__all__ = ["respell"]

_SHORTEST = 4
"""Of a shorter word too many others are one letter away; only its accents are looked at."""

_SHORTEST_PLAIN = 6
_LONGEST = 24
_MOST_WORDS = 8
_ALWAYS_READ = 2
_ALPHABETS = (
    "abcdefghijklmnopqrstuvwxyz",
    "абвгдеёжзийклмнопрстуфхцчшщъыьэюяіїєґ",
    "αβγδεζηθικλμνξοπρσςτυφχψω",
)
_ACCENTED = "áàâäãåāăąçćčďđéèêëēęěğíìîïīıłñńňóòôöõøōőřśşšșťţțúùûüūůűýÿźżž"  # letters of European names


def respell(text: str, lexicon: Lexicon) -> str:
    """Return a question with its unknown words replaced by known ones that differ in a letter or in accents.

    The first letter stays, or changes place with the second; of several words the one in most texts is
    taken. Where more than two words and more than half of all are unknown, the question is in another
    language or of another world, and stays as it is. So do function words, every word that any text holds,
    and every word in Chinese, Japanese and Korean. A word in lower case in a question that has capitals must
    be longer and keeps its last letter too: the "designed" of some text is no slip of "designer".

    Parameters
    ----------
    text
        The question.
    lexicon
        Knows the words of all texts.
    """
    words = [unit for unit in question_units(text) if unit.text.isalpha() and not unit.is_cjk]
    counts = lexicon.n_holding([unit.text for unit in words])
    unknown = [
        unit
        for unit, count in zip(words, counts, strict=True)
        if not count and unit.text not in FUNCTION_WORDS
    ]
    if not unknown or len(unknown) > max(_ALWAYS_READ, len(words) // 2):
        return text
    has_capitals = text != text.lower()
    for unit in reversed(unknown[:_MOST_WORDS]):
        is_plain = has_capitals and not text[unit.start].isupper()
        if is_plain and len(unit.text) < _SHORTEST_PLAIN:
            continue
        meant = _nearest(unit.text, lexicon, unit.text[-1] if is_plain else "")
        if meant:
            text = text[: unit.start] + _cased_as(text, unit, meant) + text[unit.end :]
    return text


def _nearest(word: str, lexicon: Lexicon, ending: str) -> str | None:
    """Return the known word with an ending that an unknown one was meant for."""
    if len(word) > _LONGEST:
        return None
    variants = [
        variant
        for variant in dict.fromkeys(_variants(word))
        if variant.endswith(ending) and variant and _begins_alike(variant, word)
    ]
    known = [
        (-count, variant)
        for variant, count in zip(variants, lexicon.n_holding(variants), strict=True)
        if count
    ]
    return min(known)[1] if known else None


def _begins_alike(variant: str, word: str) -> bool:
    if variant[0] == word[0]:
        return True
    plain, wanted = _without_accents(variant[:2]), _without_accents(word[:2])
    return plain[:1] == wanted[:1] or plain == wanted[::-1]


def _variants(word: str) -> Iterator[str]:
    """Yield what differs from a word in its accents, or in one letter left out, swapped, changed or added."""
    yield _without_accents(word)
    changes = {place: _ACCENTS[letter] for place, letter in enumerate(word) if letter in _ACCENTS}
    for place, letters in changes.items():
        yield from _changed(word, place, letters)
    for one, other in combinations(changes, 2):
        for once in _changed(word, one, changes[one]):
            yield from _changed(once, other, changes[other])
    if len(word) < _SHORTEST:
        return
    alphabet = next((letters for letters in _ALPHABETS if any(letter in letters for letter in word)), "")
    for place in range(len(word)):
        yield word[:place] + word[place + 1 :]
        yield from _changed(word, place, alphabet)
        yield word[:place] + word[place : place + 2][::-1] + word[place + 2 :]
    for place in range(len(word) + 1):
        yield from (f"{word[:place]}{letter}{word[place:]}" for letter in alphabet)


def _changed(word: str, place: int, letters: Iterable[str]) -> Iterator[str]:
    return (f"{word[:place]}{letter}{word[place + 1 :]}" for letter in letters)


def _without_accents(word: str) -> str:
    if word.isascii():
        return word
    plain = unicodedata.normalize("NFD", word.translate(_NOT_COMPOSED))
    return unicodedata.normalize("NFC", "".join(mark for mark in plain if not unicodedata.combining(mark)))


def _accents() -> dict[str, str]:
    """Return the accented letters of each plain one."""
    letters: defaultdict[str, str] = defaultdict(str)
    for letter in _ACCENTED:
        letters[_without_accents(letter)] += letter
    return dict(letters)


def _cased_as(text: str, unit: Unit, word: str) -> str:
    """Return a word in capitals as the one that stood there."""
    surface = text[unit.start : unit.end]
    if surface.isupper() and len(surface) > 1:
        return word.upper()
    return word[0].upper() + word[1:] if surface[0].isupper() else word


_NOT_COMPOSED = str.maketrans("łđøı", "ldoi")
_ACCENTS = _accents()
