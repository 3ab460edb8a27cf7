"""Rows of a CSR matrix for a list of nodes, side by side."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numba import boolean, float32, int32, int64

from .decorator import kernel, ro

if TYPE_CHECKING:
    from numpy.typing import NDArray


@kernel((ro(int64), ro(int32), int64))
def gather_rows(
    indptr: NDArray[np.int64], nodes: NDArray[np.int32], max_per_row: int
) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """List the CSR entries of some rows, in the order of the rows asked for.

    Parameters
    ----------
    indptr : (n_rows + 1,) int64, not descending
        Row pointers.
    nodes : (n_nodes,) int32 in [0, n_rows)
        Rows asked for; repeats are answered each time.
    max_per_row : int
        The most entries of one row. A longer row gives that many, evenly spaced from its first entry on,
        always the same ones. Zero or less: all entries of every row.

    Returns
    -------
    positions : (n_entries,) int64
        Positions into `indices`, or into any other array of the CSR's entries; ascending for each node.
    owner : (n_entries,) int32, not descending
        Position in `nodes` that each entry belongs to.

    Raises
    ------
    ValueError
        If a node is out of range.

    Notes
    -----
    16 bytes read for a node, 12 bytes written for an entry, one integer division for an entry of a row
    that is cut.
    """
    n_rows = indptr.shape[0] - 1
    n_entries = 0
    for i in range(nodes.shape[0]):
        node = nodes[i]
        if node < 0 or node >= n_rows:
            raise ValueError("a node id is outside the rows of indptr")
        length = indptr[node + 1] - indptr[node]
        if max_per_row > 0:
            length = min(length, max_per_row)
        n_entries += length
    positions = np.empty(n_entries, np.int64)
    owner = np.empty(n_entries, np.int32)
    slot = 0
    for i in range(nodes.shape[0]):
        start = indptr[nodes[i]]
        length = indptr[nodes[i] + 1] - start
        if max_per_row > 0 and length > max_per_row:
            for j in range(max_per_row):
                positions[slot + j] = start + j * length // max_per_row
                owner[slot + j] = i
            slot += max_per_row
        else:
            for j in range(length):
                positions[slot + j] = start + j
                owner[slot + j] = i
            slot += length
    return positions, owner


@kernel((ro(int64), ro(int32), ro(int32), ro(float32), ro(boolean), boolean))
def scores_behind(
    indptr: NDArray[np.int64],
    indices: NDArray[np.int32],
    rows: NDArray[np.int32],
    scores: NDArray[np.float32],
    allowed: NDArray[np.bool_],
    add: bool,
) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
    """Return the columns of some scored rows, each once, with the best or the sum of its rows' scores.

    Parameters
    ----------
    indptr : (n_rows + 1,) int64, not descending
        Row pointers.
    indices : (n_entries,) int32, not negative
        Column of each entry.
    rows : (n,) int32 in [0, n_rows)
        Rows asked for.
    scores : (n,) float32
        Their scores.
    allowed : (n_columns,) bool
        The columns that count; all where it is empty.
    add : bool
        Whether scores are summed, in the order of the rows; else the best counts, if it is above 0.

    Returns
    -------
    columns : (n_found,) int32, ascending
    totals : (n_found,) float32

    Raises
    ------
    ValueError
        If the lengths differ or a row is out of range.

    Notes
    -----
    16 bytes read for a row; for an entry 4 bytes read and its part in a sort of 8-byte keys.
    """
    n_rows = indptr.shape[0] - 1
    if rows.shape[0] != scores.shape[0]:
        raise ValueError("rows and scores differ in length")
    n_entries = 0
    for i in range(rows.shape[0]):
        if rows[i] < 0 or rows[i] >= n_rows:
            raise ValueError("a row is outside the rows of indptr")
        n_entries += indptr[rows[i] + 1] - indptr[rows[i]]
    keys = np.empty(n_entries, np.int64)
    n_keys = 0
    for i in range(rows.shape[0]):
        for position in range(indptr[rows[i]], indptr[rows[i] + 1]):
            column = np.int64(indices[position])
            if allowed.shape[0] == 0 or allowed[column]:
                keys[n_keys] = (column << 32) | i
                n_keys += 1
    ordered = np.sort(keys[:n_keys])
    columns = np.empty(n_keys, np.int32)
    totals = np.empty(n_keys, np.float32)
    n_found = 0
    for key in ordered:
        score = scores[key & 0xFFFFFFFF]
        if n_found == 0 or columns[n_found - 1] != key >> 32:
            columns[n_found] = key >> 32
            totals[n_found] = np.float32(0)
            n_found += 1
        if add:
            totals[n_found - 1] += score
        else:
            totals[n_found - 1] = max(totals[n_found - 1], score)
    return columns[:n_found].copy(), totals[:n_found].copy()
