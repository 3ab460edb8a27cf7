"""Changes of a graph schema: a type added, a name mapped to a type, and what tells two versions apart."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from ytrag_core.errors import SchemaError
from ytrag_core.schema.model import (
    TYPE_KINDS,
    AttributeType,
    EntityType,
    GraphSchema,
    RelationType,
    TypeKind,
    type_key,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ytrag_core.schema.model import SchemaType
    from ytrag_core.schema.proposals import Candidate

__all__ = ["Decision", "Difference", "apply_decisions", "difference", "new_names"]

_FIELDS: dict[TypeKind, str] = {
    "entity": "entity_types",
    "relation": "relation_types",
    "attribute": "attribute_types",
}
_MAKERS: dict[TypeKind, type[EntityType] | type[RelationType] | type[AttributeType]] = {
    "entity": EntityType,
    "relation": RelationType,
    "attribute": AttributeType,
}


@dataclass(frozen=True, slots=True)
class Decision:
    """What was decided about one name.

    Attributes
    ----------
    outcome : {"add", "alias", "reject"}
        The name becomes a type, becomes another name of the type `target`, or is none.
    kind
        `entity`, `relation` or `attribute`.
    name
        The name.
    description
        Of the new type; empty otherwise.
    target
        The type that an alias means; empty otherwise.
    similarity
        Cosine to the nearest type when it was decided; None where nobody looked.
    candidate
        What spoke for it; None where nothing was proposed.
    """

    outcome: Literal["add", "alias", "reject"]
    kind: TypeKind
    name: str
    description: str = ""
    target: str = ""
    similarity: float | None = None
    candidate: Candidate | None = None

    def to_json(self) -> dict[str, Any]:
        """Return the form that is kept in the history."""
        found: dict[str, Any] = {"outcome": self.outcome, "kind": self.kind, "name": self.name}
        if self.target:
            found["target"] = self.target
        if self.similarity is not None:
            found["similarity"] = self.similarity
        if self.candidate is not None:
            found |= support_json(self.candidate)
        return found


def support_json(candidate: Candidate) -> dict[str, Any]:
    """Return what speaks for a proposed type, in JSON values."""
    return {
        "confidence": round(candidate.confidence, 4),
        "n_chunks": candidate.n_chunks,
        "n_documents": candidate.n_documents,
        "evidence": [
            {"document_id": one.document_id, "chunk_id": one.chunk_id, "text": one.text}
            for one in candidate.evidence
        ],
    }


def apply_decisions(schema: GraphSchema, decisions: Iterable[Decision]) -> GraphSchema:
    """Return the schema after some decisions, taken in their order; rejections change nothing.

    Raises
    ------
    SchemaError
        If a name that is added is there already, or an alias's target is not there.
    """
    types: dict[TypeKind, list[SchemaType]] = {kind: list(schema.types(kind)) for kind in TYPE_KINDS}
    rows = {
        (kind, type_key(name)): row
        for kind, listed in types.items()
        for row, part in enumerate(listed)
        for name in (part.name, *part.aliases)
    }
    for decision in decisions:
        if decision.outcome == "reject":
            continue
        kind, key, listed = decision.kind, type_key(decision.name), types[decision.kind]
        known = rows.get((kind, key))
        if known is not None:
            raise SchemaError(
                f"{kind} type {decision.name!r} is there already, as {listed[known].name!r}; "
                "nothing is to be done"
            )
        if decision.outcome == "add":
            rows[kind, key] = len(listed)
            listed.append(_MAKERS[kind](name=decision.name, description=decision.description))
            continue
        row = rows.get((kind, type_key(decision.target)))
        if row is None:
            raise SchemaError(
                f"{decision.name!r} was to be another name of {kind} type {decision.target!r}, "
                f"which schema {schema.name!r} does not have; add that one first"
            )
        rows[kind, key] = row
        listed[row] = listed[row].model_copy(update={"aliases": (*listed[row].aliases, decision.name)})
    fields = {_FIELDS[kind]: tuple(listed) for kind, listed in types.items()}
    changed = schema.model_copy(update=fields)
    # What was computed from the old types must not come along, and the whole is checked once more.
    return GraphSchema.model_validate(changed.model_dump(mode="json"))


def new_names(older: GraphSchema, newer: GraphSchema) -> list[tuple[TypeKind, str]]:
    """Return the names, aliases included, that the newer schema knows and the older does not."""
    return [
        (kind, name)
        for kind in TYPE_KINDS
        for part in newer.types(kind)
        for name in (part.name, *part.aliases)
        if older.find(kind, name) is None
    ]


@dataclass(frozen=True, slots=True)
class Difference:
    """One thing that tells two schemas apart.

    Attributes
    ----------
    change : {"added", "removed", "changed"}
    kind
        `entity`, `relation` or `attribute`; `schema` for its own name, language and description.
    name
        The type, or the field of the schema.
    fields
        Of a changed type: field -> (older value, newer value).
    """

    change: Literal["added", "removed", "changed"]
    kind: str
    name: str
    fields: dict[str, tuple[Any, Any]]

    def to_json(self) -> dict[str, Any]:
        """Return its JSON form."""
        shown: dict[str, Any] = {"change": self.change, "kind": self.kind, "name": self.name}
        if self.fields:
            shown["fields"] = {name: {"from": one, "to": two} for name, (one, two) in self.fields.items()}
        return shown


def difference(older: GraphSchema, newer: GraphSchema) -> list[Difference]:
    """Return what the newer schema has more, less and otherwise, in the order of its kinds and types.

    Parameters
    ----------
    older, newer
        Two schemas; types are matched by name, whatever its case.
    """
    found = [
        Difference("changed", "schema", field, {field: (getattr(older, field), getattr(newer, field))})
        for field in ("name", "language", "description")
        if getattr(older, field) != getattr(newer, field)
    ]
    for kind in TYPE_KINDS:
        before = {type_key(part.name): part for part in older.types(kind)}
        after = {type_key(part.name): part for part in newer.types(kind)}
        for key, part in after.items():
            former = before.get(key)
            if former is None:
                found.append(Difference("added", kind, part.name, {}))
            elif former != part:
                found.append(Difference("changed", kind, part.name, _fields(former, part)))
        found += [
            Difference("removed", kind, part.name, {}) for key, part in before.items() if key not in after
        ]
    return found


def _fields(older: SchemaType, newer: SchemaType) -> dict[str, tuple[Any, Any]]:
    one, two = older.model_dump(mode="json"), newer.model_dump(mode="json")
    names = dict.fromkeys([*one, *two])
    return {name: (one.get(name), two.get(name)) for name in names if one.get(name) != two.get(name)}
