"""What a filter lets through: products with allowed rows only, and the allowed entries of CSR rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numba import boolean, float32, int32, int64, uint16

from .decorator import kernel, ro
from .instructions import widen

if TYPE_CHECKING:
    from numpy.typing import NDArray


@kernel((ro(uint16, 2), ro(boolean), ro(float32)), fastmath=frozenset({"nsz", "contract", "reassoc"}))
def dot_allowed(
    bits: NDArray[np.uint16], allowed: NDArray[np.bool_], query: NDArray[np.float32]
) -> NDArray[np.float32]:
    """Return the dot product of every allowed row with one query.

    Parameters
    ----------
    bits : (n, d) uint16
        Float16 rows, by their bits; finite.
    allowed : (n,) bool
        The rows that count.
    query : (d,) float32

    Returns
    -------
    (n,) float32
        NaN, which is no score, for the other rows.

    Raises
    ------
    ValueError
        If the lengths or the widths differ.

    Notes
    -----
    For an allowed row 2 bytes, a conversion and 2 flops an element; for another 1 byte and 4 written.
    """
    n, d = bits.shape
    if query.shape[0] != d or allowed.shape[0] != n:
        raise ValueError("query, mask and rows differ in width or length")
    scores = np.empty(n, np.float32)
    for row in range(n):
        if not allowed[row]:
            scores[row] = np.nan
            continue
        total = np.float32(0)
        for column in range(d):
            total += widen(bits[row, column]) * query[column]
        scores[row] = total
    return scores


@kernel((ro(int64), ro(int32), ro(boolean)))
def gather_allowed(
    indptr: NDArray[np.int64], nodes: NDArray[np.int32], allowed: NDArray[np.bool_]
) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """List the allowed CSR entries of some rows, in the order of the rows asked for.

    Parameters
    ----------
    indptr : (n_rows + 1,) int64, not descending
        Row pointers.
    nodes : (n_nodes,) int32 in [0, n_rows)
        Rows asked for; repeats are answered each time.
    allowed : (n_entries,) bool
        The entries that count.

    Returns
    -------
    positions : (n_found,) int64
        Positions into the CSR's entries; ascending for each node.
    owner : (n_found,) int32, not descending
        Position in `nodes` that each entry belongs to.

    Raises
    ------
    ValueError
        If a node is out of range, or the mask is of another length than the entries.

    Notes
    -----
    2 bytes read for an entry of the rows, 12 written for an allowed one.
    """
    n_rows = indptr.shape[0] - 1
    if allowed.shape[0] != indptr[n_rows]:
        raise ValueError("the mask does not cover the entries")
    n_found = 0
    for i in range(nodes.shape[0]):
        if nodes[i] < 0 or nodes[i] >= n_rows:
            raise ValueError("a node id is outside the rows of indptr")
        for position in range(indptr[nodes[i]], indptr[nodes[i] + 1]):
            n_found += allowed[position]
    positions = np.empty(n_found, np.int64)
    owner = np.empty(n_found, np.int32)
    slot = 0
    for i in range(nodes.shape[0]):
        for position in range(indptr[nodes[i]], indptr[nodes[i] + 1]):
            if allowed[position]:
                positions[slot] = position
                owner[slot] = i
                slot += 1
    return positions, owner
