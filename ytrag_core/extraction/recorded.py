"""Extractions that someone already has: a folder of passages and their OpenIE triples."""

from __future__ import annotations

import json
import re
from collections import Counter
from dataclasses import dataclass, field
from itertools import chain
from typing import TYPE_CHECKING, Any

from ytrag_core.documents.model import Document, Problem
from ytrag_core.documents.records import Record, document_from_record, read_records, record_id
from ytrag_core.documents.spaces import BREAKS
from ytrag_core.documents.text import clean_text
from ytrag_core.errors import DocumentError
from ytrag_core.extraction.model import EntityMention, Extraction

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

__all__ = ["RecordedSource", "read_openie"]

_LAYOUT = "corpus.jsonl {id, title, text} and openie.jsonl {passage_id, entities, triples}"
_LONGEST_MALFORMED = 500
_INVISIBLE: dict[int, None] = dict.fromkeys((0x200B, 0xFEFF))
# What `_surface` changes wherever it stands: white space other than spaces, the invisible, lone surrogates.
_UNCLEAN = re.compile(f"[{BREAKS}\u200b\ufeff\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class RecordedSource:
    """Passages with the extractions recorded for them.

    Attributes
    ----------
    documents
        The passages, in the file's order; each is one chunk, called by its own id.
    extractions
        By passage id; a passage without one is absent.
    problems
        Lines, passages and triples that were set aside.
    n_malformed
        Malformed triples in all.
    n_without_extraction
        Passages for which no extraction is recorded.
    """

    documents: list[Document]
    extractions: dict[str, Extraction]
    problems: list[Problem]
    n_malformed: int
    n_without_extraction: int


def read_openie(folder: Path) -> RecordedSource:
    """Read a folder that holds passages and their recorded OpenIE output.

    Parameters
    ----------
    folder
        Holds `corpus.jsonl` with {id, title, text} and `openie.jsonl` with {passage_id, entities, triples,
        malformed_triples?, entity_types?}. An entity is a string or {name, type?}.

    Returns
    -------
    RecordedSource
        Everything usable; several lines on one passage are joined. About 300 bytes for a triple:
        relation names and mentions that lines have in common are held once.

    Raises
    ------
    DocumentError
        If the folder or one of its two files is missing.
    """
    corpus, openie = _expect(folder, "corpus.jsonl"), _expect(folder, "openie.jsonl")
    problems: list[Problem] = []
    documents = _read_passages(corpus, problems)
    known = {document.id for document in documents}
    extractions: dict[str, Extraction] = {}
    shared = _Shared()
    for record in read_records(openie):
        if isinstance(record, Problem):
            problems.append(record)
            continue
        extraction = _read_extraction(record, known, problems, shared)
        if extraction is not None:
            earlier = extractions.get(extraction.chunk_id)
            extractions[extraction.chunk_id] = extraction if earlier is None else _join(earlier, extraction)
    return RecordedSource(
        documents=documents,
        extractions=extractions,
        problems=problems,
        n_malformed=sum(len(extraction.malformed) for extraction in extractions.values()),
        n_without_extraction=len(documents) - len(extractions),
    )


def _expect(folder: Path, name: str) -> Path:
    if not folder.is_dir():
        found = "is a file" if folder.exists() else "does not exist"
        raise DocumentError(f"{folder} {found}; a folder with {_LAYOUT} was wanted")
    path = folder / name
    if not path.is_file():
        raise DocumentError(f"{folder} has no file {name}; a folder with {_LAYOUT} was wanted")
    return path


def _read_passages(path: Path, problems: list[Problem]) -> list[Document]:
    passages: dict[str, Document] = {}
    for record in read_records(path):
        outcome = document_from_record(record) if isinstance(record, Record) else record
        if isinstance(outcome, Problem):
            problems.append(outcome)
        elif not outcome.has_record_id:
            problems.append(Problem(outcome.source, "the field id is missing; recorded triples refer to it"))
        elif outcome.id in passages:
            first = passages[outcome.id].source
            problems.append(Problem(outcome.source, f"the id {outcome.id!r} was already used at {first}"))
        else:
            passages[outcome.id] = outcome
    return list(passages.values())


@dataclass(slots=True)
class _Tally:
    """What one line holds that cannot be used."""

    malformed: list[tuple[str, str]] = field(default_factory=list)
    others: dict[str, int] = field(default_factory=dict)

    def count(self, reason: str) -> None:
        self.others[reason] = self.others.get(reason, 0) + 1

    def problem(self, source: str) -> Problem | None:
        if not self.malformed and not self.others:
            return None
        parts = []
        if self.malformed:
            noun = "triple" if len(self.malformed) == 1 else "triples"
            reasons = ", ".join(f"{count} x {reason}" for reason, count in _counted(self.malformed))
            parts.append(f"{len(self.malformed)} malformed {noun} set aside ({reasons})")
        parts.extend(f"{count} x {reason}" for reason, count in self.others.items())
        return Problem(source, "; ".join(parts))


class _Shared:
    """Relation names and mentions that lines have in common, each held once."""

    def __init__(self) -> None:
        self._relations: dict[str, str] = {}
        self._mentions: dict[tuple[str, str], EntityMention] = {}

    def mention(self, name: str, kind: str) -> EntityMention:
        known = self._mentions.get((name, kind))
        if known is None:
            known = self._mentions[name, kind] = EntityMention(name, kind)
        return known

    def triples(self, parts: list[str]) -> tuple[tuple[str, str, str], ...]:
        """Return heads, relations and tails, which follow each other, as triples without repeats."""
        relations = parts[1::3]
        each = map(self._relations.setdefault, relations, relations)
        return tuple(dict.fromkeys(zip(parts[0::3], each, parts[2::3], strict=True)))


def _counted(malformed: Iterable[tuple[str, str]]) -> list[tuple[str, int]]:
    return list(Counter(reason for _, reason in malformed).items())


def _read_extraction(
    record: Record, known: set[str], problems: list[Problem], shared: _Shared
) -> Extraction | None:
    fields, source = record.fields, record.source
    try:
        passage_id = record_id(fields.get("passage_id"))
    except ValueError as error:
        problems.append(Problem(source, f"the field passage_id: {error}"))
        return None
    if passage_id is None:
        problems.append(Problem(source, "the field passage_id is missing"))
        return None
    if passage_id not in known:
        problems.append(Problem(source, f"passage_id {passage_id!r} is no passage of corpus.jsonl"))
        return None
    tally = _Tally()
    extraction = Extraction(
        chunk_id=passage_id,
        entities=_read_entities(fields, tally, shared),
        triples=_read_triples(fields, tally, shared),
        malformed=tuple(tally.malformed),
    )
    problem = tally.problem(source)
    if problem is not None:
        problems.append(problem)
    return extraction


def _list_field(fields: Mapping[str, Any], name: str, tally: _Tally) -> list[Any]:
    value = fields.get(name)
    if value is None:
        return []
    if not isinstance(value, list):
        tally.count(f"the field {name} is no array")
        return []
    return value


def _read_entities(fields: Mapping[str, Any], tally: _Tally, shared: _Shared) -> tuple[EntityMention, ...]:
    types = fields.get("entity_types")
    if types is not None and not isinstance(types, dict):
        tally.count("the field entity_types is no object")
    known_types = types if isinstance(types, dict) else {}
    values = _list_field(fields, "entities", tally)
    if not known_types and _are_surfaces(values):
        return tuple(shared.mention(name, "") for name in dict.fromkeys(values))
    mentions: dict[str, EntityMention] = {}
    for value in values:
        given = value if isinstance(value, dict) else {"name": value}
        raw = given.get("name")
        name = _surface(raw) if isinstance(raw, str) else ""
        if not name:
            tally.count("malformed entity (a non-empty name was wanted)")
            continue
        kind = given.get("type") or known_types.get(raw)
        mention = shared.mention(name, _surface(kind) if isinstance(kind, str) else "")
        if name not in mentions or (mention.type and not mentions[name].type):
            mentions[name] = mention
    return tuple(mentions.values())


def _read_triples(
    fields: Mapping[str, Any], tally: _Tally, shared: _Shared
) -> tuple[tuple[str, str, str], ...]:
    values = _list_field(fields, "triples", tally)
    parts = _clean_parts(values)
    if parts is None:
        parts = []
        for value in values:
            triple = _triple(value)
            if isinstance(triple, str):
                tally.malformed.append((_shown(value), triple))
            else:
                parts += triple
    for value in _list_field(fields, "malformed_triples", tally):
        outcome = _triple(value)
        reason = outcome if isinstance(outcome, str) else "recorded as malformed"
        tally.malformed.append((_shown(value), reason))
    return shared.triples(parts)


def _clean_parts(values: list[Any]) -> list[str] | None:
    """Return the parts of triples one after the other, or None where one is malformed or to be cleaned."""
    if set(map(type, values)) != {list} or set(map(len, values)) != {3}:
        return None
    parts = list(chain.from_iterable(values))
    return parts if _are_surfaces(parts) else None


def _are_surfaces(values: list[Any]) -> bool:
    """Return whether all values, at least one, are strings that `_surface` would leave as they are."""
    try:
        joined = "\0".join(values)
    except TypeError:
        return False
    return (
        joined.count("\0") == len(values) - 1
        and joined[:1] not in ("", "\0", " ")
        and joined[-1] not in "\0 "
        and not any(pair in joined for pair in ("  ", "\0\0", "\0 ", " \0"))
        and _UNCLEAN.search(joined) is None
    )


def _triple(value: object) -> tuple[str, str, str] | str:
    """Return the triple, or the reason why the value is none."""
    if not isinstance(value, list):
        return "not an array"
    if len(value) != 3:
        return f"{len(value)} {'part' if len(value) == 1 else 'parts'} instead of 3"
    if not all(isinstance(part, str) for part in value):
        return "a part is no string"
    head, relation, tail = map(_surface, value)
    if not (head and relation and tail):
        return "an empty part"
    return head, relation, tail


def _surface(text: str) -> str:
    return " ".join(clean_text(text).translate(_INVISIBLE).split())


def _shown(value: object) -> str:
    return clean_text(json.dumps(value, ensure_ascii=False))[:_LONGEST_MALFORMED]


def _join(first: Extraction, second: Extraction) -> Extraction:
    mentions: dict[str, EntityMention] = {}
    for mention in first.entities + second.entities:
        if mention.name not in mentions or (mention.type and not mentions[mention.name].type):
            mentions[mention.name] = mention
    return Extraction(
        chunk_id=first.chunk_id,
        entities=tuple(mentions.values()),
        triples=tuple(dict.fromkeys(first.triples + second.triples)),
        attributes=tuple(dict.fromkeys(first.attributes + second.attributes)),
        malformed=first.malformed + second.malformed,
    )
