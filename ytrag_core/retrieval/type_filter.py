"""Which entity types, relations and attributes a caller wants, as masks over entities and triples."""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ytrag_core.errors import QueryError
from ytrag_core.graph.normalise import relation_key, relation_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from ytrag_core.retrieval.view import SnapshotView

__all__ = ["TypeFilter", "wanted_entities", "wanted_triples"]

_NEAR = 0.6


@dataclass(frozen=True, slots=True)
class TypeFilter:
    """Types that a question is about, as a caller or a decomposition names them.

    Names are compared as keys: whatever their case, underscores, quotes and full-width letters.

    Attributes
    ----------
    entity_types
        Types of entities, for example `person`. A triple is of a type when one of its ends is.
    relations
        Names of relations, for example `born in`.
    attributes
        Names of relations whose tails are attribute values, for example `birth date`.
    hard
        Whether nothing else may be returned; else what is wanted only ranks higher.

    Notes
    -----
    A triple is wanted when it is of one of the relations or attributes (where any are named) and of one of
    the types (where any are named); a passage, when it states such a triple, or where types alone are named,
    when it mentions such an entity.
    """

    entity_types: tuple[str, ...] = ()
    relations: tuple[str, ...] = ()
    attributes: tuple[str, ...] = ()
    hard: bool = False

    def __post_init__(self) -> None:
        for part in ("entity_types", "relations", "attributes"):
            object.__setattr__(self, part, _names(part, getattr(self, part)))

    def __bool__(self) -> bool:
        return bool(self.entity_types or self.relations or self.attributes)

    def __str__(self) -> str:
        parts = (
            ("entity type", self.entity_types),
            ("relation", self.relations),
            ("attribute", self.attributes),
        )
        return ", ".join(f"{label} {' or '.join(names)}" for label, names in parts if names)


def _names(part: str, given: Iterable[str]) -> tuple[str, ...]:
    names = (given,) if isinstance(given, str) else tuple(given)
    for name in names:
        if not isinstance(name, str) or not name.strip():
            raise QueryError(f"one of {part} is {name!r}; name it, for example 'person' or 'born in'")
    return tuple(dict.fromkeys(name.strip() for name in names))


def wanted_entities(view: SnapshotView, types: TypeFilter, notes: list[str]) -> NDArray[np.bool_] | None:
    """Return which entities are of the wanted types, (n_entities,) bool; None where no types are named.

    Types that no entity has are noted.
    """
    if not types.entity_types:
        return None
    names = view.names
    known = [names.type_name(code) for code in range(len(names.type_indptr) - 1)]
    codes = _chosen(types.entity_types, known, "entity is of type", notes)
    mask: NDArray[np.bool_] = np.isin(names.entity_type, codes)
    return mask


def wanted_triples(view: SnapshotView, types: TypeFilter, notes: list[str]) -> NDArray[np.bool_] | None:
    """Return which triples are of the wanted relations or attributes, (n_triples,) bool; None where none are.

    Names that no triple has are noted.
    """
    if not (types.relations or types.attributes):
        return None
    mask = np.zeros(view.n_triples, bool)
    relation = view.out.relation
    if types.relations:
        mask |= np.isin(relation, _chosen(types.relations, view.relation_names, "relation is called", notes))
    if types.attributes:
        named = _chosen(types.attributes, view.relation_names, "attribute is called", notes)
        mask |= np.isin(relation, named) & (view.out.indices >= view.n_entities)
    return mask


def _chosen(wanted: Sequence[str], known: Sequence[str], what: str, notes: list[str]) -> NDArray[np.int32]:
    """Return the positions of names among the known ones."""
    positions: dict[str, list[int]] = {}
    for position, name in enumerate(known):
        for key in {relation_key(name), relation_key(relation_text(name))}:
            positions.setdefault(key, []).append(position)
    chosen: list[int] = []
    for name in wanted:
        found = positions.get(relation_key(name)) or positions.get(relation_key(relation_text(name)), [])
        if not found:
            near = difflib.get_close_matches(relation_key(name), [key for key in positions if key], 3, _NEAR)
            notes.append(f"no {what} {name!r}" + (f"; there are {', '.join(near)}" if near else ""))
        chosen += found
    return np.array(sorted(set(chosen)), np.int32)
