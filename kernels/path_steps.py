"""The steps that prolong paths: entries of CSR rows, of long rows those whose relation is asked about."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numba import boolean, float32, int32, int64, uint16

from .decorator import kernel, ro, rw
from .instructions import widen

if TYPE_CHECKING:
    from numpy.typing import NDArray

N_LEVELS = 64
"""Levels that relations are told apart by in a long row, best first."""


@kernel((ro(uint16, 2), int64, ro(float32)), fastmath=frozenset({"nsz", "contract", "reassoc"}))
def half_product(bits: NDArray[np.uint16], row: int, vector: NDArray[np.float32]) -> np.float32:
    """Return the dot product of a float16 row, given by its bits, and a float32 vector.

    Parameters
    ----------
    bits : (n, d) uint16
    row : int in [0, n)
    vector : (d,) float32

    Notes
    -----
    2 d bytes, 2 d flops.
    """
    total = np.float32(0)
    for column in range(vector.shape[0]):
        total += widen(bits[row, column]) * vector[column]
    return total


@kernel((ro(int32), ro(float32), rw(int64)))
def likely_entries(
    relation: NDArray[np.int32], likeness: NDArray[np.float32], out_entries: NDArray[np.int64]
) -> None:
    """Choose entries of a long row, most of them of the likeliest relations.

    Parameters
    ----------
    relation : (n_entries,) int32
        The relation of each looked-at entry of the row, indices of `likeness`.
    likeness : (n_relations,) float32
        Known for every relation of the row.
    out_entries : (n_chosen,) int64, not longer than the row
        Positions in `relation`, ascending. Of the entries on the best of 64 levels of likeness, half as many
        as there is room for, spread evenly; of those on the next, half of what is left; and so on, until the
        room that is left goes to the best levels in full.

    Notes
    -----
    8 bytes an entry, read three times.
    """
    low, high = np.float32(np.inf), np.float32(-np.inf)
    for entry in range(relation.shape[0]):
        low = min(low, likeness[relation[entry]])
        high = max(high, likeness[relation[entry]])
    scale = np.float32(N_LEVELS - 1) / max(high - low, np.float32(1e-12))
    counts = np.zeros(N_LEVELS, np.int64)
    for entry in range(relation.shape[0]):
        counts[int((likeness[relation[entry]] - low) * scale)] += 1
    room = out_entries.shape[0]
    share = np.zeros(N_LEVELS, np.int64)
    for level in range(N_LEVELS - 1, -1, -1):
        share[level] = min(counts[level], (room + 1) // 2)
        room -= share[level]
    for level in range(N_LEVELS - 1, -1, -1):
        more = min(counts[level] - share[level], room)
        share[level] += more
        room -= more
    seen = np.zeros(N_LEVELS, np.int64)
    n_chosen = 0
    for entry in range(relation.shape[0]):
        level = int((likeness[relation[entry]] - low) * scale)
        place = seen[level] * share[level]
        seen[level] += 1
        if place // counts[level] != (place + share[level]) // counts[level]:
            out_entries[n_chosen] = entry
            n_chosen += 1


@kernel(
    (
        ro(int64), ro(int32), ro(int32), ro(int32, 2), int64, int64, int64,
        ro(uint16, 2), ro(int32), ro(float32), ro(float32), ro(boolean), rw(float32), rw(int32),
    )
)  # fmt: skip
def path_steps(
    indptr: NDArray[np.int64],
    indices: NDArray[np.int32],
    relation: NDArray[np.int32],
    nodes: NDArray[np.int32],
    n_passed: int,
    row_limit: int,
    scan_limit: int,
    string_bits: NDArray[np.uint16],
    relation_string: NDArray[np.int32],
    residual: NDArray[np.float32],
    agreement: NDArray[np.float32],
    allowed: NDArray[np.bool_],
    out_likeness: NDArray[np.float32],
    out_tally: NDArray[np.int32],
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float32]]:
    """List the CSR entries that prolong paths without a loop.

    Parameters
    ----------
    indptr, indices, relation : (n_rows + 1,) int64, (n_entries,) int32 and (n_entries,) int32
        Of one direction.
    nodes : (n_paths, at least n_passed) int32 in [0, n_rows)
        The nodes of each path.
    n_passed, row_limit, scan_limit : int, at least 1
        How many nodes each has, of which it goes on from the last; most entries taken of a row, of a longer
        one those of the likeliest relations; most entries looked at of a row, a longer one is sampled evenly.
    string_bits : (n_strings, d) uint16
        Float16 vectors of relation texts, among others.
    relation_string : (n_relations,) int32
        Rows of the relations in `string_bits`.
    residual : (d,) float32
        What the question asks about its names.
    agreement : (n_relations,) float32
        How far the words of each relation are those of the question.
    allowed : (n_entries or 0,) bool
        The entries that there are for a path; all where it is empty.
    out_likeness : (n_relations,) float32
        Likeness of each relation, the dot product of its vector and `residual` plus `agreement`, where it is
        known; NaN elsewhere. What is found out is added.
    out_tally : (n_relations,) int32
        Zeros; left as zeros.

    Returns
    -------
    positions, owner, fan_out : (n_steps,) int64, int32 and float32
        The entries, the path that each prolongs, not descending, and how many entries of the same row have
        the same relation, estimated where the row is sampled.

    Raises
    ------
    ValueError
        If a node is out of range, or the mask is of another length than the entries.

    Notes
    -----
    `n_passed` comparisons for an entry taken; 12 bytes for one looked at, and 2 d for each relation of a long
    row. With a mask 1 byte for each entry of a row, and 16 for an allowed one.
    """
    n_paths = nodes.shape[0]
    is_masked = allowed.shape[0] > 0
    if is_masked and allowed.shape[0] != indices.shape[0]:
        raise ValueError("the mask does not cover the entries")
    capacity = 0
    for path in range(n_paths):
        node = nodes[path, n_passed - 1]
        if node < 0 or node >= indptr.shape[0] - 1:
            raise ValueError("a node is outside the graph")
        capacity += min(indptr[node + 1] - indptr[node], row_limit)
    positions = np.empty(capacity, np.int64)
    owner = np.empty(capacity, np.int32)
    fan_out = np.empty(capacity, np.float32)
    n_steps = 0
    for path in range(n_paths):
        node = nodes[path, n_passed - 1]
        start, length = indptr[node], indptr[node + 1] - indptr[node]
        row = np.flatnonzero(allowed[start : start + length]) if is_masked else np.empty(0, np.int64)
        if is_masked:
            length = row.shape[0]
        n_looked_at = min(length, scan_limit)
        looked_at = np.empty(n_looked_at, np.int32)
        for j in range(n_looked_at):
            place = j * length // n_looked_at
            looked_at[j] = relation[start + (row[place] if is_masked else place)]
            out_tally[looked_at[j]] += 1
        taken = np.arange(min(n_looked_at, row_limit))
        if n_looked_at > row_limit:
            for j in range(n_looked_at):
                if np.isnan(out_likeness[looked_at[j]]):
                    alike = half_product(string_bits, int(relation_string[looked_at[j]]), residual)
                    out_likeness[looked_at[j]] = alike + agreement[looked_at[j]]
            likely_entries(looked_at, out_likeness, taken)
        sampled = np.float32(length) / np.float32(max(n_looked_at, 1))
        for slot in range(taken.shape[0]):
            place = taken[slot] * length // n_looked_at
            position = start + (row[place] if is_masked else place)
            is_new = True
            for i in range(n_passed):
                if nodes[path, i] == indices[position]:
                    is_new = False
            if is_new:
                positions[n_steps] = position
                owner[n_steps] = path
                fan_out[n_steps] = np.float32(out_tally[looked_at[taken[slot]]]) * sampled
                n_steps += 1
        for j in range(n_looked_at):
            out_tally[looked_at[j]] = 0
    return positions[:n_steps].copy(), owner[:n_steps].copy(), fan_out[:n_steps].copy()
