"""Dot products with float16 rows, read where they lie.

Rows are float16 seen as uint16 (`array.view(np.uint16)`), as Numba has no float16 on the CPU, and numpy's own
conversion costs more than the product. Values must be finite.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numba import float32, uint16

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
