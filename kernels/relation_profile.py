"""Relation profiles: the multiset of (relation, direction) around an entity or a community.

A code is ``2 * relation`` where the entity is the head and ``2 * relation + 1`` where it is the tail.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numba import int32, int64

from .decorator import kernel, ro, rw

if TYPE_CHECKING:
    from numpy.typing import NDArray


@kernel((rw(int32), int64, int64))
def sort_codes(out_codes: NDArray[np.int32], start: int, stop: int) -> None:
    """Sort ``start ... stop`` of an array in place (Shell's method: `np.sort` costs seconds to compile).

    Parameters
    ----------
    out_codes : (n,) int32
    start, stop : int

    Notes
    -----
    In place, O(m sqrt(m)) or better for m codes; rows are a handful long, where it is an insertion sort.
    """
    gap = 1
    while gap < (stop - start) // 3:
        gap = 3 * gap + 1
    while gap > 0:
        for position in range(start + gap, stop):
            code = out_codes[position]
            place = position
            while place >= start + gap and out_codes[place - gap] > code:
                out_codes[place] = out_codes[place - gap]
                place -= gap
            out_codes[place] = code
        gap //= 3


@kernel((ro(int64), ro(int32), ro(int32), ro(int32), ro(int32), int64))
def entity_profiles(
    indptr: NDArray[np.int64],
    triples: NDArray[np.int32],
    head: NDArray[np.int32],
    relation: NDArray[np.int32],
    tail: NDArray[np.int32],
    n_relations: int,
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int32], NDArray[np.float32]]:
    """Count (relation, direction) over the triples of every entity; a self-loop counts in both directions.

    Parameters
    ----------
    indptr, triples : (n_entities + 1,) int64 and (n_incidences,) int32
        Triples of each entity.
    head, relation, tail : (n_triples,) int32
    n_relations : int
        Relation ids are below it.

    Returns
    -------
    profile_indptr : (n_entities + 1,) int64
    codes : (n,) int32, ascending in each row
    counts : (n,) int32, at least one
    frequencies : (n,) float32
        Counts divided by the row's sum.

    Notes
    -----
    For an incidence: 16 bytes read, 12 of them at random places, 8 of a table of relations in the cache,
    at most 12 written; a sort of each row.
    """
    n_entities = indptr.shape[0] - 1
    profile_indptr = np.zeros(n_entities + 1, np.int64)
    codes = np.empty(2 * triples.shape[0], np.int32)
    counts = np.empty(2 * triples.shape[0], np.int32)
    frequencies = np.empty(2 * triples.shape[0], np.float32)
    totals = np.zeros(2 * n_relations, np.int32)
    n_written = 0
    for entity in range(n_entities):
        first = n_written
        n_ends = 0
        for position in range(indptr[entity], indptr[entity + 1]):
            triple = triples[position]
            for direction in range(2):
                end = tail[triple] if direction == 1 else head[triple]
                if end != entity:
                    continue
                code = 2 * relation[triple] + direction
                if totals[code] == 0:
                    codes[n_written] = code
                    n_written += 1
                totals[code] += 1
                n_ends += 1
        sort_codes(codes, first, n_written)
        for position in range(first, n_written):
            counts[position] = totals[codes[position]]
            frequencies[position] = counts[position] / n_ends
            totals[codes[position]] = 0
        profile_indptr[entity + 1] = n_written
    return (
        profile_indptr,
        codes[:n_written].copy(),
        counts[:n_written].copy(),
        frequencies[:n_written].copy(),
    )


@kernel((ro(int64), ro(int32), ro(int32), ro(int64), ro(int32), int64))
def community_profiles(
    profile_indptr: NDArray[np.int64],
    codes: NDArray[np.int32],
    counts: NDArray[np.int32],
    members_indptr: NDArray[np.int64],
    members: NDArray[np.int32],
    n_relations: int,
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float32]]:
    """Add up the profiles of each community's members.

    Parameters
    ----------
    profile_indptr, codes, counts : (n_entities + 1,) int64, (n,) int32, (n,) int32
        As `entity_profiles` returns them.
    members_indptr, members : (n_communities + 1,) int64 and (m,) int32
        Entities of each community.
    n_relations : int
        Relation ids are below it.

    Returns
    -------
    community_indptr : (n_communities + 1,) int64
    community_codes : (k,) int32, ascending in each row
    community_frequencies : (k,) float32
        Sum to one in each row that is not empty.

    Notes
    -----
    For an entry of a member: 8 bytes read, 16 of a table of relations in the cache; a sort of each row.
    """
    n_communities = members_indptr.shape[0] - 1
    community_indptr = np.zeros(n_communities + 1, np.int64)
    n_upper = 0
    for position in range(members.shape[0]):
        n_upper += profile_indptr[members[position] + 1] - profile_indptr[members[position]]
    community_codes = np.empty(n_upper, np.int32)
    community_frequencies = np.empty(n_upper, np.float32)
    totals = np.zeros(2 * n_relations, np.int64)
    n_written = 0
    for community in range(n_communities):
        first = n_written
        n_ends = 0
        for position in range(members_indptr[community], members_indptr[community + 1]):
            for entry in range(profile_indptr[members[position]], profile_indptr[members[position] + 1]):
                code = codes[entry]
                if totals[code] == 0:
                    community_codes[n_written] = code
                    n_written += 1
                totals[code] += counts[entry]
                n_ends += counts[entry]
        sort_codes(community_codes, first, n_written)
        for entry in range(first, n_written):
            community_frequencies[entry] = totals[community_codes[entry]] / n_ends
            totals[community_codes[entry]] = 0
        community_indptr[community + 1] = n_written
    return community_indptr, community_codes[:n_written].copy(), community_frequencies[:n_written].copy()
