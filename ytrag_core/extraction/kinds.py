"""What an English name stands for, where its words or its neighbours tell."""

from __future__ import annotations

import re

from ytrag_core.extraction.words import (
    EVENT_WORDS,
    GIVEN_NAMES,
    HONORIFICS,
    NATURE_WORDS,
    ORGANISATION_WORDS,
    PLACE_WORDS,
    PLACES,
    STRUCTURE_WORDS,
)

__all__ = ["kind_by_opening", "kind_of"]

_BY_HEAD = (
    (EVENT_WORDS, "event"),
    (ORGANISATION_WORDS, "organisation"),
    (NATURE_WORDS, "natural feature"),
    (PLACE_WORDS, "place"),
    (STRUCTURE_WORDS, "structure"),
)
_NATURE_FIRST = frozenset({"lake", "mount", "cape", "isle"})
_INITIAL = re.compile(r"[A-Z]\.$")
_PERSON = re.compile(r"\((?:[^()]{0,40};\s*)?(?:born|b\.|\d{4}\s?[–-])|\bwas born\b|^\W*(?:He|She)\b")


def kind_of(name: str, before: str = "") -> str:
    """Return the schema type of a name: person, place, organisation and so on, or empty where unknown.

    Parameters
    ----------
    name
        A tidied name.
    before
        The text that leads up to it.
    """
    if name in PLACES:
        return "place"
    words = name.split()
    if len(words) == 1:
        if name in GIVEN_NAMES:
            return "person"
    elif words:
        last = words[-1].lower()
        head = words[words.index("of") - 1].lower() if "of" in words[1:] else last
        for candidates, kind in _BY_HEAD:
            if head in candidates or last in candidates:
                return kind
        first = words[0].lower().rstrip(".")
        if first in _NATURE_FIRST:
            return "natural feature"
        if words[0] in GIVEN_NAMES or first in HONORIFICS or _INITIAL.match(words[1]):
            return "person"
    is_located = before[-12:].endswith((" in ", " near ", "In "))
    return "place" if is_located and len(words) <= 3 and not any(map(str.isdigit, name)) else ""


def kind_by_opening(text: str) -> str:
    """Return `person` where a passage opens as one about a person does, else nothing.

    Parameters
    ----------
    text
        The passage.
    """
    return "person" if _PERSON.search(text, 0, 400) else ""
