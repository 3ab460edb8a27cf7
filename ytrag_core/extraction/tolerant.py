"""What a language model wrote, in whatever shape, as clean records: nested, flat, as pairs or as text."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from ytrag_core.documents.text import clean_text
from ytrag_core.extraction.model import EntityMention
from ytrag_core.extraction.shapes import (
    ATTRIBUTES,
    CONTAINERS,
    ENTITIES,
    KIND_WORDS,
    NO_TYPES,
    PARTS,
    TRIPLES,
    TYPES,
    VAGUE,
    WORDED_CONFIDENCE,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

__all__ = ["Records", "TypeKind", "TypeRecord", "read_records", "surface"]

TypeKind = Literal["entity", "relation", "attribute"]

_LONGEST = 300
_LONGEST_SHOWN = 300
_INVISIBLE: dict[int, None] = dict.fromkeys((0x200B, 0xFEFF))
_DEFAULT_CONFIDENCE = 0.5


def surface(value: object) -> str:
    """Return a name or value as one clean line; empty where it is neither text nor a number.

    Parameters
    ----------
    value
        What stands where a text belongs: a number counts as its digits, a list or an object of one text as
        that text.
    """
    if isinstance(value, bool) or value is None:
        return ""
    if isinstance(value, int | float):
        if isinstance(value, float) and not math.isfinite(value):
            return ""
        return str(int(value)) if value == int(value) and abs(value) < 1e15 else str(value)
    if isinstance(value, list):
        return surface(value[0]) if len(value) == 1 else ""
    if isinstance(value, dict):
        inner = _part(value, "name") if _has(value, "name") else _only(value)
        return "" if isinstance(inner, dict) else surface(inner)
    if not isinstance(value, str):
        return ""
    return " ".join(clean_text(value).translate(_INVISIBLE).split()).strip("`")


@dataclass(frozen=True, slots=True)
class TypeRecord:
    """A type that a model misses in the schema.

    Attributes
    ----------
    kind
        `entity`, `relation` or `attribute`.
    name, description
        As the model gave them; the description may be empty.
    confidence
        In [0, 1].
    """

    kind: TypeKind
    name: str
    description: str = ""
    confidence: float = _DEFAULT_CONFIDENCE


@dataclass(slots=True)
class Records:
    """What a reply holds.

    Attributes
    ----------
    entities
        With type and aliases as the model gave them.
    attributes
        (entity, attribute, value).
    triples
        (head, relation, tail).
    new_types
        Types that the model misses in the schema.
    malformed
        What was no record, as shown, with its reason.
    """

    entities: list[EntityMention] = field(default_factory=list)
    attributes: list[tuple[str, str, str]] = field(default_factory=list)
    triples: list[tuple[str, str, str]] = field(default_factory=list)
    new_types: list[TypeRecord] = field(default_factory=list)
    malformed: list[tuple[str, str]] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.entities) + len(self.attributes) + len(self.triples) + len(self.new_types)

    def refuse(self, value: object, reason: str) -> None:
        """Set something aside."""
        shown = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
        self.malformed.append((clean_text(shown)[:_LONGEST_SHOWN], reason))

    def add_entity(self, value: Any) -> None:
        """Take an entity: an object, a pair of name and type, or a name."""
        if (
            isinstance(value, list)
            and 1 <= len(value) <= 3
            and all(isinstance(part, str) for part in value[:2])
        ):
            value = {"name": value[0], "type": value[1] if len(value) > 1 else ""}
        fields = value if isinstance(value, dict) else {"name": value}
        name = surface(_part(fields, "name"))
        if not _is_name(name):
            self.refuse(value, _no_name("an entity's name", name))
            return
        aliases = [text for text in _texts(_part(fields, "aliases")) if _is_name(text) and text != name]
        kind = surface(_part(fields, "type"))
        kind = "" if _folded(kind) in NO_TYPES else kind
        self.entities.append(EntityMention(name, kind, tuple(dict.fromkeys(aliases))))
        nested = _part(fields, "attributes")
        if isinstance(nested, dict):
            for attribute, values in nested.items():
                self.add_attribute({"entity": name, "attribute": attribute, "value": values})

    def add_attribute(self, value: Any) -> None:
        """Take an attribute: an object or three texts; several values are several attributes."""
        if isinstance(value, list) and len(value) == 3:
            value = dict(zip(("entity", "attribute", "value"), value, strict=True))
        if not isinstance(value, dict):
            self.refuse(value, "no attribute: {entity, attribute, value} was wanted")
            return
        entity, attribute = surface(_part(value, "entity")), surface(_part(value, "attribute"))
        values = list(_values(_part(value, "value")))
        if not (_is_name(entity) and _is_name(attribute)) or not values:
            self.refuse(value, "an attribute without entity, name or value")
            return
        for text in values:
            if _is_name(text):
                self.attributes.append((entity, attribute, text))
            else:
                self.refuse(value, _no_name("an attribute's value", text))

    def add_triple(self, value: Any) -> None:
        """Take a triple: an object or three texts; several tails, or heads, are several triples."""
        if isinstance(value, list) and len(value) == 3:
            value = dict(zip(("head", "relation", "tail"), value, strict=True))
        if not isinstance(value, dict):
            n_parts = f"{len(value)} parts" if isinstance(value, list) else "no parts"
            self.refuse(value, f"no triple: head, relation and tail were wanted, {n_parts} arrived")
            return
        heads, tails = _values(_part(value, "head")), list(_values(_part(value, "tail")))
        relation = surface(_part(value, "relation"))
        pairs = [(head, tail) for head in heads for tail in tails]
        if not pairs or not _is_name(relation):
            self.refuse(value, "a triple with an empty part")
            return
        for head, tail in pairs:
            if _is_name(head) and _is_name(tail):
                self.triples.append((head, relation, tail))
            else:
                self.refuse(value, "a triple with an empty, vague or overlong part")

    def extend(self, other: Records) -> None:
        """Take all that another reply holds."""
        self.entities += other.entities
        self.attributes += other.attributes
        self.triples += other.triples
        self.new_types += other.new_types
        self.malformed += other.malformed

    def add_type(self, value: Any, kind: TypeKind | None = None) -> None:
        """Take a proposed type: an object, or its name where the kind is known."""
        fields = value if isinstance(value, dict) else {"name": value}
        named = KIND_WORDS.get(_folded(surface(_part(fields, "kind"))))
        stated = kind if named is None else named
        name = surface(_part(fields, "name"))
        if not stated or not _is_name(name):
            self.refuse(value, "no proposed type: {kind, name, description, confidence} was wanted")
            return
        description = surface(_part(fields, "description"))
        confidence = _confidence(_part(fields, "confidence"))
        self.new_types.append(TypeRecord(stated, name, description, confidence))

    def add_any(self, value: Any) -> None:
        """Take a record that stands alone, told by its fields."""
        if isinstance(value, list):
            (self.add_triple if len(value) == 3 else self.add_entity)(value)
        elif not isinstance(value, dict):
            self.refuse(value, "no record: an object was wanted")
        elif _has(value, "head") and _has(value, "tail"):
            self.add_triple(value)
        elif _has(value, "entity") and _has(value, "value"):
            self.add_attribute(value)
        elif "kind" in value and _has(value, "name"):
            self.add_type(value)
        elif _has(value, "name"):
            self.add_entity(value)
        else:
            self.refuse(value, "no record: its fields are none of an entity, attribute or relation")


def read_records(value: Any) -> Records | None:
    """Return the records of a reply's JSON, or None where it is nothing of the kind.

    Parameters
    ----------
    value
        An object with lists of entities, attributes and relations under any of their usual names; also one
        inside another, a bare list of records, and objects of lists where lists belong.
    """
    records = Records()
    if isinstance(value, list):
        for item in value:
            inner = read_records(item) if isinstance(item, dict) and _is_reply(item) else None
            if inner is None:
                records.add_any(item)
            else:
                records.extend(inner)
        return records if value and (len(records) or records.malformed) else None
    if not isinstance(value, dict):
        return None
    if not _is_reply(value):
        inner = _only(value)
        if isinstance(inner, dict | list) and not _has(value, "name"):
            return read_records(inner)
        records.add_any(value)
        return records if len(records) else None
    for key, content in value.items():
        name = _folded(key)
        if name in ENTITIES:
            _read_entities(records, content)
        elif name in ATTRIBUTES:
            _read_attributes(records, content)
        elif name in TRIPLES:
            for item in _items(content):
                records.add_triple(item)
        elif name in TYPES:
            _read_types(records, content)
    return records


def _read_entities(records: Records, content: Any) -> None:
    """Read a list of entities, or {name: type}, or {type: [names]}, or {name: {type, ...}}."""
    if isinstance(content, dict) and not _has(content, "name"):
        for key, item in content.items():
            if isinstance(item, list):
                for name in item:
                    records.add_entity(name if isinstance(name, dict) else {"name": name, "type": key})
            elif isinstance(item, dict):
                records.add_entity({"name": key, **item})
            else:
                records.add_entity({"name": key, "type": item})
        return
    for item in _items(content):
        records.add_entity(item)


def _read_attributes(records: Records, content: Any) -> None:
    """Read a list of attributes, or {entity: {attribute: value}}, or {entity: ["attribute: value"]}."""
    if not isinstance(content, dict) or _has(content, "value"):
        for item in _items(content):
            records.add_attribute(item)
        return
    for entity, stated in content.items():
        pairs: Iterable[tuple[Any, Any]]
        pairs = stated.items() if isinstance(stated, dict) else (_split_pair(line) for line in _items(stated))
        for attribute, value in pairs:
            records.add_attribute({"entity": entity, "attribute": attribute, "value": value})


def _read_types(records: Records, content: Any) -> None:
    """Read a list of proposed types, or {kind: [names]}."""
    if isinstance(content, dict) and not _has(content, "name"):
        for key, items in content.items():
            for item in _items(items):
                records.add_type(item, KIND_WORDS.get(_folded(key)))
        return
    for item in _items(content):
        records.add_type(item)


def _split_pair(line: Any) -> tuple[Any, Any]:
    if not isinstance(line, str):
        return None, None
    for mark in (":", "：", "=", "is "):
        attribute, found, value = line.partition(mark)
        if found:
            return attribute, value
    return None, None


def _folded(key: object) -> str:
    return str(key).strip().casefold().replace("-", "_").replace(" ", "_")


def _is_reply(value: Mapping[str, Any]) -> bool:
    """Tell the object that holds the lists from a record, which may have a list too."""
    names = {_folded(key) for key, item in value.items() if not isinstance(item, bool | int | float)}
    is_record = isinstance(_part(value, "name"), str) or (_has(value, "head") and _has(value, "tail"))
    return bool(names & CONTAINERS) and not is_record


def _part(fields: Mapping[str, Any], part: str) -> Any:
    """Return the value of a part of a record under the likeliest of its names."""
    folded = {_folded(key): value for key, value in fields.items()}
    return next((folded[name] for name in PARTS[part] if name in folded), None)


def _has(fields: Mapping[str, Any], part: str) -> bool:
    return any(_folded(key) in PARTS[part] for key in fields)


def _only(value: Mapping[str, Any]) -> Any:
    """Return the value of an object that has one field."""
    return next(iter(value.values())) if len(value) == 1 else None


def _items(value: Any) -> list[Any]:
    """Return a list; a value that stands where a list belongs is one item."""
    if value is None or value == "":
        return []
    if isinstance(value, str) and value.lstrip()[:1] in ("[", "{"):
        try:
            value = json.loads(value)
        except ValueError:
            return [value]
    return value if isinstance(value, list) else [value]


def _texts(value: Any) -> Iterator[str]:
    """Yield the names of a list, or of a text that lists them with commas."""
    for item in _items(value):
        if isinstance(item, str):
            yield from filter(None, map(surface, item.replace("，", ",").replace("、", ",").split(",")))
        elif text := surface(item):
            yield text


def _values(value: Any) -> Iterator[str]:
    """Yield the value of a part, or each of several."""
    if isinstance(value, list):
        for item in value:
            yield from _values(item)
    else:
        yield surface(value)


def _is_name(text: str) -> bool:
    return bool(text) and len(text) <= _LONGEST and text.casefold().strip(".") not in VAGUE


def _no_name(what: str, text: str) -> str:
    if len(text) > _LONGEST:
        return f"{what} has {len(text)} characters; at most {_LONGEST} were wanted"
    return f"{what} is {text!r}" if text else f"{what} is missing"


def _confidence(value: Any) -> float:
    """Return a share between 0 and 1: of a number, a percentage or a word."""
    if isinstance(value, str):
        text = value.strip().casefold()
        if text in WORDED_CONFIDENCE:
            return WORDED_CONFIDENCE[text]
        try:
            value = float(text.rstrip("%％")) / (100.0 if text[-1:] in ("%", "％") else 1.0)
        except ValueError:
            return _DEFAULT_CONFIDENCE
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return _DEFAULT_CONFIDENCE
    share = float(value)
    for scale in (1.0, 10.0, 100.0):
        if 0.0 <= share <= scale:
            return share / scale
    return _DEFAULT_CONFIDENCE
