"""The entities of one chunk: which surface form means which of them."""

from __future__ import annotations

import re

from ytrag_core.extraction.model import EntityMention
from ytrag_core.extraction.words import NAME_LINKS, PLACES

__all__ = ["Registry"]

_DISAMBIGUATION = re.compile(r"\s*[(（][^()（）]*[)）]\s*$")
_SUFFIXES = frozenset({"Jr.", "Jr", "Sr.", "Sr", "II", "III", "IV"})
_IS_NO_PERSON = frozenset({"place", "natural feature", "structure", "organisation", "event", "work"})


class Registry:
    """Entities in order of appearance, found again by their short forms.

    Parameters
    ----------
    title
        The tidied title of the chunk's document; empty where there is none.
    kind
        Its type.
    """

    def __init__(self, title: str, kind: str) -> None:
        self.title = title
        self.title_base = _DISAMBIGUATION.sub("", title) or title
        self._entities: dict[str, EntityMention] = {}
        self._by_short: dict[str, str] = {}
        if title:
            self.add(title, kind)
            if self.title_base != title:
                self.add_alias(title, self.title_base)
                self._learn(self.title_base, title, kind)

    def __contains__(self, name: str) -> bool:
        return name in self._entities

    def entities(self) -> tuple[EntityMention, ...]:
        """Return all entities in order of appearance."""
        return tuple(self._entities.values())

    def kind(self, name: str) -> str:
        """Return the type of an entity, empty where it is unknown."""
        known = self._entities.get(name)
        return known.type if known is not None else ""

    def resolve(self, name: str) -> str:
        """Return the entity that a surface form means in this chunk, itself where it is a new one."""
        return self._by_short.get(name.lower(), name)

    def latest_with(self, word: str) -> str:
        """Return the entity named last of those with a word in their name, or nothing."""
        return next((name for name in reversed(self._entities) if word in name.lower().split()), "")

    def add(self, name: str, kind: str = "") -> str:
        """Note an entity, or its type where that was unknown, and return its name."""
        known = self._entities.get(name)
        if known is None:
            self._entities[name] = EntityMention(name, kind)
            self._by_short[name.lower()] = name
            self._learn(name, name, kind)
        elif kind and not known.type:
            self._entities[name] = EntityMention(name, kind, known.aliases)
        return name

    def add_alias(self, name: str, alias: str) -> None:
        """Note that an entity goes by another name too."""
        known = self._entities[name]
        if alias and alias != name and alias not in known.aliases:
            self._entities[name] = EntityMention(name, known.type, (*known.aliases, alias))
        self._by_short[alias.lower()] = name

    def _learn(self, full: str, name: str, kind: str) -> None:
        """Let the surname of a full name, and the title's first word, mean its entity."""
        words = full.split()
        if kind in _IS_NO_PERSON or not 2 <= len(words) <= 5:
            return
        if any(word[0].islower() and word not in NAME_LINKS for word in words):
            return
        surname = words[-2] if words[-1] in _SUFFIXES else words[-1]
        if len(surname) > 2 and surname[0].isupper() and surname not in PLACES:
            self._by_short.setdefault(surname.lower(), name)
        if kind == "person" and words[0] not in PLACES:
            self._by_short.setdefault(words[0].lower(), name)
