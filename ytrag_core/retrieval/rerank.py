"""A second reading of the best passages beside the question, by whoever can score a pair of texts."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Protocol

import numpy as np

from ytrag_core.errors import ModelError
from ytrag_core.retrieval.layout import passage_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from ytrag_core.retrieval.fusion import RankedChunks
    from ytrag_core.retrieval.view import SnapshotView

__all__ = ["RERANK", "Reranker", "reranked"]

RERANK = "rerank"
"""The name of a reranker's rank among the routes of a passage."""

_LEAST_DEVIATION = 1e-6


class Reranker(Protocol):
    """Scores passages beside a question; for example `ytrag_core.embedding.cross_encoder.CrossEncoder`."""

    def score(self, question: str, passages: Sequence[str]) -> NDArray[np.float32]:
        """Return how well each passage answers the question, (n_passages,) float32, higher is better."""
        ...


def reranked(
    view: SnapshotView, question: str, ranked: RankedChunks, reranker: Reranker, n: int, weight: float
) -> RankedChunks:
    """Return a ranking whose first `n` passages are ordered anew.

    Both scores of these passages are brought to one scale: the reranker's, as standard scores, get the mean
    and the deviation of the fused ones; the new score is their mean by `weight`. Passages behind the first
    `n` keep their order, and a score no higher than the last of the first.

    Parameters
    ----------
    view
        The snapshot.
    question
        As it was asked.
    ranked
        The fused ranking.
    reranker
        Who scores.
    n
        How many passages it reads, title and text.
    weight
        What its score counts beside the fused one, in [0, 1]; 1 replaces it.

    Raises
    ------
    ModelError
        It returns another number of scores, or such as are no numbers.
    """
    n = min(n, ranked.rows.shape[0])
    if n == 0:
        return ranked
    passages = [
        passage_text(chunk.title, chunk.text) for chunk in view.chunks.fields(ranked.rows[:n].tolist())
    ]
    scores = np.asarray(reranker.score(question, passages), np.float64)
    if scores.shape != (n,) or not np.isfinite(scores).all():
        raise ModelError(
            f"the reranker returned scores of shape {scores.shape} for {n} passages, or some that are no "
            "numbers; one finite number for each is wanted"
        )
    fused = ranked.scores.astype(np.float64)
    deviation = max(float(scores.std()), _LEAST_DEVIATION)
    spread = float(fused[:n].std()) or 1.0
    read = (scores - scores.mean()) / deviation * spread + fused[:n].mean()
    fused[:n] = (1.0 - weight) * fused[:n] + weight * read
    order = np.argsort(-fused[:n], kind="stable")
    fused[:n] = fused[:n][order]
    fused[n:] = np.minimum(fused[n:], fused[n - 1])
    order = np.concatenate([order, np.arange(n, fused.shape[0])])
    rank_of = np.empty(n, np.int64)
    rank_of[np.argsort(-scores, kind="stable")] = np.arange(1, n + 1)
    routes = [
        {**ranked.routes[place], RERANK: int(rank_of[place])} if place < n else ranked.routes[place]
        for place in order.tolist()
    ]
    raw = {name: values[order] for name, values in ranked.raw.items()}
    by_reranker = np.full(fused.shape[0], np.nan, np.float32)
    by_reranker[:n] = scores[order[:n]]
    return replace(
        ranked,
        rows=ranked.rows[order],
        scores=fused.astype(np.float32),
        routes=routes,
        parts={name: values[order] for name, values in ranked.parts.items()},
        raw={**raw, RERANK: by_reranker},
    )
