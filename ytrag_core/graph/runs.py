"""Runs of equal values in sorted arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["first_of_run", "row_pointers"]


def first_of_run(ordered: NDArray[np.int64] | NDArray[np.int32]) -> NDArray[np.bool_]:
    """Return where a value differs from the one before it.

    Parameters
    ----------
    ordered
        (n,) values of which equal ones stand together.

    Returns
    -------
    ndarray
        (n,) bool, True at the first of each run.
    """
    first = np.ones(ordered.shape[0], bool)
    np.not_equal(ordered[1:], ordered[:-1], out=first[1:])
    return first


def row_pointers(rows: NDArray[np.int32] | NDArray[np.int64], n_rows: int) -> NDArray[np.int64]:
    """Return the row pointers of a CSR whose entries are of these rows.

    Parameters
    ----------
    rows
        (n,) in [0, n_rows), in any order.
    n_rows
        Number of rows.

    Returns
    -------
    ndarray
        (n_rows + 1,) int64.
    """
    indptr = np.zeros(n_rows + 1, np.int64)
    np.cumsum(np.bincount(rows, minlength=n_rows), out=indptr[1:])
    return indptr
