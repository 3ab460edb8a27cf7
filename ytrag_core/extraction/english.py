"""Extraction from English text by capitals, closed word lists and the words in between."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ytrag_core.documents.sentences import split_sentences
from ytrag_core.extraction.mentions import Mention, find_mentions, tidy_name
from ytrag_core.extraction.model import EntityMention, Extraction
from ytrag_core.extraction.words import (
    BEFORE_PLACES,
    EVENT_WORDS,
    FUNCTION_WORDS,
    GIVEN_NAMES,
    HONORIFICS,
    NAME_LINKS,
    ORGANISATION_WORDS,
    PLACE_WORDS,
    PLACES,
    PREPOSITIONS,
    PRONOUNS,
    VERBS,
)

if TYPE_CHECKING:
    from ytrag_core.documents.model import Chunk

__all__ = ["MENTIONED", "extract_english"]

MENTIONED = "mentioned with"

_WORD = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*")
_INNER_CAPITAL = re.compile(r"(?<=[\w,;] )[^\W\d_a-z][\w'’-]+")
_DISAMBIGUATION = re.compile(r"\s*[(（][^()（）]*[)）]\s*$")
_BRACKETS = re.compile(r"\([^()]*\)|\[[^\[\]]*\]")
_CLAUSE = re.compile(r"[,;:—()]|\s[-–]\s")
_LONGEST_RELATION = 6
_ACRONYM = re.compile(r"[A-Z][A-Za-z]?[A-Z.&]{1,8}s?")
_ATTACHES = frozenset({"of", "in", "near", "who", "which", "whose", "the", "a", "an"})
_GENERIC = frozenset(
    {"university", "college", "museum", "church", "company", "party", "council", "army", "school"}
)


@dataclass(slots=True)
class _Names:
    """Names of one chunk: which mention means which entity."""

    title: str
    entities: dict[str, EntityMention] = field(default_factory=dict)
    by_short: dict[str, str] = field(default_factory=dict)

    def resolve(self, name: str) -> str:
        return self.by_short.get(name.lower(), name)

    def add(self, name: str, kind: str = "") -> str:
        known = self.entities.get(name)
        if known is None:
            self.entities[name] = EntityMention(name, kind)
            self._learn_short_forms(name, kind)
        elif kind and not known.type:
            self.entities[name] = EntityMention(name, kind, known.aliases)
        return name

    def add_alias(self, name: str, alias: str) -> None:
        known = self.entities[name]
        if alias not in known.aliases and alias != name:
            self.entities[name] = EntityMention(name, known.type, (*known.aliases, alias))
            self.by_short[alias.lower()] = name

    def _learn_short_forms(self, name: str, kind: str) -> None:
        self.by_short[name.lower()] = name
        words = name.split()
        if kind in {"place", "organisation", "event", "work"} or not 2 <= len(words) <= 4:
            return
        if any(word[0].islower() and word not in NAME_LINKS for word in words):
            return
        surname = words[-1] if words[-1] not in {"Jr.", "Sr.", "II", "III"} else words[-2]
        if surname not in PLACES and len(surname) > 2 and surname[0].isupper():
            self.by_short.setdefault(surname.lower(), name)
        if kind == "person" or name == self.title:
            self.by_short.setdefault(words[0].lower(), name)


def extract_english(chunk: Chunk) -> Extraction:
    """Return the names of a chunk and how its sentences link them.

    Parameters
    ----------
    chunk
        A passage in English or another language in Latin, Greek or Cyrillic script.
    """
    return _Extractor(chunk).run()


class _Extractor:
    """The state of one chunk's extraction, sentence after sentence."""

    def __init__(self, chunk: Chunk) -> None:
        self.chunk = chunk
        self.text = chunk.text
        title = tidy_name(chunk.title)
        self.names = _Names(title)
        self.triples: dict[tuple[str, str, str], None] = {}
        self.attributes: dict[tuple[str, str, str], None] = {}
        self.subject = title

    def run(self) -> Extraction:
        text = self.text
        if self.names.title:
            self._add_title()
        inner = (
            frozenset(
                {word.lower() for word in _INNER_CAPITAL.findall(text)}
                | {word.lower() for word in _WORD.findall(self.chunk.title) if word[0].isupper()}
            )
            - FUNCTION_WORDS
        )
        for start, end in split_sentences(text):
            self._read_sentence(start, end, find_mentions(text, start, end, inner))
        return Extraction(
            chunk_id=self.chunk.id,
            entities=tuple(self.names.entities.values()),
            triples=tuple(self.triples),
            attributes=tuple(self.attributes),
        )

    def _add_title(self) -> None:
        title = self.names.title
        names = self.names
        names.add(title, self._title_kind())
        base = _DISAMBIGUATION.sub("", title)
        if base and base != title:
            names.add_alias(title, base)
            names._learn_short_forms(base, names.entities[title].type)
            names.by_short.update({key: title for key, name in names.by_short.items() if name == base})
            if not base.isdigit():
                self.triples[title, "also known as", base] = None
        raw = self.chunk.title.strip()
        if raw != title:
            names.add_alias(title, raw)

    def _title_kind(self) -> str:
        kind = _kind_of(_DISAMBIGUATION.sub("", self.names.title), "", 0, 0)
        if kind:
            return kind
        opening = self.text[:400]
        if re.search(r"\((?:born|b\.|\d{4}\s?[–-])|\bwas born\b|^\W*(?:He|She)\b", opening):
            return "person"
        return ""

    def _read_sentence(self, start: int, end: int, mentions: list[Mention]) -> None:
        if not mentions:
            return
        text, names = self.text, self.names
        subject, subject_end = self._find_subject(start, mentions)
        previous: Mention | None = None
        previous_name = ""
        relation = ""
        for mention in mentions:
            if mention.kind in {"date", "quantity"}:
                self._add_attribute(subject, subject_end, start, previous, previous_name, mention)
                continue
            name = names.resolve(mention.name)
            if name.lower() in _GENERIC:
                name = self._latest_with(name.lower())
                if not name:
                    continue
            kind = "work" if mention.kind == "work" else _kind_of(name, text, mention.start, mention.end)
            if previous is not None and self._is_alias(previous, mention):
                names.add_alias(names.add(previous_name), mention.name)
                self.triples[previous_name, "also known as", mention.name] = None
                continue
            name = names.add(name, kind)
            if name != subject or previous is None:
                relation = self._link(
                    subject, subject_end, start, previous, previous_name, mention, name, relation
                )
            previous, previous_name = mention, name
        if subject and subject in names.entities:
            self.subject = subject

    def _find_subject(self, start: int, mentions: list[Mention]) -> tuple[str, int]:
        """Return the sentence's subject and where it ends in the text."""
        text, names = self.text, self.names
        opening = _WORD.match(text, start)
        word = opening[0].lower() if opening else ""
        before_first = text[start : mentions[0].start]
        default = names.title or self.subject
        if opening is not None and mentions[0].start > start:
            if word in {"he", "she", "they", "his", "her", "their"}:
                return self._person() or default, opening.end()
            if word in {"it", "its"} or (word in {"the", "this", "these"} and len(before_first.split()) > 1):
                return default, opening.end()
        for mention in mentions:
            if mention.kind in {"name", "work"}:
                words = text[start : mention.start].split()
                if any(word in VERBS for word in words) or len(words) > 12:
                    break
                if words and words[-1].lower().strip('("“') in PREPOSITIONS:
                    continue
                return names.resolve(mention.name), mention.end
        return default, start

    def _person(self) -> str:
        """Return whom a personal pronoun means: the latest subject if it is a person, else the title."""
        known = self.names.entities.get(self.subject)
        if known is not None and known.type == "person":
            return self.subject
        return self.names.title or self.subject

    def _latest_with(self, word: str) -> str:
        candidates = [name for name in self.names.entities if word in name.lower().split()]
        return candidates[-1] if candidates else ""

    def _is_alias(self, previous: Mention, mention: Mention) -> bool:
        """Tell whether a mention stands in brackets behind a name of which it is the acronym."""
        between = self.text[previous.end : mention.start]
        if between not in {" (", "("} or self.text[mention.end : mention.end + 1] not in {")", ",", ";"}:
            return False
        letters = [letter.lower() for letter in mention.name if letter.isalpha()]
        initials = [word[0].lower() for word in _WORD.findall(previous.name)]
        return (
            _ACRONYM.fullmatch(mention.name) is not None and letters[:1] == initials[:1] and len(initials) > 1
        )

    def _link(
        self,
        subject: str,
        subject_end: int,
        start: int,
        previous: Mention | None,
        previous_name: str,
        mention: Mention,
        name: str,
        relation: str,
    ) -> str:
        text = self.text
        if previous is not None:
            gap = text[previous.end : mention.start]
            words = gap.split()
            if gap.strip() in {",", "and", "or", "&", ", and", ", or", "/", "and the", ", the"} and relation:
                if gap.strip() == "," and relation.rsplit(" ", 1)[-1] in BEFORE_PLACES:
                    self._add_triple(previous_name, "in", name)
                self._add_triple(subject, relation, name)
                return relation
            lead = words[1] if words and words[0] == "," and len(words) > 1 else (words[0] if words else "")
            if lead in _ATTACHES and previous_name != subject and len(words) <= _LONGEST_RELATION:
                self._add_triple(previous_name, _short(gap), name)
                if lead not in {"in", "near"}:
                    return relation
        begin = max(subject_end, previous.end if previous is not None else start)
        own = text[begin : mention.start] if begin < mention.start else text[start : mention.start]
        relation = _short(own)
        self._add_triple(subject, relation, name)
        return relation

    def _add_triple(self, head: str, relation: str, tail: str) -> None:
        if head and tail and head.lower() != tail.lower():
            self.names.add(head)
            self.triples[head, relation or MENTIONED, tail] = None

    def _add_attribute(
        self,
        subject: str,
        subject_end: int,
        start: int,
        previous: Mention | None,
        previous_name: str,
        mention: Mention,
    ) -> None:
        owner, begin = subject, max(subject_end, previous.end if previous is not None else start)
        if previous is not None and self.text[previous.end : mention.start].lstrip().startswith("("):
            owner = previous_name
        if not owner:
            return
        own = self.text[begin : mention.start] if begin < mention.start else self.text[start : mention.start]
        self.names.add(owner)
        self.attributes[owner, _short(own) or mention.kind, mention.name] = None


def _short(gap: str) -> str:
    """Return the words that lead up to a name: all of a short gap, else those of its last clause."""
    plain = _BRACKETS.sub(" ", gap)
    words = _WORD.findall(plain)
    if len(words) > _LONGEST_RELATION:
        words = _WORD.findall(_CLAUSE.split(plain)[-1]) or words
        words = words[-_LONGEST_RELATION:]
    while words and words[0].lower() in {"and", "or", "but", "the", "a", "an", "s"} | PRONOUNS:
        words = words[1:]
    while words and words[-1].lower() in {"the", "a", "an", "and", "or", "his", "her", "its", "their"}:
        words = words[:-1]
    return " ".join(words).lower()


def _kind_of(name: str, text: str, start: int, end: int) -> str:
    """Return person, place, organisation or event where the words or their neighbours tell, else nothing."""
    words = name.split()
    last = words[-1].lower().rstrip(".") if words else ""
    first = words[0].lower().rstrip(".") if words else ""
    if name in PLACES:
        return "place"
    if len(words) > 1:
        head = words[words.index("of") - 1].lower() if "of" in words[1:] else last
        if head in EVENT_WORDS or last in EVENT_WORDS:
            return "event"
        if head in ORGANISATION_WORDS or last in ORGANISATION_WORDS:
            return "organisation"
        if head in PLACE_WORDS or last in PLACE_WORDS or first in {"lake", "mount", "fort", "cape", "port"}:
            return "place"
        if words[0] in GIVEN_NAMES or first in HONORIFICS or re.match(r"[A-Z]\.$", words[1]):
            return "person"
    elif name in GIVEN_NAMES:
        return "person"
    before = text[max(0, start - 12) : start].split()
    if (
        before
        and before[-1] in {"in", "near"}
        and len(words) <= 3
        and not any(char.isdigit() for char in name)
    ):
        return "place"
    return ""
