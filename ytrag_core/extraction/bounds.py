"""A schema applied to what a language model said: its spelling of types, and what becomes of others."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Literal

from ytrag_core.schema.model import type_key
from ytrag_core.schema.proposals import TypeProposal

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from ytrag_core.documents.model import Chunk
    from ytrag_core.extraction.model import EntityMention, Extraction
    from ytrag_core.extraction.tolerant import TypeRecord
    from ytrag_core.schema.model import GraphSchema

__all__ = ["bounded", "proposals_of"]

_USED_CONFIDENCE = 0.5
"""Of a type that a model used without proposing it in words."""

_LONGEST_EVIDENCE = 240
_LONGEST_TYPE = 60


def bounded(
    extraction: Extraction, schema: GraphSchema | None, unknown: Literal["propose", "drop"]
) -> Extraction:
    """Return an extraction with the schema's spelling of its types.

    Parameters
    ----------
    extraction
        As the model said it. What is stored: a schema that grows later applies without asking again.
    schema
        The types in force; None leaves everything as it is.
    unknown
        `propose` keeps what is of other types, `drop` leaves out triples and attributes of other relations
        and attributes, and the other types of entities; the entities themselves stay.
    """
    if schema is None:
        return extraction
    dropped: list[tuple[str, str]] = []
    entities = tuple(_with_type(mention, schema, unknown) for mention in extraction.entities)
    triples = []
    for head, relation, tail in extraction.triples:
        known = schema.relation_type(relation)
        if known is not None:
            triples.append((head, known.name, tail))
        elif unknown == "propose" or schema.attribute_type(relation) is not None:
            triples.append((head, relation, tail))
        else:
            dropped.append((f"{head} | {relation} | {tail}", "a relation that the schema lacks"))
    attributes = []
    for entity, attribute, value in extraction.attributes:
        stated = schema.attribute_type(attribute)
        if stated is not None:
            attributes.append((entity, stated.name, value))
        elif unknown == "propose":
            attributes.append((entity, attribute, value))
        else:
            dropped.append((f"{entity} | {attribute} | {value}", "an attribute that the schema lacks"))
    return replace(
        extraction,
        entities=entities,
        triples=tuple(dict.fromkeys(triples)),
        attributes=tuple(dict.fromkeys(attributes)),
        malformed=(*extraction.malformed, *dropped),
    )


def _with_type(
    mention: EntityMention, schema: GraphSchema, unknown: Literal["propose", "drop"]
) -> EntityMention:
    known = schema.entity_type(mention.type) if mention.type else None
    if known is not None:
        return replace(mention, type=known.name)
    is_other = _knows(schema, "attribute", mention.type)
    return replace(mention, type="") if unknown == "drop" or is_other else mention


def proposals_of(
    chunk: Chunk, extraction: Extraction, stated: Iterable[TypeRecord], schema: GraphSchema | None
) -> list[TypeProposal]:
    """Return the types that a reply uses or proposes and the schema lacks, each once, with its evidence.

    Parameters
    ----------
    chunk
        The passage.
    extraction
        What the model said of it.
    stated
        Types that it proposed in words; only their descriptions and confidences are taken where it used them
        too, and those that it did not use are left out: there is no evidence for them.
    schema
        The types in force.
    """
    if schema is None:
        return []
    described = {(record.kind, type_key(record.name)): record for record in stated}
    found: dict[tuple[str, str], TypeProposal] = {}
    for kind, name, evidence in _used(extraction):
        key = (kind, type_key(name))
        if key in found or not name or len(name) > _LONGEST_TYPE or _knows(schema, kind, name):
            continue
        record = described.get(key)
        found[key] = TypeProposal(
            kind=kind,
            name=record.name if record is not None else name,
            description=record.description if record is not None else "",
            confidence=record.confidence if record is not None else _USED_CONFIDENCE,
            chunk_id=chunk.id,
            document_id=chunk.document_id,
            evidence=_quoted(chunk.text, evidence),
        )
    return list(found.values())


def _used(
    extraction: Extraction,
) -> Iterator[tuple[Literal["entity", "relation", "attribute"], str, tuple[str, ...]]]:
    for mention in extraction.entities:
        yield "entity", mention.type, (mention.name,)
    for triple in extraction.triples:
        yield "relation", triple[1], triple
    for attribute in extraction.attributes:
        yield "attribute", attribute[1], attribute


def _knows(schema: GraphSchema, kind: str, name: str) -> bool:
    if kind == "entity" and schema.entity_type(name) is not None:
        return True
    return schema.relation_type(name) is not None or schema.attribute_type(name) is not None


def _quoted(text: str, parts: Sequence[str]) -> str:
    """Return what was stated, and the words of the passage around its first name."""
    said = " | ".join(parts)
    at = text.find(parts[0])
    if at < 0:
        return said[:_LONGEST_EVIDENCE]
    room = max(0, _LONGEST_EVIDENCE - len(said) - 3)
    return f"{said} — {' '.join(text[max(0, at - room // 3) : at + room].split())}"[:_LONGEST_EVIDENCE]
