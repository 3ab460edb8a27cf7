"""Routes to one ranking of passages, each with the routes that found it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from ytrag_core.kernels.topk import top_k

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from ytrag_core.config import RetrievalSettings

__all__ = ["TYPES", "RankedChunks", "RouteChunks", "best_chunks", "fuse"]

TYPES = "types"
"""The part of a score that a soft filter adds."""

_LOG_FLOOR = 1e-6
_SIDE_WEIGHT = 0.1


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
    parts
        Route -> (n,) float64, what it adds to each score; they sum to the scores. `TYPES` is the part of a
        soft filter.
    raw
        Route -> (n,) float32, what it says itself of each row.
    """

    rows: NDArray[np.int32]
    scores: NDArray[np.float32]
    routes: list[dict[str, int]]
    parts: Mapping[str, NDArray[np.float64]] = field(default_factory=dict)
    raw: Mapping[str, NDArray[np.float32]] = field(default_factory=dict)

    def first(self, k: int) -> RankedChunks:
        """Return the `k` best."""
        return self if k >= self.rows.shape[0] else self._at(np.arange(k))

    def of(self, rows: Sequence[int]) -> RankedChunks:
        """Return what there is of some chunk rows, best first."""
        return self._at(np.flatnonzero(np.isin(self.rows, np.array(rows, np.int32))))

    def _at(self, places: NDArray[np.int64]) -> RankedChunks:
        return RankedChunks(
            self.rows[places],
            self.scores[places],
            [self.routes[place] for place in places.tolist()],
            {name: part[places] for name, part in self.parts.items()},
            {name: scores[places] for name, scores in self.raw.items()},
        )


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
    trust: Mapping[str, float],
    bonus: NDArray[np.float32] | None = None,
) -> RankedChunks:
    """Rank the candidates of all routes.

    The score of a passage is a sum over routes, each in its natural unit, so that a route which does not tell
    passages apart for this question adds nearly the same to all of them:

    - PageRank: the natural logarithm of what is visited relative to the most visited passage;
    - BM25: `coverage_weight` times the share of what the question says that the passage holds, times the
      best one's share: the more a single passage holds, the likelier it answers alone;
    - dense: the standard scores of its similarities to the question and to the question without its names,
      times `question_weight` and `residual_weight`, times the trust in them;
    - path: `path_weight` times the score relative to the best, times the trust in triples;
    - the others, which speak through the seeds of the walk already: a tenth of the relative score.

    Parameters
    ----------
    found
        What each route put forward.
    rescored
        Scores of `candidates` for routes that can score any passage, (n,) float32 each; of BM25 the coverage,
        of dense the weighted standard scores.
    candidates
        (n,) int32 chunk rows, ascending.
    k
        How many to return.
    settings
        The weights.
    trust
        Route -> how far it is to be trusted for this question, in [0, 1]; 1 where it is not named.
    bonus
        (n,) float32 added to each candidate for what is no route's: the types that were asked for.
    """
    total = np.zeros(candidates.shape[0], np.float64)
    parts: dict[str, NDArray[np.float64]] = {}
    raw: dict[str, NDArray[np.float32]] = {}
    if bonus is not None:
        parts[TYPES] = bonus.astype(np.float64)
        total += parts[TYPES]
    ranks: dict[str, NDArray[np.int32]] = {}
    for route, chunks in found.items():
        positions = np.searchsorted(candidates, chunks.rows)
        ranks[route] = np.zeros(candidates.shape[0], np.int32)
        ranks[route][positions] = np.arange(1, positions.shape[0] + 1)
        if not chunks.rows.size or chunks.scores[0] <= 0:
            continue
        scores = rescored.get(route)
        if scores is None:
            scores = np.zeros(candidates.shape[0], np.float32)
            scores[positions] = chunks.scores
        raw[route] = scores
        parts[route] = trust.get(route, 1.0) * _contribution(route, scores, float(chunks.scores[0]), settings)
        total += parts[route]
    scores = total.astype(np.float32)
    best = top_k(scores, min(k, scores.shape[0]))
    routes: list[dict[str, int]] = [{} for _ in range(best.shape[0])]
    for route, rank_of in ranks.items():
        for found_by, rank in zip(routes, rank_of[best].tolist(), strict=True):
            if rank:
                found_by[route] = rank
    return RankedChunks(
        candidates[best],
        scores[best],
        routes,
        {name: part[best] for name, part in parts.items()},
        {name: scores_of[best] for name, scores_of in raw.items()},
    )


def _contribution(
    route: str, scores: NDArray[np.float32], best: float, settings: RetrievalSettings
) -> NDArray[np.float64]:
    """Return what a route adds to each candidate, (n,) float64."""
    wide = scores.astype(np.float64)
    if route == "bm25":
        return settings.coverage_weight * best * wide
    if route == "dense":
        return wide
    relative = np.clip(wide / best, 0.0, 1.0)
    if route == "ppr":
        return np.log(np.maximum(relative, _LOG_FLOOR))
    return (settings.path_weight if route == "path" else _SIDE_WEIGHT) * relative
