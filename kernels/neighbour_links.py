"""Links of a proximity graph: the nearest within a small set, and of those the ones that lead apart."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numba import float32, int32, int64

from .decorator import kernel, ro, rw
from .instructions import prefetch_row

if TYPE_CHECKING:
    from numpy.typing import NDArray


@kernel((ro(float32, 2), ro(int32), int64, int64, rw(int32, 2), rw(float32, 2)))
def nearest_in_set(
    products: NDArray[np.float32],
    members: NDArray[np.int32],
    first: int,
    k: int,
    out_ids: NDArray[np.int32],
    out_scores: NDArray[np.float32],
) -> None:
    """Write each member's `k` nearest others into its row, best first.

    Parameters
    ----------
    products : (m, m) float32
        Dot products of the members.
    members : (m,) int32
        Rows of the outputs.
    first : int
        Column of the outputs to begin at.
    k : int, at least 1
        Columns to fill; those that a set of `k` or fewer leaves over are not touched.
    out_ids : (n, at least first + k) int32
    out_scores : (n, at least first + k) float32

    Raises
    ------
    ValueError
        If shapes do not fit.

    Notes
    -----
    Of equal products the earlier member goes first. For a pair 4 bytes and one comparison, as few others beat
    the k-th best so far.
    """
    m = members.shape[0]
    if products.shape[0] != m or products.shape[1] != m:
        raise ValueError("products must be one square of the members")
    if first < 0 or k < 1 or first + k > out_ids.shape[1] or first + k > out_scores.shape[1]:
        raise ValueError("the outputs lack columns")
    for i in range(m):
        ids = out_ids[members[i], first : first + k]
        scores = out_scores[members[i], first : first + k]
        n_found = 0
        least = np.float32(-np.inf)
        for j in range(m):
            product = products[i, j]
            if product <= least or i == j:
                continue
            slot = n_found if n_found < k else k - 1
            while slot > 0 and scores[slot - 1] < product:
                scores[slot] = scores[slot - 1]
                ids[slot] = ids[slot - 1]
                slot -= 1
            scores[slot] = product
            ids[slot] = members[j]
            n_found = min(n_found + 1, k)
            if n_found == k:
                least = scores[k - 1]


@kernel((ro(float32, 2), int64, int64), fastmath=frozenset({"nsz", "contract", "reassoc"}))
def product_of(rows: NDArray[np.float32], one: int, other: int) -> np.float32:
    """Return the dot product of two rows.

    Parameters
    ----------
    rows : (n, d) float32
    one, other : int
        In range; not checked.

    Returns
    -------
    float32

    Notes
    -----
    8 bytes and 2 flops for a column.
    """
    total = np.float32(0)
    for column in range(rows.shape[1]):
        total += rows[one, column] * rows[other, column]
    return total


@kernel((rw(int32), rw(float32)))
def sort_distinct(out_ids: NDArray[np.int32], out_scores: NDArray[np.float32]) -> int:
    """Sort candidates by score, drop those that are there already, and return how many are left.

    Parameters
    ----------
    out_ids : (m,) int32
        Candidates, -1 for none; those left are moved to the front, the best first.
    out_scores : (m,) float32
        Their scores, moved along.

    Returns
    -------
    int

    Notes
    -----
    Of equal scores the earlier goes first. m log m comparisons, and one with each of those left for an id.
    """
    keys = np.empty(out_ids.shape[0], np.uint64)
    n_keys = 0
    for place in range(out_ids.shape[0]):
        if out_ids[place] >= 0:
            pattern = np.uint64(np.float32(out_scores[place]).view(np.uint32))
            if pattern >> np.uint64(31):
                pattern ^= np.uint64(0xFFFFFFFF)
            else:
                pattern |= np.uint64(0x80000000)
            keys[n_keys] = ((np.uint64(0xFFFFFFFF) - pattern) << np.uint64(32)) | np.uint64(place)
            n_keys += 1
    ids = out_ids.copy()
    scores = out_scores.copy()
    n_left = 0
    for key in np.sort(keys[:n_keys]):
        best = np.int64(key & np.uint64(0xFFFFFFFF))
        known = False
        for left in range(n_left):
            known |= out_ids[left] == ids[best]
        if not known:
            out_ids[n_left] = ids[best]
            out_scores[n_left] = scores[best]
            n_left += 1
    return n_left


@kernel((ro(float32, 2), ro(int32), ro(float32), rw(int32)))
def keep_diverse(
    rows: NDArray[np.float32],
    ids: NDArray[np.int32],
    scores: NDArray[np.float32],
    out_links: NDArray[np.int32],
) -> None:
    """Keep a candidate if none that was kept before it is more like it than the node is.

    Parameters
    ----------
    rows : (n, d) float32, unit-norm
    ids : (m,) int32, distinct
        Candidates, the best first.
    scores : (m,) float32
        Products of the candidates and the node.
    out_links : (n_links,) int32
        Kept candidates, the best first, then -1.

    Notes
    -----
    Malkov and Yashunin (arXiv 1603.09320), algorithm 4, without filling up. Each candidate is compared with
    those kept, about 10 in a graph of names: 80 d bytes, mostly from the cache, and 20 d flops.
    """
    n_kept = 0
    for place in range(ids.shape[0]):
        if n_kept == out_links.shape[0]:
            break
        wanted = True
        for kept in range(n_kept):
            if product_of(rows, ids[place], out_links[kept]) > scores[place]:
                wanted = False
                break
        if wanted:
            out_links[n_kept] = ids[place]
            n_kept += 1
    out_links[n_kept:] = -1


@kernel(
    (ro(float32, 2), ro(int32, 2), ro(float32, 2), int64, int64, rw(int32, 2), rw(float32, 2), rw(int32, 2))
)
def choose_links(
    rows: NDArray[np.float32],
    ids: NDArray[np.int32],
    scores: NDArray[np.float32],
    start: int,
    stop: int,
    out_near: NDArray[np.int32],
    out_near_scores: NDArray[np.float32],
    out_links: NDArray[np.int32],
) -> None:
    """Choose the nearest and the diverse among the candidates of a run of nodes.

    Parameters
    ----------
    rows : (n, d) float32, unit-norm
    ids : (n, n_candidates) int32 in [-1, n)
        Candidates of each node, -1 for none, repeats allowed.
    scores : (n, n_candidates) float32
        Their products with the node.
    start, stop : int
        Nodes to do.
    out_near : (n, n_near) int32
        Rows of these nodes are overwritten: the nearest, best first, then -1.
    out_near_scores : (n, n_near) float32
        Likewise: their scores, then -inf.
    out_links : (n, n_links) int32
        Likewise: what `keep_diverse` keeps.

    Raises
    ------
    ValueError
        If shapes do not fit or the run leaves [0, n].

    Notes
    -----
    As `sort_distinct` and `keep_diverse`.
    """
    n = rows.shape[0]
    if ids.shape[0] != n or scores.shape[0] != n or out_links.shape[0] != n or out_near.shape[0] != n:
        raise ValueError("rows, ids, scores and outputs must be of one length")
    if out_near_scores.shape[0] != n or out_near_scores.shape[1] != out_near.shape[1]:
        raise ValueError("the nearest and their scores differ in shape")
    if ids.shape[1] != scores.shape[1] or start < 0 or stop > n:
        raise ValueError("ids and scores differ in width, or the run leaves the nodes")
    for node in range(start, stop):
        some = ids[node].copy()
        their_scores = scores[node].copy()
        n_some = sort_distinct(some, their_scores)
        for place in range(n_some):
            prefetch_row(rows, some[place])
        n_near = min(n_some, out_near.shape[1])
        out_near[node, :n_near] = some[:n_near]
        out_near[node, n_near:] = -1
        out_near_scores[node, :n_near] = their_scores[:n_near]
        out_near_scores[node, n_near:] = -np.inf
        keep_diverse(rows, some[:n_some], their_scores[:n_some], out_links[node])


@kernel((ro(float32, 2), ro(int32, 2), ro(int64), ro(int32), int64, int64, rw(int32, 2)))
def add_back_links(
    rows: NDArray[np.float32],
    links: NDArray[np.int32],
    indptr: NDArray[np.int64],
    sources: NDArray[np.int32],
    start: int,
    stop: int,
    out_links: NDArray[np.int32],
) -> None:
    """Link a run of nodes to those that link to them too, or to diverse ones where these are too many.

    Parameters
    ----------
    rows : (n, d) float32, unit-norm
    links : (n, n_chosen) int32 in [-1, n)
        What each node chose, -1 last.
    indptr : (n + 1,) int64
    sources : (n_chosen_links,) int32
        ``sources[indptr[i]:indptr[i + 1]]`` chose node ``i``.
    start, stop : int
        Nodes to do.
    out_links : (n, n_links) int32
        Rows of these nodes are overwritten: best first, then -1.

    Raises
    ------
    ValueError
        If shapes do not fit or the run leaves [0, n].

    Notes
    -----
    For each link and back link of a node 4 d bytes and 2 d flops; as `keep_diverse` where they are too many.
    """
    n = rows.shape[0]
    if links.shape[0] != n or indptr.shape[0] != n + 1 or out_links.shape[0] != n:
        raise ValueError("rows, links and indptr must be of one length")
    if start < 0 or stop > n:
        raise ValueError("the run leaves the nodes")
    for node in range(start, stop):
        back = sources[indptr[node] : indptr[node + 1]]
        both = np.concatenate((links[node], back))
        scores = np.zeros(both.shape[0], np.float32)
        for place in range(both.shape[0]):
            if both[place] >= 0:
                scores[place] = product_of(rows, node, both[place])
        n_both = sort_distinct(both, scores)
        if n_both > out_links.shape[1]:
            keep_diverse(rows, both[:n_both], scores[:n_both], out_links[node])
        else:
            out_links[node, :n_both] = both[:n_both]
            out_links[node, n_both:] = -1


@kernel((ro(float32, 2), ro(int32, 2), int64, int64, int64, rw(int32, 2), rw(float32, 2)))
def look_around(
    rows: NDArray[np.float32],
    links: NDArray[np.int32],
    reach: int,
    start: int,
    stop: int,
    out_near: NDArray[np.int32],
    out_near_scores: NDArray[np.float32],
) -> None:
    """Look for nearer nodes among the links of the links of a run of nodes.

    Parameters
    ----------
    rows : (n, d) float32, unit-norm
    links : (n, n_links) int32 in [-1, n)
        The best first, -1 last.
    reach : int, not negative
        So many links of a node are followed, and of each of these as many.
    start, stop : int
        Nodes to do.
    out_near : (n, n_near) int32, n_near at least 1
        What is known to be near, distinct, best first, then -1; improved in place.
    out_near_scores : (n, n_near) float32
        The products, -inf for none.

    Raises
    ------
    ValueError
        If shapes do not fit or the run leaves [0, n].

    Notes
    -----
    Dong, Moses and Li, "Efficient k-nearest neighbor graph construction for generic similarity measures"
    (WWW 2011): a neighbour of a neighbour is likely to be a neighbour. ``reach ** 2`` products of 4 d bytes
    and 2 d flops a node.
    """
    n = rows.shape[0]
    if links.shape[0] != n or out_near.shape[0] != n or out_near_scores.shape[0] != n:
        raise ValueError("rows, links and outputs must be of one length")
    if out_near.shape[1] < 1 or out_near_scores.shape[1] != out_near.shape[1]:
        raise ValueError("the nearest and their scores differ in shape")
    if start < 0 or stop > n:
        raise ValueError("the run leaves the nodes")
    last = out_near.shape[1] - 1
    for node in range(start, stop):
        near = out_near[node]
        scores = out_near_scores[node]
        for link in links[node, :reach]:
            if link < 0:
                break
            for other in links[link, :reach]:
                if other >= 0:
                    prefetch_row(rows, other)
            for other in links[link, :reach]:
                if other < 0:
                    break
                if other == node:
                    continue
                score = product_of(rows, node, other)
                if score <= scores[last]:
                    continue
                slot = last
                known = False
                for place in range(last + 1):
                    known = known or near[place] == other
                if known:
                    continue
                while slot > 0 and scores[slot - 1] < score:
                    scores[slot] = scores[slot - 1]
                    near[slot] = near[slot - 1]
                    slot -= 1
                scores[slot] = score
                near[slot] = other
