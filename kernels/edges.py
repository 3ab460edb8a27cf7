"""Edges of named nodes: which to look at, and what their parts' vectors say of a query."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numba import float32, int32, int64, uint16

from .decorator import kernel, ro
from .instructions import widen

if TYPE_CHECKING:
    from numpy.typing import NDArray


@kernel((ro(uint16, 2), ro(int32), ro(float32)), fastmath=frozenset({"nsz", "contract", "reassoc"}))
def row_dots(
    bits: NDArray[np.uint16], rows: NDArray[np.int32], query: NDArray[np.float32]
) -> NDArray[np.float32]:
    """Return the dot product of a query with some of the float16 rows, read where they lie.

    Parameters
    ----------
    bits : (n, d) uint16
        Float16 rows, by their bits; finite.
    rows : (n_rows,) int32 in [0, n)
        Rows asked for; a repeated row is read once.
    query : (d,) float32

    Returns
    -------
    (n_rows,) float32

    Raises
    ------
    ValueError
        If the widths differ or a row is out of range.

    Notes
    -----
    For a distinct row 2 bytes, a conversion and 2 flops an element; for a repeat one look into a hash table
    of 8 bytes a slot, at most half full.
    """
    n, d = bits.shape
    n_rows = rows.shape[0]
    if query.shape[0] != d:
        raise ValueError("query and rows differ in width")
    n_slots = 16
    while n_slots < 2 * n_rows:
        n_slots *= 2
    mask = n_slots - 1
    slots = np.full(n_slots, -1, np.int32)
    known = np.empty(n_slots, np.float32)
    scores = np.empty(n_rows, np.float32)
    for i in range(n_rows):
        row = rows[i]
        if row < 0 or row >= n:
            raise ValueError("a row is outside the vectors")
        slot = (int(row) * 2654435769 >> 15) & mask
        while slots[slot] != row and slots[slot] != -1:
            slot = (slot + 1) & mask
        if slots[slot] == -1:
            total = np.float32(0)
            for column in range(d):
                total += widen(bits[row, column]) * query[column]
            slots[slot] = row
            known[slot] = total
        scores[i] = known[slot]
    return scores


@kernel((ro(int64), ro(int32), ro(int32), ro(float32), int64))
def best_edges(
    indptr: NDArray[np.int64],
    relation: NDArray[np.int32],
    nodes: NDArray[np.int32],
    scores: NDArray[np.float32],
    max_per_row: int,
) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """List the CSR entries of some rows; of a long row, those of the best relations.

    Parameters
    ----------
    indptr : (n_rows + 1,) int64, not descending
        Row pointers.
    relation : (n_entries,) int32 in [0, n_relations)
        Relation of each entry.
    nodes : (n_nodes,) int32 in [0, n_rows)
        Rows asked for.
    scores : (n_relations,) float32
        What is thought of each relation; no NaN.
    max_per_row : int, at least 1
        The most entries of one row. Of a longer row whole relations are taken, the best score first, of equal
        scores the lower id; the last of them is cut to evenly spaced entries.

    Returns
    -------
    positions : (n_found,) int64
        Positions into the CSR's entries; ascending for each node.
    owner : (n_found,) int32, not descending
        Position in `nodes` that each entry belongs to.

    Raises
    ------
    ValueError
        If a node or a relation is out of range, or `max_per_row` is below 1.

    Notes
    -----
    A long row is read twice, 4 bytes an entry; sorting its relations is all else that it costs.
    """
    n_rows = indptr.shape[0] - 1
    n_relations = scores.shape[0]
    if max_per_row < 1:
        raise ValueError("wanted max_per_row of 1 or more")
    n_found = 0
    for i in range(nodes.shape[0]):
        if nodes[i] < 0 or nodes[i] >= n_rows:
            raise ValueError("a node id is outside the rows of indptr")
        n_found += min(indptr[nodes[i] + 1] - indptr[nodes[i]], max_per_row)
    positions = np.empty(n_found, np.int64)
    owner = np.empty(n_found, np.int32)
    counts = np.zeros(n_relations, np.int64)
    quota = np.zeros(n_relations, np.int64)
    slot = 0
    for i in range(nodes.shape[0]):
        start = indptr[nodes[i]]
        stop = indptr[nodes[i] + 1]
        if stop - start <= max_per_row:
            for position in range(start, stop):
                positions[slot] = position
                owner[slot] = i
                slot += 1
            continue
        counts[:] = 0
        for position in range(start, stop):
            if relation[position] < 0 or relation[position] >= n_relations:
                raise ValueError("a relation is outside the scores")
            counts[relation[position]] += 1
        present = np.flatnonzero(counts)
        ranked = present[np.argsort(-scores[present], kind="mergesort")]
        room = max_per_row
        quota[:] = 0
        for best in ranked:
            quota[best] = min(counts[best], room)
            room -= quota[best]
        seen = np.zeros(n_relations, np.int64)
        for position in range(start, stop):
            kind = relation[position]
            # Entry j of c is taken where floor(j q / c) steps up: q of them, evenly spaced.
            before = (seen[kind] * quota[kind] + counts[kind] - 1) // counts[kind]
            seen[kind] += 1
            if (seen[kind] * quota[kind] + counts[kind] - 1) // counts[kind] > before:
                positions[slot] = position
                owner[slot] = i
                slot += 1
    return positions, owner
