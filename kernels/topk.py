"""The k best scores of an array, and of rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numba import float32, int8, int64, uint16, uint32, uint64

from .decorator import kernel, ro, rw
from .instructions import widen

if TYPE_CHECKING:
    from numpy.typing import NDArray

BLOCK = 256
FEW = 16
"""Fewer better scores in a block are looked for one by one."""

LEVELS = 127
ROWS = 64
"""Rows that are held in cache while all queries pass over them."""

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


@kernel((uint32, int64))
def key_of(pattern: int, i: int) -> np.uint64:
    """Return a number that is the larger, the larger a score is, and of equal scores the lower its id.

    Parameters
    ----------
    pattern : uint32
        Bits of a float32 that is a number.
    i : int
        The id, below 2**32.

    Notes
    -----
    The bits of a float, but for its sign, are in the order of floats.
    """
    ordered = np.uint64(pattern)
    if ordered == np.uint64(0x80000000):
        ordered = np.uint64(0)
    ordered ^= np.uint64(0xFFFFFFFF) if ordered >> np.uint64(31) else np.uint64(0x80000000)
    return (ordered << np.uint64(32)) | np.uint64(0xFFFFFFFF - i)


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
    `k` when full, so that even ascending scores cost O(n), plus the final sort of `k`. Where much of a block
    beats it, no processor can guess which scores do: all are written, each over the one before if that did
    not.
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
        n_better = BLOCK
        if has_bar:
            n_better = 0
            for i in range(start, stop):
                n_better += scores[i] > bar
        if n_better == 0:
            continue
        if n_better < FEW:
            for i in range(start, stop):
                if scores[i] > bar:
                    keys[n_keys] = key_of(bits[i], i)
                    n_keys += 1
        else:
            for i in range(start, stop):
                keys[n_keys] = key_of(bits[i], i)
                n_keys += (scores[i] > bar) | ((scores[i] == bar) & (not has_bar))
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


@kernel((ro(float32, 2), int64))
def best_of_each(scores: NDArray[np.float32], k: int) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
    """Return the `k` largest of each row of scores, as `top_k` orders them.

    Parameters
    ----------
    scores : (n_rows, n) float32
    k : int, not negative

    Returns
    -------
    ids : (n_rows, min(k, n)) int32
        -1 where there are fewer numbers than that.
    best : (n_rows, min(k, n)) float32
        NaN there.

    Notes
    -----
    See `top_k`.
    """
    n_rows, n = scores.shape
    k = min(k, n)
    ids = np.full((n_rows, k), -1, np.int32)
    best = np.full((n_rows, k), np.nan, np.float32)
    for i in range(n_rows):
        found = top_k(scores[i], k)
        for place in range(found.shape[0]):
            ids[i, place] = found[place]
            best[i, place] = scores[i, found[place]]
    return ids, best


@kernel((ro(uint16, 2), ro(float32, 2), int64), fastmath=frozenset({"nsz", "contract", "reassoc"}))
def best_rows(
    bits: NDArray[np.uint16], queries: NDArray[np.float32], k: int
) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
    """Return the `k` rows with the largest dot products with each query, largest first.

    Parameters
    ----------
    bits : (n, d) uint16
        Float16 rows, by their bits; finite.
    queries : (n_queries, d) float32
    k : int, not negative
        How many to return.

    Returns
    -------
    ids : (n_queries, min(k, n)) int32
        Best first; of equal scores the lower id goes first.
    scores : (n_queries, min(k, n)) float32
        They do not depend on what else is asked at the same time.

    Raises
    ------
    ValueError
        If the widths differ.

    Notes
    -----
    `half_dot` and `top_k` in one call, which leaves the interpreter alone from the first row to the last.
    Rows are read once for all queries, a block that stays in cache at a time: 2 d bytes for a row, 2 d flops
    for a row and query.
    """
    n, d = bits.shape
    if queries.shape[1] != d:
        raise ValueError("queries and rows differ in width")
    scores = np.empty((queries.shape[0], n), np.float32)
    for start in range(0, n, ROWS):
        stop = min(start + ROWS, n)
        for i in range(queries.shape[0]):
            query = queries[i]
            for row in range(start, stop):
                total = np.float32(0)
                for column in range(d):
                    total += widen(bits[row, column]) * query[column]
                scores[i, row] = total
    return best_of_each(scores, k)


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
    (ro(uint16, 2), ro(int8, 2), ro(float32), ro(float32), ro(float32, 2), int64),
    fastmath=frozenset({"nsz", "contract", "reassoc"}),
)
def best_byte_rows(
    bits: NDArray[np.uint16],
    codes: NDArray[np.int8],
    scale: NDArray[np.float32],
    lost: NDArray[np.float32],
    queries: NDArray[np.float32],
    k: int,
) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
    """Return what `best_rows` returns, reading little more than half as much.

    Parameters
    ----------
    bits : (n, d) uint16
        Float16 rows, by their bits; finite.
    codes : (n, d) int8
    scale, lost : (n,) float32
        Of the same rows, as `byte_rows` gives them.
    queries : (n_queries, d) float32
    k : int, not negative
        How many to return.

    Returns
    -------
    ids : (n_queries, min(k, n)) int32
        Best first; of equal scores the lower id goes first.
    scores : (n_queries, min(k, n)) float32

    Raises
    ------
    ValueError
        If the widths or the numbers of rows differ.

    Notes
    -----
    A row is scored in full where its rounded product and what it may have lost reach what the k-th best
    certainly has (Cauchy-Schwarz), so that none of the best is missed. d bytes for a row, once for all
    queries, 2 d flops for a row and query, and 2 d bytes for each that is scored in full, about 1.4 k where
    a hundred are wanted.
    """
    n, d = bits.shape
    n_queries = queries.shape[0]
    if queries.shape[1] != d or codes.shape[1] != d:
        raise ValueError("queries and rows differ in width")
    if codes.shape[0] != n or scale.shape[0] != n or lost.shape[0] != n:
        raise ValueError("there are not as many codes as rows")
    scores = np.empty((n_queries, n), np.float32)
    for start in range(0, n, ROWS):
        stop = min(start + ROWS, n)
        for i in range(n_queries):
            query = queries[i]
            for row in range(start, stop):
                total = np.float32(0)
                for column in range(d):
                    total += np.float32(codes[row, column]) * query[column]
                scores[i, row] = total * scale[row]
    off = np.empty(n, np.float32)
    for i in range(n_queries):
        query = queries[i]
        squares = np.float32(0)
        for column in range(d):
            squares += query[column] * query[column]
        length = np.sqrt(squares)
        rough = scores[i]
        for row in range(n):
            off[row] = length * (lost[row] + np.float32(ROUNDING))
        certain = top_k(rough - off, k)
        last = certain[k - 1] if 0 < k <= certain.shape[0] else -1
        bar = rough[last] - off[last] if last >= 0 else np.float32(-np.inf)
        for row in range(n):
            if rough[row] + off[row] < bar:
                rough[row] = np.float32(-np.inf)
                continue
            total = np.float32(0)
            for column in range(d):
                total += widen(bits[row, column]) * query[column]
            rough[row] = total
    return best_of_each(scores, k)
