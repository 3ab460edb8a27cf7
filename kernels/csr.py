"""Edge lists into compressed sparse rows, by counting sort."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numba import float32, int32, int64, uint64

from .decorator import kernel, ro, rw

if TYPE_CHECKING:
    from numpy.typing import NDArray


@kernel((int64,))
def block_shift(n_rows: int) -> int:
    """Return how many low bits of a row count within a block of rows: 4096 rows, or a 1024th of them all.

    Parameters
    ----------
    n_rows : int

    Returns
    -------
    int
    """
    shift = 12
    while n_rows >> shift > 1024:
        shift += 1
    return shift


@kernel((ro(uint64, 2), uint64, uint64, int64, rw(int64), rw(uint64)))
def place_rows(
    records: NDArray[np.uint64],
    start: int | np.uint64,
    stop: int | np.uint64,
    first_row: int,
    out_indptr: NDArray[np.int64],
    out_place: NDArray[np.uint64],
) -> None:
    """Count the rows of one block of records and say where each of them starts.

    Parameters
    ----------
    records : (n_entries, 2) uint64
        A row in the upper half of the first column.
    start, stop : int
        Entries of the block, which are also the slots of its rows in the result.
    first_row : int
        First row of the block.
    out_indptr : (n_rows + 1,) int64
        Its entries after `first_row` are written, one for each row of the block.
    out_place : (rows of a block,) uint64
        First slot of each row.

    Notes
    -----
    8 bytes read for an entry, which is in the cache; 24 for a row.
    """
    n_here = min(out_place.shape[0], out_indptr.shape[0] - 1 - first_row)
    out_place[:n_here] = 0
    for entry in range(start, stop):
        out_place[(records[entry, 0] >> np.uint64(32)) - np.uint64(first_row)] += np.uint64(1)
    slot = np.uint64(start)
    for row in range(n_here):
        count = out_place[row]
        out_place[row] = slot
        slot += count
        out_indptr[first_row + row + 1] = slot


@kernel((ro(int32), ro(int32), ro(int32), int64))
def csr_from_edges(
    rows: NDArray[np.int32], cols: NDArray[np.int32], relation: NDArray[np.int32], n_rows: int
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int32], NDArray[np.int32]]:
    """Group edges by row, in their input order within each row.

    Parameters
    ----------
    rows : (n_edges,) int32 in [0, n_rows)
        Row of each edge; for the incoming side pass the targets here.
    cols : (n_edges,) int32
        The other end of each edge.
    relation : (n_edges,) int32
        Relation id of each edge.
    n_rows : int
        Number of rows, zero or more.

    Returns
    -------
    indptr : (n_rows + 1,) int64
        Row ``i`` is ``indptr[i]:indptr[i + 1]``.
    indices : (n_edges,) int32
        `cols` in row order.
    relation : (n_edges,) int32
        `relation` in row order.
    edge : (n_edges,) int32, ascending in each row
        Position of each entry in the input.

    Raises
    ------
    ValueError
        If the inputs differ in length or a row is out of range.

    Notes
    -----
    A counting sort in two levels: first by blocks of rows (`block_shift`), then by row within each block,
    where all that is scattered stays in the cache. For an edge: 16 bytes read and 16 scattered to a few
    hundred places at most, then 24 read and 12 written within a block; 8 bytes for a row.
    """
    n_edges = rows.shape[0]
    if cols.shape[0] != n_edges or relation.shape[0] != n_edges:
        raise ValueError("rows, cols and relation must have one length")
    if n_rows < 0 or n_rows > 2147483647:
        raise ValueError("n_rows must be in [0, 2**31)")
    row_of, col_of, relation_of = rows.view(np.uint32), cols.view(np.uint32), relation.view(np.uint32)
    shift = np.uint32(block_shift(n_rows))
    starts = np.zeros((n_rows >> shift) + 2, np.int64)
    for i in range(n_edges):
        if row_of[i] >= n_rows:
            raise ValueError("a row id is outside [0, n_rows)")
        starts[(row_of[i] >> shift) + np.uint32(1)] += 1
    for block in range(starts.shape[0] - 1):
        starts[block + 1] += starts[block]
    free = starts.astype(np.uint64)
    records = np.empty((n_edges, 2), np.uint64)
    for i in range(n_edges):
        block = row_of[i] >> shift
        slot = free[block]
        free[block] = slot + np.uint64(1)
        records[slot, 0] = (np.uint64(row_of[i]) << np.uint64(32)) | np.uint64(col_of[i])
        records[slot, 1] = (np.uint64(relation_of[i]) << np.uint64(32)) | np.uint64(i)
    indptr = np.zeros(n_rows + 1, np.int64)
    out_indices = np.empty(n_edges, np.uint32)
    out_relation = np.empty(n_edges, np.uint32)
    out_edge = np.empty(n_edges, np.uint32)
    place = np.empty(1 << shift, np.uint64)
    for block in range(starts.shape[0] - 1):
        start, stop = np.uint64(starts[block]), np.uint64(starts[block + 1])
        place_rows(records, start, stop, int(block << shift), indptr, place)
        for entry in range(start, stop):
            local = (records[entry, 0] >> np.uint64(32)) - np.uint64(block << shift)
            slot = place[local]
            place[local] = slot + np.uint64(1)
            out_indices[slot] = records[entry, 0] & np.uint64(0xFFFFFFFF)
            out_relation[slot] = records[entry, 1] >> np.uint64(32)
            out_edge[slot] = records[entry, 1] & np.uint64(0xFFFFFFFF)
    return indptr, out_indices.view(np.int32), out_relation.view(np.int32), out_edge.view(np.int32)


@kernel((rw(int64), rw(uint64), rw(float32)))
def merge_rows(
    out_indptr: NDArray[np.int64], out_entries: NDArray[np.uint64], out_strength: NDArray[np.float32]
) -> int:
    """Sort each row of packed entries, merge those of one column, and close the gaps.

    Parameters
    ----------
    out_indptr : (n_rows + 1,) int64
        Row pointers, replaced by those of the merged rows.
    out_entries : (n_entries,) uint64
        Column in the upper half, bits of a positive float32 weight in the lower one. Merged in place.
    out_strength : (n_rows,) float32
        Set to the sum of each row's weights.

    Returns
    -------
    int
        Number of merged entries, which stand at the front of `out_entries`.

    Notes
    -----
    Bits of positive floats sort as the floats do, so weights of one column are added from the smallest up:
    the sum does not depend on the order of the input. 16 bytes and 2 additions for an entry, and a sort of
    each row.
    """
    one_weight = np.empty(1, np.float32)
    one_pattern = one_weight.view(np.uint32)
    n_merged = 0
    start = 0
    for row in range(out_strength.shape[0]):
        stop = out_indptr[row + 1]
        if stop - start > 24:
            out_entries[start:stop].sort()
        else:
            for i in range(start + 1, stop):
                moving = out_entries[i]
                j = i
                while j > start and out_entries[j - 1] > moving:
                    out_entries[j] = out_entries[j - 1]
                    j -= 1
                out_entries[j] = moving
        row_total = 0.0
        entry = start
        while entry < stop:
            col = out_entries[entry] >> np.uint64(32)
            total = 0.0
            while entry < stop and out_entries[entry] >> np.uint64(32) == col:
                one_pattern[0] = out_entries[entry] & np.uint64(0xFFFFFFFF)
                total += np.float64(one_weight[0])
                entry += 1
            one_weight[0] = total
            out_entries[n_merged] = (col << np.uint64(32)) | np.uint64(one_pattern[0])
            row_total += total
            n_merged += 1
        out_strength[row] = row_total
        out_indptr[row + 1] = n_merged
        start = stop
    return n_merged


@kernel((ro(int32), ro(int32), ro(float32), int64))
def walk_csr(
    src: NDArray[np.int32], dst: NDArray[np.int32], weight: NDArray[np.float32], n_nodes: int
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float32], NDArray[np.float32]]:
    """Sum a list of weighted edges up into one undirected graph for random walks.

    Each edge counts in both directions; edges of one pair are merged by adding their weights; self loops
    and edges of weight zero are left out.

    Parameters
    ----------
    src, dst : (n_edges,) int32 in [0, n_nodes)
        The two ends of each edge, in any order.
    weight : (n_edges,) float32, finite, not negative
        Weight of each edge.
    n_nodes : int
        Number of nodes, zero or more.

    Returns
    -------
    indptr : (n_nodes + 1,) int64
        Row ``i`` is ``indptr[i]:indptr[i + 1]``.
    indices : (n_entries,) int32, strictly ascending in each row
        Neighbours; the graph is symmetric.
    weights : (n_entries,) float32, positive, bit-equal in both directions
        Sum of the weights of a pair.
    strength : (n_nodes,) float32
        Sum of each row's weights; zero exactly where the row is empty.

    Raises
    ------
    ValueError
        If the inputs differ in length, a node is out of range or a weight is negative or not finite.

    Notes
    -----
    A counting sort in two levels as in `csr_from_edges`, then `merge_rows`. Sums run in float64, weights of
    a pair from the smallest up, and are rounded once, so that neither the order nor the direction of the
    edges changes a bit.
    For an edge: 24 bytes read and 32 scattered to a few hundred places at most, then 48 read and 16 written
    within a block of rows, then two entries sorted and written at 8 bytes each.
    """
    n_edges = src.shape[0]
    if dst.shape[0] != n_edges or weight.shape[0] != n_edges:
        raise ValueError("src, dst and weight must have one length")
    if n_nodes < 0 or n_nodes > 2147483647 or n_edges > 2147483647:
        raise ValueError("n_nodes and the number of edges must be in [0, 2**31)")
    one_end, other_end = src.view(np.uint32), dst.view(np.uint32)
    pattern = weight.view(np.uint32)
    shift = np.uint32(block_shift(n_nodes))
    starts = np.zeros((n_nodes >> shift) + 2, np.int64)
    for i in range(n_edges):
        if one_end[i] >= n_nodes or other_end[i] >= n_nodes:
            raise ValueError("a node id is outside [0, n_nodes)")
        if not (weight[i] >= 0 and weight[i] < np.inf):
            raise ValueError("a weight is negative or not finite")
        if one_end[i] != other_end[i] and weight[i] > 0:
            starts[(one_end[i] >> shift) + np.uint32(1)] += 1
            starts[(other_end[i] >> shift) + np.uint32(1)] += 1
    for block in range(starts.shape[0] - 1):
        starts[block + 1] += starts[block]
    free = starts.astype(np.uint64)
    records = np.empty((starts[-1], 2), np.uint64)
    for i in range(n_edges):
        if one_end[i] != other_end[i] and weight[i] > 0:
            for turned in range(2):
                row = np.uint64(other_end[i] if turned else one_end[i])
                col = np.uint64(one_end[i] if turned else other_end[i])
                slot = free[row >> np.uint64(shift)]
                free[row >> np.uint64(shift)] = slot + np.uint64(1)
                records[slot, 0] = (row << np.uint64(32)) | col
                records[slot, 1] = pattern[i]
    indptr = np.zeros(n_nodes + 1, np.int64)
    entries = np.empty(records.shape[0], np.uint64)
    place = np.empty(1 << shift, np.uint64)
    for block in range(starts.shape[0] - 1):
        start, stop = np.uint64(starts[block]), np.uint64(starts[block + 1])
        place_rows(records, start, stop, int(block << shift), indptr, place)
        for entry in range(start, stop):
            local = (records[entry, 0] >> np.uint64(32)) - np.uint64(block << shift)
            slot = place[local]
            place[local] = slot + np.uint64(1)
            entries[slot] = (records[entry, 0] << np.uint64(32)) | records[entry, 1]
    strength = np.zeros(n_nodes, np.float32)
    n_entries = merge_rows(indptr, entries, strength)
    indices = np.empty(n_entries, np.int32)
    weights = np.empty(n_entries, np.uint32)
    for entry in range(n_entries):
        indices[entry] = entries[entry] >> np.uint64(32)
        weights[entry] = entries[entry] & np.uint64(0xFFFFFFFF)
    return indptr, indices, weights.view(np.float32), strength
