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


@kernel((float32, float32, float32))
def level_of(value: np.float32, low: np.float32, scale: np.float32) -> int:
    """Return the level of a likeness, 0 to `N_LEVELS` - 1; what is no number is on the lowest.

    Parameters
    ----------
    value, low, scale : float32
        A likeness, the least of them, levels per unit.
    """
    level = (value - low) * scale
    if level >= N_LEVELS - 1:
        return N_LEVELS - 1
    return int(level) if level > 0 else 0


@kernel((ro(int32), ro(float32), rw(int64)))
def likely_entries(
    relation: NDArray[np.int32], likeness: NDArray[np.float32], out_entries: NDArray[np.int64]
) -> None:
    """Choose entries of a long row, most of them of the likeliest relations.

    Parameters
    ----------
    relation : (n_entries,) int32
        The relation of each looked-at entry of the row, indices of `likeness`; in range, not checked.
    likeness : (n_relations,) float32
        Known for every relation of the row.
    out_entries : (n_chosen,) int64, not longer than the row
        Positions in `relation`, ascending. Of the entries on the best of 64 levels of likeness, half as many
        as there is room for, spread evenly; of those on the next, half of what is left; and so on, until the
        room that is left goes to the best levels in full.

    Raises
    ------
    ValueError
        If there is room for more entries than the row has.

    Notes
    -----
    8 bytes an entry, read three times.
    """
    room = out_entries.shape[0]
    if room > relation.shape[0]:
        raise ValueError("there is room for more entries than the row has")
    low, high = np.float32(np.inf), np.float32(-np.inf)
    for entry in range(relation.shape[0]):
        low = min(low, likeness[relation[entry]])
        high = max(high, likeness[relation[entry]])
    scale = np.float32(N_LEVELS - 1) / max(high - low, np.float32(1e-12))
    counts = np.zeros(N_LEVELS, np.int64)
    for entry in range(relation.shape[0]):
        counts[level_of(likeness[relation[entry]], low, scale)] += 1
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
        level = level_of(likeness[relation[entry]], low, scale)
        place = seen[level] * share[level]
        seen[level] += 1
        if place // counts[level] != (place + share[level]) // counts[level]:
            out_entries[n_chosen] = entry
            n_chosen += 1


@kernel((ro(int64), int64))
def row_cap(lengths: NDArray[np.int64], total: int) -> int:
    """Return how much of a row may be looked at so that all rows together have at most `total` entries.

    Parameters
    ----------
    lengths : (n_rows,) int64, not negative
    total : int, not negative

    Returns
    -------
    int
        The largest such number; the longest row's length where all of them can be looked at whole.

    Notes
    -----
    Short rows leave their share to longer ones.
    """
    ordered, left = np.sort(lengths), total
    n_rows = ordered.shape[0]
    for i in range(n_rows):
        share = left // (n_rows - i)
        if ordered[i] > share:
            return int(share)
        left -= ordered[i]
    return int(ordered[n_rows - 1]) if n_rows > 0 else 0


@kernel(
    (
        ro(int64), ro(int32), ro(int32), int64, int64,
        ro(uint16, 2), ro(int32), ro(float32), ro(float32), ro(boolean), rw(float32), rw(int32),
    )
)  # fmt: skip
def row_entries(
    indptr: NDArray[np.int64],
    relation: NDArray[np.int32],
    rows: NDArray[np.int32],
    row_limit: int,
    scan_limit: int,
    string_bits: NDArray[np.uint16],
    relation_string: NDArray[np.int32],
    residual: NDArray[np.float32],
    agreement: NDArray[np.float32],
    allowed: NDArray[np.bool_],
    out_likeness: NDArray[np.float32],
    out_tally: NDArray[np.int32],
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float32]]:
    """List the entries of CSR rows, of long rows those of the likeliest relations.

    Parameters
    ----------
    indptr, relation, row_limit, scan_limit, string_bits, relation_string, residual, agreement, allowed
        As `path_steps` takes them; relations in range, not checked.
    rows : (n_rows,) int32 in the range of `indptr`
        Not checked.
    out_likeness, out_tally
        As `path_steps` takes them.

    Returns
    -------
    starts : (n_rows + 1,) int64
        Where the entries of each row start.
    positions, fan_out : (n_taken,) int64 and float32
        As `path_steps` returns them.

    Notes
    -----
    12 bytes for an entry looked at, and 2 d for each relation of a long row that was not known.
    With a mask 2 bytes for each entry of a row, and 8 for an allowed one.
    """
    n_rows, is_masked = rows.shape[0], allowed.shape[0] > 0
    lengths = np.empty(n_rows, np.int64)
    for row in range(n_rows):
        first, end = indptr[rows[row]], indptr[rows[row] + 1]
        lengths[row] = np.sum(allowed[first:end]) if is_masked else end - first
    cap = max(row_cap(lengths, scan_limit), row_limit)
    starts = np.zeros(n_rows + 1, np.int64)
    for row in range(n_rows):
        starts[row + 1] = starts[row] + min(lengths[row], row_limit)
    positions = np.empty(starts[n_rows], np.int64)
    fan_out = np.empty(starts[n_rows], np.float32)
    for row in range(n_rows):
        first, length = indptr[rows[row]], lengths[row]
        end = indptr[rows[row] + 1]
        places = np.flatnonzero(allowed[first:end]) if is_masked else np.empty(0, np.int64)
        n_looked_at = min(length, cap)
        looked_at = np.empty(n_looked_at, np.int32)
        for j in range(n_looked_at):
            place = j * length // n_looked_at
            looked_at[j] = relation[first + (places[place] if is_masked else place)]
            out_tally[looked_at[j]] += 1
        taken = np.arange(min(n_looked_at, row_limit))
        if n_looked_at > row_limit:
            for j in range(n_looked_at):
                if out_likeness[looked_at[j]] == 0:
                    alike = half_product(string_bits, int(relation_string[looked_at[j]]), residual)
                    out_likeness[looked_at[j]] = alike + agreement[looked_at[j]]
            likely_entries(looked_at, out_likeness, taken)
        sampled = np.float32(length) / np.float32(max(n_looked_at, 1))
        for slot in range(taken.shape[0]):
            place = taken[slot] * length // n_looked_at
            positions[starts[row] + slot] = first + (places[place] if is_masked else place)
            fan_out[starts[row] + slot] = np.float32(out_tally[looked_at[taken[slot]]]) * sampled
        for j in range(n_looked_at):
            out_tally[looked_at[j]] = 0
    return starts, positions, fan_out


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
        Of one direction; relations below n_relations, not checked.
    nodes : (n_paths, at least n_passed) int32 in [0, n_rows)
        The nodes of each path.
    n_passed, row_limit, scan_limit : int, at least 1
        How many nodes each has, of which it goes on from the last; most entries taken of a row, of a longer
        one those of the likeliest relations; most entries looked at of all rows together, though `row_limit`
        of each: rows too long for that are sampled evenly. A row that many paths lead to is looked at once.
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
        known; zero elsewhere. What is found out is added.
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
        If a node is out of range, a number below 1, or arrays do not fit one another.

    Notes
    -----
    `n_passed` comparisons for an entry taken of a path; a sort of the paths; and as `row_entries`.
    """
    n_relations = relation_string.shape[0]
    if row_limit < 1 or scan_limit < 1 or n_passed < 1 or n_passed > nodes.shape[1]:
        raise ValueError("limits must be 1 or more, and paths have the nodes that they passed")
    if (
        agreement.shape[0] != n_relations
        or out_likeness.shape[0] != n_relations
        or out_tally.shape[0] != n_relations
        or residual.shape[0] != string_bits.shape[1]
    ):
        raise ValueError("arrays of relations or of vectors differ in length")
    n_paths = nodes.shape[0]
    if allowed.shape[0] > 0 and allowed.shape[0] != indices.shape[0]:
        raise ValueError("the mask does not cover the entries")
    for path in range(n_paths):
        if nodes[path, n_passed - 1] < 0 or nodes[path, n_passed - 1] >= indptr.shape[0] - 1:
            raise ValueError("a node is outside the graph")
    rows = np.unique(nodes[:, n_passed - 1])
    starts, entries, entry_fan_out = row_entries(
        indptr, relation, rows, row_limit, scan_limit,
        string_bits, relation_string, residual, agreement, allowed, out_likeness, out_tally,
    )  # fmt: skip
    row_of = np.searchsorted(rows, nodes[:, n_passed - 1])
    capacity = 0
    for path in range(n_paths):
        capacity += starts[row_of[path] + 1] - starts[row_of[path]]
    positions = np.empty(capacity, np.int64)
    owner = np.empty(capacity, np.int32)
    fan_out = np.empty(capacity, np.float32)
    n_steps = 0
    for path in range(n_paths):
        for slot in range(starts[row_of[path]], starts[row_of[path] + 1]):
            is_new = True
            for i in range(n_passed):
                if nodes[path, i] == indices[entries[slot]]:
                    is_new = False
            if is_new:
                positions[n_steps] = entries[slot]
                owner[n_steps] = path
                fan_out[n_steps] = entry_fan_out[slot]
                n_steps += 1
    return positions[:n_steps].copy(), owner[:n_steps].copy(), fan_out[:n_steps].copy()
