"""Routes to one ranking of passages, each with the routes that found it and what each adds to its score."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from ytrag_core.kernels.topk import top_k
from ytrag_core.retrieval.weights import FEATURES, SIDE_FEATURES

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

__all__ = [
    "TYPES",
    "RankedChunks",
    "RouteChunks",
    "best_chunks",
    "fuse",
    "likelihood",
    "rank_parts",
    "weigh",
]

TYPES = "types"
"""The part of a score that is no route's but a soft filter's."""

_ROUTE_OF = FEATURES | SIDE_FEATURES
_RANK_OFFSET = 5.0


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
        Route -> (n,) float32, its first feature before it is weighed.
    copies
        Row -> rows of passages that say the same and stand behind.
    """

    rows: NDArray[np.int32]
    scores: NDArray[np.float32]
    routes: list[dict[str, int]]
    parts: Mapping[str, NDArray[np.float64]] = field(default_factory=dict)
    raw: Mapping[str, NDArray[np.float32]] = field(default_factory=dict)
    copies: Mapping[int, tuple[int, ...]] = field(default_factory=dict)

    def first(self, k: int) -> RankedChunks:
        """Return the `k` best."""
        return self if k >= self.rows.shape[0] else self.at(np.arange(k))

    def of(self, rows: Sequence[int]) -> RankedChunks:
        """Return what there is of some chunk rows, best first."""
        return self.at(np.flatnonzero(np.isin(self.rows, np.array(rows, np.int32))))

    def at(self, places: NDArray[np.int64]) -> RankedChunks:
        """Return what stands at some places, in their order."""
        return RankedChunks(
            self.rows[places],
            self.scores[places],
            [self.routes[place] for place in places.tolist()],
            {name: part[places] for name, part in self.parts.items()},
            {name: values[places] for name, values in self.raw.items()},
            self.copies,
        )


def best_chunks(scores: NDArray[np.float32], k: int, rows: NDArray[np.int32] | None = None) -> RouteChunks:
    """Return the `k` best positive scores, ties by the lower row.

    Parameters
    ----------
    scores
        (n,) float32.
    k
        How many at most.
    rows
        (n,) int32 chunk rows of the scores, ascending; their positions by default.
    """
    best = top_k(scores, min(k, scores.shape[0]))
    values = scores[best]
    if values.shape[0] and values[-1] <= 0:
        n_positive = int(np.count_nonzero(values > 0))
        best, values = best[:n_positive], values[:n_positive]
    return RouteChunks(best if rows is None else rows[best], values)


def weigh(
    features: Mapping[str, NDArray[np.float32]], weights: Mapping[str, float]
) -> dict[str, NDArray[np.float64]]:
    """Return what each route adds to the score of each candidate: route -> (n,) float64.

    Parameters
    ----------
    features
        Feature -> (n,) float32; see `ytrag_core.retrieval.features.passage_features`.
    weights
        Feature -> what it counts; one that is missing counts nothing.
    """
    parts: dict[str, NDArray[np.float64]] = {}
    for name, values in features.items():
        part = weights.get(name, 0.0) * values.astype(np.float64)
        route = _ROUTE_OF[name]
        parts[route] = parts[route] + part if route in parts else part
    return parts


def rank_parts(
    found: Mapping[str, RouteChunks], candidates: NDArray[np.int32], trust: Mapping[str, float]
) -> dict[str, NDArray[np.float64]]:
    """Return parts without any weight: each route's trust times 5 / (5 + rank), rank from 0.

    The inverse of a shifted rank is about the chance that a passage at that place is right, and needs no
    calibration of scores (Cormack, Clarke, Buettcher, SIGIR 2009, with a smaller shift: here the first places
    tell most).
    """
    parts = {}
    for route, chunks in found.items():
        part = np.zeros(candidates.shape[0], np.float64)
        at = np.minimum(np.searchsorted(candidates, chunks.rows), max(candidates.shape[0] - 1, 0))
        kept = candidates[at] == chunks.rows if candidates.shape[0] else np.zeros(0, bool)
        inverse = _RANK_OFFSET / (_RANK_OFFSET + np.arange(chunks.rows.shape[0]))
        part[at[kept]] = inverse[kept]
        parts[route] = trust.get(route, 1.0) * part
    return parts


def likelihood(parts: Mapping[str, NDArray[np.float64]], n: int) -> NDArray[np.float64]:
    """Return the share of each of `n` candidates in being a wanted passage: the softmax of its score."""
    total = np.sum([*parts.values(), np.zeros(n)], axis=0)
    shares: NDArray[np.float64] = np.exp(total - total.max(initial=0.0 if n == 0 else -np.inf))
    return shares


def fuse(
    found: Mapping[str, RouteChunks],
    parts: Mapping[str, NDArray[np.float64]],
    candidates: NDArray[np.int32],
    k: int,
    features: Mapping[str, NDArray[np.float32]] | None = None,
    bonus: NDArray[np.float32] | None = None,
) -> RankedChunks:
    """Rank the candidates of all routes by the sum of their parts, ties by the lower row.

    Parameters
    ----------
    found
        What each route put forward, all among the candidates: says which routes found a passage, and where.
    parts
        Route -> (n,) float64, as `weigh` or `rank_parts` gives it.
    candidates
        (n,) int32 chunk rows, ascending.
    k
        How many to return.
    features
        Feature -> (n,) float32; the first one of each route is kept beside the ranking.
    bonus
        (n,) float32 added to each candidate for what is no route's: the types that were asked for.
    """
    all_parts = dict(parts)
    raw: dict[str, NDArray[np.float32]] = {}
    for name, values in (features or {}).items():
        raw.setdefault(_ROUTE_OF[name], values)
    if bonus is not None:
        all_parts[TYPES] = bonus.astype(np.float64)
    total = np.sum([*all_parts.values(), np.zeros(candidates.shape[0])], axis=0)
    scores = total.astype(np.float32)
    best = top_k(scores, min(k, scores.shape[0]))
    places = np.zeros((len(found), candidates.shape[0]), np.int64)
    for row, chunks in zip(places, found.values(), strict=True):
        row[candidates.searchsorted(chunks.rows)] = np.arange(1, chunks.rows.shape[0] + 1)
    names, ranks = list(found), places[:, best].T
    routes = [
        {name: rank for name, rank in zip(names, ranks_of, strict=True) if rank}
        for ranks_of in ranks.tolist()
    ]
    return RankedChunks(
        candidates[best],
        scores[best],
        routes,
        {name: part[best] for name, part in all_parts.items()},
        {name: values[best] for name, values in raw.items()},
    )
