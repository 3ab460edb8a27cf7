"""Whether two names may be one thing by how they are written, and how surely."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rapidfuzz.distance import DamerauLevenshtein

from ytrag_core.extraction.words import GIVEN_NAMES, NAME_LINKS
from ytrag_core.graph.forms import GENERATIONS, name_words
from ytrag_core.graph.normalise import entity_key

if TYPE_CHECKING:
    from ytrag_core.graph.forms import NameForm

__all__ = ["CLASSES", "Variant", "find_variant"]


@dataclass(frozen=True, slots=True)
class Variant:
    """How two names differ.

    Attributes
    ----------
    kind
        One of `CLASSES`.
    base
        How sure that alone is, in (0, 1).
    """

    kind: str
    base: float


CLASSES = {
    "known": "two names of one country, city or war",
    "spelling": "marks, accents and hyphens",
    "joined": "one word or two",
    "article": "an article",
    "title": "a title of a person",
    "company": "the legal form of a company",
    "area": "the word for a city or province",
    "plural": "the plural of a common noun",
    "order": "the family name first",
    "middle": "middle names or their initials",
    "typo": "one letter inside a long word",
    "acronym": "initials",
}
"""What each kind of difference is."""

_SURE, _LIKELY, _POSSIBLE, _FAIR, _FAINT = 0.95, 0.9, 0.78, 0.75, 0.6
_SHORT_SKELETON = 4
_SHORT_TYPO, _SHORTEST_NAME = 6, 8
_LONGEST_ACRONYM = 6
_LETTERS_AND_SPACES = frozenset("abcdefghijklmnopqrstuvwxyz ")
_MEANINGFUL = frozenset(
    {
        *("north", "south", "east", "west", "northern", "southern", "eastern", "western", "upper", "lower"),
        *("inner", "outer", "new", "old", "first", "second", "third", "male", "female", "men", "women"),
        *("king", "queen", "prince", "princess", "mr", "mrs"),
    }
)
_LIGHT = frozenset({"of", "the", "and", "for", "in", "on", "de", "la", "und", "du"})


def find_variant(first: NameForm, second: NameForm, *, are_persons: bool = False) -> Variant | None:
    """Return how two names of different keys differ, if they may be one thing at all.

    Parameters
    ----------
    first, second
        The names.
    are_persons
        Whether one of them is known to be a person.

    Returns
    -------
    Variant or None
        None where numbers, numerals, generations (`Jr.`), directions or any word that tells things apart
        differ. Chinese names differ by what they wear alone: another character is another name.
    """
    if first.core == second.core:
        return _same_core(first, second)
    if first.is_chinese or second.is_chinese:
        return None
    if len(first.words) < 2 or len(second.words) < 2:
        return _acronym(first, second) or _typo(first, second)
    if sorted(first.words) == sorted(second.words):
        return _order(first, second, are_persons=are_persons)
    return _middle(first, second, are_persons=are_persons) or _acronym(first, second) or _typo(first, second)


def _same_core(first: NameForm, second: NameForm) -> Variant | None:
    if first.dress == second.dress:
        return _spelling(first, second)
    kinds = {kind for kind, _ in {*first.dress} ^ {*second.dress}}
    if len(kinds) != 1 or len(first.core) < 2:
        return None
    (kind,) = kinds
    if any(kind == other for other, _ in first.dress) and any(kind == other for other, _ in second.dress):
        return None  # Doctor and Mrs., Inc. and Ltd., a province and its city: they differ by it
    if first.is_chinese:
        return Variant(kind, _LIKELY)
    if kind == "plural":
        are_common = first.is_common and second.is_common and first.n_core > 1
        return Variant(kind, _LIKELY) if are_common else None
    if first.is_common != second.is_common or _opens_small(first) != _opens_small(second):
        return None  # a charge and the poem about it
    if first.n_core > 1:
        return Variant(kind, _LIKELY if first.n_core == second.n_core else _FAINT)
    is_marked = kind == "article" and not first.is_common and not second.is_common
    return Variant(kind, _POSSIBLE if is_marked and len(first.core) > _SHORT_SKELETON else _FAINT)


def _opens_small(form: NameForm) -> bool:
    """Tell whether a name begins with a small letter, its article aside."""
    words = form.name.split()
    at = 1 if ("article", "the") in form.dress and len(words) > 1 else 0
    return words[at][0].islower()


def _spelling(first: NameForm, second: NameForm) -> Variant | None:
    if len(first.core) < 2 or first.core.isdigit():
        return None
    keys = entity_key(first.name), entity_key(second.name)
    only_spaces = set(keys[0] + keys[1]) <= _LETTERS_AND_SPACES
    if only_spaces and first.words != second.words:
        return Variant("joined", _POSSIBLE)
    has_accents = not (keys[0] + keys[1]).isascii() and not first.is_chinese
    if has_accents and len(first.core) <= _SHORT_SKELETON:
        return Variant("spelling", _POSSIBLE)
    if first.words != second.words and _digits(first.words) != _digits(second.words):
        return None  # "1 23" and "12 3"
    return Variant("spelling", _SURE)


def _digits(words: tuple[str, ...]) -> list[str]:
    return [word for word in words if word.isdigit()]


def _order(first: NameForm, second: NameForm, *, are_persons: bool) -> Variant | None:
    for one, other in ((first, second), (second, first)):
        family, comma, given = one.name.partition(",")
        inverted = name_words(entity_key(given)) + name_words(entity_key(family))
        if comma and inverted == other.words:
            is_person = are_persons or other.name.split()[0] in GIVEN_NAMES
            return Variant("order", _LIKELY if is_person else _FAINT)
    return None


def _middle(first: NameForm, second: NameForm, *, are_persons: bool) -> Variant | None:
    short, long = sorted((first, second), key=lambda form: len(form.tokens))
    a, b = short.tokens, long.tokens
    if a[0] != b[0] or len(a[0]) < 2 or len(a) < 2 or len(b) < 3:
        return None
    has_initial = any(len(word) == 1 for word in b[1:-1])
    if not (are_persons or has_initial or short.name.split()[0] in GIVEN_NAMES):
        return None
    if a[-1] in GENERATIONS or b[-1] in GENERATIONS:
        if a[-1] != b[-1] or len(a) < 3:
            return None
        a, b = a[:-1], b[:-1]
    if a[-1] != b[-1] or len(a[-1]) < 2 or not _is_plain_name(long):
        return None
    if any(word.isdigit() or word in _MEANINGFUL or word in GENERATIONS for word in (*a[1:-1], *b[1:-1])):
        return None
    middles = zip(a[1:-1], b[1:-1], strict=False)
    return Variant("middle", _FAIR) if all(_same_or_initial(*pair) for pair in middles) else None


def _is_plain_name(form: NameForm) -> bool:
    """Tell whether all words are capitalised, or link the parts of a name."""
    return "," not in form.name and all(
        not word[0].islower() or word in NAME_LINKS for word in form.name.split()
    )


def _same_or_initial(first: str, second: str) -> bool:
    return first == second or (1 in (len(first), len(second)) and first[0] == second[0])


def _typo(first: NameForm, second: NameForm) -> Variant | None:
    if len(first.words) != len(second.words) or first.is_common != second.is_common:
        return None
    differing = [pair for pair in zip(first.words, second.words, strict=True) if pair[0] != pair[1]]
    if len(differing) != 1:
        return None
    a, b = differing[0]
    if min(len(a), len(b)) < _SHORT_TYPO or len(first.core) < _SHORTEST_NAME or a[0] != b[0]:
        return None
    if {a, b} & _MEANINGFUL or any(map(str.isdigit, a + b)) or a[-1] != b[-1]:
        return None  # endings make adjectives, plurals and the other sex
    return Variant("typo", _FAINT) if DamerauLevenshtein.distance(a, b, score_cutoff=1) == 1 else None


def _acronym(first: NameForm, second: NameForm) -> Variant | None:
    short, long = sorted((first, second), key=lambda form: len(form.words))
    letters = short.words[0] if len(short.words) == 1 else ""
    if not 3 <= len(letters) <= _LONGEST_ACRONYM or short.name != short.name.upper() or long.is_common:
        return None
    initials = "".join(word[0] for word in long.words if word not in _LIGHT)
    everything = "".join(word[0] for word in long.words)
    return Variant("acronym", _POSSIBLE) if letters in {initials, everything} else None
