"""The dual-perceived score phi(entity, community) = weight * S_r + (1 - weight) * S_s, and what it selects.

S_r is the weighted Jaccard of relation profiles in frequencies, S_s the cosine in 3d: the three dot products
of the parts (head, relation, tail) add up to one dot product of the whole rows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numba import float32, int32, int64, uint16

from .decorator import kernel, ro

if TYPE_CHECKING:
    from numpy.typing import NDArray


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
    """
    phi = np.empty(members.shape[0], np.float32)
    for position in range(members.shape[0]):
        entity = members[position]
        community = labels[position]
        row = bits[entity]
        direction = directions[community]
        dot = np.float32(0.0)
        squares = np.float32(0.0)
        for column in range(row.shape[0]):
            wide = np.int32(np.uint16(row[column]).view(np.int16))
            moved = np.int32((wide << np.int32(13)) & np.int32(-0x70002000))
            value = np.float32(moved.view(np.float32) * np.float32(2.0**112))
            dot += value * direction[column]
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
    Reads 6 d bytes an edge, at random; 3 d conversions and 6 d multiplications with additions.
    """
    phi = np.empty(first.shape[0], np.float32)
    width = bits.shape[1]
    row = np.zeros(width, np.float32)
    row_squares = np.float32(0.0)
    for edge in range(first.shape[0]):
        one, other = first[edge], second[edge]
        if edge == 0 or first[edge - 1] != one:
            source = bits[one]
            row_squares = np.float32(0.0)
            for column in range(width):
                wide = np.int32(np.uint16(source[column]).view(np.int16))
                moved = np.int32((wide << np.int32(13)) & np.int32(-0x70002000))
                value = np.float32(moved.view(np.float32) * np.float32(2.0**112))
                row[column] = value
                row_squares += value * value
        target = bits[other]
        dot = np.float32(0.0)
        squares = np.float32(0.0)
        for column in range(width):
            wide = np.int32(np.uint16(target[column]).view(np.int16))
            moved = np.int32((wide << np.int32(13)) & np.int32(-0x70002000))
            value = np.float32(moved.view(np.float32) * np.float32(2.0**112))
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


@kernel((ro(float32), ro(int32), ro(int32), int64))
def select_centres(
    phi: NDArray[np.float32], members: NDArray[np.int32], labels: NDArray[np.int32], n_communities: int
) -> NDArray[np.int32]:
    """Return the member with the highest score of each community, the lower id where scores are equal.

    Parameters
    ----------
    phi : (m,) float32
    members : (m,) int32
        Entity ids.
    labels : (m,) int32
        Community of each member.
    n_communities : int

    Returns
    -------
    (n_communities,) int32
        Entity ids; -1 for a community without members.
    """
    centres = np.full(n_communities, -1, np.int32)
    best = np.zeros(n_communities, np.float32)
    for position in range(members.shape[0]):
        community = labels[position]
        entity = members[position]
        score = phi[position]
        if (
            centres[community] < 0
            or score > best[community]
            or (score == best[community] and entity < centres[community])
        ):
            centres[community] = entity
            best[community] = score
    return centres


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
    weight : float
        Share of the relations in the score, 0 ... 1.

    Returns
    -------
    (n_centres, n_communities) float32
    """
    phi = np.empty(cosine.shape, np.float32)
    for row in range(cosine.shape[0]):
        entity = centres[row]
        for community in range(cosine.shape[1]):
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
            phi[row, community] = weight * overlap + (np.float32(1.0) - weight) * cosine[row, community]
    return phi
