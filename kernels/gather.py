"""Rows of a CSR matrix for a list of nodes, side by side."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numba import int32, int64

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
