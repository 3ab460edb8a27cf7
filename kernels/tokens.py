"""Words of UTF-8 texts and their hashes: names and questions without a Python object for each word.

A text is plain when it holds nothing but ASCII, Han characters of the two oldest blocks and typographic
single quotes: then normalisation changes nothing and folding case is adding 32. Hashes are FNV-1a over bytes,
64 bits, mixed at the end, so that the hash of a stretch of words grows from that of the stretch before.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numba import int64, uint8, uint64

from .decorator import kernel, ro

if TYPE_CHECKING:
    from numpy.typing import NDArray

OFFSET = np.uint64(0xCBF29CE484222325)
PRIME = np.uint64(0x100000001B3)
OTHER, BREAK, LETTER, UNDERSCORE, QUOTE, HAN = 0, 1, 2, 3, 4, 5


@kernel((uint64,))
def finished(state: np.uint64) -> np.uint64:
    """Return the hash of the bytes that led to a running state; never 0.

    Parameters
    ----------
    state : uint64

    Returns
    -------
    uint64

    Notes
    -----
    The finaliser of MurmurHash3 (Appleby, public domain): 3 shifts, 2 products.
    """
    state ^= state >> np.uint64(33)
    state *= np.uint64(0xFF51AFD7ED558CCD)
    state ^= state >> np.uint64(33)
    state *= np.uint64(0xC4CEB9FE1A85EC53)
    state ^= state >> np.uint64(33)
    return max(state, np.uint64(1))


@kernel((ro(uint8), ro(int64)))
def hash_texts(data: NDArray[np.uint8], indptr: NDArray[np.int64]) -> NDArray[np.uint64]:
    """Return the hash of each text.

    Parameters
    ----------
    data : (n_bytes,) uint8
        All texts side by side.
    indptr : (n + 1,) int64, not descending, within data
        Where each begins.

    Returns
    -------
    (n,) uint64
        Never 0.

    Notes
    -----
    A product a byte.
    """
    n = indptr.shape[0] - 1
    hashes = np.empty(n, np.uint64)
    for i in range(n):
        state = OFFSET
        for position in range(indptr[i], indptr[i + 1]):
            state = (state ^ np.uint64(data[position])) * PRIME
        hashes[i] = finished(state)
    return hashes


@kernel((ro(uint8), int64, int64))
def kind_at(data: NDArray[np.uint8], position: int, stop: int) -> tuple[int, int]:
    """Return what stands at a position of a text, and its length in bytes.

    Parameters
    ----------
    data : (n_bytes,) uint8
    position, stop : int
        ``position < stop``, both within data; the text ends at `stop`.

    Returns
    -------
    int
        OTHER (the text is not plain), BREAK, LETTER (or digit), UNDERSCORE, QUOTE or HAN.
    int
        1 or 3.

    Notes
    -----
    A few branches.
    """
    byte = data[position]
    if byte < 128:
        if 48 <= byte <= 57 or 65 <= byte <= 90 or 97 <= byte <= 122:
            return LETTER, 1
        if byte == 95:
            return UNDERSCORE, 1
        if byte in (39, 96):
            return QUOTE, 1
        return BREAK, 1
    if position + 2 < stop and 0xE2 <= byte <= 0xE9:
        code = (
            (np.int64(byte) & 0x0F) << 12
            | (np.int64(data[position + 1]) & 0x3F) << 6
            | np.int64(data[position + 2]) & 0x3F
        )
        if 0x3400 <= code <= 0x4DBF or 0x4E00 <= code <= 0x9FFF:
            return HAN, 3
        if code in (0x2018, 0x2019):
            return QUOTE, 3
    return OTHER, 1


@kernel((ro(uint8), ro(int64)))
def split_texts(
    data: NDArray[np.uint8], indptr: NDArray[np.int64]
) -> tuple[NDArray[np.bool_], NDArray[np.uint64], NDArray[np.int64], NDArray[np.uint64]]:
    """Split plain texts into words and single Han characters, and hash them.

    Parameters
    ----------
    data : (n_bytes,) uint8
        UTF-8 texts side by side.
    indptr : (n + 1,) int64, not descending, within data
        Where each begins.

    Returns
    -------
    is_plain : (n,) bool
        Whether this splits the text; of others there is nothing in what follows.
    form_hash : (n,) uint64
        Hash of the text's words, in lower case, joined by a space but between two Han characters; 0 where
        there is no word.
    unit_indptr : (n + 1,) int64
        Where the units of each text begin.
    unit_hash : (n_units,) uint64
        Hash of each word or character.

    Notes
    -----
    A word is a run of letters and digits; quotes inside it stay, as a plain apostrophe, but a final ``'s`` is
    cut off and is no word. One pass: some 20 operations a byte.
    """
    n = indptr.shape[0] - 1
    is_plain = np.ones(n, np.bool_)
    form_hash = np.zeros(n, np.uint64)
    unit_indptr = np.zeros(n + 1, np.int64)
    unit_hash = np.empty((data.shape[0] + n) // 2 + 1, np.uint64)
    n_units = 0
    for i in range(n):
        stop = indptr[i + 1]
        position = indptr[i]
        first_unit = n_units
        form = OFFSET
        last_was_han = False
        after_quote = False
        while position < stop:
            kind, length = kind_at(data, position, stop)
            if kind == OTHER:
                is_plain[i] = False
                break
            if kind not in (LETTER, HAN):
                after_quote = kind == QUOTE
                position += length
                continue
            state = OFFSET
            begin = position
            joined = form
            if n_units > first_unit and not (kind == HAN and last_was_han):
                joined = (joined ^ np.uint64(32)) * PRIME
            if kind == HAN:
                for at in range(position, position + 3):
                    state = (state ^ np.uint64(data[at])) * PRIME
                    joined = (joined ^ np.uint64(data[at])) * PRIME
                position += 3
            else:
                while position < stop:
                    kind, length = kind_at(data, position, stop)
                    if kind == QUOTE and position + length < stop:
                        behind = position + length
                        next_kind, _ = kind_at(data, behind, stop)
                        if next_kind != LETTER:
                            break
                        if data[behind] in (83, 115):
                            if behind + 1 >= stop:
                                break
                            third, _ = kind_at(data, behind + 1, stop)
                            if third == OTHER:
                                is_plain[i] = False
                            if third in (BREAK, QUOTE, OTHER):
                                break
                        byte = np.uint64(39)
                    elif kind == LETTER:
                        byte = np.uint64(data[position])
                        if 65 <= byte <= 90:
                            byte += np.uint64(32)
                    else:
                        break
                    state = (state ^ byte) * PRIME
                    joined = (joined ^ byte) * PRIME
                    position += length
                kind = LETTER
                if after_quote and position == begin + 1 and data[begin] in (83, 115):
                    after_quote = False
                    continue
            after_quote = False
            last_was_han = kind == HAN
            form = joined
            unit_hash[n_units] = finished(state)
            n_units += 1
        if not is_plain[i]:
            n_units = first_unit
        elif n_units > first_unit:
            form_hash[i] = finished(form)
        unit_indptr[i + 1] = n_units
    return is_plain, form_hash, unit_indptr, unit_hash[:n_units].copy()


@kernel((ro(uint64), ro(int64)))
def distinct_in_rows(values: NDArray[np.uint64], indptr: NDArray[np.int64]) -> NDArray[np.uint64]:
    """Return the values of all rows, each once a row.

    Parameters
    ----------
    values : (n_values,) uint64
    indptr : (n + 1,) int64, not descending, from 0 to n_values
        Where each row begins.

    Returns
    -------
    (n_distinct,) uint64
        Row by row, ascending in each.

    Notes
    -----
    Sorts each row: k log k comparisons for a row of k.
    """
    distinct = np.empty(values.shape[0], np.uint64)
    n_distinct = 0
    for i in range(indptr.shape[0] - 1):
        row = np.sort(values[indptr[i] : indptr[i + 1]])
        for j in range(row.shape[0]):
            if j == 0 or row[j] != row[j - 1]:
                distinct[n_distinct] = row[j]
                n_distinct += 1
    return distinct[:n_distinct].copy()


@kernel((ro(uint8), ro(int64), ro(uint8), int64))
def span_hashes(
    data: NDArray[np.uint8], indptr: NDArray[np.int64], is_han: NDArray[np.uint8], max_units: int
) -> NDArray[np.uint64]:
    """Return the hash of every stretch of a text's units, as `split_texts` hashes a whole text.

    Parameters
    ----------
    data : (n_bytes,) uint8
        Folded units side by side.
    indptr : (n_units + 1,) int64, not descending, within data
        Where each begins.
    is_han : (n_units,) uint8
        1 where two such neighbours are joined by nothing instead of a space.
    max_units : int, at least 1
        Longest stretch.

    Returns
    -------
    (n_units, max_units) uint64
        In row i, column j the stretch of j + 1 units from i on; 0 where the text ends before.

    Notes
    -----
    A product for each byte of each unit and stretch that ends with it.
    """
    n_units = is_han.shape[0]
    hashes = np.zeros((n_units, max_units), np.uint64)
    for first in range(n_units):
        state = OFFSET
        for last in range(first, min(first + max_units, n_units)):
            if last > first and not (is_han[last] and is_han[last - 1]):
                state = (state ^ np.uint64(32)) * PRIME
            for position in range(indptr[last], indptr[last + 1]):
                state = (state ^ np.uint64(data[position])) * PRIME
            hashes[first, last - first] = finished(state)
    return hashes
