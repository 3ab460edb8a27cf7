"""Distinct values of small arrays: of a few hundred in about a quarter of the time of `np.unique`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["distinct", "distinct_places", "first_places"]


def distinct(values: NDArray[np.int32]) -> NDArray[np.int32]:
    """Return the distinct values of (n,) int32, ascending."""
    ordered = np.sort(values)
    return ordered[_is_new(ordered)]


def distinct_places(values: NDArray[np.int32]) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Return the distinct values of (n,) int32, ascending, and the (n,) place of each value among them."""
    found = distinct(values)
    return found, found.searchsorted(values)


def first_places(values: NDArray[np.int32]) -> NDArray[np.int64]:
    """Return the places, ascending, at which a value of (n,) int32 occurs for the first time."""
    order = np.argsort(values, kind="stable")
    return np.sort(order[_is_new(values[order])])


def _is_new(ordered: NDArray[np.int32]) -> NDArray[np.bool_]:
    """Return where ascending values differ from the one before."""
    is_new = np.ones(ordered.shape[0], bool)
    np.not_equal(ordered[1:], ordered[:-1], out=is_new[1:])
    return is_new
