"""What could be better about a schema that is valid."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ytrag_core.schema.model import TYPE_KINDS, type_key

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ytrag_core.schema.model import GraphSchema

__all__ = ["advice"]

_MOST_NAMED = 5


def advice(schema: GraphSchema) -> list[str]:
    """Return what would make a schema serve better, one sentence each; empty where there is nothing to say.

    Parameters
    ----------
    schema
        Any schema.
    """
    told = []
    for kind in TYPE_KINDS:
        bare = [part.name for part in schema.types(kind) if not part.description]
        if bare:
            told.append(
                f"{len(bare)} {kind} types have no description ({_named(bare)}): a sentence that tells "
                "a type from its neighbours helps a language model, and finds what fits a passage"
            )
    used = {name for part in schema.relation_types for name in (*part.head, *part.tail)}
    if schema.relation_types and all(part.head and part.tail for part in schema.relation_types):
        idle = [part.name for part in schema.entity_types if part.name not in used]
        if idle:
            told.append(
                f"no relation reaches {_named(idle)}: add them to a head or a tail, or leave one empty"
            )
    names = {
        kind: {type_key(name) for part in schema.types(kind) for name in (part.name, *part.aliases)}
        for kind in TYPE_KINDS
    }
    both = sorted(names["relation"] & names["attribute"])
    if both:
        told.append(f"{_named(both)} are relation and attribute: the relation wins where a text states one")
    if not schema.relation_types:
        told.append("there is no relation type: only attributes and co-occurrence would link entities")
    if not schema.language:
        told.append("its language is not said: add language, for example en or zh")
    return told


def _named(names: Sequence[str]) -> str:
    more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
    return ", ".join(names[:_MOST_NAMED]) + more
