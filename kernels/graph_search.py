"""Nearest neighbours in a layered proximity graph (HNSW), read where its file is mapped.

The bottom layer is one block of 32-bit words: for each node the number of its links in the low half of a
word, room for the links, its vector as float32, and a label. Links of the few nodes on upper layers follow.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numba import float32, int32, int64, types, uint32, uint64

from .decorator import kernel, ro, rw

if TYPE_CHECKING:
    from numpy.typing import NDArray

N_SLOTS = 16_384


@kernel((ro(uint32), int64, int64))
def upper_layers(
    words: NDArray[np.uint32], start: int, n_nodes: int
) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Find the links of the nodes that stand on more than the bottom layer.

    Parameters
    ----------
    words : (n_words,) uint32
        The file.
    start : int in [0, n_words]
        Where the bottom layer ends. From there on each node has the number of bytes of its upper links, then
        these.
    n_nodes : int, not negative
        How many nodes there are.

    Returns
    -------
    nodes : (n_upper,) int32, ascending
    positions : (n_upper,) int64
        Where the links of each begin, layer 1 first.

    Raises
    ------
    ValueError
        If the file ends before its nodes do, or goes on behind them.

    Notes
    -----
    4 bytes and one branch for a node.
    """
    n_words = words.shape[0]
    nodes = np.empty(n_nodes, np.int32)
    positions = np.empty(n_nodes, np.int64)
    n_upper = 0
    position = start
    for node in range(n_nodes):
        if position >= n_words:
            raise ValueError("the file ends before its nodes")
        n_bytes = int(np.int64(words[position]))
        position += 1
        if n_bytes > 0:
            nodes[n_upper] = node
            positions[n_upper] = position
            n_upper += 1
            position += n_bytes // 4
    if position != n_words:
        raise ValueError("the file does not end with its nodes")
    return nodes[:n_upper].copy(), positions[:n_upper].copy()


@kernel((ro(float32), int64, ro(float32)), fastmath=frozenset({"nsz", "contract", "reassoc"}))
def dot_at(floats: NDArray[np.float32], start: int, query: NDArray[np.float32]) -> np.float32:
    """Return the dot product of a query and the vector that begins at `start`.

    Parameters
    ----------
    floats : (n_words,) float32
    start : int
        In range; not checked.
    query : (d,) float32

    Returns
    -------
    float32

    Notes
    -----
    4 bytes and 2 flops an element.
    """
    row = floats[start : start + query.shape[0]]
    total = np.float32(0)
    for column in range(query.shape[0]):
        total += row[column] * query[column]
    return total


@kernel((float32, int64))
def rank_key(score: np.float32, node: int) -> np.uint64:
    """Return an integer that orders by score, then by the lower node.

    Parameters
    ----------
    score : float32, not NaN
    node : int in [0, 2**31)

    Returns
    -------
    uint64
        The larger, the better; its low half is ``2**32 - 1 - node``.

    Notes
    -----
    6 operations.
    """
    pattern = np.uint64(np.float32(score).view(np.uint32))
    if pattern >> np.uint64(31):
        pattern ^= np.uint64(0xFFFFFFFF)
    else:
        pattern |= np.uint64(0x80000000)
    return (pattern << np.uint64(32)) | np.uint64(0xFFFFFFFF - node)


@kernel((rw(uint64), int64, uint64, types.boolean))
def sift_in(out_heap: NDArray[np.uint64], size: int, key: np.uint64, largest_first: bool) -> None:
    """Add a key to a binary heap of `size` keys, which has room for it.

    Parameters
    ----------
    out_heap : (more than size,) uint64
        Changed in place.
    size : int, not negative
    key : uint64
    largest_first : bool
        Whether the root is the largest or the smallest key.

    Notes
    -----
    At most log2(size) moves.
    """
    hole = size
    while hole > 0:
        parent = (hole - 1) >> 1
        if (key > out_heap[parent]) != largest_first or key == out_heap[parent]:
            break
        out_heap[hole] = out_heap[parent]
        hole = parent
    out_heap[hole] = key


@kernel((rw(uint64), int64, types.boolean))
def sift_out(out_heap: NDArray[np.uint64], size: int, largest_first: bool) -> None:
    """Take the root out of a binary heap of `size` keys, at least one.

    Parameters
    ----------
    out_heap : (at least size,) uint64
        Changed in place; its first ``size - 1`` keys are a heap again.
    size : int, at least 1
    largest_first : bool
        Whether the root is the largest or the smallest key.

    Notes
    -----
    At most 2 log2(size) comparisons.
    """
    key = out_heap[size - 1]
    last = size - 1
    hole = 0
    while True:
        child = 2 * hole + 1
        if child >= last:
            break
        if child + 1 < last and (out_heap[child + 1] > out_heap[child]) == largest_first:
            child += 1
        if (out_heap[child] > key) != largest_first or out_heap[child] == key:
            break
        out_heap[hole] = out_heap[child]
        hole = child
    out_heap[hole] = key


@kernel((rw(int32), int64))
def mark_seen(out_slots: NDArray[np.int32], node: int) -> bool:
    """Add a node to a hash table and return whether it is new.

    Parameters
    ----------
    out_slots : (a power of two,) int32
        Open addressing, -1 where empty; must not be full.
    node : int in [0, 2**31)

    Returns
    -------
    bool

    Notes
    -----
    About one read of 4 bytes while the table is at most half full.
    """
    mask = out_slots.shape[0] - 1
    slot = (node * 2654435769 >> 15) & mask
    while out_slots[slot] != -1:
        if out_slots[slot] == node:
            return False
        slot = (slot + 1) & mask
    out_slots[slot] = node
    return True


@kernel(
    (
        ro(uint32), ro(float32), int64, int64, int64, int64, int64, int64,
        ro(int32), ro(int64), int64, int64, ro(float32), int64,
    )
)  # fmt: skip
def search_graph(
    words: NDArray[np.uint32],
    floats: NDArray[np.float32],
    first: int,
    stride: int,
    vector_at: int,
    label_at: int,
    upper_stride: int,
    n_nodes: int,
    upper_nodes: NDArray[np.int32],
    upper_positions: NDArray[np.int64],
    entry: int,
    n_layers: int,
    query: NDArray[np.float32],
    width: int,
) -> NDArray[np.int32]:
    """Return the labels of the nodes that a beam of some width ends with, by inner product.

    Parameters
    ----------
    words, floats : (n_words,) uint32 and float32
        The file, seen as both.
    first, stride : int
        Word at which the first node begins, and words from one node to the next.
    vector_at, label_at : int
        Words from a node's beginning to its vector and to its label.
    upper_stride : int
        Words of a node's links on one upper layer.
    n_nodes : int, at least 1
    upper_nodes, upper_positions : (n_upper,) int32 ascending, and int64
        As `upper_layers` returns them.
    entry : int in [0, n_nodes)
        Where the descent begins.
    n_layers : int, not negative
        Layers above the bottom one.
    query : (d,) float32
    width : int, at least 1

    Returns
    -------
    (at most width,) int32
        Labels, best first; fewer where the graph reaches fewer.

    Raises
    ------
    ValueError
        If a link leads out of the graph, or a node lacks the links of a layer on which it is reached.

    Notes
    -----
    Malkov and Yashunin, "Efficient and robust approximate nearest neighbor search using Hierarchical
    Navigable Small World graphs" (arXiv 1603.09320), algorithms 2 and 5. Of equal scores the lower node goes
    first. For a node looked at: 4 d bytes and 2 d flops. What was seen is kept in a hash table, so nothing
    here is proportional to the graph.
    """
    here = entry
    best = dot_at(floats, first + here * stride + vector_at, query)
    for layer in range(n_layers - 1, -1, -1):
        moved = True
        while moved:
            moved = False
            slot = int(np.searchsorted(upper_nodes, here))
            if slot == upper_nodes.shape[0] or upper_nodes[slot] != here:
                break
            position = int(upper_positions[slot]) + layer * upper_stride
            if position + upper_stride > words.shape[0]:
                raise ValueError("a node lacks the links of its layer")
            n_links = min(int(np.int64(words[position] & np.uint32(0xFFFF))), upper_stride - 1)
            for link in range(position + 1, position + 1 + n_links):
                other = int(np.int64(words[link]))
                if other >= n_nodes:
                    raise ValueError("a link leads out of the graph")
                score = dot_at(floats, first + other * stride + vector_at, query)
                if score > best:
                    best = score
                    here = other
                    moved = True
    slots = np.full(N_SLOTS, -1, np.int32)
    found = np.empty(width + 1, np.uint64)
    waiting = np.empty(4096, np.uint64)
    found[0] = rank_key(best, here)
    waiting[0] = found[0]
    n_found = 1
    n_waiting = 1
    n_seen = 1
    mark_seen(slots, here)
    while n_waiting > 0:
        key = waiting[0]
        if key < found[0]:
            break
        sift_out(waiting, n_waiting, True)
        n_waiting -= 1
        position = first + int(np.int64(np.uint64(0xFFFFFFFF) - (key & np.uint64(0xFFFFFFFF)))) * stride
        n_links = min(int(np.int64(words[position] & np.uint32(0xFFFF))), vector_at - 1)
        for link in range(position + 1, position + 1 + n_links):
            other = int(np.int64(words[link]))
            if other >= n_nodes:
                raise ValueError("a link leads out of the graph")
            if not mark_seen(slots, other):
                continue
            n_seen += 1
            if 2 * n_seen > slots.shape[0]:
                wider = np.full(2 * slots.shape[0], -1, np.int32)
                for slot in range(slots.shape[0]):
                    if slots[slot] != -1:
                        mark_seen(wider, int(slots[slot]))
                slots = wider
            key = rank_key(dot_at(floats, first + other * stride + vector_at, query), other)
            if n_found == width and key < found[0]:
                continue
            if n_waiting == waiting.shape[0]:
                longer = np.empty(2 * n_waiting, np.uint64)
                longer[:n_waiting] = waiting
                waiting = longer
            sift_in(waiting, n_waiting, key, True)
            n_waiting += 1
            sift_in(found, n_found, key, False)
            n_found += 1
            if n_found > width:
                sift_out(found, n_found, False)
                n_found -= 1
    ordered = np.sort(found[:n_found])
    labels = np.empty(n_found, np.int32)
    for i in range(n_found):
        node = np.int64(np.uint64(0xFFFFFFFF) - (ordered[n_found - 1 - i] & np.uint64(0xFFFFFFFF)))
        labels[i] = words[first + node * stride + label_at]
    return labels
