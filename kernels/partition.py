"""Partitions of a weighted undirected graph: their modularity, contraction and connected parts.

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


@kernel((ro(int64), ro(int32), ro(float32), ro(int32), float64))
def modularity(
    indptr: NDArray[np.int64],
    indices: NDArray[np.int32],
    weights: NDArray[np.float32],
    labels: NDArray[np.int32],
    resolution: float,
) -> float:
    """Return sum over communities of (inner - resolution * volume^2 / total) / total.

    Parameters
    ----------
    indptr, indices, weights : (n + 1,) int64, (n_entries,) int32, (n_entries,) float32
        Symmetric; weights are not negative.
    labels : (n,) int32 in [0, n)
        Community of each node.
    resolution : float

    Returns
    -------
    float
        0 for a graph without edges.
    """
    n = indptr.shape[0] - 1
    volume = np.zeros(n, np.float64)
    inner = 0.0
    total = 0.0
    for node in range(n):
        for entry in range(indptr[node], indptr[node + 1]):
            volume[labels[node]] += weights[entry]
            total += weights[entry]
            if labels[indices[entry]] == labels[node]:
                inner += weights[entry]
    if total <= 0.0:
        return 0.0
    expected = 0.0
    for community in range(n):
        expected += (volume[community] / total) ** 2
    return inner / total - resolution * expected


@kernel((ro(int32), ro(int32), rw(int32)))
def number_communities(
    labels: NDArray[np.int32], order: NDArray[np.int32], out_labels: NDArray[np.int32]
) -> int:
    """Give communities the numbers 0, 1, ... as they first occur in `order`; return how many there are.

    Parameters
    ----------
    labels : (n,) int32 in [0, n)
    order : (n,) int32
        A permutation.
    out_labels : (n,) int32
        Filled; may be `labels` itself.

    Returns
    -------
    int
    """
    number = np.full(labels.shape[0], -1, np.int32)
    n_found = 0
    for position in range(labels.shape[0]):
        community = labels[order[position]]
        if number[community] < 0:
            number[community] = n_found
            n_found += 1
        out_labels[order[position]] = number[community]
    return n_found


@kernel((ro(int64), ro(int32), ro(float32), ro(int32), int64))
def contract_graph(
    indptr: NDArray[np.int64],
    indices: NDArray[np.int32],
    weights: NDArray[np.float32],
    parts: NDArray[np.int32],
    n_parts: int,
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float32]]:
    """Make each part one node; weights between two parts add up, those inside are left out.

    Parameters
    ----------
    indptr, indices, weights
        The graph.
    parts : (n,) int32 in [0, n_parts)
        Part of each node.
    n_parts : int

    Returns
    -------
    indptr : (n_parts + 1,) int64
    indices : (n_entries,) int32
    weights : (n_entries,) float32
        Summed in float64.
    """
    n = parts.shape[0]
    first = np.zeros(n_parts + 1, np.int64)
    for node in range(n):
        first[parts[node] + 1] += 1
    for part in range(n_parts):
        first[part + 1] += first[part]
    free = first[:-1].copy()
    members = np.empty(n, np.int32)
    for node in range(n):
        members[free[parts[node]]] = node
        free[parts[node]] += 1
    n_crossing = 0
    for node in range(n):
        for entry in range(indptr[node], indptr[node + 1]):
            n_crossing += parts[indices[entry]] != parts[node]
    link = np.full(n_parts, -1.0, np.float64)
    out_indptr = np.zeros(n_parts + 1, np.int64)
    out_indices = np.empty(n_crossing, np.int32)
    out_weights = np.empty(n_crossing, np.float32)
    n_entries = 0
    for part in range(n_parts):
        start = n_entries
        for position in range(first[part], first[part + 1]):
            node = members[position]
            for entry in range(indptr[node], indptr[node + 1]):
                other = parts[indices[entry]]
                if other == part:
                    continue
                if link[other] < 0.0:
                    link[other] = 0.0
                    out_indices[n_entries] = other
                    n_entries += 1
                link[other] += np.float64(weights[entry])
        for entry in range(start, n_entries):
            out_weights[entry] = link[out_indices[entry]]
            link[out_indices[entry]] = -1.0
        out_indptr[part + 1] = n_entries
    return out_indptr, out_indices[:n_entries].copy(), out_weights[:n_entries].copy()


@kernel((ro(int64), ro(int32), ro(float32), rw(int32)))
def split_disconnected(
    indptr: NDArray[np.int64],
    indices: NDArray[np.int32],
    weights: NDArray[np.float32],
    out_labels: NDArray[np.int32],
) -> int:
    """Make each connected component of each community a community of its own.

    Parameters
    ----------
    indptr, indices, weights
        The graph; an entry of weight zero connects nothing.
    out_labels : (n,) int32
        Changed in place: numbered 0, 1, ... by smallest member.

    Returns
    -------
    int
        How many there are.
    """
    n = out_labels.shape[0]
    component = np.full(n, -1, np.int32)
    stack = np.empty(n, np.int32)
    n_found = 0
    for root in range(n):
        if component[root] >= 0:
            continue
        component[root] = n_found
        stack[0] = root
        height = 1
        while height > 0:
            height -= 1
            node = stack[height]
            for entry in range(indptr[node], indptr[node + 1]):
                other = indices[entry]
                if component[other] < 0 and out_labels[other] == out_labels[node] and weights[entry] > 0:
                    component[other] = n_found
                    stack[height] = other
                    height += 1
        n_found += 1
    out_labels[:] = component
    return n_found


@kernel((ro(int64), ro(int32), ro(float32), ro(int32)))
def induced_graph(
    indptr: NDArray[np.int64],
    indices: NDArray[np.int32],
    weights: NDArray[np.float32],
    members: NDArray[np.int32],
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float32]]:
    """Return the graph between some of the nodes, numbered by their place among them.

    Parameters
    ----------
    indptr, indices, weights
        The graph.
    members : (m,) int32, ascending
        Nodes to keep.

    Returns
    -------
    indptr : (m + 1,) int64
    indices : (n_entries,) int32
    weights : (n_entries,) float32

    Notes
    -----
    A binary search an entry, so that many threads need no memory of the whole graph's size.
    """
    m = members.shape[0]
    most = 0
    for position in range(m):
        most += indptr[members[position] + 1] - indptr[members[position]]
    out_indptr = np.zeros(m + 1, np.int64)
    out_indices = np.empty(most, np.int32)
    out_weights = np.empty(most, np.float32)
    n_entries = 0
    for position in range(m):
        for entry in range(indptr[members[position]], indptr[members[position] + 1]):
            low, high = 0, m
            while low < high:
                middle = (low + high) // 2
                if members[middle] < indices[entry]:
                    low = middle + 1
                else:
                    high = middle
            if low < m and members[low] == indices[entry]:
                out_indices[n_entries] = low
                out_weights[n_entries] = weights[entry]
                n_entries += 1
        out_indptr[position + 1] = n_entries
    return out_indptr, out_indices[:n_entries].copy(), out_weights[:n_entries].copy()
