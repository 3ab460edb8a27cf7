"""Which names were taken for one thing, why, and what each of them had: kept so that it can be undone."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from ytrag_core.graph.tables import MERGES, RESTATED, SENSES, Merged

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ytrag_core.graph.links import Link
    from ytrag_core.graph.resolution import Resolution
    from ytrag_core.graph.tables import GraphTables

__all__ = ["merged_tables"]


def merged_tables(
    graph: GraphTables, resolution: Resolution, node_of_unit: NDArray[np.int32]
) -> Merged | None:
    """Return the record of all merges and homonyms, None where there are none.

    Parameters
    ----------
    graph
        The graph that came out.
    resolution
        Which units are one thing.
    node_of_unit
        (n_units,) int32 node of each unit.
    """
    named = resolution.named
    if not resolution.links and not named.senses:
        return None
    homonyms = np.array(sorted(named.senses), np.int64)
    senses = [named.senses[unit] for unit in homonyms.tolist()]
    told = [node_of_unit[homonyms], named.keys(homonyms), senses]
    units = _members(resolution)
    statements = _Statements(graph, resolution, node_of_unit, units)
    return Merged(
        _merges(resolution, node_of_unit, units, statements),
        statements.restated(),
        pa.table(told, schema=SENSES),
    )


def _members(resolution: Resolution) -> list[int]:
    """Return all units of merged groups: group by group, first the one by which it goes."""
    groups = resolution.groups
    moved = np.flatnonzero(groups != np.arange(len(groups)))
    heads = np.unique(groups[moved])
    units = np.concatenate([heads, moved]).astype(np.int64)
    is_member = units != groups[units]
    order = np.lexsort((units, is_member, groups[units]))
    members: list[int] = units[order].tolist()
    return members


class _Statements:
    """The statements about units of merged groups, each with the triple that it became."""

    def __init__(
        self, graph: GraphTables, resolution: Resolution, node_of_unit: NDArray[np.int32], units: list[int]
    ) -> None:
        named = resolution.named
        is_member = np.zeros(named.n_units, bool)
        is_member[units] = True
        rows = np.flatnonzero(is_member[named.head] | is_member[named.tail])
        self.head, self.tail = named.head[rows], named.tail[rows]
        self.triple = _triple_ids(
            graph, node_of_unit[self.head], named.relation[rows], node_of_unit[self.tail]
        )
        self._resolution = resolution
        self.triples: dict[int, set[int]] = defaultdict(set)
        for ends in (self.head, self.tail):
            kept = is_member[ends]
            for unit, triple in zip(ends[kept].tolist(), self.triple[kept].tolist(), strict=True):
                self.triples[unit].add(triple)
        unit, chunk = named.places()
        kept = is_member[unit]
        self.chunks: dict[int, set[int]] = defaultdict(set)
        for of, row in zip(unit[kept].tolist(), chunk[kept].tolist(), strict=True):
            self.chunks[of].add(row)

    def restated(self) -> pa.Table:
        """Return how each triple is worded in the text: first as the snapshot words it, then otherwise."""
        groups, named = self._resolution.groups, self._resolution.named
        wordings = np.unique(np.stack([self.triple, self.head, self.tail], axis=1), axis=0)
        triple, head, tail = wordings.T
        n_others = (groups[head] != head).astype(np.int8) + (groups[tail] != tail)
        order = np.lexsort((tail, head, n_others, triple))
        triple, head, tail = triple[order], head[order], tail[order]
        first = np.ones(len(triple), bool)
        first[1:] = triple[1:] != triple[:-1]
        return pa.table(
            [
                triple.astype(np.int32),
                pa.array(named.names(head.astype(np.int64)), pa.string()),
                pa.array(named.names(tail.astype(np.int64)), pa.string()),
                first,
            ],
            schema=RESTATED,
        )


def _triple_ids(
    graph: GraphTables, head: NDArray[np.int32], relation: NDArray[np.int32], tail: NDArray[np.int32]
) -> NDArray[np.int64]:
    """Return the triple that each statement became; the graph's are sorted by head, tail and relation."""
    pairs = graph.head.astype(np.int64) * graph.n_nodes + graph.tail
    wanted = head.astype(np.int64) * graph.n_nodes + tail
    start = np.searchsorted(pairs, wanted, "left")
    end = np.searchsorted(pairs, wanted, "right")
    for row in np.flatnonzero(end - start > 1).tolist():
        start[row] += np.searchsorted(graph.relation[start[row] : end[row]], relation[row])
    return start


def _merges(
    resolution: Resolution, node_of_unit: NDArray[np.int32], units: list[int], statements: _Statements
) -> pa.Table:
    named = resolution.named
    rows = np.array(units, np.int64)
    names = dict(zip(units, named.names(rows), strict=True))
    keys = named.keys(rows)
    links = _links_from_head(resolution, units)
    linked = [links.get(unit) for unit in units]
    others = [
        "" if link is None else names[link.second if link.first == unit else link.first]
        for unit, link in zip(units, linked, strict=True)
    ]
    forms = [[names[unit], *named.nodes.aliases.get(int(named.unit_key[unit]), [])] for unit in units]
    return pa.table(
        [
            node_of_unit[rows],
            pa.array([names[int(resolution.groups[unit])] for unit in units], pa.string()),
            pa.array([names[unit] for unit in units], pa.string()),
            pa.array(keys, pa.string()),
            pa.array([named.senses.get(unit, "") for unit in units], pa.string()),
            pa.array(forms, pa.list_(pa.string())),
            pa.array(["" if link is None else link.kind for link in linked], pa.string()),
            pa.array([1.0 if link is None else link.score for link in linked], pa.float32()),
            pa.array(["" if link is None else link.evidence for link in linked], pa.string()),
            pa.array(others, pa.string()),
            pa.array([sorted(statements.chunks[unit]) for unit in units], pa.list_(pa.int32())),
            pa.array([sorted(statements.triples[unit]) for unit in units], pa.list_(pa.int32())),
        ],
        schema=MERGES,
    )


def _links_from_head(resolution: Resolution, units: list[int]) -> dict[int, Link]:
    """Return for each member the link by which it hangs together with the unit of its group."""
    near: dict[int, list[tuple[int, Link]]] = defaultdict(list)
    for link in resolution.links:
        near[link.first].append((link.second, link))
        near[link.second].append((link.first, link))
    found: dict[int, Link] = {}
    reached = [unit for unit in units if resolution.groups[unit] == unit]
    seen = set(reached)
    for unit in reached:
        for other, link in near[unit]:
            if other not in seen:
                seen.add(other)
                found[other] = link
                reached.append(other)
    return found
