"""The k best scores of an array."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numba import float32, int64, uint64

from .decorator import kernel, ro, rw

if TYPE_CHECKING:
    from numpy.typing import NDArray

BLOCK = 256


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
