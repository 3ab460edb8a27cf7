"""The types that a prompt offers for a passage: all of a small schema, the nearest ones of a large one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import TypeAlias

    from numpy.typing import NDArray

    from ytrag_core.schema.model import AttributeType, EntityType, GraphSchema, RelationType

    Encode: TypeAlias = Callable[[Sequence[str]], NDArray[np.float32]]

__all__ = ["Menu", "MenuMaker"]


@dataclass(frozen=True, slots=True)
class Menu:
    """The types of one prompt, in the schema's order."""

    entity_types: tuple[EntityType, ...] = ()
    relation_types: tuple[RelationType, ...] = ()
    attribute_types: tuple[AttributeType, ...] = ()

    def entity_lines(self) -> str:
        """Return the entity types, one a line."""
        return _lines([(kind.name, kind.description) for kind in self.entity_types])

    def relation_lines(self, anything: str = "anything") -> str:
        """Return the relations with the types that may stand at their ends, one a line."""
        offered = {kind.name for kind in self.entity_types}
        lines = []
        for relation in self.relation_types:
            head, tail = (
                ", ".join(name for name in names if name in offered) or anything
                for names in (relation.head, relation.tail)
            )
            ends = "" if head == tail == anything else f" ({head} → {tail})"
            lines.append((f"{relation.name}{ends}", relation.description))
        return _lines(lines)

    def attribute_lines(self) -> str:
        """Return the attributes, one a line."""
        return _lines([(attribute.name, attribute.description) for attribute in self.attribute_types])


def _lines(parts: Sequence[tuple[str, str]]) -> str:
    lines = [f"- {name}: {description}" if description else f"- {name}" for name, description in parts]
    return "\n".join(lines) or "-"


class MenuMaker:
    """Chooses the types of each prompt.

    Parameters
    ----------
    schema
        The types in force; None offers none, and the model names all types itself.
    max_types
        Most types of each kind in a prompt.
    encode
        Texts -> (n_texts, d) float32 unit-norm rows; asked only where a kind has more types. Without it the
        first ones of the schema are offered.
    """

    def __init__(self, schema: GraphSchema | None, max_types: int, encode: Encode | None = None) -> None:
        self._max_types = max_types
        self._encode = encode
        self._whole = (
            Menu()
            if schema is None
            else Menu(schema.entity_types, schema.relation_types, schema.attribute_types)
        )
        kinds = (self._whole.entity_types, self._whole.relation_types, self._whole.attribute_types)
        self.is_pruned = any(len(kind) > max_types for kind in kinds)
        self._vectors: tuple[NDArray[np.float32] | None, ...] = (None, None, None)
        if self.is_pruned and encode is not None:
            self._vectors = tuple(
                encode([f"{part.name}: {part.description}".rstrip(": ") for part in kind])
                if len(kind) > max_types
                else None
                for kind in kinds
            )

    def menus(self, passages: Sequence[str]) -> list[Menu]:
        """Return the types that each passage is offered.

        Parameters
        ----------
        passages
            Title and text of each.

        Notes
        -----
        A type is near a passage as its name and description are, by the cosine of their vectors; of equals
        the first of the schema counts.
        """
        if not self.is_pruned or not passages:
            return [self._whole] * len(passages)
        rows = self._encode(passages) if self._encode is not None else None
        columns = (
            self._nearest(self._whole.entity_types, self._vectors[0], rows),
            self._nearest(self._whole.relation_types, self._vectors[1], rows),
            self._nearest(self._whole.attribute_types, self._vectors[2], rows),
        )
        entities, relations, attributes = columns
        return [
            Menu(
                tuple(self._whole.entity_types[i] for i in entities[at % len(entities)]),
                tuple(self._whole.relation_types[i] for i in relations[at % len(relations)]),
                tuple(self._whole.attribute_types[i] for i in attributes[at % len(attributes)]),
            )
            for at in range(len(passages))
        ]

    def _nearest(
        self, kind: Sequence[object], vectors: NDArray[np.float32] | None, rows: NDArray[np.float32] | None
    ) -> list[list[int]]:
        """Return the positions of the types that each passage is offered; one list where all get the same."""
        if len(kind) <= self._max_types or vectors is None or rows is None:
            return [list(range(min(len(kind), self._max_types)))]
        order = np.argsort(-(rows @ vectors.T), axis=1, kind="stable")[:, : self._max_types]
        return [sorted(positions) for positions in order.tolist()]
