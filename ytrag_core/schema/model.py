"""What a graph schema is: which entity types, relations and attributes a graph may hold."""

from __future__ import annotations

import hashlib
import unicodedata
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias, TypeVar

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    SerializerFunctionWrapHandler,
    model_serializer,
    model_validator,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Self

__all__ = [
    "TYPE_KINDS",
    "AttributeType",
    "EntityType",
    "GraphSchema",
    "RelationType",
    "SchemaType",
    "TypeKind",
    "type_key",
]

TypeKind = Literal["entity", "relation", "attribute"]
TYPE_KINDS: tuple[TypeKind, ...] = ("entity", "relation", "attribute")


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _named(text: str) -> str:
    name = _one_line(text)
    if not name:
        raise ValueError("an empty name; a name of at least one letter was wanted")
    return name


Name = Annotated[str, AfterValidator(_named)]
Line = Annotated[str, AfterValidator(_one_line)]


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    name: Name
    description: Line = ""
    aliases: tuple[Name, ...] = Field(default=(), strict=False)
    examples: tuple[Name, ...] = Field(default=(), strict=False)

    @model_serializer(mode="wrap")
    def _without_empty(self, dump: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Leave out lists that came later to the format where empty: old versions keep their hash."""
        fields: dict[str, Any] = dump(self)
        return {key: value for key, value in fields.items() if value or key not in ("aliases", "examples")}


class EntityType(_Part):
    """A kind of thing.

    Attributes
    ----------
    name
        Unique among the entity types, whatever the case.
    description
        What falls under it; read by people and by language models.
    aliases
        Other names of the same type: what is found under one of them counts as this type.
    examples
        A few names of things of this type.
    """


class RelationType(_Part):
    """A kind of link between two entities, read as "head name tail".

    Attributes
    ----------
    name
        Unique among the relation types, whatever the case.
    description
        What the link states.
    aliases
        Other names of the same relation, read in the same direction.
    examples
        A few statements of it.
    head, tail
        Names of the entity types that may stand there; empty allows every type.
    """

    head: tuple[Name, ...] = Field(default=(), strict=False)
    tail: tuple[Name, ...] = Field(default=(), strict=False)


class AttributeType(_Part):
    """A kind of value that an entity has: its node is shared by all entities with that value.

    Attributes
    ----------
    name
        Unique among the attribute types, whatever the case.
    description
        What the value states.
    aliases
        Other names of the same attribute.
    examples
        A few of its values.
    entity_types
        Names of the entity types that may have it; empty allows every type.
    """

    entity_types: tuple[Name, ...] = Field(default=(), strict=False)


SchemaType: TypeAlias = EntityType | RelationType | AttributeType
_AnyType = TypeVar("_AnyType", EntityType, RelationType, AttributeType)


class GraphSchema(BaseModel):
    """The types that bound an extraction.

    Attributes
    ----------
    name
        What the schema is called.
    language
        Language of its names, as a code like `en` or `zh`; empty where unknown.
    description
        What kind of text it is for.
    entity_types
        At least one.
    relation_types, attribute_types
        May be empty.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    name: Name
    language: Line = ""
    description: Line = ""
    entity_types: tuple[EntityType, ...] = Field(strict=False)
    relation_types: tuple[RelationType, ...] = Field(default=(), strict=False)
    attribute_types: tuple[AttributeType, ...] = Field(default=(), strict=False)

    @model_validator(mode="after")
    def _check_names(self) -> Self:
        if not self.entity_types:
            raise ValueError("it has no entity type; at least 1 was wanted")
        for kind in TYPE_KINDS:
            _refuse_repeats(f"{kind} type", (name for part in self.types(kind) for name in _names(part)))
        known = {kind.name for kind in self.entity_types}
        for relation in self.relation_types:
            _refuse_unknown(f"relation type {relation.name!r}, head", relation.head, known)
            _refuse_unknown(f"relation type {relation.name!r}, tail", relation.tail, known)
        for attribute in self.attribute_types:
            _refuse_unknown(f"attribute type {attribute.name!r}", attribute.entity_types, known)
        return self

    @cached_property
    def version(self) -> str:
        """Twelve hexadecimal digits that change whenever anything in the schema does."""
        return hashlib.sha256(self.model_dump_json().encode("utf-8")).hexdigest()[:12]

    def types(self, kind: TypeKind) -> tuple[SchemaType, ...]:
        """Return the types of one kind, in their order."""
        listed: dict[TypeKind, tuple[SchemaType, ...]] = {
            "entity": self.entity_types,
            "relation": self.relation_types,
            "attribute": self.attribute_types,
        }
        return listed[kind]

    def find(self, kind: TypeKind, name: str) -> SchemaType | None:
        """Return the type of that kind with that name or alias, whatever its case and spacing, or None."""
        index: dict[TypeKind, dict[str, Any]] = {
            "entity": self._entity_index,
            "relation": self._relation_index,
            "attribute": self._attribute_index,
        }
        found: SchemaType | None = index[kind].get(type_key(name))
        return found

    def canonical(self, kind: TypeKind, name: str) -> str:
        """Return the schema's own name of a type for any spelling or alias of it, else the name as given."""
        known = self.find(kind, name)
        return name if known is None else known.name

    def entity_type(self, name: str) -> EntityType | None:
        """Return the entity type of that name or alias, whatever its case and spacing, or None."""
        return self._entity_index.get(type_key(name))

    def relation_type(self, name: str) -> RelationType | None:
        """Return the relation type of that name or alias, whatever its case and spacing, or None."""
        return self._relation_index.get(type_key(name))

    def attribute_type(self, name: str) -> AttributeType | None:
        """Return the attribute type of that name or alias, whatever its case and spacing, or None."""
        return self._attribute_index.get(type_key(name))

    def allows(self, head_type: str, relation: str, tail_type: str) -> bool:
        """Return whether the relation may link entities of these types.

        Parameters
        ----------
        head_type, tail_type
            Names of entity types; empty, for an entity of unknown type, fits everywhere.
        relation
            Name of a relation type.

        Returns
        -------
        bool
            False also for a relation or an entity type that the schema does not know.
        """
        known = self.relation_type(relation)
        return known is not None and self._fits(head_type, known.head) and self._fits(tail_type, known.tail)

    def allows_attribute(self, entity_type: str, attribute: str) -> bool:
        """Return whether entities of that type may have the attribute; an empty type fits everywhere."""
        known = self.attribute_type(attribute)
        return known is not None and self._fits(entity_type, known.entity_types)

    def _fits(self, name: str, allowed: tuple[str, ...]) -> bool:
        if not name:
            return True
        kind = self.entity_type(name)
        return kind is not None and (not allowed or kind.name in allowed)

    @cached_property
    def _entity_index(self) -> dict[str, EntityType]:
        return _index(self.entity_types)

    @cached_property
    def _relation_index(self) -> dict[str, RelationType]:
        return _index(self.relation_types)

    @cached_property
    def _attribute_index(self) -> dict[str, AttributeType]:
        return _index(self.attribute_types)


def type_key(name: str) -> str:
    """Return what two spellings of a type name share, whatever their case, width, spaces and underscores."""
    folded = name if name.isascii() else unicodedata.normalize("NFKC", name)
    return _one_line(folded.replace("_", " ")).casefold()


def _names(part: SchemaType) -> tuple[str, ...]:
    return (part.name, *part.aliases)


def _index(parts: Sequence[_AnyType]) -> dict[str, _AnyType]:
    return {type_key(name): part for part in parts for name in _names(part)}


def _refuse_repeats(kind: str, names: Iterable[str]) -> None:
    seen: dict[str, str] = {}
    for name in names:
        earlier = seen.setdefault(type_key(name), name)
        if earlier is not name:
            raise ValueError(
                f"{kind} {name!r} repeats {earlier!r}; every name may stand once, whatever its case"
            )


def _refuse_unknown(where: str, names: tuple[str, ...], known: set[str]) -> None:
    for name in names:
        if name not in known:
            raise ValueError(
                f"{where}: {name!r} is no entity type of this schema; add it or correct the name"
            )
