"""Extractions in the names of a schema: what was found under an alias counts as the type that it means."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ytrag_core.extraction.model import EntityMention, Extraction
    from ytrag_core.schema.model import GraphSchema

__all__ = ["CanonicalTypes"]


class CanonicalTypes:
    """Renames the types of extractions as a schema has them.

    Parameters
    ----------
    schema
        The schema in force; None leaves everything as it is.

    Notes
    -----
    Stored extractions keep the names that were found: when a name is mapped, or a mapping rolled back, the
    next build reads them anew and nothing is extracted again.
    """

    def __init__(self, schema: GraphSchema | None) -> None:
        self._schema = schema
        self._types: dict[str, str] = {}
        self._relations: dict[str, str] = {}
        self._attributes: dict[str, str] = {}

    def apply(self, extraction: Extraction) -> Extraction:
        """Return the extraction with entity types, relations and attributes in the schema's names.

        Parameters
        ----------
        extraction
            Any extraction; names that the schema does not know stay as they are.
        """
        if self._schema is None:
            return extraction
        return replace(
            extraction,
            entities=tuple(map(self._mention, extraction.entities)),
            triples=tuple((head, self.relation(name), tail) for head, name, tail in extraction.triples),
            attributes=tuple(
                (entity, self.attribute(name), value) for entity, name, value in extraction.attributes
            ),
        )

    def entity_type(self, name: str) -> str:
        """Return the schema's name of an entity type."""
        if self._schema is None or not name:
            return name
        known = self._types.get(name)
        if known is None:
            known = self._types[name] = self._schema.canonical("entity", name)
        return known

    def relation(self, name: str) -> str:
        """Return the schema's name of a relation, or of an attribute that is stated like one."""
        if self._schema is None:
            return name
        known = self._relations.get(name)
        if known is None:
            part = self._schema.find("relation", name) or self._schema.find("attribute", name)
            known = self._relations[name] = name if part is None else part.name
        return known

    def attribute(self, name: str) -> str:
        """Return the schema's name of an attribute."""
        if self._schema is None:
            return name
        known = self._attributes.get(name)
        if known is None:
            known = self._attributes[name] = self._schema.canonical("attribute", name)
        return known

    def _mention(self, mention: EntityMention) -> EntityMention:
        name = self.entity_type(mention.type)
        return mention if name == mention.type else replace(mention, type=name)
