"""Extraction from English text by capitals, closed word lists and the words in between."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ytrag_core.documents.sentences import split_sentences
from ytrag_core.extraction.kinds import kind_by_opening, kind_of
from ytrag_core.extraction.mentions import Mention, find_mentions, title_pattern
from ytrag_core.extraction.model import Extraction
from ytrag_core.extraction.names import tidy_name
from ytrag_core.extraction.registry import Registry
from ytrag_core.extraction.words import BEFORE_PLACES, FUNCTION_WORDS, PREPOSITIONS, PRONOUNS, VERBS

if TYPE_CHECKING:
    from ytrag_core.documents.model import Chunk

__all__ = ["ALIAS", "MENTIONED", "extract_english"]

MENTIONED = "mentioned with"
ALIAS = "also known as"

_LONGEST_RELATION = 6
_WORD = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*")
_INNER_CAPITAL = re.compile(r"(?<=[\w,;] )[^\W\d_a-z][\w'’-]+")
_BRACKETS = re.compile(r"\([^()]*\)|\[[^\[\]]*\]")
_CLAUSE = re.compile(r"[,;:—()]|\s[-–]\s")
_ACRONYM = re.compile(r"[A-Z][A-Za-z]?[A-Z.&]{1,8}s?")
_COORDINATION = re.compile(r"\s*(?:,|/|&|(?:, ?)?(?:and|or)(?: the)?|, the)\s*")
_ATTACHES = frozenset({"of", "in", "near", "who", "which", "whose", "the", "a", "an"})
_PERSONAL = frozenset({"he", "she", "they", "his", "her", "their"})
_IMPERSONAL = frozenset({"it", "its", "the", "this", "these", "there"})
_GENERIC = frozenset(
    {"university", "college", "museum", "church", "company", "party", "council", "army", "school"}
)
_NO_LEAD = PRONOUNS | {"and", "or", "but", "the", "a", "an", "s"}
_NO_TRAIL = frozenset({"the", "a", "an", "and", "or", "his", "her", "its", "their", "called", "named"})


@dataclass(slots=True)
class _Sentence:
    """How far a sentence has been read.

    Attributes
    ----------
    start
        Where it starts in the chunk.
    subject, subject_end
        The entity it is about and where its mention (or the pronoun for it) ends.
    previous, previous_name
        The last named mention and its entity.
    reached
        Where the last mention of any kind ended.
    relation
        The words that led to the last name.
    """

    start: int
    subject: str
    subject_end: int
    previous: Mention | None = None
    previous_name: str = ""
    reached: int = 0
    relation: str = ""


def extract_english(chunk: Chunk) -> Extraction:
    """Return the names of a chunk and how its sentences link them.

    Parameters
    ----------
    chunk
        A passage in English, or in another language with capitals.
    """
    return _Extractor(chunk).run()


class _Extractor:
    def __init__(self, chunk: Chunk) -> None:
        self.chunk = chunk
        self.text = chunk.text
        title = tidy_name(chunk.title)
        self.names = Registry(title, kind_of(title) or kind_by_opening(chunk.text))
        self.triples: dict[tuple[str, str, str], None] = {}
        self.attributes: dict[tuple[str, str, str], None] = {}
        self.subject = ""
        self.is_on_title = bool(title) and (
            chunk.start == 0 or self.names.title_base.lower() in self.text.lower()
        )

    def run(self) -> Extraction:
        names, text = self.names, self.text
        if names.title:
            if names.title_base != names.title and not names.title_base.isdigit():
                self.triples[names.title, ALIAS, names.title_base] = None
            names.add_alias(names.title, " ".join(self.chunk.title.split()))
        title_words = {word.lower() for word in _WORD.findall(self.chunk.title) if word[0].isupper()}
        inner = {word.lower() for word in _INNER_CAPITAL.findall(text)}
        known = frozenset((inner | title_words) - FUNCTION_WORDS)
        pattern = title_pattern(names.title_base)
        for start, end in split_sentences(text):
            mentions = find_mentions(text, start, end, known, pattern)
            if mentions:
                self._read(start, mentions)
        return Extraction(
            chunk_id=self.chunk.id,
            entities=names.entities(),
            triples=tuple(self.triples),
            attributes=tuple(self.attributes),
        )

    def _read(self, start: int, mentions: list[Mention]) -> None:
        self._adopt_full_title(mentions[0])
        sentence = _Sentence(start, *self._find_subject(start, mentions), reached=start)
        for mention in mentions:
            if mention.kind in {"date", "quantity"}:
                self._add_attribute(sentence, mention)
            else:
                self._add_name(sentence, mention)
            sentence.reached = mention.end
        if sentence.subject in self.names:
            self.subject = sentence.subject

    def _adopt_full_title(self, first: Mention) -> None:
        """Let the longer name that opens the chunk mean the title: Nora Bergliot Ibsen, of Nora Ibsen."""
        names = self.names
        short, full = names.title_base.split(), first.name.split()
        if first.start > 2 or len(short) < 2 or len(full) <= len(short) or short[0] != full[0]:
            return
        if set(short) <= set(full) and kind_of(first.name) in {"", "person"}:
            names.add_alias(names.title, first.name)

    def _find_subject(self, start: int, mentions: list[Mention]) -> tuple[str, int]:
        """Return what a sentence is about and where its mention ends; the chunk's topic where unsaid."""
        topic = self.names.title if self.is_on_title or not self.subject else self.subject
        opening = _WORD.match(self.text, start)
        if opening is not None and opening.end() <= mentions[0].start:
            word = opening[0].lower()
            if word in _PERSONAL:
                is_person = self.names.kind(self.subject) == "person"
                return (self.subject if is_person else topic), opening.end()
            if word in _IMPERSONAL and len(self.text[start : mentions[0].start].split()) > 1:
                return topic, opening.end()
        for mention in mentions:
            if mention.kind in {"date", "quantity"}:
                continue
            words = self.text[start : mention.start].split()
            if len(words) > 12 or not VERBS.isdisjoint(words):
                break
            if not words or words[-1].lower().strip('("“') not in PREPOSITIONS:
                return self.names.resolve(mention.name), mention.end
        return topic, start

    def _add_name(self, sentence: _Sentence, mention: Mention) -> None:
        names, previous = self.names, sentence.previous
        if previous is not None and self._is_alias(previous, mention):
            names.add_alias(sentence.previous_name, mention.name)
            self._add_triple(sentence.previous_name, ALIAS, mention.name)
            return
        name = names.resolve(mention.name)
        if name.lower() in _GENERIC:
            name = names.latest_with(name.lower())
            if not name:
                return
        before = self.text[max(sentence.start, mention.start - 12) : mention.start]
        names.add(name, "work" if mention.kind == "work" else kind_of(name, before))
        if name != sentence.subject:
            self._link(sentence, mention, name)
        sentence.previous, sentence.previous_name = mention, name

    def _is_alias(self, previous: Mention, mention: Mention) -> bool:
        """Tell whether a mention stands in brackets behind a name of which it is the acronym."""
        if self.text[previous.end : mention.start].strip() != "(":
            return False
        letters = [letter.lower() for letter in mention.name if letter.isalpha()]
        initials = [word[0].lower() for word in _WORD.findall(previous.name)]
        is_acronym = _ACRONYM.fullmatch(mention.name) is not None and len(initials) > 1
        return is_acronym and letters[:1] == initials[:1]

    def _link(self, sentence: _Sentence, mention: Mention, name: str) -> None:
        if sentence.previous is not None and self._link_to_previous(
            sentence, sentence.previous, mention, name
        ):
            return
        sentence.relation = self._leading_words(sentence, mention)
        self._add_triple(sentence.subject, sentence.relation, name)

    def _link_to_previous(self, sentence: _Sentence, previous: Mention, mention: Mention, name: str) -> bool:
        """Link a name to the one before it; return whether that is all there is to say."""
        gap = self.text[previous.end : mention.start]
        if sentence.relation and _COORDINATION.fullmatch(gap):
            if gap.strip() == "," and sentence.relation.rsplit(" ", 1)[-1] in BEFORE_PLACES:
                self._add_triple(sentence.previous_name, "in", name)
            self._add_triple(sentence.subject, sentence.relation, name)
            return True
        words = gap.replace(",", " ").split()
        lead = words[0].lower() if words else ""
        if (
            lead not in _ATTACHES
            or len(words) > _LONGEST_RELATION
            or sentence.previous_name == sentence.subject
        ):
            return False
        self._add_triple(sentence.previous_name, _short(gap), name)
        return lead not in {"in", "near"}

    def _leading_words(self, sentence: _Sentence, mention: Mention) -> str:
        """Return the words between the last mention, or the subject, and this one."""
        begin = max(sentence.subject_end, sentence.reached)
        if begin > mention.start:
            begin = max(sentence.start, sentence.reached)
        return _short(self.text[begin : mention.start])

    def _add_triple(self, head: str, relation: str, tail: str) -> None:
        if head and head.lower() != tail.lower():
            self.names.add(head)
            self.triples[head, relation or MENTIONED, tail] = None

    def _add_attribute(self, sentence: _Sentence, mention: Mention) -> None:
        owner = sentence.subject
        previous = sentence.previous
        if previous is not None and self.text[previous.end : mention.start].lstrip().startswith("("):
            owner = sentence.previous_name
        if owner:
            relation = self._leading_words(sentence, mention) or mention.kind
            self.attributes[self.names.add(owner), relation, mention.name] = None


def _short(gap: str) -> str:
    """Return the words that lead up to a name: all of a short gap, else those of its last clause."""
    plain = _BRACKETS.sub(" ", gap)
    words = _WORD.findall(plain)
    if len(words) > _LONGEST_RELATION:
        words = (_WORD.findall(_CLAUSE.split(plain)[-1]) or words)[-_LONGEST_RELATION:]
    first, last = 0, len(words)
    while first < last and words[first].lower() in _NO_LEAD:
        first += 1
    while first < last and words[last - 1].lower() in _NO_TRAIL:
        last -= 1
    return " ".join(words[first:last]).lower()
