"""Searches among what a filter allows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ytrag_core.kernels.allowed import dot_allowed, gather_allowed
from ytrag_core.kernels.edges import best_edges
from ytrag_core.kernels.gather import gather_rows
from ytrag_core.kernels.topk import top_k

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ytrag_core.embedding.index import VectorIndex
    from ytrag_core.graph.tables import Csr

__all__ = ["allowed_entries", "search_allowed"]

_LEAST_SHARE = 0.1
_SURPLUS = 1.5


def search_allowed(
    index: VectorIndex, query: NDArray[np.float32], k: int, allowed: NDArray[np.bool_] | None
) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
    """Return the nearest rows to one query among those allowed.

    Where a graph proposes the rows and a tenth of them or more is allowed, more are proposed in proportion;
    where that does not suffice, and elsewhere, each allowed row is scored.

    Parameters
    ----------
    index
        Index over the rows.
    query
        (d,) float32, unit-norm.
    k
        How many.
    allowed
        (n,) bool; all without it.

    Returns
    -------
    ids, scores
        (min(k, n allowed),) int32 and float32, best first; of equal scores the lower id first.
    """
    if allowed is None:
        ids, scores = index.search(query, k)
        return ids[0], scores[0]
    n_allowed = int(np.count_nonzero(allowed))
    k = min(k, n_allowed)
    if not index.is_exact and n_allowed >= _LEAST_SHARE * len(allowed):
        wanted = int(_SURPLUS * k * len(allowed) / max(n_allowed, 1)) + 1
        ids, scores = index.search(query, wanted, n_candidates=max(400, wanted))
        kept = allowed[ids[0]]
        if np.count_nonzero(kept) >= k:
            return ids[0][kept][:k], scores[0][kept][:k]
    of_rows = dot_allowed(index.vectors.view(np.uint16), allowed, query)
    best = top_k(of_rows, k)
    return best, of_rows[best]


def allowed_entries(
    csr: Csr,
    nodes: NDArray[np.int32],
    allowed: NDArray[np.bool_],
    row_limit: int,
    alike: NDArray[np.float32] | None = None,
) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """List the allowed edges of some nodes.

    Parameters
    ----------
    csr
        One direction of the graph.
    nodes
        (n,) int32.
    allowed
        (n_entries,) bool; all where it is empty.
    row_limit
        Most edges of one node; of more allowed ones an even sample, or those of the best relations.
        Zero: all.
    alike
        (n_relations,) float32, what is thought of each relation.

    Returns
    -------
    positions, owner
        (m,) int64 entries, and int32 positions in `nodes`, as `gather_rows` gives them.
    """
    if not allowed.shape[0]:
        if alike is not None and row_limit:
            return best_edges(csr.indptr, csr.relation, nodes, alike, row_limit)
        return gather_rows(csr.indptr, nodes, row_limit)
    positions, owner = gather_allowed(csr.indptr, nodes, allowed)
    if not row_limit or not len(nodes):
        return positions, owner
    indptr = np.searchsorted(owner, np.arange(len(nodes) + 1)).astype(np.int64)
    rows = np.arange(len(nodes), dtype=np.int32)
    if alike is None:
        chosen, owner = gather_rows(indptr, rows, row_limit)
    else:
        chosen, owner = best_edges(indptr, csr.relation[positions], rows, alike, row_limit)
    return positions[chosen], owner
