"""Extraction from Chinese text by dictionary names and the words in between."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ytrag_core.documents.sentences import split_sentences
from ytrag_core.extraction.chinese_names import find_chinese_mentions
from ytrag_core.extraction.model import EntityMention, Extraction

if TYPE_CHECKING:
    from ytrag_core.documents.model import Chunk
    from ytrag_core.extraction.mentions import Mention

__all__ = ["ALIAS", "MENTIONED", "extract_chinese"]

MENTIONED = "相关"
ALIAS = "又称"

_LONGEST_RELATION = 8
_WRAP = re.compile(r"(?<=[^\s。！？])\n(?=[^\s])")
_CLAUSE = re.compile(r"[，。；：！？、（）()「」“”《》·—\-－～／/\"\s]+")
_EDGE_PARTICLES = "的了着过地得之其及与和等也都并且而则又"
_TOPIC = re.compile(r"(?:他|她|它|该|本|此|这|其|全)[^，。；]{0,6}")
_DISAMBIGUATION = re.compile(r"\s*[(（][^()（）]*[)）]\s*$")
_COORDINATION = frozenset("、和与及或") | {"", "以及", "，"}
_PREPOSITIONS = frozenset("在由从于据为对因被向与")
_DOT = re.compile("[·‧・•]")


def extract_chinese(chunk: Chunk) -> Extraction:
    """Return the names of a chunk and how its sentences link them.

    Parameters
    ----------
    chunk
        A passage in Chinese; lines broken inside a sentence are joined first.
    """
    return _Extractor(chunk).run()


class _Extractor:
    def __init__(self, chunk: Chunk) -> None:
        self.chunk = chunk
        self.text = _WRAP.sub("", chunk.text)
        self.title = " ".join(chunk.title.split())
        self.base = _DISAMBIGUATION.sub("", self.title) or self.title
        self.entities: dict[str, EntityMention] = {}
        self.short: dict[str, str] = {}
        self.triples: dict[tuple[str, str, str], None] = {}
        self.attributes: dict[tuple[str, str, str], None] = {}
        self.subject = ""
        self.is_on_title = bool(self.title) and (chunk.start == 0 or self.base in self.text)

    def run(self) -> Extraction:
        if self.title:
            self._add(self.title, "")
            if self.base != self.title:
                self.entities[self.title] = EntityMention(self.title, "", (self.base,))
                self.short[self.base] = self.title
                self.triples[self.title, ALIAS, self.base] = None
            self._learn(self.base, self.title)
        for start, end in split_sentences(self.text):
            self._read(start, find_chinese_mentions(self.text, start, end, self._known()))
        return Extraction(
            chunk_id=self.chunk.id,
            entities=tuple(self.entities.values()),
            triples=tuple(self.triples),
            attributes=tuple(self.attributes),
        )

    def _add(self, name: str, kind: str) -> str:
        known = self.entities.get(name)
        if known is None:
            self.entities[name] = EntityMention(name, kind)
            if kind == "人物":
                self._learn(name, name)
        elif kind and not known.type:
            self.entities[name] = EntityMention(name, kind, known.aliases)
        return name

    def _learn(self, full: str, name: str) -> None:
        """Let the parts of a transliterated name, and the given name of a Chinese one, mean the person."""
        parts = _DOT.split(full)
        if len(parts) > 1:
            for part in (parts[-1], parts[0]):
                self.short.setdefault(part, name)
        elif len(full) == 3 and name != self.title:
            self.short.setdefault(full[1:], name)

    def _known(self) -> list[str]:
        return [name for name in {self.base, *self.short} if len(name) > 1]

    def _resolve(self, mention: Mention) -> str:
        if mention.name.lower() == self.base.lower():
            return self.title
        return self.short.get(mention.name, mention.name)

    def _read(self, start: int, mentions: list[Mention]) -> None:
        if not mentions:
            return
        subject, reached = self._find_subject(start, mentions)
        previous: Mention | None = None
        relation = ""
        for mention in mentions:
            between = self.text[max(reached, start) : mention.start]
            if mention.kind in {"date", "quantity"}:
                if subject:
                    label = "时间" if mention.kind == "date" else "数量"
                    self.attributes[self._add(subject, ""), _relation(between) or label, mention.name] = None
                reached = mention.end
                continue
            name = self._add(self._resolve(mention), mention.kind)
            if previous is not None and between.strip() in {"（", "("} and previous.kind == "人物":
                self.triples[self._resolve(previous), ALIAS, name] = None
            elif name != subject and subject:
                relation = self._link(subject, previous, mention, name, between, relation)
            previous, reached = mention, max(reached, mention.end)
        if subject in self.entities:
            self.subject = subject

    def _find_subject(self, start: int, mentions: list[Mention]) -> tuple[str, int]:
        """Return what a sentence is about and where its mention ends; the chunk's topic where unsaid."""
        topic = self.title if self.is_on_title or not self.subject else self.subject
        first = next((mention for mention in mentions if mention.kind not in {"date", "quantity"}), None)
        if _TOPIC.match(self.text, start):
            is_person = (
                self.text[start] in "他她"
                and self.entities.get(self.subject, EntityMention("")).type == "人物"
            )
            return (self.subject if is_person else topic), start + 1
        if first is None:
            return topic, start
        lead = self.text[start : first.start]
        if len(lead) <= 2 and lead not in _PREPOSITIONS:
            return self._resolve(first), first.end
        clause = _CLAUSE.split(lead)[-1]
        if not clause and lead:
            return self._resolve(first), first.end
        return topic or self._resolve(first), start

    def _link(
        self, subject: str, previous: Mention | None, mention: Mention, name: str, between: str, relation: str
    ) -> str:
        """Add the triples that lead to a name and return their relation."""
        plain = between.strip()
        before = self._resolve(previous) if previous is not None else ""
        if previous is not None and not plain and before != name and previous.kind == mention.kind == "地点":
            self.triples[name, "属于", before] = None
        if relation and previous is not None and plain in _COORDINATION:
            self.triples[self._add(subject, ""), relation, name] = None
            return relation
        if previous is not None and plain == "的" and before not in {subject, name}:
            self.triples[before, "的", name] = None
        relation = _relation(between)
        self.triples[self._add(subject, ""), relation or MENTIONED, name] = None
        return relation


def _relation(between: str) -> str:
    """Return the words that lead up to a name: the last clause, at most eight characters of it."""
    clause = next((part for part in reversed(_CLAUSE.split(between)) if part.strip(_EDGE_PARTICLES)), "")
    return clause.strip(_EDGE_PARTICLES)[-_LONGEST_RELATION:]
