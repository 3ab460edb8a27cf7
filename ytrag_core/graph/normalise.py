"""Keys by which two surface forms are the same thing."""

from __future__ import annotations

import re
import unicodedata

__all__ = [
    "EDGE",
    "FOLD",
    "PAIRS",
    "display_form",
    "entity_key",
    "relation_key",
    "relation_text",
    "undressed",
]

_SPACE = re.compile(r"\s+")
_DASHES = dict.fromkeys(map(ord, "‐‑‒–—−"), "-")
_APOSTROPHES = dict.fromkeys(map(ord, "’‘ʼ`´"), "'")
FOLD: dict[int, str | None] = {**_DASHES, **_APOSTROPHES, 0: None, 0x200B: None, 0xFEFF: None}
"""Code points that a key has in another form, or not at all."""
EDGE = " \t\n\"'“”„«»‹›「」『』《》〈〉.,;:!?…-_*。，；：！？、·"
"""Characters that a key neither begins nor ends with."""
PAIRS = {"(": ")", "[": "]", "{": "}", "（": "）", "【": "】", "<": ">"}
"""Brackets that a key is not wholly inside of."""
_RELATION_BREAK = re.compile(r"[\s/._]+")
_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])")


def entity_key(name: str) -> str:
    """Return the key under which `name` is resolved.

    Unicode NFKC and case folding, white space collapsed, typographic dashes and apostrophes made plain,
    surrounding quotes, brackets and punctuation removed. A name of nothing but punctuation keeps it
    ("!!!" is a band).

    Parameters
    ----------
    name
        A surface form.

    Returns
    -------
    str
        The key; empty only where `name` holds nothing but white space.
    """
    folded = unicodedata.normalize("NFKC", name).translate(FOLD)
    return undressed(_SPACE.sub(" ", folded).strip().casefold())


def undressed(whole: str) -> str:
    """Return a folded name without surrounding quotes, brackets and punctuation, unless nothing else is left.

    Parameters
    ----------
    whole
        A name as `entity_key` folds it, without white space at its ends.
    """
    stripped = whole.strip(EDGE)
    while len(stripped) > 2 and PAIRS.get(stripped[0]) == stripped[-1] and stripped[0] not in stripped[1:]:
        stripped = stripped[1:-1].strip(EDGE)
    return stripped or whole


def display_form(surface: str) -> str:
    """Return a surface form fit for one line of output."""
    return " ".join(surface.split())


def relation_key(relation: str) -> str:
    """Return the key under which a relation name is resolved: `entity_key` of its words."""
    return entity_key(relation.replace("_", " ")) or entity_key(relation)


def relation_text(relation: str) -> str:
    """Return a relation name as words, for the encoder and the reader.

    `/people/person/place_of_birth` and `placeOfBirth` become words; a word that only repeats the one
    before is dropped.
    """
    words: list[str] = []
    for word in _RELATION_BREAK.split(_CAMEL.sub(" ", relation)):
        if word and (not words or words[-1] != word):
            words.append(word)
    return " ".join(words) or relation
