"""What an extractor says about one chunk."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["EntityMention", "Extraction"]


@dataclass(frozen=True, slots=True)
class EntityMention:
    """An entity as a chunk names it.

    Attributes
    ----------
    name
        The surface form.
    type
        A type name of the schema, or empty where none is known.
    aliases
        Other surface forms that the chunk itself states for it.
    """

    name: str
    type: str = ""
    aliases: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Extraction:
    """Entities, triples and attributes that one chunk states.

    Attributes
    ----------
    chunk_id
        The chunk.
    entities
        Mentioned entities, in order of appearance.
    triples
        (head, relation, tail) surface forms; none of the three is empty.
    attributes
        (entity, attribute, value) surface forms: the value becomes a shared attribute node.
    malformed
        What looked like a triple and was not one, each with its reason, kept for the report.
    """

    chunk_id: str
    entities: tuple[EntityMention, ...] = ()
    triples: tuple[tuple[str, str, str], ...] = ()
    attributes: tuple[tuple[str, str, str], ...] = ()
    malformed: tuple[tuple[str, str], ...] = ()
