"""The two passes of Leiden over a weighted undirected graph: moving nodes and refining communities.

A graph is a symmetric matrix in compressed sparse rows. Its diagonal is taken as it stands: an undirected
loop of weight w, which counts at both its ends, is an entry 2 w.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numba import float32, float64, int32, int64

from .decorator import kernel, ro, rw

if TYPE_CHECKING:
    from numpy.typing import NDArray

_TOLERANCE = 1e-6


@kernel((ro(int64), ro(int32), ro(float32), ro(float64), ro(int32), float64, rw(int32)))
def move_nodes(
    indptr: NDArray[np.int64],
    indices: NDArray[np.int32],
    weights: NDArray[np.float32],
    strength: NDArray[np.float64],
    order: NDArray[np.int32],
    factor: float,
    out_labels: NDArray[np.int32],
) -> int:
    """Move nodes to the community of the highest gain until none that was disturbed gains by moving.

    Parameters
    ----------
    indptr, indices, weights
        The graph.
    strength : (n,) float64
        Volume of each node, diagonal included.
    order : (n,) int32
        A permutation: the order in which nodes are first looked at.
    factor : float
        Resolution divided by the total volume.
    out_labels : (n,) int32 in [0, n)
        Communities, changed in place.

    Returns
    -------
    int
        Number of moves.

    Notes
    -----
    A node is looked at again when a neighbour has moved elsewhere. Of equal gains the lower id wins. Staying
    wins unless the gain beats it by 1e-6 of the node's strength, well above the rounding of float32 sums and
    well below anything that counts, so the loop ends. For a node looked at: 8 bytes an entry read in order, 4
    scattered for its label and 8 for the sum.
    """
    n = strength.shape[0]
    volume = np.zeros(n, np.float64)
    n_members = np.zeros(n, np.int32)
    for node in range(n):
        volume[out_labels[node]] += strength[node]
        n_members[out_labels[node]] += 1
    empty = np.empty(n, np.int32)
    n_empty = 0
    for community in range(n - 1, -1, -1):
        if n_members[community] == 0:
            empty[n_empty] = community
            n_empty += 1
    link = np.full(n, -1.0, np.float64)
    touched = np.empty(n, np.int32)
    queue = order.copy()
    is_queued = np.ones(n, np.bool_)
    first, n_queued, n_moves = 0, n, 0
    while n_queued > 0:
        node = queue[first]
        first = first + 1 if first + 1 < n else 0
        n_queued -= 1
        is_queued[node] = False
        own = out_labels[node]
        n_touched = 0
        for entry in range(indptr[node], indptr[node + 1]):
            if indices[entry] == node:
                continue
            community = out_labels[indices[entry]]
            if link[community] < 0.0:
                link[community] = 0.0
                touched[n_touched] = community
                n_touched += 1
            link[community] += np.float64(weights[entry])
        pull = factor * strength[node]
        best, best_gain = own, -np.inf
        for position in range(n_touched):
            community = touched[position]
            if community != own:
                gain = link[community] - pull * volume[community]
                if gain > best_gain or (gain == best_gain and community < best):
                    best, best_gain = community, gain
        stay = max(link[own], 0.0) - pull * (volume[own] - strength[node])
        for position in range(n_touched):
            link[touched[position]] = -1.0
        if best_gain < 0.0 and n_members[own] > 1:
            best, best_gain = empty[n_empty - 1], 0.0
        if best_gain <= stay + _TOLERANCE * strength[node]:
            continue
        if n_members[best] == 0:
            n_empty -= 1
        n_members[own] -= 1
        if n_members[own] == 0:
            empty[n_empty] = own
            n_empty += 1
            volume[own] = 0.0
        else:
            volume[own] -= strength[node]
        n_members[best] += 1
        volume[best] += strength[node]
        out_labels[node] = best
        n_moves += 1
        for entry in range(indptr[node], indptr[node + 1]):
            other = indices[entry]
            if not is_queued[other] and other != node and out_labels[other] != best:
                is_queued[other] = True
                last = first + n_queued
                queue[last if last < n else last - n] = other
                n_queued += 1
    return n_moves


@kernel((ro(int64), ro(int32), ro(float32), ro(float64), ro(int32), float64, ro(int32)))
def refine_communities(
    indptr: NDArray[np.int64],
    indices: NDArray[np.int32],
    weights: NDArray[np.float32],
    strength: NDArray[np.float64],
    order: NDArray[np.int32],
    factor: float,
    labels: NDArray[np.int32],
) -> NDArray[np.int32]:
    """Divide each community into parts, merging single nodes that are well connected to the rest of it.

    Parameters
    ----------
    indptr, indices, weights, strength, order, factor
        As for `move_nodes`.
    labels : (n,) int32 in [0, n)
        Communities.

    Returns
    -------
    (n,) int32 in [0, n)
        Part of each node, connected and within one community.

    Notes
    -----
    Traag, Waltman and van Eck, "From Louvain to Leiden" (2019), algorithm A.2. Ours takes the part of the
    highest gain, of equal ones the lower id, where theirs draws one.
    """
    n = strength.shape[0]
    volume = np.zeros(n, np.float64)
    cut = np.zeros(n, np.float64)
    for node in range(n):
        volume[labels[node]] += strength[node]
        for entry in range(indptr[node], indptr[node + 1]):
            if indices[entry] != node and labels[indices[entry]] == labels[node]:
                cut[node] += np.float64(weights[entry])
    part = np.arange(n).astype(np.int32)
    part_volume = strength.copy()
    n_members = np.ones(n, np.int32)
    link = np.full(n, -1.0, np.float64)
    touched = np.empty(n, np.int32)
    for position in range(n):
        node = order[position]
        own = strength[node]
        whole = volume[labels[node]]
        if n_members[node] != 1 or part[node] != node or cut[node] < factor * own * (whole - own):
            continue
        n_touched = 0
        for entry in range(indptr[node], indptr[node + 1]):
            other = indices[entry]
            if other == node or labels[other] != labels[node]:
                continue
            if link[part[other]] < 0.0:
                link[part[other]] = 0.0
                touched[n_touched] = part[other]
                n_touched += 1
            link[part[other]] += np.float64(weights[entry])
        best, best_gain, best_link = node, 0.0, 0.0
        for place in range(n_touched):
            target = touched[place]
            inside = part_volume[target]
            gain = link[target] - factor * own * inside
            if cut[target] >= factor * inside * (whole - inside) and (
                gain > best_gain or (gain == best_gain and best != node and target < best)
            ):
                best, best_gain, best_link = target, gain, link[target]
            link[target] = -1.0
        if best != node:
            part[node] = best
            n_members[node] = 0
            n_members[best] += 1
            part_volume[best] += own
            cut[best] += cut[node] - 2.0 * best_link
    return part
