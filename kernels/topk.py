"""The k best scores of an array, and of rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numba import float32, int8, int64, uint16, uint64

from .decorator import kernel, ro, rw
from .instructions import widen

if TYPE_CHECKING:
    from numpy.typing import NDArray

BLOCK = 256
LEVELS = 127
ROUNDING = 1e-5
"""Far above what the products of unit-norm rows lose in float32."""


@kernel((rw(uint64), int64, int64))
def keep_largest(out_keys: NDArray[np.uint64], n_keys: int, k: int) -> None:
    """Move the `k` largest of the first `n_keys` distinct keys to the front, in no order.

    Parameters
    ----------
    out_keys : (at least n_keys,) uint64, distinct
        Reordered in place.
    n_keys : int
        How many keys count.
    k : int in [1, n_keys]
        How many to bring to the front; the smallest of them stands at ``k - 1``.

    Notes
    -----
    Quickselect with the median of three: about 3 comparisons and 16 bytes for a key.
    """
    low = 0
    high = n_keys - 1
    while low < high:
        first = out_keys[low]
        middle = out_keys[(low + high) // 2]
        last = out_keys[high]
        pivot = max(min(first, middle), min(max(first, middle), last))
        i = low
        j = high
        while i <= j:
            while out_keys[i] > pivot:
                i += 1
            while out_keys[j] < pivot:
                j -= 1
            if i <= j:
                swapped = out_keys[i]
                out_keys[i] = out_keys[j]
                out_keys[j] = swapped
                i += 1
                j -= 1
        if k - 1 <= j:
            high = j
        elif k - 1 >= i:
            low = i
        else:
            break


@kernel((ro(float32), int64))
def top_k(scores: NDArray[np.float32], k: int) -> NDArray[np.int32]:
    """Return the ids of the `k` largest scores, largest first; of equal scores the lower id goes first.

    Parameters
    ----------
    scores : (n,) float32
        Any values. NaN is no score: such an id is never returned. Infinities count as the extremes they
        are, and the two zeros are equal.
    k : int
        How many to return; a `k` below zero counts as zero.

    Returns
    -------
    (min(k, n - number of NaN),) int32
        Ids, best first.

    Notes
    -----
    One pass of 4 bytes and 1 comparison for a score: blocks in which nothing beats the k-th best so far
    are skipped by a vectorised count. What does beat it goes to a buffer of ``4 * k`` keys that is cut to
    `k` when full, so that even ascending scores cost O(n), plus the final sort of `k`.
    """
    n = scores.shape[0]
    k = min(max(k, 0), n)
    if k == 0:
        return np.empty(0, np.int32)
    bits = scores.view(np.uint32)
    keys = np.empty(min(n, max(4 * k, BLOCK)) + BLOCK, np.uint64)
    n_keys = 0
    bar = np.float32(-np.inf)
    has_bar = False
    for start in range(0, n, BLOCK):
        stop = min(start + BLOCK, n)
        if has_bar:
            n_better = 0
            for i in range(start, stop):
                n_better += scores[i] > bar
            if n_better == 0:
                continue
        for i in range(start, stop):
            if scores[i] > bar or (not has_bar and scores[i] == bar):
                pattern = np.uint64(bits[i])
                if pattern == np.uint64(0x80000000):
                    pattern = np.uint64(0)
                if pattern >> np.uint64(31):
                    pattern ^= np.uint64(0xFFFFFFFF)
                else:
                    pattern |= np.uint64(0x80000000)
                keys[n_keys] = (pattern << np.uint64(32)) | np.uint64(0xFFFFFFFF - i)
                n_keys += 1
        if n_keys > k and n_keys + BLOCK > keys.shape[0]:
            keep_largest(keys, n_keys, k)
            n_keys = k
            bar = scores[np.int64(np.uint64(0xFFFFFFFF) - (keys[k - 1] & np.uint64(0xFFFFFFFF)))]
            has_bar = True
    if n_keys > k:
        keep_largest(keys, n_keys, k)
        n_keys = k
    ordered = np.sort(keys[:n_keys])
    ids = np.empty(n_keys, np.int32)
    for i in range(n_keys):
        ids[i] = np.int64(np.uint64(0xFFFFFFFF) - (ordered[n_keys - 1 - i] & np.uint64(0xFFFFFFFF)))
    return ids


@kernel((ro(uint16, 2), ro(float32), int64), fastmath=frozenset({"nsz", "contract", "reassoc"}))
def best_rows(
    bits: NDArray[np.uint16], query: NDArray[np.float32], k: int
) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
    """Return the `k` rows with the largest dot products with one query, largest first.

    Parameters
    ----------
    bits : (n, d) uint16
        Float16 rows, by their bits.
    query : (d,) float32
    k : int
        How many to return.

    Returns
    -------
    ids : (min(k, n),) int32
        Best first; of equal scores the lower id goes first.
    scores : (min(k, n),) float32

    Raises
    ------
    ValueError
        If the widths differ.

    Notes
    -----
    `half_dot` and `top_k` in one call, which leaves the interpreter alone from the first row to the last.
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
    ids = top_k(scores, k)
    best = np.empty(ids.shape[0], np.float32)
    for i in range(ids.shape[0]):
        best[i] = scores[ids[i]]
    return ids, best


@kernel((ro(uint16, 2),))
def byte_rows(
    bits: NDArray[np.uint16],
) -> tuple[NDArray[np.int8], NDArray[np.float32], NDArray[np.float32]]:
    """Round rows to one byte a value, each row by its own scale.

    Parameters
    ----------
    bits : (n, d) uint16
        Float16 rows, by their bits.

    Returns
    -------
    codes : (n, d) int8
    scale : (n,) float32
        A row is about its codes times its scale.
    lost : (n,) float32
        Length of what is lost of each row: for a query of length 1 their products differ by no more.

    Notes
    -----
    2 bytes read and 1 written for a value, twice each.
    """
    n, d = bits.shape
    codes = np.empty((n, d), np.int8)
    scale = np.empty(n, np.float32)
    lost = np.empty(n, np.float32)
    for row in range(n):
        largest = np.float32(0)
        for column in range(d):
            largest = max(largest, abs(widen(bits[row, column])))
        step = largest / np.float32(LEVELS)
        scale[row] = step
        squares = np.float32(0)
        for column in range(d):
            value = widen(bits[row, column])
            code = np.int8(np.rint(value / step)) if step > 0 else np.int8(0)
            codes[row, column] = code
            off = value - step * np.float32(code)
            squares += off * off
        lost[row] = np.sqrt(squares)
    return codes, scale, lost


@kernel(
    (ro(uint16, 2), ro(int8, 2), ro(float32), ro(float32), ro(float32), int64),
    fastmath=frozenset({"nsz", "contract", "reassoc"}),
)
def best_byte_rows(
    bits: NDArray[np.uint16],
    codes: NDArray[np.int8],
    scale: NDArray[np.float32],
    lost: NDArray[np.float32],
    query: NDArray[np.float32],
    k: int,
) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
    """Return what `best_rows` returns, reading little more than half as much.

    Parameters
    ----------
    bits : (n, d) uint16
        Float16 rows, by their bits.
    codes : (n, d) int8
    scale, lost : (n,) float32
        Of the same rows, as `byte_rows` gives them.
    query : (d,) float32
    k : int
        How many to return.

    Returns
    -------
    ids : (min(k, n),) int32
        Best first; of equal scores the lower id goes first.
    scores : (min(k, n),) float32

    Raises
    ------
    ValueError
        If the widths or the numbers of rows differ.

    Notes
    -----
    A row is scored in full where its rounded product and what it may have lost reach what the k-th best
    certainly has (Cauchy-Schwarz), so that none of the best is missed. d bytes and 2 d flops for a row, and
    2 d bytes for each that is scored in full, about 1.4 k where a hundred are wanted.
    """
    n, d = bits.shape
    if query.shape[0] != d or codes.shape[1] != d:
        raise ValueError("query and rows differ in width")
    if codes.shape[0] != n or scale.shape[0] != n or lost.shape[0] != n:
        raise ValueError("there are not as many codes as rows")
    length = np.float32(0)
    for column in range(d):
        length += query[column] * query[column]
    length = np.sqrt(length)
    most = np.empty(n, np.float32)
    least = np.empty(n, np.float32)
    for row in range(n):
        total = np.float32(0)
        for column in range(d):
            total += np.float32(codes[row, column]) * query[column]
        off = length * (lost[row] + np.float32(ROUNDING))
        most[row] = total * scale[row] + off
        least[row] = total * scale[row] - off
    certain = top_k(least, k)
    bar = least[certain[k - 1]] if 0 < k <= certain.shape[0] else np.float32(-np.inf)
    scores = np.full(n, np.float32(-np.inf), np.float32)
    for row in range(n):
        if not most[row] < bar:  # what is no number is scored in full
            total = np.float32(0)
            for column in range(d):
                total += widen(bits[row, column]) * query[column]
            scores[row] = total
    ids = top_k(scores, k)
    best = np.empty(ids.shape[0], np.float32)
    for i in range(ids.shape[0]):
        best[i] = scores[ids[i]]
    return ids, best
