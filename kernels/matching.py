"""Centres of communities by score, and greedy matching of communities, most similar pair first."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numba import float32, int32, int64

from .decorator import kernel, ro

if TYPE_CHECKING:
    from numpy.typing import NDArray


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

    Notes
    -----
    12 bytes read for a member and 8 of its community, from the cache where members stand by community.
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


@kernel((ro(float32, 2), ro(int64), float32, int64))
def greedy_matching(
    similarity: NDArray[np.float32], sizes: NDArray[np.int64], threshold: float, size_limit: int
) -> NDArray[np.int32]:
    """Pair communities, most similar first, each at most once.

    Parameters
    ----------
    similarity : (n, n) float32
        Symmetric; only the part above the diagonal is read.
    sizes : (n,) int64
        Members of each community.
    threshold : float
        Pairs below it are not matched.
    size_limit : int
        Pairs with more members together are not matched.

    Returns
    -------
    (n,) int32
        Partner of each community, -1 without one. Of equally similar pairs the one with the lower first, then
        the lower second id is taken.

    Notes
    -----
    Each community keeps its best partner of a higher id, looked up anew when that one is taken: no sorting,
    O(n^2) in practice and O(n^3) at worst; 4 bytes and 2 comparisons for a pair looked at.
    """
    n = similarity.shape[0]
    partner = np.full(n, -1, np.int32)
    best = np.full(n, -1, np.int64)
    stale = np.ones(n, np.bool_)
    while True:
        chosen = -1
        for first in range(n):
            if partner[first] >= 0:
                continue
            if best[first] >= 0 and partner[best[first]] >= 0:
                stale[first] = True
            if stale[first]:
                stale[first] = False
                best[first] = -1
                for second in range(first + 1, n):
                    if (
                        partner[second] < 0
                        and similarity[first, second] >= threshold
                        and sizes[first] + sizes[second] <= size_limit
                        and (best[first] < 0 or similarity[first, second] > similarity[first, best[first]])
                    ):
                        best[first] = second
            if best[first] >= 0 and (
                chosen < 0 or similarity[first, best[first]] > similarity[chosen, best[chosen]]
            ):
                chosen = first
        if chosen < 0:
            return partner
        partner[chosen] = best[chosen]
        partner[best[chosen]] = chosen
