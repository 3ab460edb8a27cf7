"""Second hop without a language model: passages that share a name with the best first passages.

What the question asks of its own names is answered by the passages that come first; what is left has to be
asked of the names that these passages bring in. A passage that shares such a name, one that the question does
not hold itself, is the likelier the next link, the likelier the passage that brings it in is right and the
rarer the name is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ytrag_core.kernels.gather import gather_rows
from ytrag_core.kernels.topk import top_k
from ytrag_core.retrieval.distinct import distinct_places

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ytrag_core.retrieval.view import SnapshotView

__all__ = ["bridge_scores"]

_N_FIRST = 5
"""Passages that names are taken from."""

_BEARERS = 256
"""Passages looked at of one name; one in more passages links nearly everything and is sampled evenly."""


def bridge_scores(
    view: SnapshotView,
    rows: NDArray[np.int32],
    likelihood: NDArray[np.float64],
    named: NDArray[np.int32],
) -> NDArray[np.float32]:
    """Return how well each candidate is linked to the best of the others by a name that they bring in.

    Parameters
    ----------
    view
        The snapshot.
    rows
        (n,) int32 candidate passages, ascending.
    likelihood
        (n,) float64, not negative: how likely each is one of the wanted ones.
    named
        (m,) int32 nodes that the question names itself, ascending.

    Returns
    -------
    ndarray
        (n,) float32 in [0, 1]: of the best shared entity, its rarity times the summed shares of likelihood of
        the first five passages that hold it too, the candidate itself left out.
    """
    scores = np.zeros(rows.shape[0], np.float32)
    first = top_k(likelihood.astype(np.float32), min(_N_FIRST, rows.shape[0]))
    total = float(likelihood[first].sum())
    if total <= 0.0:
        return scores
    own = np.zeros(rows.shape[0], np.float64)
    own[first] = likelihood[first] / total
    positions, owner = gather_rows(view.walk.indptr, rows[first] + np.int32(view.n_nodes), 0)
    nodes = view.walk.indices[positions]
    kept = nodes < view.n_entities
    if named.size:
        kept &= named[np.minimum(named.searchsorted(nodes), named.shape[0] - 1)] != nodes
    entities, place = distinct_places(nodes[kept])
    if not entities.size:
        return scores
    weight = np.bincount(place, own[first][owner[kept]], entities.shape[0])
    n_holding = view.node_chunks.indptr[entities + 1] - view.node_chunks.indptr[entities]
    rarity = np.log1p(view.n_chunks / np.maximum(n_holding, 1)) / np.log1p(view.n_chunks)
    positions, owner = gather_rows(view.node_chunks.indptr, entities, _BEARERS)
    bearers = view.node_chunks.chunks[positions]
    at = np.minimum(rows.searchsorted(bearers), rows.shape[0] - 1)
    found = rows[at] == bearers
    at, owner = at[found], owner[found]
    linked = (np.maximum(weight[owner] - own[at], 0.0) * rarity[owner]).astype(np.float32)
    np.maximum.at(scores, at, linked)
    return scores
