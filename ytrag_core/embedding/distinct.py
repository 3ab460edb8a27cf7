"""Groups of identical rows.

A graph of nearest neighbours falls apart where many rows are the same: they link only to each other. Names in
a script that the encoder does not know are such rows, by the thousand.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["RowGroups", "group_rows"]

_BLOCK_ROWS = 2048
_SEED = 0


@dataclass(frozen=True, slots=True, eq=False)
class RowGroups:
    """Rows grouped by content.

    Attributes
    ----------
    indptr
        (n_groups + 1,) int64, where each group begins in `members`.
    members
        (n,) int32 row ids, ascending in each group.
    """

    indptr: NDArray[np.int64]
    members: NDArray[np.int32]

    def __len__(self) -> int:
        return len(self.indptr) - 1

    def first_rows(self, groups: NDArray[np.int32] | slice) -> NDArray[np.int32]:
        """Return the lowest row id of each group asked for."""
        return self.members[self.indptr[:-1][groups]]

    def reordered(self, order: NDArray[np.int32]) -> RowGroups:
        """Return the same groups in another order.

        Parameters
        ----------
        order
            (n_groups,) int32, a permutation: which group stands where.
        """
        starts, sizes = self.indptr[:-1][order], np.diff(self.indptr)[order]
        indptr = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        places = np.arange(indptr[-1]) + np.repeat(starts - indptr[:-1], sizes)
        return RowGroups(indptr, self.members[places])

    def expand(self, groups: NDArray[np.int32], limit: int) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        """List the rows of some groups.

        Parameters
        ----------
        groups
            (n_asked,) int32.
        limit
            At most so many rows of each group, the lowest ids.

        Returns
        -------
        rows
            (n_rows,) int32, group after group.
        owner
            (n_rows,) int64 position in `groups` that each row belongs to.
        """
        starts = self.indptr[groups]
        sizes = np.minimum(self.indptr[groups + 1] - starts, limit)
        owner = np.repeat(np.arange(len(groups)), sizes)
        offsets = np.arange(sizes.sum()) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        return self.members[starts[owner] + offsets], owner


def group_rows(bits: NDArray[np.uint16]) -> RowGroups:
    """Group rows of the same bits.

    Parameters
    ----------
    bits
        (n, d) uint16, float16 rows by their bits.

    Returns
    -------
    RowGroups
        Every row is in one group; rows of one group are equal, and equal rows are in one group.
    """
    n = len(bits)
    _, first, group = np.unique(_row_hashes(bits), return_index=True, return_inverse=True)
    leader = first[group]
    followers = np.flatnonzero(leader != np.arange(n))
    for start in range(0, len(followers), _BLOCK_ROWS):
        rows = followers[start : start + _BLOCK_ROWS]
        # Two different rows of one hash: the later one stays alone.
        unlike = rows[(bits[rows] != bits[leader[rows]]).any(axis=1)]
        leader[unlike] = unlike
    order = np.lexsort((np.arange(n), leader)).astype(np.int32)
    starts = np.flatnonzero(leader == np.arange(n))
    sizes = np.bincount(leader, minlength=n)[starts]
    return RowGroups(np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64), order)


def _row_hashes(bits: NDArray[np.uint16]) -> NDArray[np.uint64]:
    """Return (n,) uint64: a sum of the row's numbers, each times a fixed random odd number."""
    factors = np.random.default_rng(_SEED).integers(1, 2**64, bits.shape[1], np.uint64) | np.uint64(1)
    hashes = np.empty(len(bits), np.uint64)
    for start in range(0, len(bits), _BLOCK_ROWS):
        block = bits[start : start + _BLOCK_ROWS].astype(np.uint64)
        hashes[start : start + _BLOCK_ROWS] = block @ factors
    return hashes
