"""What is said of every name, as arrays: where it is mentioned, with what it is linked, what it is called."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from ytrag_core.graph.kinds import coarse_kind, kinds_conflict
from ytrag_core.graph.runs import row_pointers

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray

    from ytrag_core.graph.columns import Statements
    from ytrag_core.graph.resolve import ResolvedForms

__all__ = ["Named", "Surroundings", "label_of", "with_units"]


def label_of(key: str, sense: str = "") -> str:
    """Return by what a unit is known in rules: its key, behind a tab its type where a key has several."""
    return f"{key}\t{sense}" if sense else key


@dataclass(frozen=True, slots=False, eq=False)
class Named:
    """Units, the things that names with one key mean, before any two of them are taken for one.

    A key is one unit, or several where it plainly means several things: those behind the keys' own are
    further meanings.

    Attributes
    ----------
    said
        The statements.
    nodes
        The keys and their forms.
    unit_key
        (n_units,) int32 key of each unit; unit i < n_keys is key i.
    senses
        Unit -> type by which it is told from others of its key; absent for keys of one meaning.
    mention
        (n_mentions,) int32 unit of each mention, -1 where it has no key.
    head, tail
        (n,) int32 units of the triples that have all parts.
    relation
        (n,) int32 their relation.
    triple_chunk
        (n,) int32 their chunk.
    is_value
        (n_units,) bool, whether the unit is a value, not an entity.
    other, other_chunk
        (m,) int32 units that an incomplete triple names, and its chunk.
    relation_keys
        Keys of the relations.
    """

    said: Statements
    nodes: ResolvedForms
    unit_key: NDArray[np.int32]
    senses: dict[int, str]
    mention: NDArray[np.int32]
    head: NDArray[np.int32]
    tail: NDArray[np.int32]
    relation: NDArray[np.int32]
    triple_chunk: NDArray[np.int32]
    is_value: NDArray[np.bool_]
    other: NDArray[np.int32]
    other_chunk: NDArray[np.int32]
    relation_keys: pa.LargeStringArray

    @property
    def n_units(self) -> int:
        """Number of units."""
        return len(self.unit_key)

    @cached_property
    def weight(self) -> NDArray[np.int64]:
        """How often each unit is named, (n_units,)."""
        named = (self.mention[self.mention >= 0], self.head, self.tail, self.other)
        counts = np.zeros(self.n_units, np.int64)
        for units in named:
            counts += np.bincount(units, minlength=self.n_units)
        return counts

    @cached_property
    def kinds(self) -> dict[int, str]:
        """Unit -> the coarse kind given most; units of no known kind are absent."""
        labels = [coarse_kind(label) for label in self.said.labels.distinct.to_pylist()]
        codes = self.said.labels.codes[0]
        known = np.array([bool(label) for label in labels], bool)[codes] & (self.mention >= 0)
        pairs, counts = np.unique(
            self.mention[known].astype(np.int64) * max(len(labels), 1) + codes[known], return_counts=True
        )
        votes: dict[int, dict[str, int]] = {}
        for pair, count in zip(pairs.tolist(), counts.tolist(), strict=True):
            unit, label = divmod(pair, max(len(labels), 1))
            of_unit = votes.setdefault(unit, {})
            of_unit[labels[label]] = of_unit.get(labels[label], 0) + count
        return {unit: min(given, key=lambda kind: (-given[kind], kind)) for unit, given in votes.items()}

    def may_join(self, ours: list[int], theirs: list[int]) -> bool:
        """Tell whether no unit of one group is of a kind that excludes one of the other's."""
        left, right = ({self.kinds.get(unit, "") for unit in group} for group in (ours, theirs))
        return not any(kinds_conflict(first, second) for first in left for second in right)

    def names(self, units: NDArray[np.int64]) -> list[str]:
        """Return the form seen most of each of some units, on one line."""
        shown: list[str] = self.nodes.names.take(self.unit_key[units]).to_pylist()
        return shown

    def keys(self, units: NDArray[np.int64]) -> list[str]:
        """Return the keys of some units."""
        found: list[str] = self.nodes.keys.take(self.unit_key[units]).to_pylist()
        return found

    def places(self) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """Return units and chunks of everything that names a unit, (m,) each, repeats among them."""
        units = [self.mention, self.head, self.tail, self.other]
        chunks = [self.said.mention_chunk, self.triple_chunk, self.triple_chunk, self.other_chunk]
        unit, chunk = np.concatenate(units), np.concatenate(chunks)
        return unit[unit >= 0], chunk[unit >= 0]


class Surroundings:
    """Neighbours and chunks of some units.

    Parameters
    ----------
    named
        All units.
    units
        (m,) those that will be asked for, distinct.

    Attributes
    ----------
    degree
        (n_units,) triples of each unit.
    """

    def __init__(self, named: Named, units: NDArray[np.int64]) -> None:
        row = np.full(named.n_units, -1, np.int64)
        row[units] = np.arange(len(units))
        self._row = row
        unit = np.concatenate([named.head, named.tail])
        other = np.concatenate([named.tail, named.head])
        # A relation counts apart in each direction.
        relation = np.concatenate([named.relation, -1 - named.relation])
        self._edges = _gathered(row[unit], np.stack([other, relation], axis=1), len(units))
        self.degree = np.bincount(unit, minlength=named.n_units)
        unit, chunk = named.places()
        self._chunks = _gathered(row[unit], chunk, len(units))

    def edges(self, unit: int) -> set[tuple[int, int]]:
        """Return (neighbour, relation) of a unit; incoming relations are below 0."""
        return {(other, relation) for other, relation in self._of(self._edges, unit).tolist()}

    def chunks(self, unit: int) -> set[int]:
        """Return the chunks that name a unit."""
        return set(self._of(self._chunks, unit).tolist())

    def _of(self, table: tuple[NDArray[np.int64], NDArray[np.int32]], unit: int) -> NDArray[np.int32]:
        row = self._row[unit]
        return table[1][table[0][row] : table[0][row + 1]]


def _gathered(
    rows: NDArray[np.int64], values: NDArray[np.int32], n_rows: int
) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    kept = rows >= 0
    rows, values = rows[kept], values[kept]
    order = np.argsort(rows, kind="stable")
    return row_pointers(rows, n_rows), values[order]


def with_units(named: Named, **changed: object) -> Named:
    """Return `named` with other units, and nothing counted yet."""
    return replace(named, **changed)  # type: ignore[arg-type]
