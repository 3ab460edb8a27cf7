"""The dual-perceived score phi(entity, community) = weight * S_r + (1 - weight) * S_s.

S_r is the weighted Jaccard of relation profiles in frequencies, S_s the cosine in 3d: the three dot products
of the parts (head, relation, tail) add up to one dot product of the whole rows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numba import float32, int32, int64, uint16

from .decorator import kernel, ro
from .instructions import prefetch_row, widen

if TYPE_CHECKING:
    from numpy.typing import NDArray

_LANES = 16

AHEAD = 4
"""Rows between asking for one and reading it."""


@kernel((ro(int32), ro(float32), int64, int64, ro(int32), ro(float32), int64, int64))
def profile_overlap(
    codes_a: NDArray[np.int32],
    freq_a: NDArray[np.float32],
    start_a: int,
    stop_a: int,
    codes_b: NDArray[np.int32],
    freq_b: NDArray[np.float32],
    start_b: int,
    stop_b: int,
) -> float:
    """Return the weighted Jaccard of row a and row b, a best being the shorter one.

    Parameters
    ----------
    codes_a, freq_a : (n,) int32 and (n,) float32
        Codes ascending in ``start_a ... stop_a``, frequencies that sum to one there (or nothing).
    start_a, stop_a : int
    codes_b, freq_b, start_b, stop_b
        The same for b.

    Returns
    -------
    float
        In [0, 1]; 0 where either row is empty. As both rows sum to one, sum of max = 2 - sum of min.

    Notes
    -----
    8 bytes of a for a code, and about log2 of b's length reads of b, which grow shorter as codes ascend.
    """
    shared = 0.0
    low = start_b
    for entry in range(start_a, stop_a):
        code = codes_a[entry]
        high = stop_b
        while low < high:
            middle = (low + high) // 2
            if codes_b[middle] < code:
                low = middle + 1
            else:
                high = middle
        if low == stop_b:
            break
        if codes_b[low] == code:
            shared += min(freq_a[entry], freq_b[low])
    shared = min(shared, 1.0)
    return shared / (2.0 - shared)


@kernel(
    (
        ro(uint16, 2),
        ro(int64),
        ro(int32),
        ro(float32),
        ro(int32),
        ro(int32),
        ro(float32, 2),
        ro(int64),
        ro(int32),
        ro(float32),
        float32,
    ),
    fastmath=frozenset({"contract", "reassoc"}),
)
def phi_members(
    bits: NDArray[np.uint16],
    indptr: NDArray[np.int64],
    codes: NDArray[np.int32],
    frequencies: NDArray[np.float32],
    members: NDArray[np.int32],
    labels: NDArray[np.int32],
    directions: NDArray[np.float32],
    community_indptr: NDArray[np.int64],
    community_codes: NDArray[np.int32],
    community_frequencies: NDArray[np.float32],
    weight: float,
) -> NDArray[np.float32]:
    """Score members against their own communities.

    Parameters
    ----------
    bits : (n_entities, 3 d) uint16
        Float16 bits of the entity vectors.
    indptr, codes, frequencies : (n_entities + 1,) int64, (n,) int32, (n,) float32
        Relation profiles of the entities.
    members : (m,) int32
        Entities to score.
    labels : (m,) int32
        Community of each of them, a row of `directions`.
    directions : (n_communities, 3 d) float32
        Mean vectors of the communities, unit-norm (or zero).
    community_indptr, community_codes, community_frequencies
        Relation profiles of the communities.
    weight : float
        Share of the relations in the score, 0 ... 1.

    Returns
    -------
    (m,) float32

    Notes
    -----
    6 d bytes at a random place for a member and 12 d from the cache; 3 d conversions and 12 d flops.
    """
    phi = np.empty(members.shape[0], np.float32)
    for position in range(members.shape[0]):
        entity = members[position]
        community = labels[position]
        if position + AHEAD < members.shape[0]:
            prefetch_row(bits, members[position + AHEAD])
        row, direction = np.uint64(entity), np.uint64(community)
        dot = np.float32(0.0)
        squares = np.float32(0.0)
        for column in range(bits.shape[1]):
            value = widen(bits[row, column])
            dot += value * directions[direction, column]
            squares += value * value
        cosine = dot / np.sqrt(squares) if squares > 0 else np.float32(0.0)
        overlap = profile_overlap(
            codes,
            frequencies,
            int(indptr[entity]),
            int(indptr[entity + 1]),
            community_codes,
            community_frequencies,
            int(community_indptr[community]),
            int(community_indptr[community + 1]),
        )
        phi[position] = weight * overlap + (np.float32(1.0) - weight) * cosine
    return phi


@kernel(
    (
        ro(uint16, 2),
        ro(int64),
        ro(int32),
        ro(float32),
        ro(int32),
        ro(int32),
        float32,
    ),
    fastmath=frozenset({"contract", "reassoc"}),
)
def phi_edges(
    bits: NDArray[np.uint16],
    indptr: NDArray[np.int64],
    codes: NDArray[np.int32],
    frequencies: NDArray[np.float32],
    first: NDArray[np.int32],
    second: NDArray[np.int32],
    weight: float,
) -> NDArray[np.float32]:
    """Score the two ends of edges against each other, each end being a community of one.

    Parameters
    ----------
    bits : (n_entities, 3 d) uint16
        Float16 bits of the entity vectors.
    indptr, codes, frequencies
        Relation profiles of the entities.
    first, second : (n_edges,) int32
        Entities; a row is converted once where consecutive edges share their first end.
    weight : float
        Share of the relations in the score, 0 ... 1.

    Returns
    -------
    (n_edges,) float32
        At least 0: a negative cosine counts as far as it does not outweigh the relations.

    Notes
    -----
    6 d bytes at a random place for an edge, asked for some edges ahead; 3 d conversions and 12 d flops.
    """
    phi = np.empty(first.shape[0], np.float32)
    width = bits.shape[1]
    row = np.zeros(width, np.float32)
    row_squares = np.float32(0.0)
    for edge in range(first.shape[0]):
        one, other = first[edge], second[edge]
        if edge + AHEAD < first.shape[0]:
            prefetch_row(bits, second[edge + AHEAD])
        if edge == 0 or first[edge - 1] != one:
            source = np.uint64(one)
            row_squares = np.float32(0.0)
            for column in range(width):
                value = widen(bits[source, column])
                row[column] = value
                row_squares += value * value
        target = np.uint64(other)
        dot = np.float32(0.0)
        squares = np.float32(0.0)
        for column in range(width):
            value = widen(bits[target, column])
            dot += value * row[column]
            squares += value * value
        both = squares * row_squares
        cosine = dot / np.sqrt(both) if both > 0 else np.float32(0.0)
        overlap = profile_overlap(
            codes,
            frequencies,
            int(indptr[one]),
            int(indptr[one + 1]),
            codes,
            frequencies,
            int(indptr[other]),
            int(indptr[other + 1]),
        )
        score = weight * overlap + (np.float32(1.0) - weight) * cosine
        phi[edge] = score if score > 0 else np.float32(0.0)
    return phi


@kernel(
    (
        ro(float32, 2),
        ro(int64),
        ro(int32),
        ro(float32),
        ro(int32),
        ro(int64),
        ro(int32),
        ro(float32),
        int64,
        float32,
    )
)
def phi_pairs(
    cosine: NDArray[np.float32],
    indptr: NDArray[np.int64],
    codes: NDArray[np.int32],
    frequencies: NDArray[np.float32],
    centres: NDArray[np.int32],
    community_indptr: NDArray[np.int64],
    community_codes: NDArray[np.int32],
    community_frequencies: NDArray[np.float32],
    n_codes: int,
    weight: float,
) -> NDArray[np.float32]:
    """Score every centre against every community.

    Parameters
    ----------
    cosine : (n_centres, n_communities) float32
        Cosine of each centre's vector with each community's mean vector.
    indptr, codes, frequencies
        Relation profiles of the entities.
    centres : (n_centres,) int32
    community_indptr, community_codes, community_frequencies
        Relation profiles of the communities.
    n_codes : int
        Codes are below it.
    weight : float
        Share of the relations in the score, 0 ... 1.

    Returns
    -------
    (n_centres, n_communities) float32

    Notes
    -----
    The profiles of 16 communities at a time lie in a table of ``n_codes`` rows: a code of a centre costs 16
    comparisons and additions side by side, 64 bytes of a table that stays in the cache. 8 bytes read and
    written for a pair.
    """
    n_centres, n_communities = cosine.shape
    phi = np.empty(cosine.shape, np.float32)
    table = np.zeros((n_codes, _LANES), np.float32)
    shared = np.empty(_LANES, np.float32)
    for first in range(0, n_communities, _LANES):
        n_here = min(_LANES, n_communities - first)
        for lane in range(n_here):
            for entry in range(community_indptr[first + lane], community_indptr[first + lane + 1]):
                table[community_codes[entry], lane] = community_frequencies[entry]
        for row in range(n_centres):
            shared[:] = np.float32(0.0)
            for entry in range(indptr[centres[row]], indptr[centres[row] + 1]):
                beside = table[codes[entry]]
                frequency = frequencies[entry]
                for lane in range(_LANES):
                    shared[lane] += min(frequency, beside[lane])
            for lane in range(n_here):
                least = min(shared[lane], np.float32(1.0))
                overlap = least / (np.float32(2.0) - least)
                share = (np.float32(1.0) - weight) * cosine[row, first + lane]
                phi[row, first + lane] = weight * overlap + share
        for lane in range(n_here):
            for entry in range(community_indptr[first + lane], community_indptr[first + lane + 1]):
                table[community_codes[entry], lane] = np.float32(0.0)
    return phi
