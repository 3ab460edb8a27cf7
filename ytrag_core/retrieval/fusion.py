"""Routes to one ranking of passages, each with the routes that found it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ytrag_core.kernels.topk import top_k

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from ytrag_core.config import RetrievalSettings

__all__ = ["RankedChunks", "RouteChunks", "best_chunks", "fuse"]

_LOG_FLOOR = 1e-6
_SIDE_WEIGHT = 0.1
_FULL_ROUTES = frozenset({"dense", "bm25", "path"})


@dataclass(frozen=True, slots=True, eq=False)
class RouteChunks:
    """What one route says of passages.

    Attributes
    ----------
    rows
        (n,) int32 chunk rows, best first.
    scores
        (n,) float32, not ascending.
    """

    rows: NDArray[np.int32]
    scores: NDArray[np.float32]


@dataclass(frozen=True, slots=True, eq=False)
class RankedChunks:
    """The fused ranking.

    Attributes
    ----------
    rows
        (n,) int32, best first.
    scores
        (n,) float32.
    routes
        For each row, the rank in each route that put it forward, from 1.
    """

    rows: NDArray[np.int32]
    scores: NDArray[np.float32]
    routes: list[dict[str, int]]


def best_chunks(rows: NDArray[np.int32], scores: NDArray[np.float32], k: int) -> RouteChunks:
    """Return the `k` best positive scores, ties by the lower row.

    Parameters
    ----------
    rows, scores
        (n,) chunk rows, each once, and their scores.
    """
    positive = scores > 0
    order = np.argsort(rows[positive], kind="stable")
    rows, scores = rows[positive][order], np.ascontiguousarray(scores[positive][order], np.float32)
    best = top_k(scores, min(k, scores.shape[0]))
    return RouteChunks(rows[best].astype(np.int32), scores[best])


def fuse(
    found: Mapping[str, RouteChunks],
    rescored: Mapping[str, NDArray[np.float32]],
    candidates: NDArray[np.int32],
    k: int,
    settings: RetrievalSettings,
) -> RankedChunks:
    """Rank the candidates of all routes.

    The score of a passage is the sum over routes of its score relative to the route's best: the natural
    logarithm of it for PageRank, `route_weight` times it for the two text routes and for paths, a tenth of
    it for the others, which speak through the seeds of the walk already.

    Parameters
    ----------
    found
        What each route put forward.
    rescored
        Full scores of `candidates` for routes that can score any passage, (n,) float32 each.
    candidates
        (n,) int32 chunk rows, ascending.
    k
        How many to return.
    settings
        The weights.
    """
    total = np.zeros(candidates.shape[0], np.float64)
    ranks: list[dict[str, int]] = [{} for _ in range(candidates.shape[0])]
    for route, chunks in found.items():
        positions = np.searchsorted(candidates, chunks.rows)
        for rank, position in enumerate(positions.tolist(), start=1):
            ranks[position][route] = rank
        if not chunks.rows.size or chunks.scores[0] <= 0:
            continue
        scores = rescored.get(route)
        if scores is None:
            scores = np.zeros(candidates.shape[0], np.float32)
            scores[positions] = chunks.scores
        relative = np.clip(scores.astype(np.float64) / float(chunks.scores[0]), 0.0, 1.0)
        if route == "ppr":
            total += np.log(np.maximum(relative, _LOG_FLOOR))
        else:
            total += (settings.route_weight if route in _FULL_ROUTES else _SIDE_WEIGHT) * relative
    scores = total.astype(np.float32)
    best = top_k(scores, min(k, scores.shape[0]))
    return RankedChunks(candidates[best], scores[best], [ranks[row] for row in best.tolist()])
