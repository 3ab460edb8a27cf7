"""Dot products with float16 rows, read where they lie.

Rows are float16 seen as uint16 (`array.view(np.uint16)`), as Numba has no float16 on the CPU, and numpy's own
conversion costs more than the product. Values must be finite.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numba import float32, float64, uint16

from .decorator import kernel, ro
from .instructions import widen

if TYPE_CHECKING:
    from numpy.typing import NDArray


@kernel((ro(uint16, 2), ro(float32)), fastmath=frozenset({"nsz", "contract", "reassoc"}))
def half_dot(bits: NDArray[np.uint16], query: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the dot product of every row with one query.

    Parameters
    ----------
    bits : (n, d) uint16
        Float16 rows, by their bits.
    query : (d,) float32

    Returns
    -------
    (n,) float32
        Equal rows get equal scores, wherever they stand.

    Raises
    ------
    ValueError
        If the widths differ.

    Notes
    -----
    2 bytes, a conversion and 2 flops for an element: half the memory traffic of float32 rows, and no copy.
    """
    n, d = bits.shape
    if query.shape[0] != d:
        raise ValueError("query and rows differ in width")
    scores = np.empty(n, np.float32)
    for row in range(n):
        total = np.float32(0)
        for column in range(d):
            total += widen(bits[row, column]) * query[column]
        scores[row] = total
    return scores


@kernel((ro(uint16, 2),))
def half_to_float(bits: NDArray[np.uint16]) -> NDArray[np.float32]:
    """Widen float16 rows to float32, several times faster than numpy does.

    Parameters
    ----------
    bits : (n, d) uint16
        Float16 rows, by their bits.

    Returns
    -------
    (n, d) float32
        The same values.

    Notes
    -----
    2 bytes read, 4 written and a conversion for an element.
    """
    n, d = bits.shape
    rows = np.empty((n, d), np.float32)
    for row in range(n):
        for column in range(d):
            rows[row, column] = widen(bits[row, column])
    return rows


@kernel((ro(uint16, 2), ro(float32)), fastmath=frozenset({"nsz", "contract", "reassoc"}))
def half_dot_spread(bits: NDArray[np.uint16], query: NDArray[np.float32]) -> tuple[float, float]:
    """Return the mean and the standard deviation of the dot products of all rows with one query.

    Parameters
    ----------
    bits : (n, d) uint16
        Float16 rows, by their bits.
    query : (d,) float32

    Returns
    -------
    mean, deviation : float
        Of all n products, not of a sample; zeros where there are no rows.

    Raises
    ------
    ValueError
        If the widths differ.

    Notes
    -----
    As `half_dot`, and one pass over its result (Welford 1962).
    """
    scores = half_dot(bits, query)
    mean = 0.0
    squares = 0.0
    for row in range(scores.shape[0]):
        off = np.float64(scores[row]) - mean
        mean += off / (row + 1)
        squares += off * (np.float64(scores[row]) - mean)
    return mean, np.sqrt(max(squares, 0.0) / max(scores.shape[0], 1))


@kernel((ro(uint16, 2), float64), fastmath=frozenset({"nsz", "contract", "reassoc"}))
def half_pairs(bits: NDArray[np.uint16], least: float) -> NDArray[np.int32]:
    """Return the pairs of rows whose dot product reaches a bound.

    Parameters
    ----------
    bits : (n, d) uint16
        Float16 rows, by their bits.
    least : float
        The bound.

    Returns
    -------
    (m, 2) int32
        The lower row first, in order.

    Notes
    -----
    n * (n - 1) / 2 products of rows that are widened once; meant for a few hundred rows that stay in cache.
    """
    n, d = bits.shape
    rows = np.empty((n, d), np.float32)
    for row in range(n):
        for column in range(d):
            rows[row, column] = widen(bits[row, column])
    pairs = np.empty((n, 2), np.int32)
    n_pairs = 0
    for first in range(n):
        for second in range(first + 1, n):
            total = np.float32(0)
            for column in range(d):
                total += rows[first, column] * rows[second, column]
            if total >= least:
                if n_pairs == pairs.shape[0]:
                    longer = np.empty((2 * n_pairs, 2), np.int32)
                    longer[:n_pairs] = pairs
                    pairs = longer
                pairs[n_pairs, 0] = first
                pairs[n_pairs, 1] = second
                n_pairs += 1
    return pairs[:n_pairs].copy()
